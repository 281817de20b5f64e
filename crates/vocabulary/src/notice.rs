//! Notices: unnumbered hints that a list changed.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{Thread, ThreadId, Workspace, WorkspaceChange, WorkspaceId};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Notice {
    ThreadAdded {
        thread: Box<Thread>,
    },
    ThreadChanged {
        thread: Box<Thread>,
    },
    ThreadRemoved {
        thread: ThreadId,
    },
    WorkspaceChanged {
        what: WorkspaceChange,
        workspace: Box<Workspace>,
    },
    /// Folders or placements changed.
    TreeChanged {
        workspace: WorkspaceId,
    },
    /// Some notices were missed: read the list again.
    Reload,
    /// The server is about to go; the last thing a connection hears.
    ShuttingDown {
        reason: Cow<'static, str>,
    },
}
