//! MCP servers are installed from a configuration, switched on and off, and taken away.

use std::sync::Arc;

use vocabulary::{
    McpChangeKind, McpInstallOutcome, McpInstalled, McpLayer, McpScope, McpServer, Refusal, Secret,
    ThreadCard,
};

use super::{changes, find};
use crate::Shared;
use crate::servers::place;
use crate::trust;
use crate::trust::servers::{self as server_trust, TrustAnswer};

/// Each server of the configuration by itself: what is wrong with one keeps no other away.
pub async fn install(
    shared: &Arc<Shared>,
    card: &ThreadCard,
    config: Secret,
    scope: McpScope,
    enabled: bool,
) -> Result<Vec<McpInstalled>, Refusal> {
    let parsed = mcp::parse_portable(&config.reveal()).map_err(|wrong| {
        let message = format!("config_json: {wrong}");
        Refusal::invalid("config_json", message)
    })?;
    let mut installed = Vec::new();
    for (name, server) in parsed {
        let outcome = match server {
            Ok(server) => one(shared, card, server, scope, enabled).await,
            Err(wrong) => Err(wrong),
        };
        let outcome = outcome.unwrap_or_else(McpInstallOutcome::Refused);
        installed.push(McpInstalled { name, outcome });
    }
    Ok(installed)
}

async fn one(
    shared: &Arc<Shared>,
    card: &ThreadCard,
    server: McpServer,
    scope: McpScope,
    enabled: bool,
) -> Result<McpInstallOutcome, String> {
    let (own, place, name) = (shared.own(&card.tenant), place(card), server.name.clone());
    let words = |refusal: Refusal| refusal.message;
    let known = own.mcp_tools.configured(&place).await;
    let layer = match scope {
        McpScope::Workspace => McpLayer::Workspace,
        McpScope::User => McpLayer::User,
    };
    let is_it = |each: &mcp::ConfiguredServer| each.server.name == name && each.layer == layer;
    let (outcome, what) = match known.iter().any(is_it) {
        true => (McpInstallOutcome::Updated, McpChangeKind::Updated),
        false => (McpInstallOutcome::Installed, McpChangeKind::Installed),
    };
    let before = trust::look(shared, card).await.map_err(words)?;
    own.mcp
        .install(&place, scope, server)
        .await
        .map_err(words)?;
    // Who writes it through us trusts it by that, as it is read from now on.
    let saved = find(shared, &place, &name).await.map_err(words)?;
    if saved.layer == McpLayer::Workspace {
        let kept = server_trust::keep(shared, card, &saved, TrustAnswer::Yes).await;
        kept.map_err(words)?;
    }
    trust::keep_through(shared, card, &before)
        .await
        .map_err(words)?;
    let switched = server_trust::switch(shared, card, &name, enabled).await;
    switched.map_err(words)?;
    changes::configured(shared, card, scope, &name, what).await;
    Ok(outcome)
}

pub async fn uninstall(
    shared: &Arc<Shared>,
    card: &ThreadCard,
    name: &str,
    scope: McpScope,
) -> Result<(), Refusal> {
    let (own, place) = (shared.own(&card.tenant), place(card));
    let before = trust::look(shared, card).await?;
    match scope {
        McpScope::Workspace => own.mcp.delete(&place, name).await?,
        McpScope::User => {
            own.mcp.delete_of_user(&place, name).await?;
            own.mcp.forget(&place, name);
        }
    }
    trust::keep_through(shared, card, &before).await?;
    // Whoever installs one of this name again means to use it.
    server_trust::switch(shared, card, name, true).await?;
    changes::configured(shared, card, scope, name, McpChangeKind::Uninstalled).await;
    Ok(())
}

/// Who switches a server on trusts it, where that is needed.
pub async fn set_enabled(
    shared: &Arc<Shared>,
    card: &ThreadCard,
    name: &str,
    enabled: bool,
) -> Result<(), Refusal> {
    let (own, place) = (shared.own(&card.tenant), place(card));
    let server = find(shared, &place, name).await?;
    if enabled && server.layer.is_of_workspace() {
        server_trust::keep(shared, card, &server, TrustAnswer::Yes).await?;
    }
    server_trust::switch(shared, card, name, enabled).await?;
    if !enabled {
        own.mcp.forget(&place, name);
    }
    changes::configured(
        shared,
        card,
        McpScope::Workspace,
        name,
        McpChangeKind::Switched,
    )
    .await;
    Ok(())
}
