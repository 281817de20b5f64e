//! Notices: unnumbered hints that a list changed.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    McpChangeKind, McpServerState, SkillChange, Thread, ThreadId, Timestamp, TracingState,
    Workspace, WorkspaceChange, WorkspaceId,
};

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
    /// A skill of the user's changed: every workspace sees it.
    SkillsChanged {
        version: u64,
        at: Timestamp,
        change: Box<SkillChange>,
    },
    /// An MCP server is configured otherwise in these workspaces.
    McpChanged {
        workspaces: Vec<WorkspaceId>,
        version: u64,
        name: String,
        what: McpChangeKind,
    },
    /// An MCP server of these workspaces started, ended, or has other tools.
    McpServerChanged {
        workspaces: Vec<WorkspaceId>,
        version: u64,
        state: Box<McpServerState>,
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
