//! A rule: for which files which command runs when they were changed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

pub(super) const TIMEOUT_USUAL: Duration = Duration::from_secs(60);
/// Stands for the changed files in a command.
const FILES: &str = "{files}";

/// Whether a rule looks at files, or may change them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CheckKind {
    // In the order in which they run.
    Format,
    Check,
}

impl CheckKind {
    pub const ALL: [CheckKind; 2] = [CheckKind::Format, CheckKind::Check];

    /// How a settings file calls it.
    pub fn key(self) -> &'static str {
        match self {
            CheckKind::Format => "format",
            CheckKind::Check => "check",
        }
    }
}

/// Who made a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleOrigin {
    /// The user, on this line of their settings.
    User(usize),
    /// It came with the workspace, on this line of its settings.
    Workspace(usize),
    /// The project has what it takes.
    Found,
}

/// What runs when files of a kind were changed.
#[derive(Clone, Debug)]
pub struct CheckRule {
    pub kind: CheckKind,
    pub origin: RuleOrigin,
    /// For which files, as it was written.
    pub files: Vec<String>,
    pub run: String,
    pub timeout: Duration,
    pub(super) matcher: GlobSet,
}

impl CheckRule {
    pub(super) fn found(kind: CheckKind, files: &[&str], run: String) -> Option<CheckRule> {
        let files: Vec<String> = files.iter().map(|each| (*each).to_owned()).collect();
        Some(CheckRule {
            kind,
            origin: RuleOrigin::Found,
            matcher: matcher(&files).ok()?,
            files,
            run,
            timeout: TIMEOUT_USUAL,
        })
    }

    /// Those of the files that it is for.
    pub fn matching(&self, files: &[PathBuf]) -> Vec<PathBuf> {
        let fits = |file: &&PathBuf| self.matcher.is_match(file);
        files.iter().filter(fits).cloned().collect()
    }

    /// The command line for these files.
    pub fn line(&self, files: &[PathBuf]) -> String {
        let names: Vec<String> = files.iter().map(|file| quoted(file)).collect();
        self.run.replace(FILES, &names.join(" "))
    }

    /// Whether it is told which files were changed, and has nothing to do where none is left.
    pub fn names_files(&self) -> bool {
        self.run.contains(FILES)
    }
}

/// A name for a shell; one that begins with a dash is no option.
fn quoted(file: &Path) -> String {
    let name = file.to_string_lossy();
    let dash = if name.starts_with('-') { "./" } else { "" };
    format!("'{dash}{}'", name.replace('\'', r"'\''"))
}

/// `*` stays within a directory; a pattern without one is for files in every directory.
pub(super) fn matcher(patterns: &[String]) -> Result<GlobSet, globset::Error> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let anywhere = match pattern.contains('/') {
            true => pattern.to_owned(),
            false => format!("**/{pattern}"),
        };
        set.add(
            GlobBuilder::new(&anywhere)
                .literal_separator(true)
                .build()?,
        );
    }
    set.build()
}
