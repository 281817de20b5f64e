//! The file of credentials: who may read it, what stays in it, and what happens to a broken one.

use std::os::unix::fs::PermissionsExt;

use secrecy::ExposeSecret;

use super::*;

fn connections(home: &tempfile::TempDir) -> Arc<Connections> {
    Arc::new(Connections::new(home.path().join("auth")))
}

fn key(connections: &Connections, id: &str) -> Option<String> {
    let saved = connections.read().expect("a good file");
    let key = saved.services.get(id)?.api_key.as_ref()?;
    Some(key.expose_secret().to_owned())
}

fn mode(path: &Path) -> u32 {
    path.metadata().expect("metadata").permissions().mode() & 0o777
}

#[tokio::test]
async fn a_key_is_saved_for_its_owner_alone() {
    let home = tempfile::tempdir().expect("a directory");
    let connections = connections(&home);
    assert_eq!(key(&connections, "openai"), None);
    let notice = connections
        .change(|root| put_key(root, "openai", "sk-1"))
        .await;
    assert_eq!(notice, Ok(None));
    assert_eq!(key(&connections, "openai").as_deref(), Some("sk-1"));
    let auth = home.path().join("auth");
    assert_eq!(mode(&auth), 0o700);
    assert_eq!(mode(&auth.join("connections.json")), 0o600);
    let text = std::fs::read_to_string(auth.join("connections.json")).expect("the file");
    let file: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(file["version"], 1);
    let service = &file["services"]["openai"];
    assert_eq!(
        (&service["service"], &service["mode"]),
        (&json!("openai"), &json!("api_key"))
    );
    let at = service["updatedAt"].as_str().expect("a time");
    assert!(
        at.len() == "2026-02-19T18:00:00.000Z".len() && at.ends_with('Z'),
        "{at}"
    );
    let names: Vec<_> = std::fs::read_dir(&auth)
        .expect("the directory")
        .map(|each| each.expect("an entry").file_name())
        .collect();
    assert_eq!(
        names.len(),
        2,
        "only the file and its lock are left: {names:?}"
    );
}

#[tokio::test]
async fn an_open_directory_is_closed() {
    let home = tempfile::tempdir().expect("a directory");
    let auth = home.path().join("auth");
    std::fs::create_dir(&auth).expect("made");
    std::fs::set_permissions(&auth, std::fs::Permissions::from_mode(0o755)).expect("opened");
    let connections = connections(&home);
    connections
        .change(|root| put_key(root, "a", "k"))
        .await
        .expect("saved");
    assert_eq!(mode(&auth), 0o700);
}

#[tokio::test]
async fn what_others_wrote_stays() {
    let home = tempfile::tempdir().expect("a directory");
    let connections = connections(&home);
    let path = home.path().join("auth/connections.json");
    std::fs::create_dir(home.path().join("auth")).expect("made");
    let written = json!({
        "version": 1,
        "future": {"x": 1},
        "services": {
            "google": {"service": "google", "mode": "api_key", "apiKey": "g", "extra": true},
            "other": {"mode": "oauth", "strange": [1]},
        },
        "toolApiKeys": {"exa": "e", "more": "m"},
    });
    std::fs::write(&path, written.to_string()).expect("written");
    assert_eq!(key(&connections, "google").as_deref(), Some("g"));
    connections
        .change(|root| put_key(root, "google", "g2"))
        .await
        .expect("saved");
    connections
        .change(|root| forget(root, "nothing", &["exa".to_owned()]))
        .await
        .expect("saved");
    let file: Value =
        serde_json::from_slice(&std::fs::read(&path).expect("the file")).expect("JSON");
    assert_eq!(file["future"], json!({"x": 1}));
    assert_eq!(file["services"]["other"], written["services"]["other"]);
    assert_eq!(file["services"]["google"]["extra"], true);
    assert_eq!(file["services"]["google"]["apiKey"], "g2");
    assert_eq!(file["toolApiKeys"], json!({"more": "m"}));
}

#[tokio::test]
async fn another_process_is_seen_and_not_overwritten() {
    let home = tempfile::tempdir().expect("a directory");
    let (one, two) = (connections(&home), connections(&home));
    assert_eq!(key(&two, "openai"), None);
    one.change(|root| put_key(root, "openai", "sk-1"))
        .await
        .expect("saved");
    assert_eq!(key(&two, "openai").as_deref(), Some("sk-1"));
    let mut writers = tokio::task::JoinSet::new();
    for number in 0..20 {
        let connections = Arc::clone(if number % 2 == 0 { &one } else { &two });
        writers.spawn(async move {
            let id = format!("p{number}");
            connections
                .change(move |root| put_key(root, &id, "k"))
                .await
        });
    }
    // Whoever reads meanwhile finds a whole file, old or new.
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let third = connections(&home);
    let reader = std::thread::spawn(move || {
        while stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
            assert!(!third.load().expect("a whole file").is_empty());
        }
    });
    for done in writers.join_all().await {
        assert_eq!(done, Ok(None));
    }
    drop(stop);
    reader.join().expect("every reading was good");
    assert_eq!(one.read().expect("a good file").services.len(), 21);
}

#[tokio::test]
async fn a_broken_file_is_told_and_kept() {
    let home = tempfile::tempdir().expect("a directory");
    let connections = connections(&home);
    let auth = home.path().join("auth");
    std::fs::create_dir(&auth).expect("made");
    for broken in [
        "{\"services\": {\"openai\"",
        "[]",
        "{\"services\": 1}",
        "{\"version\": \"x\"}",
    ] {
        std::fs::write(auth.join("connections.json"), broken).expect("written");
        let error = connections.read().expect_err("a broken file");
        assert!(matches!(error, ConnectionsError::Broken(_)), "{error}");
    }
    let notice = connections
        .change(|root| put_key(root, "openai", "sk-1"))
        .await;
    let notice = notice.expect("saved").expect("a notice");
    let kept = notice.rsplit(' ').next().expect("a path");
    assert_eq!(
        std::fs::read_to_string(kept).expect("kept"),
        "{\"version\": \"x\"}"
    );
    assert_eq!(key(&connections, "openai").as_deref(), Some("sk-1"));
}

#[tokio::test]
async fn a_newer_file_is_left_alone() {
    let home = tempfile::tempdir().expect("a directory");
    let connections = connections(&home);
    std::fs::create_dir(home.path().join("auth")).expect("made");
    let path = home.path().join("auth/connections.json");
    std::fs::write(&path, "{\"version\": 2}").expect("written");
    let error = connections
        .change(|root| put_key(root, "openai", "sk-1"))
        .await;
    assert!(matches!(error, Err(ConnectionsError::Newer(_))));
    assert_eq!(
        std::fs::read_to_string(&path).expect("the file"),
        "{\"version\": 2}"
    );
}

#[test]
fn nothing_saved_is_shown_by_debug() {
    let root = json!({
        "services": {"a": {"apiKey": "sk-secret", "oauth": {
            "accessToken": "at-secret", "refreshToken": "rt-secret", "idToken": "id-secret"
        }}},
        "toolApiKeys": {"exa": "ex-secret"},
    });
    let saved = Saved::of(root.as_object().expect("an object"));
    assert!(!format!("{saved:?}").contains("secret\""), "{saved:?}");
    assert!(!format!("{saved:?}").contains("-secret"), "{saved:?}");
}
