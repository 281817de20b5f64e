//! Notices: unnumbered hints that a list changed.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{Thread, ThreadId, Workspace, WorkspaceChange, WorkspaceId};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Notice {
    ThreadAdded {
        revision: u64,
        thread: Box<Thread>,
    },
    ThreadChanged {
        revision: u64,
        thread: Box<Thread>,
    },
    ThreadRemoved {
        revision: u64,
        thread: ThreadId,
    },
    WorkspaceChanged {
        revision: u64,
        what: WorkspaceChange,
        workspace: Box<Workspace>,
    },
    /// Folders or placements changed.
    TreeChanged {
        revision: u64,
        workspace: WorkspaceId,
    },
    /// Some notices were missed: read the list again.
    Reload {
        revision: u64,
    },
    /// The server is about to go; the last thing a connection hears.
    ShuttingDown {
        reason: Cow<'static, str>,
    },
}
