//! Where the vault of a workspace lies and how it is opened: the same for all who work with it, whether
//! they run threads or not.

use std::path::{Path, PathBuf};

use crate::backup_record;
use checkpoints::{Error, Result, SnapshotLimits, Vault, VaultOptions};

#[derive(Clone, Debug)]
pub struct VaultPlace {
    root: PathBuf,
    home: PathBuf,
    options: VaultOptions,
    workspace_data: PathBuf,
}

impl VaultPlace {
    /// `workspace_data` is the folder in a workspace that holds its settings; see
    /// [`SnapshotSettings`](crate::SnapshotSettings).
    pub fn new(
        home: &Path,
        workspace_data: &Path,
        directory: &Path,
        limits: SnapshotLimits,
    ) -> Self {
        Self {
            root: Self::root(home),
            home: home.to_owned(),
            options: VaultOptions {
                workspace: directory.to_owned(),
                apart: vec![home.to_owned()],
                limits,
            },
            workspace_data: workspace_data.to_owned(),
        }
    }

    /// Where the vaults of all workspaces lie.
    pub fn root(home: &Path) -> PathBuf {
        home.join("checkpoints")
    }

    /// Where that of a workspace lies, or would lie.
    pub fn of_workspace(home: &Path, workspace: &Path) -> PathBuf {
        Vault::place(&Self::root(home), workspace)
    }

    /// Where this one lies, or would lie.
    pub fn directory(&self) -> PathBuf {
        Vault::place(&self.root, &self.options.workspace)
    }

    /// Where it is written down what is kept of a thread.
    pub fn record(&self, thread: &str) -> PathBuf {
        backup_record::directory(&self.home, thread)
    }

    /// Whether anything was ever kept of the workspace.
    pub fn is_taken(&self) -> bool {
        self.directory().is_dir()
    }

    /// Opens the vault, making it where there is none.
    pub fn open(&self) -> Result<Vault> {
        let mut options = self.options.clone();
        // What does not exist yet must still be known where it will lie.
        let real = options.workspace.canonicalize().map_err(Error::Workspace)?;
        options.apart.push(real.join(&self.workspace_data));
        Vault::open(&self.directory(), options)
    }
}
