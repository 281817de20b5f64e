//! What clients want of MCP servers.

use mcp::{ConfiguredServer, Place};
use vocabulary::{McpCall, McpReply, Refusal, Reply, ThreadCard};

use crate::Shared;

pub async fn answer(shared: &Shared, card: &ThreadCard, call: McpCall) -> Result<Reply, Refusal> {
    let (servers, place) = (&shared.mcp, place(card));
    let reply = match call {
        McpCall::Get => McpReply::Servers(servers.snapshot(&place).await),
        McpCall::Save {
            server,
            previous_name,
        } => {
            let previous = previous_name.as_deref();
            servers.save(&place, *server, previous).await?;
            McpReply::Servers(servers.snapshot(&place).await)
        }
        McpCall::Delete { name } => {
            servers.delete(&place, &name).await?;
            McpReply::Servers(servers.snapshot(&place).await)
        }
        McpCall::Check { name } => {
            let server = find(shared, &place, &name).await?;
            McpReply::Checked(servers.check(&place, &server).await)
        }
        McpCall::Authorize { name } => {
            let server = find(shared, &place, &name).await?;
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
        McpCall::Migrate { scope } => servers.migrate(&place, scope).await?,
    };
    Ok(Reply::Mcp(Box::new(reply)))
}

/// Whose servers a thread uses.
pub fn place(card: &ThreadCard) -> Place {
    Place {
        tenant: card.tenant.clone(),
        directory: card.directory.clone(),
    }
}

async fn find(shared: &Shared, place: &Place, name: &str) -> Result<ConfiguredServer, Refusal> {
    let configured = shared.mcp.configured(place).await;
    let mut servers = configured.iter();
    let server = servers.find(|each| each.server.name == name).cloned();
    server.ok_or_else(|| Refusal::invalid("name", format!("MCP server \"{name}\" not found.")))
}
