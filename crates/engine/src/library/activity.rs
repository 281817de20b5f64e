//! Workspaces that nobody may work in for now: their threads can be read, and nothing starts in them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::Mutex;
use store::RecordKind;
use vocabulary::{Caller, Refusal, TenantId, ThreadId, Why, WorkspaceId};

use super::{owned, records};
use crate::Shared;

/// The inactive workspaces of each tenant, as they were last read. Every turn asks, so they are kept.
#[derive(Default)]
pub struct InactiveWorkspaces(Mutex<KnownInactive>);

#[derive(Default)]
struct KnownInactive {
    of: HashMap<TenantId, Arc<HashSet<WorkspaceId>>>,
    /// How often something was forgotten: what was read before that is not kept behind it.
    forgotten: u64,
}

impl InactiveWorkspaces {
    /// A workspace of this tenant changed: who asks next reads again.
    pub fn forget(&self, tenant: &TenantId) {
        let mut known = self.0.lock();
        known.of.remove(tenant);
        known.forgotten += 1;
    }

    pub fn forget_all(&self) {
        let mut known = self.0.lock();
        known.of.clear();
        known.forgotten += 1;
    }
}

/// Whether threads and turns may start in a workspace.
pub async fn is_active(
    shared: &Arc<Shared>,
    tenant: &TenantId,
    workspace: &WorkspaceId,
) -> Result<bool, Refusal> {
    // Changes of other processes are heard of from now on.
    shared.follow_others();
    let (known, forgotten) = {
        let known = shared.inactive.0.lock();
        (known.of.get(tenant).cloned(), known.forgotten)
    };
    let inactive = match known {
        Some(known) => known,
        None => {
            let library = records::read(shared, tenant, &[RecordKind::Workspace]).await?;
            let inactive = library.workspaces.into_iter();
            let inactive = inactive.filter(|each| !each.is_active).map(|each| each.id);
            let inactive: Arc<HashSet<WorkspaceId>> = Arc::new(inactive.collect());
            let mut known = shared.inactive.0.lock();
            if known.forgotten == forgotten {
                known.of.insert(tenant.clone(), Arc::clone(&inactive));
            }
            inactive
        }
    };
    Ok(!inactive.contains(workspace))
}

/// Refuses to start something in a thread of an inactive workspace.
pub async fn check_thread(
    shared: &Arc<Shared>,
    caller: &Caller,
    thread: ThreadId,
) -> Result<(), Refusal> {
    let card = owned(shared, caller, thread).await?;
    match is_active(shared, &card.tenant, &card.workspace).await? {
        true => Ok(()),
        false => Err(Refusal::new(Why::Conflict, not_active(&card.workspace))),
    }
}

pub fn not_active(workspace: &WorkspaceId) -> String {
    format!("workspace `{workspace}` is not active")
}
