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
    async fn check(&self, cx: &ToolCx, files: &[PathBuf]) -> CheckRun;
}

/// What a checker gives.
#[derive(Debug)]
pub struct CheckRun {
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

/// What runs for these files, formatters first, each rule with the files that it is for. A file for
/// which something is configured needs nothing that was found.
pub fn chosen(
    configured: Vec<CheckRule>,
    found: Vec<CheckRule>,
    files: &[PathBuf],
    is_there: &dyn Fn(&Path) -> bool,
) -> Vec<(CheckRule, Vec<PathBuf>)> {
    let mut chosen = Vec::new();
    for kind in CheckKind::ALL {
        let of_kind = |rule: &&CheckRule| rule.kind == kind;
        let mut others = files.to_vec();
        for rule in configured.iter().filter(of_kind) {
            let fitting = rule.matching(files);
            others.retain(|file| !fitting.contains(file));
            chosen.push((rule.clone(), fitting));
        }
        for rule in found.iter().filter(of_kind) {
            chosen.push((rule.clone(), rule.matching(&others)));
        }
    }
    for (rule, fitting) in &mut chosen {
        if rule.names_files() {
            fitting.retain(|file| is_there(file));
        }
    }
    chosen.retain(|(_, fitting)| !fitting.is_empty());
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Vec<CheckRule> {
        in_workspace(text).expect("rules")
    }

    #[test]
    fn configured_rules_stand_for_found_ones_and_formatters_come_first() {
        let configured = rules("[[check]]\nfiles = 'src/*.rs'\nrun = 'own'");
        let found = rules(
            "[[check]]\nfiles = '*.rs'\nrun = 'found'\n[[check]]\nfiles = '*.py'\nrun = 'py'\n\
             [[format]]\nfiles = '*.rs'\nrun = 'fmt {files}'",
        );
        let chosen = |files: &[&str]| -> Vec<String> {
            let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
            let is_there = |file: &Path| file != Path::new("gone.rs");
            let chosen = chosen(configured.clone(), found.clone(), &files, &is_there);
            let line = |(rule, files): &(CheckRule, Vec<PathBuf>)| {
                format!("{} {}", rule.line(files), files.len())
            };
            chosen.iter().map(line).collect()
        };
        assert_eq!(chosen(&["src/a.rs"]), ["fmt 'src/a.rs' 1", "own 1"]);
        assert_eq!(
            chosen(&["src/a.rs", "b.rs"]),
            ["fmt 'src/a.rs' 'b.rs' 2", "own 1", "found 1"]
        );
        assert_eq!(
            chosen(&["gone.rs"]),
            ["found 1"],
            "what is gone breaks others"
        );
        assert_eq!(chosen(&["a.md"]), [""; 0]);
    }
}
