//! What other processes on the same home change in lists.

use vocabulary::{TenantId, ThreadId};

use crate::RecordKind;

/// One entry of a tenant's lists that another process made, changed or took away.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListChange {
    pub tenant: TenantId,
    pub what: ListEntry,
    /// Whether it was not there before.
    pub is_new: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ListEntry {
    Thread(ThreadId),
    Record(RecordKind, String),
    /// What the tenant may spend.
    Credit,
}

/// What was changed elsewhere since the last time that was asked, in order, each entry once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangesElsewhere {
    pub changes: Vec<ListChange>,
    /// Threads that others would like to have.
    pub requested: Vec<ThreadId>,
    /// There was more, and it is not known any more.
    pub missed: bool,
}

impl ChangesElsewhere {
    /// Adds a change behind all others. One entry is told once, as it is by then.
    pub(crate) fn add(&mut self, mut change: ListChange) {
        let same = |known: &ListChange| known.tenant == change.tenant && known.what == change.what;
        if let Some(at) = self.changes.iter().position(same) {
            change.is_new |= self.changes.remove(at).is_new;
        }
        self.changes.push(change);
    }
}
