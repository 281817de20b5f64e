//! What is saved for servers: where, for whom, and what happens to files that others wrote.

use std::os::unix::fs::{PermissionsExt, symlink};

use secrecy::ExposeSecret;
use vocabulary::{McpServer, McpTransport, TenantId};

use super::*;

struct Ground {
    scratch: tempfile::TempDir,
    store: CredentialStore,
    place: McpPlace,
}

impl Ground {
    fn new() -> Self {
        let scratch = tempfile::tempdir().expect("a directory");
        let directory = scratch.path().join("ws");
        std::fs::create_dir(&directory).expect("a workspace");
        Self {
            store: CredentialStore::new(scratch.path().join("home")),
            place: McpPlace {
                tenant: TenantId::new("local"),
                directory,
            },
            scratch,
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn saved(&self, name: &str) -> Value {
        let text = std::fs::read(self.at(name)).expect("a file");
        serde_json::from_slice(&text).expect("JSON")
    }
}

fn server(layer: McpLayer) -> ConfiguredServer {
    ConfiguredServer {
        server: McpServer {
            name: "grep".to_owned(),
            transport: McpTransport::Http {
                url: "https://mcp.example".to_owned(),
                headers: Default::default(),
            },
            required: None,
            retries: None,
            auth: None,
        },
        layer,
    }
}

const WORKSPACE_FILE: &str = "ws/.cowork/auth/mcp-credentials.json";
const USER_FILE: &str = "home/auth/mcp-credentials.json";

async fn save_key(ground: &Ground, layer: McpLayer, key: &'static str) {
    let change = move |saved: &mut ServerCredentials| saved.set_key(key, Some("main"));
    let server = server(layer);
    let saved = ground.store.change(&ground.place, &server, change);
    saved.await.expect("saved");
}

async fn key(ground: &Ground, layer: McpLayer) -> Option<String> {
    let read = ground.store.read(&ground.place, &server(layer)).await;
    let key = read.expect("read").key()?;
    Some(key.value.expose_secret().to_owned())
}

#[tokio::test]
async fn the_workspace_and_the_user_have_each_their_own() {
    let ground = Ground::new();
    save_key(&ground, McpLayer::System, "of the user").await;
    assert_eq!(key(&ground, McpLayer::Workspace).await, None);
    assert_eq!(key(&ground, McpLayer::WorkspaceLegacy).await, None);
    save_key(&ground, McpLayer::WorkspaceLegacy, "of the workspace").await;
    for layer in [McpLayer::User, McpLayer::UserLegacy, McpLayer::System] {
        assert_eq!(key(&ground, layer).await.as_deref(), Some("of the user"));
    }
    let of_workspace = key(&ground, McpLayer::Workspace).await;
    assert_eq!(of_workspace.as_deref(), Some("of the workspace"));

    let mut saved = ground.saved(WORKSPACE_FILE);
    let at = saved["updatedAt"].take();
    let key_at = saved["servers"]["grep"]["apiKey"]["updatedAt"].take();
    assert!(at.is_string() && key_at.is_string());
    let expected = json!({
        "version": 1,
        "updatedAt": null,
        "servers": {
            "grep": { "apiKey": { "value": "of the workspace", "keyId": "main", "updatedAt": null } },
        },
    });
    assert_eq!(saved, expected);
}

#[tokio::test]
async fn only_its_owner_reads_it_and_no_repository_takes_it() {
    let ground = Ground::new();
    // Somebody made it open to all.
    std::fs::create_dir_all(ground.at("ws/.cowork/auth")).expect("directories");
    save_key(&ground, McpLayer::Workspace, "key").await;
    save_key(&ground, McpLayer::User, "key").await;
    let mode = |name: &str| {
        let found = ground.at(name).metadata().expect("it is there");
        found.permissions().mode() & 0o777
    };
    for file in [WORKSPACE_FILE, USER_FILE] {
        assert_eq!(mode(file), 0o600);
    }
    assert_eq!(mode("ws/.cowork/auth"), 0o700);
    assert_eq!(mode("home/auth"), 0o700);
    assert_eq!(mode("home"), 0o700);
    let ignored = std::fs::read_to_string(ground.at("ws/.cowork/auth/.gitignore"));
    assert_eq!(ignored.expect("a file"), "*\n");
}

#[tokio::test]
async fn what_we_do_not_know_of_stays() {
    let ground = Ground::new();
    std::fs::create_dir_all(ground.at("home/auth")).expect("directories");
    let theirs = json!({
        "version": 1,
        "theirs": [1, 2],
        "servers": {
            "other": { "apiKey": { "value": "k", "more": true }, "extra": 1 },
            "grep": { "note": "kept", "oauth": { "tokens": { "accessToken": "t" }, "x": 1 } },
        },
    });
    std::fs::write(ground.at(USER_FILE), theirs.to_string()).expect("written");
    let user = server(McpLayer::User);
    let change = |saved: &mut ServerCredentials| {
        assert!(saved.oauth(OAuthPart::Tokens).is_some());
        saved.set_oauth(OAuthPart::Tokens, None);
        saved.set_oauth(OAuthPart::Pending, Some(json!({ "state": "s" })));
    };
    let changed = ground.store.change(&ground.place, &user, change).await;
    changed.expect("changed");
    let saved = ground.saved(USER_FILE);
    assert_eq!(saved["theirs"], json!([1, 2]));
    assert_eq!(saved["servers"]["other"], theirs["servers"]["other"]);
    let expected = json!({ "note": "kept", "oauth": { "x": 1, "pending": { "state": "s" } } });
    assert_eq!(saved["servers"]["grep"], expected);

    // Nothing to change is nothing to write.
    let before = ground.at(USER_FILE).metadata().expect("there");
    let looked = ground.store.change(&ground.place, &user, |_| ());
    looked.await.expect("looked");
    let after = ground.at(USER_FILE).metadata().expect("there");
    assert_eq!(
        before.modified().expect("a time"),
        after.modified().expect("a time")
    );
}

#[tokio::test]
async fn a_damaged_file_is_an_error_and_stays_as_it_is() {
    for text in [
        "{",
        "[]",
        "\u{0}",
        r#"{"version":"x"}"#,
        r#"{"servers":[]}"#,
        r#"{"servers":{"grep":"sk-secret"}}"#,
        r#"{"servers":{"grep":{"apiKey":"sk-secret"}}}"#,
        r#"{"version":2}"#,
    ] {
        let ground = Ground::new();
        std::fs::create_dir_all(ground.at("home/auth")).expect("directories");
        std::fs::write(ground.at(USER_FILE), text).expect("written");
        let user = server(McpLayer::User);
        let read = ground.store.read(&ground.place, &user).await;
        let error = read.expect_err(text).to_string();
        assert!(error.contains("mcp-credentials.json") && !error.contains("sk-secret"));
        let change = |saved: &mut ServerCredentials| saved.set_key("new", None);
        let changed = ground.store.change(&ground.place, &user, change).await;
        changed.expect_err(text);
        let left = std::fs::read_to_string(ground.at(USER_FILE));
        assert_eq!(left.expect("still there"), text);
    }
}

#[tokio::test]
async fn a_workspace_cannot_lead_to_what_the_user_saved() {
    for (link, to) in [
        (WORKSPACE_FILE, USER_FILE),
        ("ws/.cowork/auth", "home/auth"),
        ("ws/.cowork", "home"),
    ] {
        let ground = Ground::new();
        save_key(&ground, McpLayer::User, "of the user").await;
        let before = ground.saved(USER_FILE);
        let link = ground.at(link);
        std::fs::create_dir_all(link.parent().expect("a directory")).expect("directories");
        symlink(ground.at(to), &link).expect("a link");
        let workspace = server(McpLayer::Workspace);
        let read = ground.store.read(&ground.place, &workspace).await;
        read.expect_err("a link is no file");
        let change = |saved: &mut ServerCredentials| saved.set_key("new", None);
        let changed = ground.store.change(&ground.place, &workspace, change).await;
        changed.expect_err("a link is no file");
        assert_eq!(ground.saved(USER_FILE), before);
    }
}

#[test]
fn nothing_of_it_is_shown() {
    let mut saved = ServerCredentials::default();
    saved.set_key("sk-secret", None);
    saved.set_oauth(
        OAuthPart::Tokens,
        Some(json!({ "accessToken": "t-secret" })),
    );
    assert!(!format!("{saved:?} {:?}", saved.key()).contains("secret"));
}

#[tokio::test]
async fn writers_at_the_same_time_lose_nothing() {
    let ground = Ground::new();
    let writers = (0..8).map(|n| {
        let (store, place) = (ground.store.clone(), ground.place.clone());
        tokio::spawn(async move {
            let mut server = server(McpLayer::User);
            server.server.name = format!("server-{n}");
            let change = |saved: &mut ServerCredentials| saved.set_key("key", None);
            store.change(&place, &server, change).await
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.expect("no panic").expect("saved");
    }
    let saved = ground.saved(USER_FILE);
    assert_eq!(saved["servers"].as_object().map(|all| all.len()), Some(8));
}
