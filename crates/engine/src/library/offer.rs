//! What the engine has to offer: models, tools, and where MCP servers are configured.

use std::sync::Arc;

use vocabulary::{
    AuthMethod, Catalog, CatalogProvider, McpFile, McpLayer, McpSnapshot, ProviderStatus,
    ThreadCard,
};

use crate::{Shared, now};

pub fn catalog(shared: &Shared) -> Catalog {
    let providers = providers::catalog::PROVIDERS
        .iter()
        .map(|entry| CatalogProvider {
            id: entry.id.to_owned(),
            name: entry.name.to_owned(),
            models: entry.models.iter().map(|&model| model.to_owned()).collect(),
            default_model: entry.models[0].to_owned(),
            auth_methods: entry.auth.iter().map(auth_method).collect(),
            connected: shared.providers.contains_key(entry.id),
        });
    Catalog {
        providers: providers.collect(),
        default: shared.config.default_model.clone(),
    }
}

fn auth_method(method: &providers::catalog::Auth) -> AuthMethod {
    match *method {
        providers::catalog::Auth::ApiKey { id, label } => AuthMethod::ApiKey {
            id: id.to_owned(),
            label: label.to_owned(),
        },
        providers::catalog::Auth::OAuth { id, label } => AuthMethod::OAuth {
            id: id.to_owned(),
            label: label.to_owned(),
        },
    }
}

pub fn provider_status(shared: &Shared) -> Vec<ProviderStatus> {
    let checked_at = now();
    let status = |entry: &providers::catalog::Entry| {
        let connected = shared.providers.contains_key(entry.id);
        ProviderStatus {
            provider: entry.id.to_owned(),
            authorized: connected,
            verified: connected,
            message: match connected {
                true => "Connected.".to_owned(),
                false => "Not connected.".to_owned(),
            },
            checked_at,
        }
    };
    providers::catalog::PROVIDERS.iter().map(status).collect()
}

pub fn tool_names(shared: &Shared) -> Vec<(String, String)> {
    let first_line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    let named =
        |tool: &Arc<dyn tools::Tool>| (tool.name().to_owned(), first_line(tool.description()));
    shared.tools.list().iter().map(named).collect()
}

/// Looks where MCP servers would be configured. Reading them is a later capability.
pub async fn mcp_files(shared: &Shared, card: &ThreadCard) -> McpSnapshot {
    let home = &shared.config.home;
    let user = home.parent().unwrap_or(home);
    let data = &shared.config.workspace_data;
    let layers = [
        (
            McpLayer::Workspace,
            card.directory.join(data).join("mcp-servers.json"),
        ),
        (McpLayer::User, home.join("config/mcp-servers.json")),
        (
            McpLayer::System,
            std::path::PathBuf::from("/etc/dragoman/mcp-servers.json"),
        ),
        (
            McpLayer::WorkspaceLegacy,
            card.directory.join(".agent/mcp-servers.json"),
        ),
        (McpLayer::UserLegacy, user.join(".agent/mcp-servers.json")),
    ];
    let mut files = Vec::with_capacity(layers.len());
    for (layer, path) in layers {
        let exists = tokio::fs::try_exists(&path).await.unwrap_or(false);
        files.push(McpFile {
            layer,
            path,
            exists,
        });
    }
    McpSnapshot { files }
}
