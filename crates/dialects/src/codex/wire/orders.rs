//! What a person orders in a thread.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::thread::Turn;

/// thread/shellCommand
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadShellCommandParams {
    pub thread_id: String,
    pub command: String,
    #[serde(default)]
    pub timeout_ms: Option<i64>,
}

/// review/start
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewStartParams {
    pub thread_id: String,
    pub target: ReviewStartTarget,
    #[serde(default)]
    pub delivery: Option<String>,
}

/// What is to be reviewed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ReviewStartTarget {
    UncommittedChanges,
    BaseBranch {
        branch: String,
    },
    Commit {
        sha: String,
        #[serde(default)]
        title: Option<String>,
    },
    Custom {
        instructions: String,
    },
}

/// review/start
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewStartResponse<'a> {
    pub turn: Turn<'a>,
    pub review_thread_id: String,
}
