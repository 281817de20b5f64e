//! Holds the place of a protected path that does not exist, for as long as a command runs.
//!
//! A mount needs something to be mounted upon. It is made for the call and taken away after it; calls
//! that share it, of other processes too, know of each other by a lock.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How often a path that vanishes while it is taken is tried again.
const TRIES_MAX: usize = 8;

/// Nothing else was last changed then: so a placeholder is told from what a person made.
const MARK: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Directory,
    File,
}

/// An empty file or directory that is removed with the last one who holds it.
#[derive(Debug)]
pub struct Placeholder {
    path: PathBuf,
    kind: Kind,
    lock: Option<File>,
}

impl Placeholder {
    /// Makes it; `None` where nothing can be made, so that no command can make it either.
    pub fn make(path: &Path, kind: Kind) -> Option<Self> {
        for _ in 0..TRIES_MAX {
            let made = match kind {
                Kind::Directory => fs::create_dir(path),
                Kind::File => File::create_new(path).map(drop),
            };
            match made {
                Ok(()) => mark(path),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(_) => return None,
            }
            let Ok(lock) = File::open(path) else { continue };
            lock.lock_shared().ok()?;
            // Another call may have removed it before the lock was ours.
            if is_same(&lock, path) {
                return Some(Self {
                    path: path.to_owned(),
                    kind,
                    lock: Some(lock),
                });
            }
        }
        None
    }

    /// Whether this was made here, and nobody changed it.
    pub fn is_one(path: &Path) -> bool {
        let changed = path.symlink_metadata().and_then(|meta| meta.modified());
        changed.is_ok_and(|time| time == SystemTime::UNIX_EPOCH + MARK)
    }
}

fn mark(path: &Path) {
    let mark = SystemTime::UNIX_EPOCH + MARK;
    // Without it, the worst is an empty directory that stays.
    let _ = File::open(path).and_then(|file| file.set_modified(mark));
}

fn is_same(file: &File, path: &Path) -> bool {
    match (file.metadata(), path.symlink_metadata()) {
        (Ok(held), Ok(there)) => (held.dev(), held.ino()) == (there.dev(), there.ino()),
        (Ok(_) | Err(_), Ok(_) | Err(_)) => false,
    }
}

impl Drop for Placeholder {
    fn drop(&mut self) {
        let Some(lock) = self.lock.take() else { return };
        let alone = lock.try_lock().is_ok() && is_same(&lock, &self.path);
        if !alone || !Self::is_one(&self.path) {
            return;
        }
        // What somebody put something into meanwhile is theirs.
        let _ = match self.kind {
            Kind::Directory => fs::remove_dir(&self.path),
            Kind::File if lock.metadata().is_ok_and(|meta| meta.len() == 0) => {
                fs::remove_file(&self.path)
            }
            Kind::File => Ok(()),
        };
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_with_the_last_one_who_holds_it() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join(".cowork");
        let first = Placeholder::make(&path, Kind::Directory).unwrap();
        let second = Placeholder::make(&path, Kind::Directory).unwrap();
        drop(first);
        assert!(path.is_dir());
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn what_was_filled_meanwhile_stays() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join(".agent");
        let held = Placeholder::make(&path, Kind::Directory).unwrap();
        fs::write(path.join("mine"), "x").unwrap();
        drop(held);
        assert!(path.join("mine").exists());
    }
}
