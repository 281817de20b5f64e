//! OAuth 2.0 with PKCE (RFC 6749, RFC 7636): the code, its exchange for tokens, and their renewal.
//!
//! Written out rather than taken from a library: it is two form posts and a hash, the device flow of
//! the Codex CLI is in no library, and our requests keep the limits and the client of the rest.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use reqwest::Url;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use thiserror::Error;

use super::http::{self, HttpResponse};
use super::now_ms;
use super::tokens::Tokens;
use crate::catalog::merged::OAuth;
use crate::remote::client::client;

/// How long one request to an authorisation server may take.
pub const REQUEST_LIMIT: Duration = Duration::from_secs(20);

/// Why there are no tokens. Never one of the secrets that were sent.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OAuthError {
    /// What was shown will never be accepted (again).
    #[error("{0}")]
    NotAccepted(String),
    /// It may work later.
    #[error("{0}")]
    Unavailable(String),
}

/// A secret of ours whose hash goes out with the question and which goes out itself with the
/// exchange: nobody else can use a code that was meant for us.
pub struct Pkce {
    pub verifier: SecretString,
    pub challenge: String,
}

impl Pkce {
    pub fn new() -> Result<Pkce, OAuthError> {
        let verifier = random_text(64)?;
        let challenge = challenge(&verifier);
        Ok(Pkce {
            verifier: verifier.into(),
            challenge,
        })
    }
}

/// RFC 7636 section 4.2, `S256`.
pub fn challenge(verifier: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()))
}

/// This many random bytes, as text that a URL may hold.
pub fn random_text(bytes: usize) -> Result<String, OAuthError> {
    let mut random = vec![0; bytes];
    SystemRandom::new()
        .fill(&mut random)
        .map_err(|_| OAuthError::Unavailable("this machine gave no random numbers".to_owned()))?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(random))
}

/// Where a person's browser goes.
pub fn authorize_url(oauth: &OAuth, redirect_uri: &str, challenge: &str, state: &str) -> String {
    let fixed = [
        ("response_type", "code"),
        ("client_id", oauth.client_id.as_str()),
        ("redirect_uri", redirect_uri),
        ("scope", oauth.scopes.as_str()),
        ("code_challenge", challenge),
        ("code_challenge_method", "S256"),
        ("state", state),
    ];
    let more = oauth
        .parameters
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    let query = http::query(fixed.into_iter().chain(more));
    let join = if oauth.authorize_url.contains('?') {
        '&'
    } else {
        '?'
    };
    format!("{}{join}{query}", oauth.authorize_url)
}

pub async fn exchange(
    oauth: &OAuth,
    code: &SecretString,
    verifier: &SecretString,
    redirect_uri: &str,
) -> Result<Tokens, OAuthError> {
    let form = [
        ("grant_type", "authorization_code"),
        ("code", code.expose_secret()),
        ("redirect_uri", redirect_uri),
        ("client_id", oauth.client_id.as_str()),
        ("code_verifier", verifier.expose_secret()),
    ];
    let answer = post_form(&oauth.token_url, &form).await?;
    if !answer.ok() {
        return Err(refusal(&answer, &[code, verifier]));
    }
    Tokens::of_answer(&answer.json(), None, now_ms()).ok_or_else(no_tokens)
}

/// Renews. The refresh token is spent whether or not we get to read the answer. Without a `scope`,
/// the new tokens may do what the old ones did (RFC 6749 section 6); with ours, a sign-in that we
/// share with another program would be left with less.
pub async fn renew(oauth: &OAuth, old: &Tokens) -> Result<Tokens, OAuthError> {
    let Some(refresh) = &old.refresh else {
        let words = "the sign-in has ended and cannot be renewed".to_owned();
        return Err(OAuthError::NotAccepted(words));
    };
    let form = [
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh.expose_secret()),
        ("client_id", oauth.client_id.as_str()),
    ];
    let answer = post_form(&oauth.token_url, &form).await?;
    if !answer.ok() {
        let words = refusal_words(&answer, &[refresh]);
        return Err(match ends_sign_in(&answer) {
            true => OAuthError::NotAccepted(words),
            false => OAuthError::Unavailable(words),
        });
    }
    Tokens::of_answer(&answer.json(), Some(old), now_ms()).ok_or_else(no_tokens)
}

/// Whether a refused renewal means that the refresh token is worth nothing any more. Anything else
/// (a firewall, a region, a client that is blocked for a while) may pass, and a person would sign in
/// again for nothing.
fn ends_sign_in(answer: &HttpResponse) -> bool {
    let body = answer.json();
    let code = error_code(&body).unwrap_or_default();
    let spent = [
        "invalid_grant",
        "refresh_token_expired",
        "refresh_token_reused",
        "refresh_token_invalidated",
    ];
    answer.status == 401 || spent.contains(&code)
}

pub fn no_tokens() -> OAuthError {
    OAuthError::Unavailable("the authorisation server's answer holds no tokens".to_owned())
}

pub async fn post_form(url: &str, form: &[(&str, &str)]) -> Result<HttpResponse, OAuthError> {
    post(url, "application/x-www-form-urlencoded", http::form(form)).await
}

pub async fn post_json(url: &str, body: &Value) -> Result<HttpResponse, OAuthError> {
    post(url, "application/json", body.to_string()).await
}

async fn post(url: &str, media_type: &str, body: String) -> Result<HttpResponse, OAuthError> {
    let failed = |what: String| {
        OAuthError::Unavailable(format!("the authorisation server was not reached: {what}"))
    };
    let url = Url::parse(url).map_err(|error| failed(error.to_string()))?;
    let request = client(&url)
        .map_err(|error| failed(error.to_string()))?
        .post(url)
        .header("content-type", media_type)
        .header("accept", "application/json")
        .body(body);
    http::send(request, REQUEST_LIMIT).await.map_err(failed)
}

/// The error code of an answer: `error` is a word in OAuth, an object at OpenAI.
pub fn error_code(body: &Value) -> Option<&str> {
    let error = body.get("error")?;
    error.as_str().or_else(|| error.get("code")?.as_str())
}

pub fn refusal(answer: &HttpResponse, secrets: &[&SecretString]) -> OAuthError {
    let words = refusal_words(answer, secrets);
    match answer.status {
        408 | 425 | 429 | 500.. => OAuthError::Unavailable(words),
        _ => OAuthError::NotAccepted(words),
    }
}

/// What a refusal says, without what we sent.
fn refusal_words(answer: &HttpResponse, secrets: &[&SecretString]) -> String {
    let body = answer.json();
    let said = [
        body.get("error_description"),
        body.pointer("/error/message"),
        body.get("message"),
    ]
    .into_iter()
    .flatten()
    .find_map(Value::as_str)
    .or_else(|| error_code(&body));
    let mut said = said.map(str::to_owned).unwrap_or_default();
    for secret in secrets {
        said = said.replace(secret.expose_secret(), "[hidden]");
    }
    let mut words = format!("the authorisation server refused (HTTP {})", answer.status);
    if !said.is_empty() {
        words = format!("{words}: {}", callback::said(&said));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7636, appendix B.
    #[test]
    fn the_challenge_is_that_of_the_standard() {
        assert_eq!(
            challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
        let (one, two) = (Pkce::new().expect("random"), Pkce::new().expect("random"));
        assert_ne!(one.challenge, two.challenge);
        assert!(one.verifier.expose_secret().len() >= 43);
    }

    #[test]
    fn a_refusal_never_repeats_what_was_sent() {
        let secret = SecretString::from("rt-secret");
        let check = |status: u16, body: &str| {
            let answer = HttpResponse {
                status,
                body: body.as_bytes().to_vec(),
            };
            refusal(&answer, &[&secret])
        };
        assert_eq!(
            check(
                400,
                r#"{"error":"invalid_grant","error_description":"bad rt-secret"}"#
            ),
            OAuthError::NotAccepted(
                "the authorisation server refused (HTTP 400): bad [hidden]".to_owned()
            )
        );
        assert_eq!(
            check(
                401,
                r#"{"error":{"code":"refresh_token_reused","message":"used\n"}}"#
            ),
            OAuthError::NotAccepted("the authorisation server refused (HTTP 401): used".to_owned())
        );
        assert_eq!(
            check(503, "<html>"),
            OAuthError::Unavailable("the authorisation server refused (HTTP 503)".to_owned())
        );
    }
}
