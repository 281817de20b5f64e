//! Our own vault, open all the time as in the server.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use checkpoints::{Moment, SnapshotLimits, Vault, VaultOptions, WorkControl};
use vocabulary::Trigger;

use crate::keeper::{AnyKeeper, Keeper, occupied};

const THREAD: &str = "bench";

struct Ours {
    directory: PathBuf,
    workspace: PathBuf,
    opened: Option<Vault>,
    original: Option<Moment>,
}

pub fn keeper(home: &Path, workspace: &Path) -> anyhow::Result<Option<Box<AnyKeeper>>> {
    Ok(Some(Box::new(Ours {
        directory: home.join("vault"),
        workspace: workspace.to_owned(),
        opened: None,
        original: None,
    })))
}

static NEVER: AtomicBool = AtomicBool::new(false);

fn work() -> WorkControl<'static> {
    WorkControl {
        cancel: &NEVER,
        progress: &|_| {},
    }
}

impl Ours {
    fn vault(&mut self) -> anyhow::Result<&Vault> {
        if self.opened.is_none() {
            let options = VaultOptions {
                workspace: self.workspace.clone(),
                apart: Vec::new(),
                limits: SnapshotLimits::default(),
            };
            self.opened = Some(Vault::open(&self.directory, options)?);
        }
        self.opened.as_ref().context("just opened")
    }
}

impl Keeper for Ours {
    fn name(&self) -> &'static str {
        "ours"
    }

    fn clear(&mut self) -> anyhow::Result<()> {
        self.opened = None;
        self.original = None;
        if self.directory.exists() {
            fs::remove_dir_all(&self.directory)?;
        }
        Ok(())
    }

    fn snapshot(&mut self) -> anyhow::Result<()> {
        let first = self.original.is_none();
        let vault = self.vault()?;
        let moment = vault.scan(&work(), None)?.moment;
        if first {
            vault.begin(THREAD, moment, 0, false)?;
            self.original = Some(moment);
        } else {
            vault.note(THREAD, moment, Trigger::Automatic)?;
        }
        Ok(())
    }

    fn restore(&mut self, path: Option<&Path>) -> anyhow::Result<()> {
        let original = self.original.context("nothing was kept")?;
        self.vault()?.restore(&work(), THREAD, original, path)?;
        Ok(())
    }

    fn disk(&self) -> anyhow::Result<u64> {
        occupied(&self.directory)
    }
}
