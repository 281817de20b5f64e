//! The binary that can be the launcher, as a file that can be started.
//!
//! It is this very program. Whoever installs another version while a server runs replaces the file that
//! the server was started from, or removes it. The other version may read its orders in another way, and
//! with no file there would be no sandbox at all; so a copy of what really runs stands in for it then.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::launcher::{ARGUMENT, COPY};
use super::temp::OwnFiles;

/// What runs, whatever became of the name that it was started by.
pub const RUNNING: &str = "/proc/self/exe";
const MODE: u32 = 0o755;

#[derive(Clone, Debug)]
pub struct LauncherFile {
    path: PathBuf,
    /// Whether it is the program that runs, and not one that tests brought along.
    is_this: bool,
}

impl LauncherFile {
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            is_this: std::env::current_exe().is_ok_and(|this| this == path),
        }
    }

    /// Where it can be started from at this moment.
    pub fn path(&self, own: &OwnFiles) -> std::io::Result<PathBuf> {
        match self.is_this && is_replaced(&self.path) {
            true => own.stand_in(copy_by_another),
            false => Ok(self.path.clone()),
        }
    }
}

/// Whether something else lies where this program was started from, or nothing.
fn is_replaced(path: &Path) -> bool {
    let identity = |path: &Path| path.metadata().map(|meta| (meta.dev(), meta.ino()));
    identity(Path::new(RUNNING)).is_ok_and(|this| identity(path).ok() != Some(this))
}

/// Another process writes the copy: were it open for writing here, whatever is started just then would
/// have it open, too, and what is open for writing cannot be started.
fn copy_by_another(to: &Path) -> std::io::Result<()> {
    let status = Command::new(RUNNING)
        .args([OsStr::new(ARGUMENT), OsStr::new(COPY), to.as_os_str()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()?;
    match status.success() {
        true => Ok(()),
        false => Err(std::io::Error::other("this program could not be copied")),
    }
}

/// Is that other process.
pub fn copy(to: &Path) -> Result<i32, String> {
    let copy = || -> std::io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(MODE);
        std::io::copy(&mut File::open(RUNNING)?, &mut options.open(to)?)?;
        Ok(())
    };
    copy().map(|()| 0).map_err(|error| error.to_string())
}
