//! Who keeps states of a workspace and gives them back: we, and those we are measured beside.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

pub trait Keeper {
    fn name(&self) -> &'static str;

    /// Forgets everything.
    fn clear(&mut self) -> anyhow::Result<()>;

    fn snapshot(&mut self) -> anyhow::Result<()>;

    /// Puts the first state back, or one path of it.
    fn restore(&mut self, path: Option<&Path>) -> anyhow::Result<()>;

    /// Bytes on disk.
    fn disk(&self) -> anyhow::Result<u64>;
}

/// Whichever it is.
pub type AnyKeeper = dyn Keeper;

/// What the files below take on the disk, in whole blocks.
pub fn occupied(directory: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let facts = entry.metadata()?;
        bytes += facts.blocks() * 512;
        if facts.is_dir() {
            bytes += occupied(&entry.path())?;
        }
    }
    Ok(bytes)
}

pub fn installed(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Its output, if it succeeds.
pub fn run(command: &mut Command) -> anyhow::Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!("{command:?} ended with {}: {complaint}", output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}
