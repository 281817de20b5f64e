//! Saving the key of a server.

use reqwest::header::HeaderValue;
use vocabulary::{AuthMode, McpAuth, McpAuthMode, Refusal, Secret, SignedIn};

use crate::auth_state::auth_state;
use crate::credentials::scope_of;
use crate::{ConfiguredServer, McpPlace, Servers};

/// Saves a key. A server that wants none keeps none.
pub async fn set_key(
    servers: &Servers,
    place: &McpPlace,
    server: &ConfiguredServer,
    key: Secret,
) -> Result<(SignedIn, McpAuthMode), Refusal> {
    let key = key.reveal().trim().to_owned();
    let name = &server.server.name;
    let refused = match &server.server.auth {
        Some(McpAuth::ApiKey { .. }) if key.is_empty() => Some("The key is empty.".to_owned()),
        Some(McpAuth::ApiKey { .. }) if HeaderValue::from_str(&key).is_err() => {
            Some("The key has characters that no header can have.".to_owned())
        }
        Some(McpAuth::ApiKey { .. }) => None,
        Some(McpAuth::None | McpAuth::OAuth { .. }) | None => Some(format!(
            "MCP server \"{name}\" takes no API key: its \"auth\" must be of type \"api_key\"."
        )),
    };
    if refused.is_none() {
        let id = match &server.server.auth {
            Some(McpAuth::ApiKey { key_id, .. }) => key_id.clone(),
            Some(McpAuth::None | McpAuth::OAuth { .. }) | None => None,
        };
        let save = servers.credentials.change(place, server, move |saved| {
            saved.set_key(&key, id.as_deref());
        });
        save.await?;
    }
    let scope = scope_of(server.layer);
    let saved = servers.credentials.read_all(place, scope).await;
    let state = auth_state(server, saved.as_ref());
    let ok = refused.is_none();
    let result = SignedIn {
        ok,
        mode: ok.then_some(AuthMode::ApiKey),
        message: refused.unwrap_or_else(|| "API key saved.".to_owned()),
    };
    Ok((result, state.mode))
}
