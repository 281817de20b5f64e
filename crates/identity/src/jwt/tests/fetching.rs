//! The keys over HTTP, from a server that answers what a test wants.

use std::collections::HashMap;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::*;
use crate::jwt::fetch::HttpKeys;
use crate::jwt::limits::ANSWER_BYTES_MAX;

const DISCOVERY: &str = "/.well-known/openid-configuration";

/// Answers by path, each with head and body as given; `PORT` in them is its own.
struct WebIssuer {
    url: String,
    serving: JoinHandle<()>,
}

impl WebIssuer {
    async fn start(answers: Vec<(&'static str, String)>) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let answers: HashMap<_, _> = answers.into_iter().collect();
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let mut stream = BufReader::new(stream);
                let mut line = String::new();
                let _ = stream.read_line(&mut line).await;
                let path = line.split(' ').nth(1).unwrap_or_default();
                let missing = || answer("404 Not Found", "");
                let answer = answers.get(path).cloned().unwrap_or_else(missing);
                let answer = answer.replace("PORT", &port.to_string());
                // Who has heard enough goes.
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        let url = format!("http://127.0.0.1:{port}");
        Self { url, serving }
    }

    async fn fetch(&self, jwks: Option<&str>) -> Result<Duration, String> {
        let settings = AuthSettings {
            issuer: Some(self.url.clone()),
            jwks_url: jwks.map(|path| format!("{}{path}", self.url)),
            ..AuthSettings::default()
        };
        let settings = settings.jwt().expect("good settings").expect("an issuer");
        let fetched = HttpKeys::new(&settings).fetch().await;
        fetched.map(|fetched| fetched.fresh_for)
    }
}

impl Drop for WebIssuer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn answer(head: &str, body: &str) -> String {
    // Ends with the connection: a length would have to know the port.
    format!("HTTP/1.1 {head}\r\nconnection: close\r\n\r\n{body}")
}

fn keys() -> String {
    json!({ "keys": [Signer::ed("d").jwk()] }).to_string()
}

fn discovery(issuer: &str, keys: &str) -> (&'static str, String) {
    let document = json!({ "issuer": issuer, "jwks_uri": keys }).to_string();
    (DISCOVERY, answer("200 OK", &document))
}

#[tokio::test]
async fn keys_are_found_by_the_issuer_alone() {
    let found = discovery("http://127.0.0.1:PORT", "http://127.0.0.1:PORT/keys");
    let issuer = WebIssuer::start(vec![found, ("/keys", answer("200 OK", &keys()))]).await;
    assert_eq!(issuer.fetch(None).await, Ok(Duration::from_secs(300)));
    for (issuer, keys, words) in [
        (
            "https://other.example",
            "http://127.0.0.1:PORT/keys",
            "of another issuer",
        ),
        (
            "http://127.0.0.1:PORT",
            "http://keys.example",
            "no https:// address",
        ),
    ] {
        let issuer = WebIssuer::start(vec![discovery(issuer, keys)]).await;
        let error = issuer.fetch(None).await.expect_err("a bad document");
        assert!(error.contains(words), "{error}");
    }
}

#[tokio::test]
async fn an_answer_says_how_long_it_is_good() {
    let with = |value: &str| answer(&format!("200 OK\r\ncache-control: {value}"), &keys());
    let issuer = WebIssuer::start(vec![
        ("/a", with("public, max-age=600")),
        ("/b", with("no-store")),
        ("/c", with("private")),
    ])
    .await;
    for (path, seconds) in [("/a", 600), ("/b", 0), ("/c", 300)] {
        let fetched = issuer.fetch(Some(path)).await;
        assert_eq!(fetched, Ok(Duration::from_secs(seconds)), "{path}");
    }
}

#[tokio::test]
async fn redirects_lead_nowhere_else_and_answers_have_a_size() {
    let to = |place: &str| answer(&format!("302 Found\r\nlocation: {place}"), "");
    let other = WebIssuer::start(vec![("/keys", answer("200 OK", &keys()))]).await;
    let too_long = format!("{}{}", keys(), " ".repeat(ANSWER_BYTES_MAX));
    let issuer = WebIssuer::start(vec![
        ("/keys", answer("200 OK", &keys())),
        ("/near", to("/keys")),
        ("/far", to(&format!("{}/keys", other.url))),
        ("/round", to("/round")),
        ("/long", answer("200 OK", &too_long)),
        ("/words", answer("200 OK", "<html>")),
        (
            "/none",
            answer("200 OK", r#"{"keys":[{"kty":"oct","k":"AAAA"}]}"#),
        ),
    ])
    .await;
    assert!(issuer.fetch(Some("/near")).await.is_ok());
    for (path, words) in [
        ("/far", "it answered 302"),
        ("/round", "it answered 302"),
        ("/long", "more than"),
        ("/words", "no JSON object"),
        ("/none", "no key for RS256, ES256 or EdDSA"),
        ("/missing", "it answered 404"),
    ] {
        let error = issuer.fetch(Some(path)).await.expect_err(path);
        assert!(error.contains(words), "{path}: {error}");
    }
    drop(issuer);
}
