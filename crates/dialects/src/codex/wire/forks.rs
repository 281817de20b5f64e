//! What is done with a thread's past: forks, reverts, rollbacks.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::params::ThreadConfig;

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
    #[serde(default)]
    pub cwd: Option<String>,
    #[serde(default)]
    pub model: Option<String>,
    /// A word, or an object for finer rules.
    #[serde(default)]
    pub approval_policy: Option<Value>,
    /// A word.
    #[serde(default)]
    pub sandbox: Option<Value>,
    /// The id of a permission profile, in place of a sandbox.
    #[serde(default)]
    pub permissions: Option<String>,
    #[serde(default)]
    pub config: Option<ThreadConfig>,
    #[serde(default)]
    pub developer_instructions: Option<String>,
    /// In no list, and gone with its last listener.
    #[serde(default)]
    pub ephemeral: Option<bool>,
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
