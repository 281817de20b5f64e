//! Locks between processes and threads; the kernel frees them when a process dies.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::{Error, Result, WorkControl};

/// How long someone else's work is waited for.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK_AGAIN: Duration = Duration::from_millis(4);

/// Held as long as it lives.
pub struct Lock {
    _file: File,
}

fn open(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(0o600);
    Ok(options.open(path)?)
}

/// For one alone; waits for the others.
pub fn alone(path: &Path, work: &WorkControl<'_>) -> Result<Lock> {
    wait(open(path)?, work, File::try_lock)
}

/// Together with others who share it; waits for one who has it alone.
pub fn shared(path: &Path, work: &WorkControl<'_>) -> Result<Lock> {
    wait(open(path)?, work, File::try_lock_shared)
}

/// For one alone, now or not at all.
pub fn alone_now(path: &Path) -> Result<Option<Lock>> {
    let file = open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(Lock { _file: file })),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

fn wait(
    file: File,
    work: &WorkControl<'_>,
    lock: impl Fn(&File) -> Result<(), TryLockError>,
) -> Result<Lock> {
    let until = Instant::now() + PATIENCE;
    loop {
        match lock(&file) {
            Ok(()) => return Ok(Lock { _file: file }),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        work.check()?;
        if Instant::now() >= until {
            return Err(Error::Busy("somebody else works on them for too long"));
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}
