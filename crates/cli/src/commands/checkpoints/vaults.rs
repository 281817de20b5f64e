//! All vaults of a home, whether or not their workspaces are still there.

use std::path::{Path, PathBuf};

use anyhow::Context;
use checkpoints::{Vault, VaultOptions};
use engine::VaultPlace;

/// A directory that looks like a vault.
pub struct FoundVault {
    pub directory: PathBuf,
    /// What it is for, or why that cannot be told.
    pub workspace: checkpoints::Result<PathBuf>,
}

/// In the order of their names.
pub fn all(home: &Path) -> anyhow::Result<Vec<FoundVault>> {
    let root = VaultPlace::root(home);
    let entries = match std::fs::read_dir(&root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", root.display()));
        }
    };
    let mut found = Vec::new();
    for entry in entries {
        let directory = entry?.path();
        let workspace = match Vault::workspace_of(&directory) {
            Ok(None) => continue,
            Ok(Some(workspace)) => Ok(workspace),
            Err(error) => Err(error),
        };
        found.push(FoundVault {
            directory,
            workspace,
        });
    }
    found.sort_by(|one, other| one.directory.cmp(&other.directory));
    Ok(found)
}

/// Opens a vault to look at what it holds. Nothing of its workspace is needed for that: it may be
/// gone, so the vault's own directory stands in for it.
pub fn open(directory: &Path) -> checkpoints::Result<Vault> {
    let options = VaultOptions {
        workspace: directory.to_owned(),
        apart: Vec::new(),
        limits: super::rules().0,
    };
    Vault::open(directory, options)
}
