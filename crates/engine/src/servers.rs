//! What turns need of MCP servers, and which of them may run.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mcp::{ConfiguredServer, McpPlace, Offer};
use vocabulary::{AgentMode, Thread, ThreadCard, ThreadSettings};

use crate::Shared;
use crate::trust::servers;

/// Where turns get the tools of MCP servers from.
#[async_trait]
pub trait McpTools: Send + Sync + 'static {
    /// The servers that count in a place. Starts nothing.
    async fn configured(&self, place: &McpPlace) -> Arc<[ConfiguredServer]>;
    /// Begins to connect to these, without waiting for any.
    fn warm(&self, place: &McpPlace, servers: &[ConfiguredServer]);
    /// What these servers have now, or after at most `wait`.
    async fn offer(&self, place: &McpPlace, servers: &[ConfiguredServer], wait: Duration) -> Offer;
}

#[async_trait]
impl McpTools for mcp::Servers {
    async fn configured(&self, place: &McpPlace) -> Arc<[ConfiguredServer]> {
        mcp::Servers::configured(self, place).await
    }

    fn warm(&self, place: &McpPlace, servers: &[ConfiguredServer]) {
        mcp::Servers::warm(self, place, servers);
    }

    async fn offer(&self, place: &McpPlace, servers: &[ConfiguredServer], wait: Duration) -> Offer {
        mcp::Servers::offer(self, place, servers, wait).await
    }
}

/// Whose servers a thread uses.
pub fn place(card: &ThreadCard) -> McpPlace {
    McpPlace {
        tenant: card.tenant.clone(),
        directory: card.directory.clone(),
    }
}

/// Has servers run behind what fences commands in.
pub fn fence(shared: &Arc<Shared>) {
    let weak = Arc::downgrade(shared);
    shared.mcp.fence_with(move || {
        let weak = weak.clone();
        Box::pin(async move {
            match weak.upgrade() {
                Some(shared) => {
                    mcp::Fence::new(shared.sandbox().await, shared.config.private.clone())
                }
                // Nobody is left who could use a server.
                None => mcp::Fence::new(Arc::new(tools::Sandbox::detect()), Vec::new()),
            }
        })
    });
}

/// Whether a thread with these settings uses servers at all.
pub fn are_used(settings: &ThreadSettings) -> bool {
    let has_tools = match settings.mode {
        AgentMode::Chat => false,
        AgentMode::Code | AgentMode::Plan => true,
    };
    settings.mcp && has_tools
}

/// Connects to the servers of a thread, so that they are there when the first words come. Only to those
/// that nobody need be asked for.
pub fn warm(shared: &Arc<Shared>, thread: &Thread) {
    if !are_used(&thread.settings) {
        return;
    }
    let (shared, card) = (Arc::clone(shared), thread.card.clone());
    let trusts_all = thread.settings.auto_approve;
    tokio::spawn(async move {
        let place = place(&card);
        let configured = shared.mcp_tools.configured(&place).await;
        let sorted = servers::sort(&shared, &card, &configured, trusts_all).await;
        if !sorted.allowed.is_empty() {
            shared.mcp_tools.warm(&place, &sorted.allowed);
        }
    });
}
