//! The files of a moment once more, in a directory of their own.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use tempfile::TempDir;
use vocabulary::RestoreAction;

use crate::restore::{Intent, apply};
use crate::tree::{self, path_of};
use crate::vault::Vault;
use crate::workspace_root::WorkspaceRoot;
use crate::{Error, Moment, Result, WorkControl};

/// Like every new directory, as far as the process's umask lets.
const DIRECTORY_MODE: u32 = 0o777;

/// Makes `to`, which may be there if it is empty. It is whole, or as it was.
pub fn copy(vault: &Vault, work: &WorkControl<'_>, of: Moment, to: &Path) -> Result<()> {
    let (Some(parent), Some(_)) = (to.parent(), to.file_name()) else {
        return Err(Error::BadPath(to.to_owned()));
    };
    let mut builder = DirBuilder::new();
    builder.recursive(true).create(parent)?;
    // Beside it, so that one step puts it there; gone again if it is not to be.
    let beside = TempDir::with_prefix_in(".dragoman-copy-", parent)?;
    let made = beside.path().join("files");
    DirBuilder::new().mode(DIRECTORY_MODE).create(&made)?;
    fill(vault, work, of, &made)?;
    std::fs::rename(&made, to)?;
    Ok(())
}

fn fill(vault: &Vault, work: &WorkControl<'_>, of: Moment, directory: &Path) -> Result<()> {
    let tree = tree::load(&vault.db.lock(), of)?;
    let kept = tree
        .into_iter()
        .filter(|(_, indexed)| indexed.entry.is_kept());
    let mut intents: Vec<Intent> = kept
        .map(|(path, indexed)| Intent {
            path,
            target: Some(indexed.entry),
            current: None,
            how: RestoreAction::Create,
        })
        .collect();
    let root = WorkspaceRoot::open(directory).map_err(Error::Workspace)?;
    apply::apply(vault, &root, work, &mut intents)?;
    // Where one would be missing it is not the state that was asked for.
    let missing = intents.iter().find_map(|intent| match &intent.how {
        RestoreAction::Skip { why } => Some((path_of(&intent.path), why)),
        RestoreAction::Create | RestoreAction::Replace | RestoreAction::Delete => None,
    });
    match missing {
        Some((path, why)) => {
            let message = format!("{} cannot be written: {why}", path.display());
            Err(Error::Io(std::io::Error::other(message)))
        }
        None => Ok(()),
    }
}
