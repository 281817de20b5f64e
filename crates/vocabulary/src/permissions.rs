//! What a thread's agent may do without a person: when it asks, and what it may change.

use serde::{Deserialize, Serialize};

/// When a person is asked before a tool runs.
///
/// A thread that has none of its own (an old one) asks as it always did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approvals {
    /// For whatever is not known to be harmless.
    #[default]
    Ask,
    /// As `Ask`, but a command that only shows files runs.
    AskUnlessRead,
    /// For what leaves the sandbox or destroys; what the sandbox holds runs.
    Auto,
    /// For nothing: as `Auto`, but what would be asked for is refused.
    Never,
    /// Commands run in the sandbox whatever they do; for one that it stopped, a person is asked whether
    /// it may run outside.
    OnFailure,
}

/// What commands and file tools may change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxMode {
    /// Nothing without a person's word.
    ReadOnly,
    #[default]
    WorkspaceWrite,
    /// Whatever the server's user may. Only where the server's owner allowed it, or where no sandbox
    /// holds anyway.
    FullAccess,
}

/// What really holds the commands of a thread, as found out on this machine.
///
/// By default nothing: the weakest claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxInForce {
    /// False: a command that runs can do whatever the server's user can.
    pub holds: bool,
    /// Whether commands reach the network.
    pub network: bool,
    /// By what they are held.
    #[serde(default)]
    pub mechanism: SandboxMechanism,
}

/// What a caller's threads can be given on this server, before one is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionOffer {
    /// Threads that really only read.
    pub read_only: bool,
    /// Threads that write in their workspace and nowhere else.
    pub workspace_write: bool,
    /// Threads without a sandbox.
    pub full_access: bool,
    /// The network for commands, in the sandbox.
    pub network: bool,
}

/// By what commands are fenced in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxMechanism {
    #[default]
    Nothing,
    Bubblewrap,
    Landlock,
}
