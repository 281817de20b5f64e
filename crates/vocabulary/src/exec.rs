//! Commands of a client's own, which belong to no thread.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::SandboxMode;

/// A command that a client wants run behind the sandbox's fence, to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecCommand {
    /// The program and its arguments; no shell reads them.
    pub words: Vec<String>,
    /// Where it runs; the server's own directory when absent.
    pub directory: Option<PathBuf>,
    /// What it is held by. Where nothing is said it may only read, where there is a sandbox.
    pub sandbox: Option<SandboxMode>,
    /// Variables that are set for it, or removed.
    pub environment: Vec<(String, Option<String>)>,
    /// After this time it is ended.
    pub timeout_ms: Option<u64>,
    /// How much of each of its streams is kept.
    pub output_bytes_max: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecOutput {
    pub exit_code: i32,
    pub stdout: String,
    pub stderr: String,
}
