//! Signing in with a browser, or with what it ended at.

use std::sync::Arc;

use parking_lot::Mutex;
use reqwest::Url;
use serde_json::json;
use vocabulary::{AuthMode, Challenge};

use super::devices::device_issuer;
use super::server::{Asked, Server, visit};
use super::{Home, id_token, remote_provider};
use crate::accounts::oauth::challenge as hashed;
use crate::models::{Models, SignInError};
use crate::remote::Authorizer;

pub const CODEX: &str = "codex-cli";
const BROWSER: &str = "oauth_cli";
pub const DEVICE: &str = "oauth_device";
const REPLACED: &str = "another sign-in was begun instead of this one";

/// What a browser was sent out with.
struct Sent {
    state: String,
    challenge: String,
    redirect_uri: String,
}

fn sent(challenge: &Challenge) -> Sent {
    let url = Url::parse(challenge.url.as_deref().expect("a URL")).expect("a URL");
    let value = |name: &str| {
        let found = url.query_pairs().find(|(each, _)| each == name);
        found
            .map(|(_, value)| value.into_owned())
            .unwrap_or_default()
    };
    assert_eq!(value("response_type"), "code");
    assert_eq!(value("code_challenge_method"), "S256");
    assert_eq!(value("client_id"), "app_EMoamEEZ73f0CkXaXp7hrann");
    assert_eq!(value("scope"), "openid profile email offline_access");
    assert_eq!(value("codex_cli_simplified_flow"), "true");
    Sent {
        state: value("state"),
        challenge: value("code_challenge"),
        redirect_uri: value("redirect_uri"),
    }
}

impl Sent {
    fn back(&self, query: &str) -> String {
        format!("{}?{query}", self.redirect_uri)
    }
}

pub fn tokens() -> (u16, String) {
    let tokens = json!({
        "access_token": "at-1", "refresh_token": "rt-1", "id_token": id_token(), "expires_in": 3600
    });
    (200, tokens.to_string())
}

/// Gives tokens for the code `good` to whoever knows the verifier of this challenge.
async fn issuer() -> (Server, Arc<Mutex<String>>) {
    let challenge: Arc<Mutex<String>> = Arc::default();
    let expected = Arc::clone(&challenge);
    let server = Server::start(move |asked: &Asked| {
        let verifier = asked.form("code_verifier").unwrap_or_default();
        let good = asked.path() == "/oauth/token"
            && asked.form("grant_type").as_deref() == Some("authorization_code")
            && asked.form("code").as_deref() == Some("good")
            && hashed(&verifier) == *expected.lock();
        if good {
            return tokens();
        }
        let code = asked.form("code").unwrap_or_default();
        (
            400,
            json!({"error": "invalid_grant", "error_description": format!("bad {code}")})
                .to_string(),
        )
    })
    .await;
    (server, challenge)
}

async fn begin(models: &Models, challenge: &Mutex<String>) -> Sent {
    let begun = models.begin(CODEX, BROWSER).await.expect("begun");
    assert!(!begun.needs_code);
    assert!(begun.expires_at.is_some());
    let sent = sent(&begun);
    *challenge.lock() = sent.challenge.clone();
    sent
}

pub fn failure(error: SignInError) -> String {
    assert!(matches!(error, SignInError::Failed(_)), "{error:?}");
    error.to_string()
}

#[tokio::test]
async fn a_browser_comes_back_and_the_tokens_are_kept() {
    let (server, challenge) = issuer().await;
    let home = Home::with_issuer(&server);
    let models = home.open();
    assert!(!models.connected(CODEX));
    let sent = begin(&models, &challenge).await;
    let pending = models.statuses(false).await;
    let pending = pending
        .iter()
        .find(|each| each.provider == CODEX)
        .expect("a status");
    assert_eq!(pending.mode, AuthMode::OAuthPending);

    let stray = visit(&sent.back("code=good&state=other"))
        .await
        .expect("a page");
    assert!(stray.starts_with("HTTP/1.1 400"), "{stray}");
    let elsewhere = visit(&sent.redirect_uri.replace("callback", "x"))
        .await
        .expect("a page");
    assert!(elsewhere.starts_with("HTTP/1.1 404"), "{elsewhere}");
    assert_eq!(
        server.count("/oauth/token"),
        0,
        "nothing was shown for a stranger"
    );

    let address = sent.back(&format!("code=good&state={}", sent.state));
    let page = visit(&address).await.expect("a page");
    assert!(
        page.starts_with("HTTP/1.1 200") && page.contains("Signed in"),
        "{page}"
    );
    let done = models
        .finish(CODEX, BROWSER, None)
        .await
        .expect("signed in");
    assert_eq!(done.mode, AuthMode::OAuth);
    assert_eq!(
        done.message,
        "Signed in to Codex (ChatGPT) as ann@example.com."
    );
    assert!(visit(&address).await.is_err(), "nobody listens any more");

    let saved = home.json("auth/connections.json");
    let service = &saved["services"][CODEX];
    assert_eq!(
        (&service["mode"], &service["oauth"]["refreshToken"]),
        (&json!("oauth"), &json!("rt-1"))
    );
    assert!(models.connected(CODEX));
    let statuses = models.statuses(true).await;
    let status = statuses
        .iter()
        .find(|each| each.provider == CODEX)
        .expect("a status");
    assert_eq!(
        (status.mode, status.authorized, status.verified),
        (AuthMode::OAuth, true, true)
    );
    let account = status.account.clone().expect("an account");
    assert_eq!(account.email.as_deref(), Some("ann@example.com"));
    let authorization = remote_provider(&models, CODEX)
        .authorizer
        .access(false)
        .await
        .expect("a ticket");
    assert_eq!(authorization.base_url, format!("{}/codex", server.url));
    assert_eq!(server.count("/codex/models"), 1);
    let names: Vec<_> = authorization
        .headers
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "authorization",
            "originator",
            "version",
            "chatgpt-account-id"
        ]
    );
    assert!(!format!("{authorization:?} {status:?} {done:?}").contains("at-1"));
}

#[tokio::test]
async fn a_declined_sign_in_ends() {
    let (server, challenge) = issuer().await;
    let home = Home::with_issuer(&server);
    let models = home.open();
    let sent = begin(&models, &challenge).await;
    let query = format!(
        "error=access_denied&error_description=<b>no</b>&state={}",
        sent.state
    );
    let page = visit(&sent.back(&query)).await.expect("a page");
    assert!(page.contains("declined: &lt;b&gt;no&lt;/b&gt;"), "{page}");
    let error = models
        .finish(CODEX, BROWSER, None)
        .await
        .expect_err("declined");
    assert_eq!(failure(error), "The sign-in was declined: <b>no</b>.");
    assert!(!models.connected(CODEX));
}

#[tokio::test(start_paused = true)]
async fn a_sign_in_expires() {
    let home = Home::new();
    home.write(
        "config/catalog.toml",
        "[[provider]]\nid = \"codex-cli\"\n[provider.oauth]\ncallback_ports = [0]\n",
    );
    let models = home.open();
    let before = tokio::time::Instant::now();
    let sent = sent(&models.begin(CODEX, BROWSER).await.expect("begun"));
    let error = models
        .finish(CODEX, BROWSER, None)
        .await
        .expect_err("expired");
    assert_eq!(failure(error), "The sign-in has expired: begin it again.");
    assert_eq!(before.elapsed().as_secs(), 600);
    assert!(
        visit(&sent.redirect_uri).await.is_err(),
        "nobody listens any more"
    );
    let error = models.finish(CODEX, BROWSER, None).await.expect_err("over");
    assert_eq!(failure(error), "no sign-in is under way: begin it first");
}

#[tokio::test]
async fn what_the_browser_ended_at_can_be_pasted() {
    let (server, challenge) = issuer().await;
    let home = Home::with_issuer(&server);
    let models = Arc::new(home.open());
    for form in ["address", "query", "hash"] {
        let sent = begin(&models, &challenge).await;
        let waiter = Arc::clone(&models);
        let waiting = tokio::spawn(async move { waiter.finish(CODEX, BROWSER, None).await });
        let wrong = sent.back("code=good&state=other");
        let error = models
            .finish(CODEX, BROWSER, Some(&wrong))
            .await
            .expect_err("a stranger's");
        assert!(failure(error).contains("not begun here"));
        let bad = format!("bad-code-1#{}", sent.state);
        let error = models
            .finish(CODEX, BROWSER, Some(&bad))
            .await
            .expect_err("bad");
        let words = failure(error);
        assert!(
            words.contains("HTTP 400") && !words.contains("bad-code-1"),
            "{words}"
        );
        let query = format!("code=good&state={}", sent.state);
        let pasted = match form {
            "address" => sent.back(&query),
            "query" => format!("?{query}"),
            _ => format!(" good#{}\n", sent.state),
        };
        let done = models.finish(CODEX, BROWSER, Some(&pasted)).await;
        assert_eq!(done.expect(form).mode, AuthMode::OAuth);
        let heard = waiting.await.expect("joined");
        // It may have come after the end; then there was nothing to wait for.
        if let Err(error) = heard {
            assert_eq!(failure(error), "no sign-in is under way: begin it first");
        }
    }
}

#[tokio::test]
async fn without_a_free_port_the_address_must_be_pasted() {
    let (server, challenge) = issuer().await;
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let home = Home::with_issuer(&server);
    home.write(
        "config/catalog.toml",
        &format!("[[provider]]\nid = \"codex-cli\"\n[provider.oauth]\ncallback_ports = [{port}]\n"),
    );
    let models = home.open();
    let begun = models.begin(CODEX, BROWSER).await.expect("begun");
    assert!(begun.needs_code);
    let sent = sent(&begun);
    assert_eq!(
        sent.redirect_uri,
        format!("http://localhost:{port}/auth/callback")
    );
    *challenge.lock() = sent.challenge.clone();
    let error = models
        .finish(CODEX, BROWSER, None)
        .await
        .expect_err("nothing to wait for");
    assert_eq!(failure(error), "enter the address your browser ended at");
    let address = sent.back(&format!("code=good&state={}", sent.state));
    models
        .finish(CODEX, BROWSER, Some(&address))
        .await
        .expect("signed in");
}

#[tokio::test]
async fn a_code_alone_is_refused_before_anyone_sees_it() {
    let (server, challenge) = issuer().await;
    let home = Home::with_issuer(&server);
    let models = home.open();
    let sent = begin(&models, &challenge).await;
    for pasted in ["good", "code=good", "good#"] {
        let refused = models.finish(CODEX, BROWSER, Some(pasted)).await;
        failure(refused.expect_err(pasted));
    }
    let refused = models.finish(CODEX, BROWSER, Some("good")).await;
    let words = failure(refused.expect_err("no state"));
    assert!(words.contains("paste the whole address"), "{words}");
    assert!(
        words.ends_with(&format!("{}?", sent.redirect_uri)),
        "{words}"
    );
    assert_eq!(server.count("/oauth/token"), 0);
    assert!(!models.connected(CODEX));
}

#[tokio::test]
async fn the_same_sign_in_again_starts_over() {
    let (server, challenge) = issuer().await;
    let home = Home::with_issuer(&server);
    let models = Arc::new(home.open());
    let first = begin(&models, &challenge).await;
    let waiting = models.finish(CODEX, BROWSER, None);
    let again = begin(&models, &challenge);
    let (waited, second) = tokio::join!(waiting, again);
    assert_eq!(failure(waited.expect_err("over")), REPLACED);
    assert_ne!(first.state, second.state);
    assert!(
        visit(&first.redirect_uri).await.is_err(),
        "the first one is over"
    );
    let pasted = format!("good#{}", second.state);
    models
        .finish(CODEX, BROWSER, Some(&pasted))
        .await
        .expect("signed in");
}

#[tokio::test]
async fn one_way_to_sign_in_takes_the_place_of_the_other() {
    let (browsers, challenge) = issuer().await;
    let home = Home::with_issuer(&browsers);
    let models = home.open();
    let first = begin(&models, &challenge).await;
    // This server gives no device codes: what is under way goes on.
    let refused = models.begin(CODEX, DEVICE).await;
    failure(refused.expect_err("no device codes here"));
    let page = visit(&first.back("code=good&state=other")).await;
    assert!(page.is_ok(), "it still listens");

    let (devices, _) = device_issuer(vec![(403, ""); 3]).await;
    let home = Home::with_issuer(&devices);
    let models = home.open();
    let first = models.begin(CODEX, BROWSER).await.expect("begun");
    let waiting = models.finish(CODEX, BROWSER, None);
    let (waited, second) = tokio::join!(waiting, models.begin(CODEX, DEVICE));
    assert_eq!(failure(waited.expect_err("over")), REPLACED);
    assert!(second.expect("begun").instructions.contains("AB-CD"));
    let gone = visit(&sent(&first).redirect_uri).await;
    assert!(gone.is_err(), "nobody listens for the browser any more");

    let waiting = models.finish(CODEX, DEVICE, None);
    let (waited, third) = tokio::join!(waiting, models.begin(CODEX, BROWSER));
    assert_eq!(failure(waited.expect_err("over")), REPLACED);
    let listens = visit(&sent(&third.expect("begun")).redirect_uri).await;
    assert!(listens.is_ok(), "and back again");
}

#[tokio::test]
async fn only_what_is_there_can_be_begun() {
    let home = Home::new();
    let models = home.open();
    let begin = async |provider, method| {
        let error = models.begin(provider, method).await.expect_err("refused");
        error.to_string()
    };
    assert_eq!(
        begin("openai", "api_key").await,
        "Auth method \"api_key\" does not support authorization."
    );
    assert_eq!(
        begin("openai", "magic").await,
        "there is no sign-in method \"magic\""
    );
    assert_eq!(
        begin("nobody", "api_key").await,
        "there is no provider \"nobody\""
    );
    let scripted = Models::scripted(Vec::new());
    let refused = scripted.begin("openai", "api_key").await;
    assert_eq!(
        refused,
        Err(SignInError::UnknownProvider("openai".to_owned()))
    );
}
