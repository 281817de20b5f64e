//! The sandbox's own files: a directory for temporary files per workspace, private and gone with the
//! server, and what it must remember.

use std::collections::VecDeque;
use std::fs::{DirBuilder, File, Permissions};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

/// More workspaces than this: the one used longest ago starts anew.
const WORKSPACES_MAX: usize = 256;
/// Below the server's data.
const OWN: &str = "sandbox";
const TEMPORARY: &str = "temp";
/// What stands in for the program that runs where its own file is gone.
const STAND_IN: &str = "program";
const MODE: u32 = 0o700;
const TRIES_MAX: usize = 8;

#[derive(Debug, Default)]
pub struct OwnFiles {
    /// The server's data; without it, everything lies where temporary files do and is gone with us.
    home: Option<PathBuf>,
    made: Mutex<Made>,
}

#[derive(Debug, Default)]
struct Made {
    /// All that is gone with us, and the lock that says that we are there.
    base: Option<(TempDir, File)>,
    /// The latest used last.
    of_workspaces: VecDeque<(PathBuf, TempDir)>,
}

impl OwnFiles {
    pub fn in_home(home: &Path) -> Self {
        Self {
            home: Some(home.to_owned()),
            made: Mutex::default(),
        }
    }

    /// The directory for temporary files of a workspace; made when first asked for.
    pub fn temp_of(&self, workspace: &Path) -> std::io::Result<PathBuf> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let base = self.base(&mut made)?;
        let known = made
            .of_workspaces
            .iter()
            .position(|(of, temp)| of == workspace && temp.path().is_dir());
        let entry = match known.and_then(|at| made.of_workspaces.remove(at)) {
            Some(entry) => entry,
            None => (workspace.to_owned(), private_in(&base, "")?),
        };
        let path = entry.1.path().canonicalize()?;
        made.of_workspaces.push_back(entry);
        if made.of_workspaces.len() > WORKSPACES_MAX {
            made.of_workspaces.pop_front();
        }
        Ok(path)
    }

    /// Where the sandbox keeps what it must remember.
    pub fn directory(&self) -> std::io::Result<PathBuf> {
        match &self.home {
            Some(home) => Ok(home.join(OWN)),
            None => self.base(&mut self.made.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// What stands in for the program that runs; made when first asked for.
    pub fn stand_in(
        &self,
        copy_to: impl FnOnce(&Path) -> std::io::Result<()>,
    ) -> std::io::Result<PathBuf> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.base(&mut made)?.join(STAND_IN);
        if !path.is_file() {
            // It has its name only when it is whole.
            let new = path.with_extension("new");
            copy_to(&new)?;
            std::fs::rename(&new, &path)?;
        }
        path.canonicalize()
    }

    /// Removes all temporary files.
    pub fn remove_temporary(&self) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        *made = Made::default();
    }

    fn base(&self, made: &mut Made) -> std::io::Result<PathBuf> {
        if let Some((base, _)) = made.base.as_ref().filter(|(base, _)| base.path().is_dir()) {
            return Ok(base.path().to_owned());
        }
        let parent = match &self.home {
            Some(home) => home.join(OWN).join(TEMPORARY),
            None => std::env::temp_dir(),
        };
        if self.home.is_some() {
            make_private(&parent)?;
        }
        for _ in 0..TRIES_MAX {
            let base = private_in(&parent, "dragoman-")?;
            let lock = File::open(base.path())?;
            lock.lock_shared()?;
            let path = base.path().to_owned();
            // Another server may have swept it before the lock was ours.
            if path.is_dir() {
                made.base = Some((base, lock));
                return Ok(path);
            }
        }
        Err(std::io::Error::from(std::io::ErrorKind::NotFound))
    }
}

/// Where the sandbox keeps what it must remember, of a server's data.
pub fn of_home(home: &Path) -> PathBuf {
    home.join(OWN)
}

/// Removes the temporary files of servers that are no more.
pub fn sweep(home: &Path) {
    let entries = std::fs::read_dir(home.join(OWN).join(TEMPORARY));
    for entry in entries.into_iter().flatten().flatten() {
        let is_left = File::open(entry.path()).is_ok_and(|lock| lock.try_lock().is_ok());
        if !is_left {
            continue;
        }
        if let Err(error) = std::fs::remove_dir_all(entry.path()) {
            tracing::warn!(%error, "temporary files of another run could not be removed");
        }
    }
}

/// Makes a directory that only its owner can enter, with those that lead to it.
pub fn make_private(directory: &Path) -> std::io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(MODE).create(directory)
}

fn private_in(parent: &Path, prefix: &str) -> std::io::Result<TempDir> {
    tempfile::Builder::new()
        .prefix(prefix)
        .permissions(Permissions::from_mode(MODE))
        .tempdir_in(parent)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn temporary_files_are_private_and_go_with_the_server() {
        let home = tempfile::tempdir().unwrap();
        let own = OwnFiles::in_home(home.path());
        let temp = own.temp_of(Path::new("/a")).unwrap();
        assert_eq!(own.temp_of(Path::new("/a")).unwrap(), temp);
        assert_ne!(own.temp_of(Path::new("/b")).unwrap(), temp);
        let real = home.path().canonicalize().unwrap();
        let inside = temp.ancestors().take_while(|path| **path != real);
        for directory in inside {
            let mode = directory.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "{}", directory.display());
        }
        std::fs::write(temp.join("secret"), "x").unwrap();
        own.remove_temporary();
        assert!(!temp.exists());
        let again = own.temp_of(Path::new("/a")).unwrap();
        drop(own);
        assert!(!again.exists());
    }

    #[test]
    fn what_a_killed_server_left_is_swept_and_a_living_ones_is_not() {
        let home = tempfile::tempdir().unwrap();
        let living = OwnFiles::in_home(home.path());
        let kept = living.temp_of(Path::new("/a")).unwrap();
        let left = home.path().join("sandbox/temp/dragoman-left");
        std::fs::create_dir_all(left.join("deep")).unwrap();
        std::fs::write(left.join("deep/secret"), "x").unwrap();
        sweep(home.path());
        assert!(!left.exists());
        assert!(kept.is_dir());
    }

    #[test]
    fn without_a_home_nothing_stays_either() {
        let own = OwnFiles::default();
        let temp = own.temp_of(Path::new("/a")).unwrap();
        let base = own.directory().unwrap();
        let mode = base.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert!(temp.starts_with(base.canonicalize().unwrap()));
        drop(own);
        assert!(!base.exists());
    }
}
