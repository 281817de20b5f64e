//! Keeping a sign-in alive.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use vocabulary::AuthMode;

use super::server::{Asked, Server};
use super::{Home, remote_provider};
use crate::accounts::now_ms;
use crate::accounts::tokens::unsigned;
use crate::models::Models;
use crate::remote::{Authorization, Authorizer};
use crate::{ErrorKind, ProviderError};

const CODEX: &str = "codex-cli";
const HOUR_MS: i64 = 3_600_000;

/// Takes each refresh token once, as the real one does.
async fn issuer() -> Server {
    let spent: Mutex<BTreeSet<String>> = Mutex::default();
    Server::start(move |asked: &Asked| {
        assert_eq!(asked.form("grant_type").as_deref(), Some("refresh_token"));
        let refresh = asked.form("refresh_token").unwrap_or_default();
        let mut spent = spent.lock();
        if !refresh.starts_with("rt-") || !spent.insert(refresh.clone()) {
            let error = json!({"error": {"code": "refresh_token_reused", "message": refresh}});
            return (401, error.to_string());
        }
        let number = spent.len() + 1;
        let tokens = json!({
            "access_token": format!("at-{number}"),
            "refresh_token": format!("rt-{number}"),
            "expires_in": 3600,
        });
        (200, tokens.to_string())
    })
    .await
}

async fn access(models: &Models, renew: bool) -> Result<Authorization, ProviderError> {
    remote_provider(models, CODEX)
        .authorizer
        .access(renew)
        .await
}

fn bearer(authorization: &Authorization) -> String {
    authorization.headers[0].1.expose_secret().to_owned()
}

#[tokio::test]
async fn twenty_requests_of_two_processes_renew_once() {
    let server = issuer().await;
    let home = Home::with_issuer(&server);
    home.signed_in(now_ms() - 1);
    let both = [Arc::new(home.open()), Arc::new(home.open())];
    let mut requests = JoinSet::new();
    for number in 0..20 {
        let models = Arc::clone(&both[number % 2]);
        requests.spawn(async move { access(&models, false).await.expect("a ticket") });
    }
    for authorization in requests.join_all().await {
        assert_eq!(bearer(&authorization), "Bearer at-2");
        assert!(authorization.renewable);
    }
    assert_eq!(server.count("/oauth/token"), 1);
    let service = &home.json("auth/connections.json")["services"][CODEX];
    assert_eq!(service["oauth"]["refreshToken"], "rt-2");
    assert_eq!(
        service["oauth"]["accountId"], "acc",
        "what is not told stays"
    );
    assert_eq!(
        service["updatedAt"], "2026-01-01T00:00:00.000Z",
        "nobody decided anything"
    );
}

#[tokio::test]
async fn a_refused_token_is_renewed_once_by_all_who_used_it() {
    let server = issuer().await;
    let home = Home::with_issuer(&server);
    home.signed_in(now_ms() + HOUR_MS);
    let (one, two) = (Arc::new(home.open()), home.open());
    assert_eq!(
        bearer(&access(&one, false).await.expect("a ticket")),
        "Bearer at-old"
    );
    assert_eq!(
        bearer(&access(&two, false).await.expect("a ticket")),
        "Bearer at-old"
    );
    let mut refused = JoinSet::new();
    for _ in 0..10 {
        let models = Arc::clone(&one);
        refused.spawn(async move { access(&models, true).await.expect("a ticket") });
    }
    for authorization in refused.join_all().await {
        assert_eq!(bearer(&authorization), "Bearer at-2");
    }
    let late = access(&one, true).await.expect("a ticket");
    assert_eq!(
        bearer(&late),
        "Bearer at-2",
        "it was the old one that was refused"
    );
    let other = access(&two, true).await.expect("a ticket");
    assert_eq!(
        bearer(&other),
        "Bearer at-2",
        "the other process has renewed it"
    );
    assert_eq!(server.count("/oauth/token"), 1);
}

#[tokio::test]
async fn a_token_is_renewed_before_it_ends() {
    let server = issuer().await;
    let home = Home::with_issuer(&server);
    home.signed_in(now_ms() + 60_000);
    let models = home.open();
    assert_eq!(
        bearer(&access(&models, false).await.expect("a ticket")),
        "Bearer at-2"
    );
    access(&models, false).await.expect("a ticket");
    assert_eq!(server.count("/oauth/token"), 1);
}

#[tokio::test]
async fn an_early_renewal_that_fails_harms_nobody() {
    let server = Server::start(|_: &Asked| (503, String::new())).await;
    let home = Home::with_issuer(&server);
    home.signed_in(now_ms() + 60_000);
    let models = home.open();
    assert_eq!(
        bearer(&access(&models, false).await.expect("a ticket")),
        "Bearer at-old"
    );
    home.signed_in(now_ms() - 1);
    let error = access(&models, false).await.expect_err("it has ended");
    assert_eq!(error.kind, ErrorKind::Unreachable);
}

#[tokio::test]
async fn an_ended_sign_in_says_what_to_do_and_is_not_tried_again() {
    let server = Server::start(|asked: &Asked| {
        let said = format!(
            "token {} was used",
            asked.form("refresh_token").unwrap_or_default()
        );
        (
            401,
            json!({"error": {"code": "refresh_token_reused", "message": said}}).to_string(),
        )
    })
    .await;
    let home = Home::with_issuer(&server);
    home.signed_in(now_ms() - 1);
    let models = home.open();
    for _ in 0..3 {
        let error = access(&models, false).await.expect_err("it has ended");
        assert_eq!(error.kind, ErrorKind::Auth);
        assert_eq!(
            error.message,
            "The sign-in to Codex (ChatGPT) has ended: run `dragoman auth login codex-cli` (the \
             authorisation server refused (HTTP 401): token [hidden] was used)"
        );
    }
    assert_eq!(server.count("/oauth/token"), 1);
    let statuses = models.statuses(true).await;
    let status = statuses
        .iter()
        .find(|each| each.provider == CODEX)
        .expect("a status");
    assert_eq!(
        (status.mode, status.authorized, status.verified),
        (AuthMode::Error, true, false)
    );
}

#[tokio::test]
async fn a_renewal_asks_for_no_scope_and_keeps_what_there_was() {
    let server = issuer().await;
    let home = with_codex_home(&server, &unsigned(&json!({"exp": 1})));
    let mut auth: Value = home.json("codex/auth.json");
    auth["auth_mode"] = json!("chatgpt");
    auth["tokens"]["theirs"] = json!({"a": 1});
    home.write("codex/auth.json", &auth.to_string());
    access(&home.open(), false).await.expect("a ticket");
    let asked = &server.asked("/oauth/token")[0];
    assert_eq!(asked.form("scope"), None, "all that the old one could do");
    let after: Value = home.json("codex/auth.json");
    assert_eq!(after["tokens"]["id_token"], auth["tokens"]["id_token"]);
    assert_eq!(after["tokens"]["theirs"], json!({"a": 1}));
    assert_eq!(after["auth_mode"], "chatgpt");
}

#[tokio::test]
async fn only_a_spent_token_is_the_end_of_a_sign_in() {
    for (status, body, kind) in [
        (400, json!({"error": "invalid_grant"}), ErrorKind::Auth),
        (
            400,
            json!({"error": {"code": "refresh_token_expired"}}),
            ErrorKind::Auth,
        ),
        (401, json!({}), ErrorKind::Auth),
        (
            403,
            json!({"error": "unsupported_country"}),
            ErrorKind::Unreachable,
        ),
        (
            400,
            json!({"error": "temporarily_unavailable"}),
            ErrorKind::Unreachable,
        ),
        (403, json!("<html>blocked</html>"), ErrorKind::Unreachable),
    ] {
        let text = body.to_string();
        let server = Server::start(move |_: &Asked| (status, text.clone())).await;
        let home = Home::with_issuer(&server);
        home.signed_in(now_ms() - 1);
        let models = home.open();
        for _ in 0..2 {
            let error = access(&models, false).await.expect_err("refused");
            assert_eq!(error.kind, kind, "{status} {body}");
        }
        let tries = if kind == ErrorKind::Auth { 1 } else { 2 };
        assert_eq!(server.count("/oauth/token"), tries, "{status} {body}");
    }
}

#[tokio::test]
async fn whoever_gives_up_waiting_does_not_lose_the_new_token() {
    let arrived = Arc::new(tokio::sync::Notify::new());
    let told = Arc::clone(&arrived);
    let server = Server::start(move |_: &Asked| {
        told.notify_one();
        (
            200,
            json!({"access_token": "at-2", "refresh_token": "rt-2"}).to_string(),
        )
    })
    .await;
    let home = Home::with_issuer(&server);
    home.signed_in(now_ms() - 1);
    let models = Arc::new(home.open());
    let waiter = Arc::clone(&models);
    let waiting = tokio::spawn(async move { access(&waiter, false).await.map(|_| ()) });
    arrived.notified().await;
    waiting.abort();
    let _ = waiting.await;
    // The next one comes after the renewal that nobody waited for, and finds what it saved.
    assert_eq!(
        bearer(&access(&models, false).await.expect("a ticket")),
        "Bearer at-2"
    );
    assert_eq!(server.count("/oauth/token"), 1);
    let service = &home.json("auth/connections.json")["services"][CODEX];
    assert_eq!(service["oauth"]["refreshToken"], "rt-2");
}

fn with_codex_home(server: &Server, access_token: &str) -> Home {
    let mut home = Home::with_issuer(server);
    let auth = json!({
        "OPENAI_API_KEY": null,
        "tokens": {"id_token": super::id_token(), "access_token": access_token,
                   "refresh_token": "rt-1", "account_id": "acc"},
        "last_refresh": "2026-01-01T00:00:00Z",
    });
    home.write("codex/auth.json", &auth.to_string());
    home.options.codex_home = Some(home.directory.path().join("codex"));
    home
}

#[tokio::test]
async fn the_codex_cli_and_we_share_one_sign_in() {
    let server = issuer().await;
    let ended = unsigned(&json!({"exp": 1}));
    let home = with_codex_home(&server, &ended);
    let models = home.open();
    assert!(models.connected(CODEX));
    assert_eq!(
        bearer(&access(&models, false).await.expect("a ticket")),
        "Bearer at-2"
    );
    let auth: Value = home.json("codex/auth.json");
    assert_eq!(
        auth["tokens"]["refresh_token"], "rt-2",
        "the Codex CLI has the new one"
    );
    assert_eq!(auth["tokens"]["account_id"], "acc");
    assert_ne!(auth["last_refresh"], "2026-01-01T00:00:00Z");
    let ours = home.directory.path().join("auth/connections.json");
    assert!(!ours.exists(), "there is one copy only");
    let statuses = models.statuses(false).await;
    let status = statuses
        .iter()
        .find(|each| each.provider == CODEX)
        .expect("a status");
    assert_eq!(status.mode, AuthMode::OAuth);
    assert_eq!(
        models.default_model().await.why,
        "the Codex CLI is signed in"
    );

    assert_eq!(models.sign_out(CODEX).await, Ok(true));
    assert!(
        !models.connected(CODEX),
        "its file is left alone from now on"
    );
    assert_eq!(models.sign_out(CODEX).await, Ok(false));
    assert_eq!(home.json("codex/auth.json"), auth);
}

#[tokio::test]
async fn a_sign_in_of_our_own_comes_first() {
    let server = issuer().await;
    let home = with_codex_home(&server, "theirs");
    home.signed_in(now_ms() + HOUR_MS);
    let models = home.open();
    assert_eq!(
        bearer(&access(&models, false).await.expect("a ticket")),
        "Bearer at-old"
    );
}
