//! Sign-ins of configured servers, kept in their files.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use tempfile::TempDir;
use vocabulary::{McpAuthMode, Secret, TenantId};

use super::*;
use crate::{ConfiguredServer, McpOptions, McpPlace, Servers};

/// A user's home with one server in it that is signed in to with OAuth.
struct Home {
    folder: TempDir,
    place: McpPlace,
}

impl Home {
    fn new(server: &ScriptedServer) -> Self {
        let folder = TempDir::new().expect("a folder");
        let config = folder.path().join("home/config");
        let workspace = folder.path().join("workspace");
        std::fs::create_dir_all(&config).expect("a folder");
        std::fs::create_dir_all(&workspace).expect("a folder");
        let entry = json!({
            "name": "notes",
            "transport": { "type": "http", "url": server.url().as_str() },
            "auth": { "type": "oauth" },
        });
        let text = json!({ "servers": [entry] }).to_string();
        std::fs::write(config.join("mcp-servers.json"), text).expect("written");
        let place = McpPlace {
            tenant: TenantId::new("tenant"),
            directory: workspace,
        };
        Self { folder, place }
    }

    /// As after a start of the program.
    async fn open(&self) -> (Servers, ConfiguredServer) {
        let servers = Servers::new(McpOptions {
            home: self.folder.path().join("home"),
            user: None,
            system: self.folder.path().join("none.json"),
            fenced: true,
        });
        let configured = servers.configured(&self.place).await;
        let server = configured.first().expect("configured").clone();
        (servers, server)
    }

    async fn mode(&self, servers: &Servers) -> McpAuthMode {
        servers.snapshot(&self.place).await.servers[0].auth.mode
    }

    fn file(&self) -> std::path::PathBuf {
        self.folder.path().join("home/auth/mcp-credentials.json")
    }
}

#[tokio::test]
async fn a_sign_in_is_kept_for_the_next_start() {
    let person = Person::at(script()).await;
    let home = Home::new(&person.server);
    let (servers, server) = home.open().await;
    assert_eq!(home.mode(&servers).await, McpAuthMode::Missing);

    let begun = servers
        .authorize(&home.place, &server)
        .await
        .expect("begun");
    assert_eq!(home.mode(&servers).await, McpAuthMode::OAuthPending);
    let page = begun.url.expect("a page");
    let answer = person.browser.get(page).send().await.expect("an answer");
    let back = answer.headers()["location"].to_str().expect("text");
    let wrong = with(&Url::parse(back).expect("a URL"), "state", Some("other"));
    let pasted = |text: &str| Some(Secret::new(text));
    let finish = |code| servers.finish_sign_in(&home.place, &server, code);
    let (result, mode) = finish(pasted(wrong.as_str())).await.expect("an answer");
    assert_eq!((result.ok, mode), (false, McpAuthMode::OAuthPending));
    let (result, mode) = finish(pasted(back)).await.expect("an answer");
    assert_eq!((result.ok, mode), (true, McpAuthMode::OAuth));
    assert_eq!(home.mode(&servers).await, McpAuthMode::OAuth);

    let metadata = std::fs::metadata(home.file()).expect("a file");
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    let (servers, server) = home.open().await;
    let sign_in = servers.sign_ins.of(&home.place, &server).expect("OAuth");
    let token = sign_in.bearer().await.expect("no failure");
    assert_eq!(person.post(token.as_ref()).await.0, 200);

    // What the server says goes before what is saved.
    person.server.script.lock().required_scope = "write".to_owned();
    let check = servers.check(&home.place, &server).await;
    assert_eq!((check.ok, check.mode), (false, McpAuthMode::Missing));
    assert!(check.message.contains("(write)"), "{check:?}");
    assert_eq!(home.mode(&servers).await, McpAuthMode::Missing);
}

#[tokio::test]
async fn two_processes_renew_a_token_once() {
    let person = Person::at(script()).await;
    person.signs_in().await;
    person.expires();
    let home = Home::new(&person.server);
    let mut sign_ins = Vec::new();
    for _ in 0..2 {
        let (servers, server) = home.open().await;
        sign_ins.push(servers.sign_ins.of(&home.place, &server).expect("OAuth"));
    }
    let kept = person.kept.0.lock().clone();
    sign_ins[0].store.save(kept).await.expect("saved");
    let (one, other) = tokio::join!(sign_ins[0].bearer(), sign_ins[1].bearer());
    for token in [one, other] {
        let token = token.expect("no failure");
        assert_eq!(person.post(token.as_ref()).await.0, 200);
    }
    assert_eq!(person.server.refreshes(), 1);
}

#[tokio::test]
async fn a_server_that_wants_a_key_is_not_signed_in_to() {
    let person = Person::at(script()).await;
    let home = Home::new(&person.server);
    let (servers, mut server) = home.open().await;
    server.server.auth = Some(vocabulary::McpAuth::None);
    let refused = servers.authorize(&home.place, &server).await;
    let words = refused.expect_err("no OAuth").message;
    assert!(words.contains("type oauth"), "{words}");
}

#[tokio::test]
async fn nobody_waits_for_a_browser_when_all_is_stopped() {
    let person = Person::at(script()).await;
    let home = Home::new(&person.server);
    let (servers, server) = home.open().await;
    let begun = servers.authorize(&home.place, &server).await;
    begun.expect("begun");
    let waits = servers.finish_sign_in(&home.place, &server, None);
    let stops = async {
        tokio::task::yield_now().await;
        servers.stop().await;
    };
    let (finished, ()) = tokio::join!(waits, stops);
    let (result, mode) = finished.expect("an answer");
    assert_eq!((result.ok, mode), (false, McpAuthMode::Error));
    assert!(result.message.contains("given up"), "{}", result.message);
}
