//! Signing in with a code on another machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use vocabulary::AuthMode;

use super::Home;
use super::server::{Asked, Server};
use super::signing_in::{CODEX, DEVICE, failure, tokens};

/// Answers the polls of a device flow with these, one after the other.
pub async fn device_issuer(polls: Vec<(u16, &'static str)>) -> (Server, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let polled = Arc::clone(&count);
    let server = Server::start(move |asked: &Asked| {
        let poll = || {
            let number = polled.fetch_add(1, Ordering::SeqCst);
            let (status, body) = polls.get(number).copied().unwrap_or((500, ""));
            if body == "tokens" {
                tokens()
            } else {
                (status, body.to_owned())
            }
        };
        match (asked.path(), asked.form("grant_type").as_deref()) {
            ("/api/accounts/deviceauth/usercode", _) => {
                assert_eq!(asked.json()["client_id"], "app_EMoamEEZ73f0CkXaXp7hrann");
                let code =
                    json!({"device_auth_id": "dev-1", "user_code": "AB-CD", "interval": "2"});
                (200, code.to_string())
            }
            ("/device", _) => {
                let code = json!({
                    "device_code": "dev-2", "user_code": "EF-GH", "interval": 2, "expires_in": 600,
                    "verification_uri": "https://example.com/device",
                });
                (200, code.to_string())
            }
            ("/api/accounts/deviceauth/token", _) => {
                let expected = json!({"device_auth_id": "dev-1", "user_code": "AB-CD"});
                assert_eq!(asked.json(), expected);
                poll()
            }
            ("/oauth/token", Some("authorization_code")) => {
                assert_eq!(
                    asked.form("code_verifier").as_deref(),
                    Some("their-verifier")
                );
                let redirect_uri = asked.form("redirect_uri").unwrap_or_default();
                assert!(
                    redirect_uri.ends_with("/deviceauth/callback"),
                    "{redirect_uri}"
                );
                tokens()
            }
            ("/oauth/token", Some(_)) => {
                assert_eq!(asked.form("device_code").as_deref(), Some("dev-2"));
                poll()
            }
            (path, _) => (404, path.to_owned()),
        }
    })
    .await;
    (server, count)
}

#[tokio::test]
async fn a_device_code_as_the_codex_cli_does_it() {
    let (server, polls) = device_issuer(vec![
        (
            403,
            "{\"error\": {\"code\": \"deviceauth_authorization_unknown\"}}",
        ),
        (404, ""),
        (429, ""),
        (502, ""),
        (
            200,
            "{\"authorization_code\": \"c\", \"code_verifier\": \"their-verifier\"}",
        ),
    ])
    .await;
    let home = Home::with_issuer(&server);
    let models = home.open();
    let begun = models.begin(CODEX, DEVICE).await.expect("begun");
    assert!(!begun.needs_code);
    assert_eq!(begun.url, Some(format!("{}/codex/device", server.url)));
    assert!(begun.instructions.contains("AB-CD"));
    assert!(!format!("{begun:?}").contains("dev-1"));
    let done = models.finish(CODEX, DEVICE, None).await.expect("signed in");
    assert_eq!(done.mode, AuthMode::OAuth);
    assert_eq!(polls.load(Ordering::SeqCst), 5);
}

fn with_standard_device(server: &Server) -> Home {
    let home = Home::with_issuer(server);
    home.write(
        "config/catalog.toml",
        "[[provider]]\nid = \"codex-cli\"\n[provider.oauth]\ndevice_authorization_url = \"/device\"\n",
    );
    home
}

#[tokio::test]
async fn a_device_code_as_the_standard_has_it() {
    let (server, polls) = device_issuer(vec![
        (400, "{\"error\": \"authorization_pending\"}"),
        (400, "{\"error\": \"slow_down\"}"),
        (200, "tokens"),
    ])
    .await;
    let home = with_standard_device(&server);
    let models = home.open();
    let begun = models.begin(CODEX, DEVICE).await.expect("begun");
    assert_eq!(begun.url.as_deref(), Some("https://example.com/device"));
    models.finish(CODEX, DEVICE, None).await.expect("signed in");
    assert_eq!(polls.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_device_code_may_be_declined_expire_or_never_be_answered() {
    let table = [
        (
            (400, "{\"error\": \"access_denied\"}"),
            1,
            "the sign-in was declined",
        ),
        (
            (400, "{\"error\": \"expired_token\"}"),
            1,
            "the code has expired",
        ),
        (
            (401, "{\"error\": \"invalid_client\"}"),
            1,
            "(HTTP 401): invalid_client",
        ),
        ((503, ""), 5, "(HTTP 503)"),
    ];
    for (poll, count, words) in table {
        let (server, polls) = device_issuer(vec![poll; 10]).await;
        let home = with_standard_device(&server);
        let models = home.open();
        models.begin(CODEX, DEVICE).await.expect("begun");
        let error = failure(
            models
                .finish(CODEX, DEVICE, None)
                .await
                .expect_err("refused"),
        );
        assert!(
            error.starts_with("Not signed in: ") && error.contains(words),
            "{error}"
        );
        assert_eq!(polls.load(Ordering::SeqCst), count, "{words}");
    }
}
