//! How servers are reached: as child processes, or over HTTP.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use secrecy::SecretString;

use crate::{ConfiguredServer, McpPlace};

pub(crate) mod http;
pub(crate) mod sse;
pub(crate) mod stdio;

/// What is shown to an HTTP server so that it lets us in.
#[derive(Clone)]
pub enum HttpCredential {
    Bearer(SecretString),
    Header { name: String, value: SecretString },
}

/// A request that a server refused.
pub struct HttpRefused<'a> {
    /// 401 or 403.
    pub status: u16,
    /// The header `WWW-Authenticate`, where it came.
    pub challenge: Option<&'a str>,
    /// What was sent with it.
    pub sent: Option<&'a HttpCredential>,
}

/// Knows the credentials of servers.
#[async_trait]
pub trait HttpAuthorizer: Send + Sync {
    /// What to show to this server now, renewed where that is due.
    async fn credential(
        &self,
        place: &McpPlace,
        server: &ConfiguredServer,
    ) -> Option<HttpCredential>;
    /// The server refused. Gives another to try once more with, or says why there is none.
    async fn refused(
        &self,
        _place: &McpPlace,
        server: &ConfiguredServer,
        _refused: HttpRefused<'_>,
    ) -> Result<HttpCredential, String> {
        Err(sign_in_advice(&server.server.name))
    }
}

pub(crate) fn sign_in_advice(name: &str) -> String {
    format!("it wants you to sign in; run `dragoman mcp login {name}`")
}

/// Why a connection ended, as far as its transport knows: the first reason counts.
#[derive(Clone, Default)]
pub(crate) struct EndReason(Arc<Mutex<Option<String>>>);

impl EndReason {
    pub fn set(&self, reason: impl Into<String>) {
        self.0.lock().get_or_insert_with(|| reason.into());
    }

    /// The last reason counts.
    pub fn replace(&self, reason: String) {
        *self.0.lock() = Some(reason);
    }

    pub fn get(&self) -> Option<String> {
        self.0.lock().clone()
    }
}

/// What must not be shown of a server's configuration: it stands in what others say of it.
pub(crate) fn secrets(server: &ConfiguredServer) -> Vec<String> {
    use vocabulary::McpTransport::{Http, Sse, Stdio};
    let mut secrets: Vec<String> = match &server.server.transport {
        Stdio { env, .. } => env.values().cloned().collect(),
        Http { url, headers } | Sse { url, headers } => {
            let values = headers.values().cloned();
            let parsed = reqwest::Url::parse(url).ok();
            let of_url = parsed.iter().flat_map(|url| {
                let parts = [url.query(), url.password(), Some(url.username())];
                parts.into_iter().flatten().map(str::to_owned)
            });
            values.chain(of_url.collect::<Vec<_>>()).collect()
        }
    };
    // Shorter ones would hide half of what is said.
    const SECRET_BYTES_MIN: usize = 5;
    secrets.retain(|secret| secret.len() >= SECRET_BYTES_MIN);
    // A secret may hold another one.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets
}

/// The same without the secrets, on lines that can be shown, and not too long.
pub(crate) fn without_secrets(text: &str, secrets: &[String], chars_max: usize) -> String {
    let mut text = text.to_owned();
    for secret in secrets {
        text = text.replace(secret.as_str(), "…");
    }
    let visible = |c: &char| *c == '\n' || !c.is_control();
    let mut shown: String = text.chars().filter(visible).take(chars_max + 1).collect();
    if shown.chars().count() > chars_max {
        shown.pop();
        shown.push('…');
    }
    shown
}

/// An error with its causes, each told once.
pub(crate) fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    // The SDK does not call it a cause.
    let of_http = error.downcast_ref::<StreamableHttpError<reqwest::Error>>();
    if let Some(StreamableHttpError::Client(error)) = of_http {
        return with_causes(error);
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}
