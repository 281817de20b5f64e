//! Notices: hints that a list changed, to those who watch it.

use std::sync::Arc;

use tokio::sync::{broadcast, watch};
use vocabulary::{
    Notice, TenantId, Thread, ThreadCard, TracingState, Workspace, WorkspaceChange, WorkspaceId,
};

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
        Watcher(WatchedNotices::Lists {
            tenant: tenant.clone(),
            notices: self.0.subscribe(),
        })
    }

    fn send(&self, to: Option<TenantId>, notice: Notice) {
        // Nobody watching is fine.
        let _ = self.0.send(Arc::new((to, notice)));
    }
}

/// Hears the notices of one tenant, or only those of the server itself.
pub struct Watcher(WatchedNotices);

enum WatchedNotices {
    Lists {
        tenant: TenantId,
        notices: broadcast::Receiver<Arc<Addressed>>,
    },
    Server(watch::Receiver<Arc<TracingState>>),
}

impl Watcher {
    pub(crate) fn of_server(changes: watch::Receiver<Arc<TracingState>>) -> Self {
        Self(WatchedNotices::Server(changes))
    }

    /// The next notice. Missed ones of lists become one `Reload`.
    pub async fn next(&mut self) -> Option<Notice> {
        let (tenant, notices) = match &mut self.0 {
            WatchedNotices::Lists { tenant, notices } => (tenant, notices),
            WatchedNotices::Server(changes) => {
                changes.changed().await.ok()?;
                let state = Arc::clone(&changes.borrow_and_update());
                return Some(Notice::TracingChanged { state });
            }
        };
        loop {
            match notices.recv().await {
                Ok(told) => {
                    let (to, notice) = &*told;
                    if to.as_ref().is_none_or(|to| to == tenant) {
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

    /// Of a thread that is in no list, nobody who watches lists is told.
    fn notify_of(&self, card: &ThreadCard, notice: Notice) {
        if !card.ephemeral {
            self.notify(&card.tenant, notice);
        }
    }

    pub(crate) fn thread_added(&self, thread: &Thread) {
        let (card, thread) = (&thread.card, Box::new(thread.clone()));
        self.notify_of(card, Notice::ThreadAdded { thread });
    }

    pub(crate) fn thread_changed(&self, thread: &Thread) {
        let (card, thread) = (&thread.card, Box::new(thread.clone()));
        self.notify_of(card, Notice::ThreadChanged { thread });
    }

    /// It woke up or fell asleep.
    pub(crate) fn thread_status_changed(&self, thread: Thread) {
        let (card, thread) = (thread.card.clone(), Box::new(thread));
        self.notify_of(&card, Notice::ThreadStatusChanged { thread });
    }

    pub(crate) fn thread_removed(&self, card: &ThreadCard) {
        self.notify_of(card, Notice::ThreadRemoved { thread: card.id });
        self.search.changed();
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
