//! Notices: hints that a list changed, to those who watch it.

use std::sync::Arc;

use tokio::sync::broadcast;
use vocabulary::{Notice, TenantId, Thread, ThreadCard, Workspace, WorkspaceChange, WorkspaceId};

use crate::Shared;
use crate::limits::NOTICES_MAX;

/// A notice and whose it is: one tenant's, or everybody's.
type Addressed = (Option<TenantId>, Notice);

/// The notices of all tenants. Who is slow loses the oldest, and is told so.
pub(crate) struct Notices(broadcast::Sender<Arc<Addressed>>);

impl Default for Notices {
    fn default() -> Self {
        Self(broadcast::channel(NOTICES_MAX).0)
    }
}

impl Notices {
    pub(crate) fn watch(&self, tenant: &TenantId) -> Watcher {
        Watcher {
            tenant: tenant.clone(),
            notices: self.0.subscribe(),
        }
    }

    fn send(&self, to: Option<TenantId>, notice: Notice) {
        // Nobody watching is fine.
        let _ = self.0.send(Arc::new((to, notice)));
    }
}

/// Hears the notices of one tenant.
pub struct Watcher {
    tenant: TenantId,
    notices: broadcast::Receiver<Arc<Addressed>>,
}

impl Watcher {
    /// The next notice of this tenant. Missed ones become one `Reload`.
    pub async fn next(&mut self) -> Option<Notice> {
        loop {
            match self.notices.recv().await {
                Ok(told) => {
                    let (to, notice) = &*told;
                    if to.as_ref().is_none_or(|tenant| *tenant == self.tenant) {
                        return Some(notice.clone());
                    }
                }
                Err(broadcast::error::RecvError::Lagged(_)) => return Some(Notice::Reload),
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}

impl Shared {
    pub(crate) fn notify(&self, tenant: &TenantId, notice: Notice) {
        self.notices.send(Some(tenant.clone()), notice);
    }

    /// Every list may have changed.
    pub(crate) fn notify_all_to_reload(&self) {
        self.notices.send(None, Notice::Reload);
    }

    pub(crate) fn thread_added(&self, thread: &Thread) {
        let (tenant, thread) = (&thread.card.tenant, Box::new(thread.clone()));
        self.notify(tenant, Notice::ThreadAdded { thread });
    }

    pub(crate) fn thread_changed(&self, thread: &Thread) {
        let (tenant, thread) = (&thread.card.tenant, Box::new(thread.clone()));
        self.notify(tenant, Notice::ThreadChanged { thread });
    }

    pub(crate) fn thread_removed(&self, card: &ThreadCard) {
        self.notify(&card.tenant, Notice::ThreadRemoved { thread: card.id });
    }

    pub(crate) fn workspace_changed(
        &self,
        tenant: &TenantId,
        what: WorkspaceChange,
        workspace: &Workspace,
    ) {
        let workspace = Box::new(workspace.clone());
        self.notify(tenant, Notice::WorkspaceChanged { what, workspace });
    }

    pub(crate) fn tree_changed(&self, tenant: &TenantId, workspace: WorkspaceId) {
        self.notify(tenant, Notice::TreeChanged { workspace });
    }
}
