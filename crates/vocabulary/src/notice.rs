//! Notices: unnumbered hints that a list changed.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Thread, ThreadId, TracingState, Workspace, WorkspaceChange, WorkspaceId};

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
    /// It is awake now, or asleep: nothing else of it is another.
    ThreadStatusChanged {
        thread: Box<Thread>,
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
    /// How the tracing of turns fares; only to who watches the server itself.
    TracingChanged {
        state: Arc<TracingState>,
    },
    /// The server is about to go; the last thing a connection hears.
    ShuttingDown {
        reason: Cow<'static, str>,
    },
}
