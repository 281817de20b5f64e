//! A directory for temporary files per workspace: private, and gone with the server.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

/// More workspaces than this: the one used longest ago starts anew.
const WORKSPACES_MAX: usize = 256;

#[derive(Debug, Default)]
pub struct Temps {
    /// The latest used last.
    made: Mutex<VecDeque<(PathBuf, TempDir)>>,
}

impl Temps {
    /// The one of a workspace; made when first asked for.
    pub fn of(&self, workspace: &Path) -> std::io::Result<PathBuf> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let known = made
            .iter()
            .position(|(of, temp)| of == workspace && temp.path().is_dir());
        let entry = match known.and_then(|at| made.remove(at)) {
            Some(entry) => entry,
            None => {
                let temp = tempfile::Builder::new().prefix("dragoman-").tempdir()?;
                (workspace.to_owned(), temp)
            }
        };
        let path = entry.1.path().canonicalize()?;
        made.push_back(entry);
        if made.len() > WORKSPACES_MAX {
            made.pop_front();
        }
        Ok(path)
    }
}
