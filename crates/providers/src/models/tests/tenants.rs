//! The keys of tenants: their own, and those of who runs the server only where they are shared.

use super::Home;
use crate::models::{Models, ModelsOptions};

const SAVED: &str = r#"{"version": 1, "services": {"openai": {
    "service": "openai", "mode": "api_key", "apiKey": "sk-of-the-server-1234",
    "updatedAt": "2026-01-01T00:00:00.000Z"}}}"#;

/// A server whose user has saved a key, has another in the environment and is signed in at ChatGPT.
fn server() -> Home {
    let mut home = Home::new().set("ANTHROPIC_API_KEY", "sk-ant-of-the-server");
    home.signed_in(i64::MAX);
    home.write("auth/connections.json", SAVED);
    home.write("codex/auth.json", r#"{"OPENAI_API_KEY": "sk-of-codex"}"#);
    home.options.codex_home = Some(home.directory.path().join("codex"));
    home
}

fn of_tenant(home: &Home, shares: bool) -> Models {
    let directory = home.directory.path().join("tenants/north");
    let options: ModelsOptions = home.options.of_tenant(directory, shares);
    Models::open(options)
}

const ASKED: [&str; 3] = ["openai", "anthropic", "codex-cli"];

#[tokio::test]
async fn a_tenant_has_no_key_of_the_server_unless_it_is_shared() {
    let home = server();
    let connected = |models: &Models| ASKED.map(|id| models.connected(id));
    assert_eq!(connected(&home.open()), [true, true, true]);
    assert_eq!(connected(&of_tenant(&home, false)), [false, false, false]);
    let shared = of_tenant(&home, true);
    assert_eq!(
        connected(&shared),
        [true, true, false],
        "no sign-in is shared"
    );
    for status in shared.statuses(false).await {
        assert!(status.masks.is_empty(), "{}", status.provider);
    }
}

#[tokio::test]
async fn what_a_tenant_saves_is_its_own_and_the_servers_stays() {
    let home = server();
    let tenant = of_tenant(&home, true);
    let saved = tenant.set_key("openai", "api_key", "sk-of-the-north-9999".into());
    saved.await.expect("saved");
    let own = home.json("tenants/north/auth/connections.json");
    assert!(own.to_string().contains("sk-of-the-north-9999"));
    let servers = home.json("auth/connections.json").to_string();
    assert!(!servers.contains("north") && servers.contains("sk-of-the-server"));
    assert!(tenant.sign_out("openai").await.expect("signed out"));
    assert!(!tenant.sign_out("openai").await.expect("nothing left"));
    assert!(home.open().connected("openai"));
    let other = home
        .options
        .of_tenant(home.directory.path().join("tenants/south"), false);
    assert!(!Models::open(other).connected("openai"));
}
