//! Commands of a client's own.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// command/exec
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandExecParams {
    /// The program and its arguments.
    pub command: Vec<String>,
    #[serde(default)]
    pub cwd: Option<String>,
    #[serde(default)]
    pub timeout_ms: Option<i64>,
    #[serde(default)]
    pub output_bytes_cap: Option<u64>,
    /// Variables that are set; null removes one.
    #[serde(default)]
    pub env: Option<BTreeMap<String, Option<String>>>,
    /// An object, by its `type`.
    #[serde(default)]
    pub sandbox_policy: Option<Value>,
    #[serde(default)]
    pub permission_profile: Option<String>,
    #[serde(default)]
    pub disable_timeout: bool,
    #[serde(default)]
    pub tty: bool,
    #[serde(default)]
    pub stream_stdin: bool,
    #[serde(default)]
    pub stream_stdout_stderr: bool,
}

/// command/exec
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandExecResponse<'a> {
    pub exit_code: i32,
    pub stdout: &'a str,
    pub stderr: &'a str,
}
