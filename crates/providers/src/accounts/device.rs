//! Signing in with a code on another machine: the device flow of RFC 8628, and that of the public
//! Codex CLI, which ends in an authorisation code.

use std::time::Duration;

use callback::said;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::http::HttpResponse;
use super::now_ms;
use super::oauth::{self, OAuthError};
use super::tokens::Tokens;
use crate::catalog::merged::OAuth;

/// How long a code is good when the server does not say.
const LIFETIME: Duration = Duration::from_secs(15 * 60);
const LIFETIME_MAX: Duration = Duration::from_secs(30 * 60);
/// Seconds between two questions when the server does not say (RFC 8628 section 3.2).
const INTERVAL: u64 = 5;
const INTERVAL_MAX: u64 = 60;
/// RFC 8628 section 3.5.
const SLOW_DOWN: u64 = 5;
/// So many questions may go unanswered in a row.
const TROUBLES_MAX: u32 = 5;

/// A code that a person has not confirmed yet.
pub struct DeviceAuthorization {
    /// Where the person goes.
    pub page: String,
    /// What the person enters there.
    pub user_code: String,
    pub lifetime: Duration,
    interval: u64,
    secret: PollSecret,
}

enum PollSecret {
    Codex { device_auth_id: SecretString },
    Standard { device_code: SecretString },
}

/// One answer to "is it confirmed?".
enum Poll {
    Pending,
    SlowDown,
    Done(Tokens),
}

pub async fn start(oauth: &OAuth) -> Result<DeviceAuthorization, OAuthError> {
    match &oauth.device_authorization_url {
        Some(url) => start_standard(oauth, url).await,
        None => start_codex(oauth).await,
    }
}

async fn start_standard(oauth: &OAuth, url: &str) -> Result<DeviceAuthorization, OAuthError> {
    let form = [
        ("client_id", oauth.client_id.as_str()),
        ("scope", oauth.scopes.as_str()),
    ];
    let answer = oauth::post_form(url, &form).await?;
    let body = good(&answer)?;
    let page = text(&body, "verification_uri_complete").or_else(|| text(&body, "verification_uri"));
    Ok(DeviceAuthorization {
        page: page.ok_or_else(no_code)?,
        user_code: text(&body, "user_code").ok_or_else(no_code)?,
        lifetime: lifetime(&body),
        interval: interval(&body),
        secret: PollSecret::Standard {
            device_code: text(&body, "device_code").ok_or_else(no_code)?.into(),
        },
    })
}

async fn start_codex(oauth: &OAuth) -> Result<DeviceAuthorization, OAuthError> {
    let url = format!("{}/api/accounts/deviceauth/usercode", oauth.issuer);
    let answer = oauth::post_json(&url, &json!({"client_id": oauth.client_id})).await?;
    if answer.status == 404 {
        let words = "this server offers no sign-in with a device code: use the browser";
        return Err(OAuthError::NotAccepted(words.to_owned()));
    }
    let body = good(&answer)?;
    let user_code = text(&body, "user_code").or_else(|| text(&body, "usercode"));
    Ok(DeviceAuthorization {
        page: format!("{}/codex/device", oauth.issuer),
        user_code: user_code.ok_or_else(no_code)?,
        lifetime: lifetime(&body),
        interval: interval(&body),
        secret: PollSecret::Codex {
            device_auth_id: text(&body, "device_auth_id").ok_or_else(no_code)?.into(),
        },
    })
}

fn good(answer: &HttpResponse) -> Result<Value, OAuthError> {
    if answer.ok() {
        return Ok(answer.json());
    }
    Err(oauth::refusal(answer, &[]))
}

fn no_code() -> OAuthError {
    OAuthError::Unavailable("the authorisation server's answer holds no code".to_owned())
}

fn text(body: &Value, name: &str) -> Option<String> {
    let text = said(body.get(name)?.as_str()?);
    (!text.is_empty()).then_some(text)
}

/// Servers write it as a number or as a text.
fn seconds(body: &Value, name: &str) -> Option<u64> {
    let value = body.get(name)?;
    value
        .as_u64()
        .or_else(|| value.as_str()?.trim().parse().ok())
}

fn interval(body: &Value) -> u64 {
    seconds(body, "interval")
        .unwrap_or(INTERVAL)
        .clamp(1, INTERVAL_MAX)
}

fn lifetime(body: &Value) -> Duration {
    let told = seconds(body, "expires_in").map(Duration::from_secs);
    told.unwrap_or(LIFETIME).min(LIFETIME_MAX)
}

/// Asks until the person has confirmed. `second`: how long the server's second lasts; tests shorten
/// it. The caller ends it when the code's lifetime has passed.
pub async fn wait(
    oauth: &OAuth,
    waiting: &DeviceAuthorization,
    second: Duration,
) -> Result<Tokens, OAuthError> {
    let mut interval = waiting.interval;
    let mut troubles = 0;
    loop {
        tokio::time::sleep(second * u32::try_from(interval).unwrap_or(u32::MAX)).await;
        let poll = match &waiting.secret {
            PollSecret::Codex { device_auth_id } => {
                poll_codex(oauth, device_auth_id, &waiting.user_code).await
            }
            PollSecret::Standard { device_code } => poll_standard(oauth, device_code).await,
        };
        match poll {
            Ok(Poll::Done(tokens)) => return Ok(tokens),
            Ok(Poll::Pending) => troubles = 0,
            Ok(Poll::SlowDown) => {
                troubles = 0;
                interval = (interval + SLOW_DOWN).min(INTERVAL_MAX);
            }
            Err(error @ OAuthError::NotAccepted(_)) => return Err(error),
            Err(error @ OAuthError::Unavailable(_)) => {
                troubles += 1;
                if troubles == TROUBLES_MAX {
                    return Err(error);
                }
            }
        }
    }
}

async fn poll_standard(oauth: &OAuth, device_code: &SecretString) -> Result<Poll, OAuthError> {
    let form = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
        ("device_code", device_code.expose_secret()),
        ("client_id", oauth.client_id.as_str()),
    ];
    let answer = oauth::post_form(&oauth.token_url, &form).await?;
    let body = answer.json();
    if answer.ok() {
        let tokens = Tokens::of_answer(&body, None, now_ms());
        return tokens.map(Poll::Done).ok_or_else(oauth::no_tokens);
    }
    match oauth::error_code(&body) {
        Some("authorization_pending") => Ok(Poll::Pending),
        Some("slow_down") => Ok(Poll::SlowDown),
        Some("access_denied") => Err(declined()),
        Some("expired_token") => Err(OAuthError::NotAccepted("the code has expired".to_owned())),
        _ => Err(oauth::refusal(&answer, &[device_code])),
    }
}

async fn poll_codex(
    oauth: &OAuth,
    device_auth_id: &SecretString,
    user_code: &str,
) -> Result<Poll, OAuthError> {
    let url = format!("{}/api/accounts/deviceauth/token", oauth.issuer);
    let body = json!({"device_auth_id": device_auth_id.expose_secret(), "user_code": user_code});
    let answer = oauth::post_json(&url, &body).await?;
    let body = answer.json();
    if answer.ok() {
        let code = text(&body, "authorization_code")
            .ok_or_else(no_code)?
            .into();
        let verifier = text(&body, "code_verifier").ok_or_else(no_code)?.into();
        let redirect_uri = format!("{}/deviceauth/callback", oauth.issuer);
        let tokens = oauth::exchange(oauth, &code, &verifier, &redirect_uri).await?;
        return Ok(Poll::Done(tokens));
    }
    // This server says "not yet" with 403 or 404, with or without a word about it.
    match (answer.status, oauth::error_code(&body)) {
        (429, _) | (_, Some("slow_down")) => Ok(Poll::SlowDown),
        (_, Some("access_denied")) => Err(declined()),
        (403 | 404, _) | (_, Some("authorization_pending")) => Ok(Poll::Pending),
        _ => Err(oauth::refusal(&answer, &[device_auth_id])),
    }
}

fn declined() -> OAuthError {
    OAuthError::NotAccepted("the sign-in was declined".to_owned())
}
