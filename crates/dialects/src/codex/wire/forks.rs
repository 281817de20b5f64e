//! What is done with a thread's past: forks, reverts, rollbacks.

use schemars::JsonSchema;
use serde::Deserialize;

use super::params::ThreadStartParams;

/// thread/fork
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadForkParams {
    pub thread_id: String,
    /// The last turn that goes along.
    #[serde(default)]
    pub last_turn_id: Option<String>,
    /// The first turn that does not.
    #[serde(default)]
    pub before_turn_id: Option<String>,
    /// As for a thread that begins anew.
    #[serde(flatten)]
    pub new: ThreadStartParams,
    #[serde(default)]
    pub exclude_turns: Option<bool>,
    /// Whether it gets the files as they were when its last turn ended, in a directory of its own. Our own.
    #[serde(default)]
    pub with_files: Option<bool>,
}

/// thread/revert
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRevertParams {
    pub thread_id: String,
    /// The first turn that goes.
    pub before_turn_id: String,
    /// Whether the files go back to what they were before it, too. Our own.
    #[serde(default)]
    pub restore_files: Option<bool>,
}

/// thread/rollback
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRollbackParams {
    pub thread_id: String,
    /// How many of the newest turns go.
    pub num_turns: u32,
    /// Whether the files go back to what they were before them, too. Our own.
    #[serde(default)]
    pub restore_files: Option<bool>,
}
