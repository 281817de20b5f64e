//! Tells of MCP servers that are configured otherwise, start, end, or have other tools.

use std::sync::{Arc, Weak};

use mcp::ServerChange;
use store::RecordKind;
use tokio::sync::broadcast;
use vocabulary::{
    McpChangeKind, McpScope, Notice, Refusal, TenantId, ThreadCard, WorkspaceDirectory, WorkspaceId,
};

use crate::Shared;
use crate::library::{records, workspaces};

/// A server of this name is configured otherwise now.
pub async fn configured(
    shared: &Arc<Shared>,
    card: &ThreadCard,
    scope: McpScope,
    name: &str,
    what: McpChangeKind,
) {
    let own = match scope {
        McpScope::Workspace => Some(card.directory.as_path()),
        McpScope::User => None,
    };
    let found = concerned(shared, &card.tenant, own).await;
    // Who cannot be told reads it with the next list.
    let Ok(workspaces) = found else { return };
    let notice = Notice::McpChanged {
        workspaces,
        version: shared.versions.mcp_changed(),
        name: name.to_owned(),
        what,
    };
    shared.notify(&card.tenant, notice);
}

/// The workspaces of a directory, or all.
async fn concerned(
    shared: &Shared,
    tenant: &TenantId,
    directory: Option<&std::path::Path>,
) -> Result<Vec<WorkspaceId>, Refusal> {
    let library = records::read(shared, tenant, &[RecordKind::Workspace]).await?;
    let own = shared.own(tenant);
    let lies_there = |each: &&vocabulary::Workspace| match (&each.directory, directory) {
        (_, None) => true,
        (WorkspaceDirectory::Given(path), Some(directory)) => path == directory,
        (WorkspaceDirectory::Managed, Some(directory)) => {
            own.workspace_path(&workspaces::file_name(tenant, &each.id)) == directory
        }
    };
    let there = library.workspaces.iter().filter(lies_there);
    Ok(there.map(|each| each.id.clone()).collect())
}

/// Tells of a tenant's servers from now on, as long as there is an engine.
pub async fn follow(
    engine: Weak<Shared>,
    tenant: TenantId,
    mut changes: broadcast::Receiver<ServerChange>,
) {
    loop {
        let change = match changes.recv().await {
            Ok(change) => change,
            Err(broadcast::error::RecvError::Lagged(_)) => continue,
            Err(broadcast::error::RecvError::Closed) => return,
        };
        let Some(shared) = engine.upgrade() else {
            return;
        };
        if change.place.tenant == tenant {
            tell(&shared, &change).await;
        }
    }
}

async fn tell(shared: &Arc<Shared>, change: &ServerChange) {
    let (place, name) = (&change.place, &change.server.server.name);
    let found = concerned(shared, &place.tenant, Some(&place.directory)).await;
    let Ok(workspaces) = found else { return };
    if workspaces.is_empty() {
        return;
    }
    let card = workspaces::card_in(place.tenant.clone(), place.directory.clone());
    let snapshot = super::snapshot(shared, &card).await;
    let mut states = snapshot.servers.into_iter();
    let Some(state) = states.find(|state| state.server.name == *name) else {
        return;
    };
    let notice = Notice::McpServerChanged {
        workspaces,
        version: shared.versions.mcp_changed(),
        state: Box::new(state),
    };
    shared.notify(&place.tenant, notice);
}
