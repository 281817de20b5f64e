//! How it stands with what a server asks of those who come, from its configuration and what is saved.

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use vocabulary::{McpAuth, McpAuthMode, McpAuthState, McpServer, McpTransport};

use crate::ConfiguredServer;
use crate::credentials::{
    CredentialsError, OAuthPart, SavedCredentials, ServerCredentials, scope_of,
};

/// The header that carries a key when nothing else is said, and what stands before the key in it.
const KEY_HEADER: &str = "Authorization";
const KEY_PREFIX: &str = "Bearer";

/// How a server stands, where `saved` is the file of its scope.
pub fn auth_state(
    server: &ConfiguredServer,
    saved: Result<&SavedCredentials, &CredentialsError>,
) -> McpAuthState {
    let (mode, message) = match (wanted(&server.server), saved) {
        // One that says nothing of it in its file may have asked for a sign-in all the same.
        (McpAuth::None, Ok(saved)) if has_signed_in(&server.server, saved) => {
            let (mode, message) = oauth_state(&saved.of(&server.server.name));
            (mode, message.to_owned())
        }
        (McpAuth::None, _) => (McpAuthMode::None, "No authentication required.".to_owned()),
        (McpAuth::ApiKey { .. } | McpAuth::OAuth { .. }, Err(error)) => {
            (McpAuthMode::Error, error.to_string())
        }
        (auth, Ok(saved)) => {
            let saved = saved.of(&server.server.name);
            let (mode, message) = match auth {
                McpAuth::None => (McpAuthMode::None, ""),
                McpAuth::ApiKey { key_id, .. } => key_state(key_id.as_deref(), &saved),
                McpAuth::OAuth { .. } => oauth_state(&saved),
            };
            (mode, message.to_owned())
        }
    };
    McpAuthState {
        mode,
        scope: scope_of(server.layer),
        message,
    }
}

/// What a server asks for. One that we start ourselves is given its keys by its environment.
fn wanted(server: &McpServer) -> &McpAuth {
    match (&server.transport, &server.auth) {
        (McpTransport::Stdio { .. }, _) | (_, None) => &McpAuth::None,
        (McpTransport::Http { .. } | McpTransport::Sse { .. }, Some(auth)) => auth,
    }
}

fn has_signed_in(server: &McpServer, saved: &SavedCredentials) -> bool {
    let is_remote = match &server.transport {
        McpTransport::Http { .. } | McpTransport::Sse { .. } => true,
        McpTransport::Stdio { .. } => false,
    };
    let saved = saved.of(&server.name);
    // Whoever says that it needs none is believed.
    is_remote && server.auth.is_none() && saved.oauth(OAuthPart::Tokens).is_some()
}

fn key_state(key_id: Option<&str>, saved: &ServerCredentials) -> (McpAuthMode, &'static str) {
    match usable_key(key_id, saved) {
        Some(_) => (McpAuthMode::ApiKey, "API key available."),
        None => (McpAuthMode::Missing, "API key required."),
    }
}

fn oauth_state(saved: &ServerCredentials) -> (McpAuthMode, &'static str) {
    if saved.oauth(OAuthPart::Tokens).is_some() {
        return (McpAuthMode::OAuth, "OAuth token available.");
    }
    match saved.oauth(OAuthPart::Pending) {
        Some(pending) if !has_expired(pending) => {
            let message = "OAuth sign-in waits for you to complete it.";
            (McpAuthMode::OAuthPending, message)
        }
        Some(_) | None => (McpAuthMode::Missing, "OAuth sign-in required."),
    }
}

fn has_expired(pending: &Value) -> bool {
    let at = pending.get("expiresAt").and_then(Value::as_str);
    let at = at.and_then(|at| at.parse::<jiff::Timestamp>().ok());
    at.is_some_and(|at| at <= jiff::Timestamp::now())
}

/// A key that was saved under another id is for something else.
fn usable_key(wanted: Option<&str>, saved: &ServerCredentials) -> Option<SecretString> {
    let key = saved.key()?;
    match (wanted, key.key_id.as_deref()) {
        (Some(wanted), Some(id)) if wanted != id => None,
        (Some(_) | None, Some(_) | None) => Some(key.value),
    }
}

/// The header, and its value, by which a server knows us, if it wants a key and there is one.
pub fn key_header(server: &McpServer, saved: &ServerCredentials) -> Option<(String, SecretString)> {
    let McpAuth::ApiKey {
        header,
        prefix,
        key_id,
    } = wanted(server)
    else {
        return None;
    };
    let key = usable_key(key_id.as_deref(), saved)?;
    // Whoever names a header of their own wants the key in it and nothing else, unless they say so.
    let prefix = match (prefix, header) {
        (Some(prefix), _) => prefix.trim_end(),
        (None, None) => KEY_PREFIX,
        (None, Some(_)) => "",
    };
    let value = match prefix {
        "" => key,
        prefix => format!("{prefix} {}", key.expose_secret()).into(),
    };
    Some((header.clone().unwrap_or(KEY_HEADER.to_owned()), value))
}

#[cfg(test)]
mod tests;
