//! A home and a workspace that vanish with the test.

use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::TempDir;

pub struct Scratch {
    /// Kept for its drop, which deletes everything.
    _top: TempDir,
    user: PathBuf,
    home: PathBuf,
    workspace: PathBuf,
}

impl Scratch {
    pub fn new() -> anyhow::Result<Self> {
        let top = tempfile::Builder::new()
            .prefix("dragoman-")
            .tempdir()
            .context("cannot make a scratch directory")?;
        // The server tells canonical paths, and transcripts replace what it tells.
        let user = top.path().canonicalize()?;
        let home = user.join(".cowork");
        let workspace = user.join("project");
        std::fs::create_dir(&home)?;
        std::fs::create_dir(&workspace)?;
        Ok(Self {
            _top: top,
            user,
            home,
            workspace,
        })
    }

    /// The user's own directory, above the other two.
    pub fn user(&self) -> &Path {
        &self.user
    }

    /// The server's data directory.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Where the agent works.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Writes a file of the workspace.
    pub fn write(&self, name: &str, text: &str) -> anyhow::Result<PathBuf> {
        self.write_bytes(name, text.as_bytes())
    }

    /// Writes a file of the workspace that is no text.
    pub fn write_bytes(&self, name: &str, bytes: &[u8]) -> anyhow::Result<PathBuf> {
        let path = self.workspace.join(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&path, bytes).with_context(|| format!("cannot write {name}"))?;
        Ok(path)
    }

    /// What a file of the workspace holds; nothing when it is not there.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.workspace.join(name)).unwrap_or_default()
    }
}
