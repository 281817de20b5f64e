//! Checks and formatters that run after the agent has changed files: which there are, running them, and
//! what of their results is news.

mod found;
mod rule;
mod written;

use std::path::{Path, PathBuf};

pub use found::find;
pub use rule::{CheckKind, CheckRule, RuleOrigin};
pub use written::{RuleError, in_workspace, read_rules};

use crate::folders::OWN;

/// Where a workspace has rules of its own, from its directory on.
pub fn workspace_file() -> PathBuf {
    Path::new(OWN).join("config").join("config.toml")
}
