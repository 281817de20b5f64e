//! Holds the place of a protected path that does not exist, for as long as a command runs.
//!
//! A mount needs something to be mounted upon. It is made for the call and taken away after it; calls
//! that share it, of other processes too, know of each other by a lock.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How often a path that vanishes while it is taken is tried again.
const TRIES_MAX: usize = 8;

/// Nothing else was last changed then: so a placeholder is told from what a person made.
const MARK: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceholderKind {
    Directory,
    File,
    /// Git's `commondir`, which must name a directory: this one names the very directory it lies in, so
    /// that git does as if there were none.
    GitCommonDir,
}

const GIT_COMMON_DIR: &str = ".";

/// An empty file or directory that is removed with the last one who holds it.
#[derive(Debug)]
pub struct Placeholder {
    path: PathBuf,
    lock: Option<File>,
}

impl Placeholder {
    /// Makes it; `None` where nothing can be made, so that no command can make it either.
    pub fn make(path: &Path, kind: PlaceholderKind) -> Option<Self> {
        for _ in 0..TRIES_MAX {
            let made = match kind {
                PlaceholderKind::Directory => fs::create_dir(path),
                PlaceholderKind::File => File::create_new(path).map(drop),
                PlaceholderKind::GitCommonDir => make_whole(path, GIT_COMMON_DIR),
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
                    lock: Some(lock),
                });
            }
        }
        None
    }

    /// Whether this was made here, and nobody changed it. What looks so and is not is as harmless.
    pub fn is_one(path: &Path) -> bool {
        let Ok(meta) = path.symlink_metadata() else {
            return false;
        };
        let is_marked = meta
            .modified()
            .is_ok_and(|time| time == SystemTime::UNIX_EPOCH + MARK);
        let is_empty = || match meta.is_dir() {
            true => fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none()),
            false => meta.is_file() && meta.len() == 0 || names_itself(path),
        };
        is_marked && is_empty()
    }

    /// Removes one that a killed process has left.
    pub fn sweep(path: &Path) {
        if Self::is_one(path)
            && let Ok(lock) = File::open(path)
        {
            drop(Self {
                path: path.to_owned(),
                lock: Some(lock),
            });
        }
    }
}

fn names_itself(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "commondir")
        && fs::read(path).is_ok_and(|text| text == GIT_COMMON_DIR.as_bytes())
}

/// Makes a file that has its content from the first moment on.
fn make_whole(path: &Path, content: &str) -> std::io::Result<()> {
    let parent = path.parent().unwrap_or(path);
    let file = tempfile::NamedTempFile::new_in(parent)?;
    fs::write(file.path(), content)?;
    fs::set_permissions(file.path(), fs::Permissions::from_mode(0o644))?;
    mark(file.path());
    fs::hard_link(file.path(), path)
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
        // What somebody put something into meanwhile is theirs.
        if alone && Self::is_one(&self.path) {
            let _ = match self.path.is_dir() {
                true => fs::remove_dir(&self.path),
                false => fs::remove_file(&self.path),
            };
        }
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
        let first = Placeholder::make(&path, PlaceholderKind::Directory).unwrap();
        let second = Placeholder::make(&path, PlaceholderKind::Directory).unwrap();
        drop(first);
        assert!(path.is_dir());
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn what_was_filled_meanwhile_stays() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join(".agent");
        let held = Placeholder::make(&path, PlaceholderKind::Directory).unwrap();
        fs::write(path.join("mine"), "x").unwrap();
        drop(held);
        assert!(path.join("mine").exists());
    }

    #[test]
    fn what_a_person_made_in_its_place_stays() {
        let scratch = tempfile::tempdir().unwrap();
        for (name, kind) in [
            ("config.worktree", PlaceholderKind::File),
            ("commondir", PlaceholderKind::GitCommonDir),
        ] {
            let path = scratch.path().join(name);
            let held = Placeholder::make(&path, kind).unwrap();
            assert!(Placeholder::is_one(&path));
            // As git writes: another file, renamed over it.
            let new = scratch.path().join("new");
            fs::write(&new, "mine").unwrap();
            fs::rename(&new, &path).unwrap();
            drop(held);
            assert_eq!(fs::read(&path).unwrap(), b"mine", "{name}");
            fs::remove_file(&path).unwrap();
        }
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
    }

    #[test]
    fn one_that_a_killed_process_left_is_swept_and_one_that_is_held_is_not() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("commondir");
        let mut held = Placeholder::make(&path, PlaceholderKind::GitCommonDir).unwrap();
        Placeholder::sweep(&path);
        assert_eq!(fs::read(&path).unwrap(), b".");
        // A process that is killed lets go of its lock and does nothing else.
        held.lock = None;
        drop(held);
        assert_eq!(fs::read(&path).unwrap(), b".");
        Placeholder::sweep(&path);
        assert!(!path.exists());
    }
}
