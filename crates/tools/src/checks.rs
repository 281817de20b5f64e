//! Checks and formatters that run after the agent has changed files: which there are, running them, and
//! what of their results is news.

mod command;
mod found;
mod history;
mod problems;
mod rule;
mod written;

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use vocabulary::{Subject, ToolOutput};

pub use command::CommandChecker;
pub use found::find;
pub use history::CheckHistory;
pub use problems::Problem;
pub use rule::{CheckKind, CheckRule, RuleOrigin};
pub use written::{RuleError, in_workspace, read_rules};

use crate::folders::OWN;
use crate::{Failure, ToolCx};

/// Where a workspace has rules of its own, from its directory on.
pub fn workspace_file() -> PathBuf {
    Path::new(OWN).join("config").join("config.toml")
}

/// Looks at files that were changed. Commands do; what asks a language server would be another one.
#[async_trait]
pub trait Checker: Send + Sync {
    fn rule(&self) -> &CheckRule;
    /// What looking at these files is about, for people.
    fn subject(&self, files: &[PathBuf]) -> Subject;
    /// Looks at files, given from the workspace on. Cancelling is prompt.
    async fn check(&self, cx: &ToolCx, files: &[PathBuf]) -> Checked;
}

/// What a checker gives.
#[derive(Debug)]
pub struct Checked {
    /// For people: all of it.
    pub output: Result<ToolOutput, Failure>,
    pub end: CheckEnd,
    /// What it made of files, in words for the model.
    pub formatted: Vec<String>,
}

/// How a check ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckEnd {
    Passed,
    Failed {
        exit_code: i32,
        problems: Vec<Problem>,
    },
    TimedOut,
    /// There is no such program, or no fence for it.
    CouldNotRun,
    Cancelled,
}
