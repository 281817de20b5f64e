//! What other processes on the same home change in lists, noticed here as if it had happened here.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use serde::Deserialize;
use store::{ListChange, ListEntry, RecordKind, SharedStore, StoreError};
use vocabulary::{
    DEFAULT_WORKSPACE, Notice, TenantId, ThreadId, Workspace, WorkspaceChange, WorkspaceId,
};

use crate::limits::FOLLOW_AGAIN_AFTER;
use crate::session::Mail;
use crate::{Shared, library, members};

/// Goes on until the engine is gone.
pub async fn follow(store: SharedStore, engine: Weak<Shared>) {
    loop {
        let found = store.changed_elsewhere().await;
        let Some(shared) = engine.upgrade() else {
            return;
        };
        let told = match found {
            Ok(found) => {
                if found.missed {
                    shared.balances.forget_all();
                    shared.inactive.forget_all();
                    shared.notify_all_to_reload();
                    people_changed(&shared).await;
                }
                hand_over(&shared, &found.requested);
                tell(&shared, found.changes).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = told {
            tracing::warn!(%error, "what other processes change is not told for a while");
            drop(shared);
            tokio::time::sleep(FOLLOW_AGAIN_AFTER).await;
            if let Some(shared) = engine.upgrade() {
                shared.balances.forget_all();
                shared.inactive.forget_all();
                shared.notify_all_to_reload();
                people_changed(&shared).await;
            }
        }
    }
}

/// Asks sessions to let go of what another process wants. One whose mailbox is full is busy.
fn hand_over(shared: &Shared, requested: &[ThreadId]) {
    for thread in requested {
        if let Some(handle) = shared.registry.get(*thread) {
            let _ = handle.mail.try_send(Box::new(Mail::HandOver));
        }
    }
}

async fn tell(shared: &Arc<Shared>, changes: Vec<ListChange>) -> Result<(), StoreError> {
    let mut trees = BTreeSet::new();
    let of_people = |change: &ListChange| {
        use RecordKind::{Member, Tenant, Token};
        matches!(change.what, ListEntry::Record(Tenant | Member | Token, _))
    };
    // First of all: who may less from now on sees nothing of the rest.
    if changes.iter().any(of_people) {
        people_changed(shared).await;
    }
    for ListChange {
        tenant,
        what,
        is_new,
    } in changes
    {
        match what {
            ListEntry::Thread(id) => thread(shared, &tenant, id, is_new).await?,
            ListEntry::Record(RecordKind::Workspace, id) => {
                shared.inactive.forget(&tenant);
                workspace(shared, &tenant, id, is_new).await?;
            }
            ListEntry::Record(kind @ (RecordKind::Folder | RecordKind::Placement), id) => {
                for workspace in workspaces_of(shared, &tenant, kind, id).await? {
                    trees.insert((tenant.clone(), workspace));
                }
            }
            // Asked for each time they count.
            ListEntry::Record(RecordKind::Grant | RecordKind::Section, _) => {}
            ListEntry::Credit => shared.balances.forget(&tenant),
            ListEntry::Record(RecordKind::Tenant | RecordKind::Member | RecordKind::Token, _) => {}
        }
    }
    for (tenant, workspace) in trees {
        shared.tree_changed(&tenant, workspace);
    }
    Ok(())
}

async fn people_changed(shared: &Arc<Shared>) {
    shared.identity.changed();
    members::cancel_turns_of_nobody(shared).await;
}

async fn thread(
    shared: &Arc<Shared>,
    tenant: &TenantId,
    id: ThreadId,
    is_new: bool,
) -> Result<(), StoreError> {
    if shared.registry.get(id).is_some() {
        // It came here meanwhile, and tells of itself.
        return Ok(());
    }
    match shared.store.thread(id).await? {
        Some(mut thread) => {
            thread.status = library::status(shared, &thread);
            if is_new {
                shared.thread_added(&thread);
            }
            // It may have changed since it was made: both are told at once here.
            shared.thread_changed(&thread);
        }
        None => shared.notify(tenant, Notice::ThreadRemoved { thread: id }),
    }
    Ok(())
}

async fn workspace(
    shared: &Shared,
    tenant: &TenantId,
    id: String,
    is_new: bool,
) -> Result<(), StoreError> {
    let what = match is_new {
        true => WorkspaceChange::Created,
        false => WorkspaceChange::Updated,
    };
    let found = read::<Workspace>(shared, tenant, RecordKind::Workspace, id).await?;
    if let Some(workspace) = found {
        shared.workspace_changed(tenant, what, &workspace);
    }
    Ok(())
}

/// In which workspace a folder or a placement is; any, where it is gone.
async fn workspaces_of(
    shared: &Shared,
    tenant: &TenantId,
    kind: RecordKind,
    id: String,
) -> Result<Vec<WorkspaceId>, StoreError> {
    #[derive(Deserialize)]
    struct InWorkspace {
        workspace: WorkspaceId,
    }
    if let Some(found) = read::<InWorkspace>(shared, tenant, kind, id).await? {
        return Ok(vec![found.workspace]);
    }
    let all = shared.store.records(tenant, RecordKind::Workspace).await?;
    let named = all.records.iter().map(|record| record.id.as_str());
    let all = named.chain([DEFAULT_WORKSPACE]);
    Ok(all.map(WorkspaceId::new).collect())
}

async fn read<T: for<'a> Deserialize<'a>>(
    shared: &Shared,
    tenant: &TenantId,
    kind: RecordKind,
    id: String,
) -> Result<Option<T>, StoreError> {
    let found = shared.store.records_named(tenant, kind, &[id]).await?;
    let record = found.first();
    Ok(record.and_then(|record| serde_json::from_slice(&record.value).ok()))
}
