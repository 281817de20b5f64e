//! A shadow repository: `git add -A && git write-tree` with an index of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::keeper::{AnyKeeper, Keeper, installed, occupied, run};

pub const NAME: &str = "git shadow";

struct Git {
    directory: PathBuf,
    workspace: PathBuf,
    /// The first state.
    tree: Option<String>,
}

pub fn keeper(home: &Path, workspace: &Path) -> anyhow::Result<Option<Box<AnyKeeper>>> {
    if !installed("git") {
        return Ok(None);
    }
    Ok(Some(Box::new(Git {
        directory: home.join("git"),
        workspace: workspace.to_owned(),
        tree: None,
    })))
}

impl Git {
    /// With nobody's configuration, as it comes.
    fn git(&self) -> Command {
        let mut git = Command::new("git");
        git.env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_DIR", &self.directory)
            .env("GIT_WORK_TREE", &self.workspace)
            .env_remove("GIT_INDEX_FILE")
            .current_dir(&self.workspace);
        git
    }
}

impl Keeper for Git {
    fn name(&self) -> &'static str {
        NAME
    }

    fn clear(&mut self) -> anyhow::Result<()> {
        self.tree = None;
        if self.directory.exists() {
            fs::remove_dir_all(&self.directory)?;
        }
        run(self.git().args(["init", "--quiet"]))?;
        Ok(())
    }

    fn snapshot(&mut self) -> anyhow::Result<()> {
        run(self.git().args(["add", "-A"]))?;
        let tree = run(self.git().arg("write-tree"))?;
        self.tree.get_or_insert(tree.trim().to_owned());
        Ok(())
    }

    fn restore(&mut self, path: Option<&Path>) -> anyhow::Result<()> {
        let tree = self.tree.clone().unwrap_or_default();
        run(self.git().arg("read-tree").arg(tree))?;
        let mut checkout = self.git();
        checkout.args(["checkout-index", "--force"]);
        match path {
            Some(path) => checkout.arg("--").arg(path),
            None => checkout.arg("--all"),
        };
        run(&mut checkout)?;
        Ok(())
    }

    fn disk(&self) -> anyhow::Result<u64> {
        occupied(&self.directory)
    }
}
