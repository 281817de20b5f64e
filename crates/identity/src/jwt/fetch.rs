//! Asks an issuer for its keys over HTTP: where they are (OpenID Connect Discovery 1.0), then which.

use std::time::Duration;

use reqwest::header::{CACHE_CONTROL, HeaderMap};
use reqwest::{Client, Url, redirect};
use serde_json::Value;

use super::JwtSettings;
use super::key_source::{FetchedKeys, Fetching, PublishedKeys};
use super::keys::KeySet;
use super::limits::{
    ANSWER_BYTES_MAX, CONNECT_TIME_MAX, FETCH_TIME_MAX, KEYS_FRESH, REDIRECTS_MAX,
};
use super::settings::{is_this_machine, safe_url};
use super::unique_json;

const USER_AGENT: &str = concat!("dragoman/", env!("CARGO_PKG_VERSION"));
const DISCOVERY: &str = "/.well-known/openid-configuration";

/// The keys of one issuer.
pub struct HttpKeys {
    issuer: String,
    jwks_url: Option<Url>,
}

impl HttpKeys {
    pub fn new(settings: &JwtSettings) -> Self {
        Self {
            issuer: settings.issuer().to_owned(),
            jwks_url: settings.jwks_url().cloned(),
        }
    }

    async fn keys(&self) -> Result<FetchedKeys, String> {
        let url = match &self.jwks_url {
            Some(url) => url.clone(),
            None => self.discover().await?,
        };
        let (headers, document) = self.get(url).await?;
        let keys = KeySet::parse(&document);
        let keys = keys.map_err(|error| format!("the key set cannot be used: {error}"))?;
        Ok(FetchedKeys {
            keys,
            fresh_for: max_age(&headers).unwrap_or(KEYS_FRESH),
        })
    }

    /// Where the keys are, if it is the issuer itself that says so.
    async fn discover(&self) -> Result<Url, String> {
        let url = format!("{}{DISCOVERY}", self.issuer.trim_end_matches('/'));
        let url = safe_url(&url).map_err(|error| error.to_string())?;
        let (_, document) = self.get(url).await?;
        let document = unique_json::object(&document);
        let document = document.ok_or("the discovery document is no JSON object")?;
        let text = |name: &str| document.get(name).and_then(Value::as_str);
        if text("issuer") != Some(&self.issuer) {
            return Err(
                "the discovery document is of another issuer; auth-issuer must be \
                        written exactly as it is there"
                    .to_owned(),
            );
        }
        let keys = text("jwks_uri").ok_or("the discovery document names no jwks_uri")?;
        safe_url(keys).map_err(|_| "the jwks_uri is no https:// address".to_owned())
    }

    async fn get(&self, url: Url) -> Result<(HeaderMap, Vec<u8>), String> {
        let request = client(&url)?.get(url).header("accept", "application/json");
        let mut response = request.send().await.map_err(no_answer)?;
        let status = response.status();
        if !status.is_success() {
            return Err(format!("it answered {status}"));
        }
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(no_answer)? {
            if body.len() + piece.len() > ANSWER_BYTES_MAX {
                return Err(format!("its answer has more than {ANSWER_BYTES_MAX} bytes"));
            }
            body.extend_from_slice(&piece);
        }
        Ok((response.headers().clone(), body))
    }
}

/// Made for one request: nobody asks again for minutes, and a client holds memory.
fn client(url: &Url) -> Result<Client, String> {
    // Without one, reqwest would panic.
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        return Err("this program was started without a TLS library".to_owned());
    }
    let builder = Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(CONNECT_TIME_MAX)
        .timeout(FETCH_TIME_MAX)
        .redirect(redirect::Policy::custom(within_origin))
        .referer(false);
    let builder = match is_this_machine(url) {
        // No proxy has a way to this machine.
        true => builder.no_proxy(),
        false => builder,
    };
    let builder = match url.scheme() == "http" {
        // Slim images have no certificates, and nothing is checked.
        true => builder.tls_certs_only([]),
        false => builder,
    };
    builder.build().map_err(no_answer)
}

impl PublishedKeys for HttpKeys {
    fn fetch(&self) -> Fetching<'_> {
        Box::pin(self.keys())
    }
}

/// Who answers decides who is let in, so nobody else is asked than who was named.
fn within_origin(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let asked = attempt.previous();
    let same = asked
        .iter()
        .all(|url| url.origin() == attempt.url().origin());
    match same && asked.len() <= REDIRECTS_MAX {
        true => attempt.follow(),
        // The answer is then the redirect itself, and that is no key set.
        false => attempt.stop(),
    }
}

/// How long an answer may be kept, if it says so.
fn max_age(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(CACHE_CONTROL)?.to_str().ok()?;
    let mut directives = value
        .split(',')
        .map(|each| each.trim().to_ascii_lowercase());
    directives.find_map(|each| match each.split_once('=') {
        Some(("max-age", seconds)) => {
            let seconds = seconds.trim_matches('"').parse().ok()?;
            Some(Duration::from_secs(seconds))
        }
        None if each == "no-store" || each == "no-cache" => Some(Duration::ZERO),
        Some(_) | None => None,
    })
}

/// The innermost cause: the outer ones only say that a request failed.
fn no_answer(error: reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".to_owned();
    }
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
