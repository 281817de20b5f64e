//! What turns need of MCP servers, and which of them may run.

use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use mcp::{ConfiguredServer, McpPlace, Offer};
use tokio_util::task::AbortOnDropHandle;
use vocabulary::{AgentMode, TenantId, Thread, ThreadCard, ThreadSettings};

use crate::trust::servers;
use crate::{Shared, library};

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

/// Has the servers of a tenant, or the server's own, run behind what fences commands in.
pub fn fence(engine: Weak<Shared>, servers: &mcp::Servers, tenant: Option<TenantId>) {
    servers.fence_with(move || {
        let (engine, tenant) = (engine.clone(), tenant.clone());
        Box::pin(async move {
            let Some(shared) = engine.upgrade() else {
                // Nobody is left who could use a server.
                return mcp::Fence::new(Arc::new(tools::Sandbox::detect()), Vec::new());
            };
            let fence = mcp::Fence::new(shared.sandbox().await, shared.config.private.clone());
            let own = tenant.map(|tenant| shared.own(&tenant));
            match own.filter(|own| !own.may_leave_sandbox()) {
                Some(own) => fence.confined(own.places().unwrap_or_default()),
                None => fence,
            }
        })
    });
}

impl Shared {
    /// Tells of a tenant's servers that start, end, or have other tools, from now on.
    pub(crate) fn follow_servers(self: &Arc<Self>, tenant: &TenantId) {
        let mut followers = self.server_followers.lock();
        followers.entry(tenant.clone()).or_insert_with(|| {
            let changes = self.own(tenant).mcp.changes();
            let following = library::mcp::follow(Arc::downgrade(self), tenant.clone(), changes);
            AbortOnDropHandle::new(tokio::spawn(following))
        });
    }
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
        let (place, own) = (place(&card), shared.own(&card.tenant));
        let configured = own.mcp_tools.configured(&place).await;
        let sorted = servers::sort(&shared, &card, &configured, trusts_all).await;
        if !sorted.allowed.is_empty() {
            own.mcp_tools.warm(&place, &sorted.allowed);
        }
    });
}
