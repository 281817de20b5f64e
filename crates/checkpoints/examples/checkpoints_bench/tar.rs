//! `tar -cz`: every snapshot is a whole archive.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::keeper::{AnyKeeper, Keeper, installed, occupied, run};

struct Tar {
    directory: PathBuf,
    workspace: PathBuf,
    archives: u64,
}

pub fn keeper(home: &Path, workspace: &Path) -> anyhow::Result<Option<Box<AnyKeeper>>> {
    if !installed("tar") {
        return Ok(None);
    }
    Ok(Some(Box::new(Tar {
        directory: home.join("tar"),
        workspace: workspace.to_owned(),
        archives: 0,
    })))
}

impl Tar {
    fn archive(&self, number: u64) -> PathBuf {
        self.directory.join(format!("{number}.tgz"))
    }
}

impl Keeper for Tar {
    fn name(&self) -> &'static str {
        "tar -cz"
    }

    fn clear(&mut self) -> anyhow::Result<()> {
        self.archives = 0;
        if self.directory.exists() {
            fs::remove_dir_all(&self.directory)?;
        }
        Ok(fs::create_dir(&self.directory)?)
    }

    fn snapshot(&mut self) -> anyhow::Result<()> {
        let mut tar = Command::new("tar");
        tar.arg("-czf").arg(self.archive(self.archives));
        run(tar.arg("-C").arg(&self.workspace).arg("."))?;
        self.archives += 1;
        Ok(())
    }

    fn restore(&mut self, path: Option<&Path>) -> anyhow::Result<()> {
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(self.archive(0));
        tar.arg("-C").arg(&self.workspace);
        if let Some(path) = path {
            tar.arg(Path::new(".").join(path));
        }
        run(&mut tar)?;
        Ok(())
    }

    fn disk(&self) -> anyhow::Result<u64> {
        occupied(&self.directory)
    }
}
