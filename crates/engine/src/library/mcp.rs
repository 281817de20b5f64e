//! What clients want of MCP servers.

use std::sync::Arc;

use mcp::{ConfiguredServer, McpPlace};
use vocabulary::{
    McpAuthMode, McpCall, McpChangeKind, McpCheck, McpLayer, McpReply, McpRunning, McpScope,
    McpSnapshot, Refusal, Reply, ThreadCard, Why,
};

use crate::Shared;
use crate::servers::place;
use crate::trust;
use crate::trust::servers::{self as server_trust, TrustAnswer};

mod changes;
mod installing;

pub(crate) use changes::follow;

pub async fn answer(
    shared: &Arc<Shared>,
    card: &ThreadCard,
    call: McpCall,
) -> Result<Reply, Refusal> {
    let (own, place) = (shared.own(&card.tenant), place(card));
    let servers = &own.mcp;
    let reply = match call {
        McpCall::Get => McpReply::Servers(snapshot(shared, card).await),
        McpCall::Save {
            server,
            previous_name,
        } => {
            let name = server.name.trim().to_owned();
            let (previous, before) = (previous_name.as_deref(), trust::look(shared, card).await?);
            servers.save(&place, *server, previous).await?;
            // Who writes it through us trusts it by that, as it is read from now on, and nothing else
            // that lies beside it.
            let saved = find(shared, &place, &name).await?;
            if saved.layer == McpLayer::Workspace {
                server_trust::keep(shared, card, &saved, TrustAnswer::Yes).await?;
            }
            trust::keep_through(shared, card, &before).await?;
            let what = McpChangeKind::Updated;
            changes::configured(shared, card, McpScope::Workspace, &name, what).await;
            McpReply::Servers(snapshot(shared, card).await)
        }
        McpCall::Delete { name } => {
            let scope = McpScope::Workspace;
            installing::uninstall(shared, card, &name, scope).await?;
            McpReply::Servers(snapshot(shared, card).await)
        }
        McpCall::Uninstall { name, scope } => {
            installing::uninstall(shared, card, &name, scope).await?;
            McpReply::Servers(snapshot(shared, card).await)
        }
        McpCall::Install {
            config,
            scope,
            enabled,
        } => McpReply::Installed {
            servers: installing::install(shared, card, config, scope, enabled).await?,
            now: snapshot(shared, card).await,
        },
        McpCall::SetEnabled { name, enabled } => {
            installing::set_enabled(shared, card, &name, enabled).await?;
            McpReply::Servers(snapshot(shared, card).await)
        }
        McpCall::Restart { name } => {
            let server = find(shared, &place, &name).await?;
            if !is_trusted(shared, card, &server).await {
                let message = format!("MCP server \"{name}\" is switched off here, or not trusted");
                return Err(Refusal::new(Why::Forbidden, message));
            }
            servers.forget(&place, &name);
            servers.warm(&place, &[server]);
            McpReply::Servers(snapshot(shared, card).await)
        }
        McpCall::Check { name } => {
            let server = find(shared, &place, &name).await?;
            McpReply::Checked(match is_trusted(shared, card, &server).await {
                true => servers.check(&place, &server).await,
                false => unchecked(&name),
            })
        }
        McpCall::Authorize { name } => {
            let server = find(shared, &place, &name).await?;
            if !is_trusted(shared, card, &server).await {
                return Err(Refusal::new(Why::Forbidden, untrusted(&name)));
            }
            let challenge = servers.authorize(&place, &server).await?;
            McpReply::Challenge(Box::new(challenge))
        }
        McpCall::FinishSignIn { name, code } => {
            let server = find(shared, &place, &name).await?;
            let (result, mode) = servers.finish_sign_in(&place, &server, code).await?;
            McpReply::SignedIn { result, mode }
        }
        McpCall::SetKey { name, key } => {
            let server = find(shared, &place, &name).await?;
            let (result, mode) = servers.set_key(&place, &server, key).await?;
            McpReply::SignedIn { result, mode }
        }
        McpCall::Migrate { scope } => {
            let before = trust::look(shared, card).await?;
            let migrated = servers.migrate(&place, scope).await?;
            trust::keep_through(shared, card, &before).await?;
            migrated
        }
    };
    Ok(Reply::Mcp(Box::new(reply)))
}

/// How the servers stand, with those that wait for a person's word.
pub(super) async fn snapshot(shared: &Shared, card: &ThreadCard) -> McpSnapshot {
    let place = place(card);
    let mut snapshot = shared.own(&card.tenant).mcp.snapshot(&place).await;
    let configured: Vec<ConfiguredServer> = snapshot
        .servers
        .iter()
        .map(|state| ConfiguredServer {
            server: state.server.clone(),
            layer: state.layer,
        })
        .collect();
    let sorted = server_trust::sort(shared, card, &configured, false).await;
    for state in &mut snapshot.servers {
        let mut off = sorted.switched_off.iter();
        state.switched_off = off.any(|each| each.server.name == state.server.name);
    }
    snapshot.version = shared.versions.mcp();
    snapshot.at = shared.now();
    for waits in sorted.unknown.iter().chain(&sorted.refused) {
        let name = &waits.server.name;
        let states = snapshot.servers.iter_mut();
        for state in states.filter(|state| state.server.name == *name) {
            if state.running == McpRunning::NotStarted {
                state.running = McpRunning::WaitsForTrust;
            }
        }
    }
    snapshot
}

/// Whether a server may be run or reached without a question.
async fn is_trusted(shared: &Shared, card: &ThreadCard, server: &ConfiguredServer) -> bool {
    let one = std::slice::from_ref(server);
    let sorted = server_trust::sort(shared, card, one, false).await;
    !sorted.allowed.is_empty()
}

fn unchecked(name: &str) -> McpCheck {
    McpCheck {
        ok: false,
        mode: McpAuthMode::None,
        message: untrusted(name),
        tool_count: None,
        latency_ms: None,
    }
}

fn untrusted(name: &str) -> String {
    format!(
        "MCP server \"{name}\" came with this workspace and nobody has trusted it: save it yourself, or \
         say yes when the next turn asks"
    )
}

pub(super) async fn find(
    shared: &Shared,
    place: &McpPlace,
    name: &str,
) -> Result<ConfiguredServer, Refusal> {
    let configured = shared.own(&place.tenant).mcp_tools.configured(place).await;
    let mut servers = configured.iter();
    let server = servers.find(|each| each.server.name == name).cloned();
    server.ok_or_else(|| Refusal::invalid("name", format!("MCP server \"{name}\" not found.")))
}
