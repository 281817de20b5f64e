//! The workspace on disk: paths below an open directory that no link can bend.
//!
//! A directory may become a link between the look at it and the use of it. So every path is looked up
//! below the workspace's own open directory and no link on the way is followed.

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{Error, ErrorKind, Result};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::database::StatStamp;

/// Waits for nobody, follows no link, and takes no terminal.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);
const STEP: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
const NEW: OFlags = OFlags::WRONLY
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// How files begin that are on their way to their name.
const TEMPORARY: &str = ".dragoman-";
const TEMPORARY_DIGITS: usize = 16;
/// How often another name is tried, and a look-up that a rename disturbed.
const TRIES_MAX: usize = 8;

/// Whether a name is one that we (the file tools do the same) give to what is not complete yet.
pub fn is_temporary(name: &OsStr) -> bool {
    let digits = name.as_bytes().strip_prefix(TEMPORARY.as_bytes());
    digits.is_some_and(|digits| {
        digits.len() == TEMPORARY_DIGITS && digits.iter().all(u8::is_ascii_hexdigit)
    })
}

pub fn temporary_name(seed: u64) -> OsString {
    let random = RandomState::new().hash_one(seed);
    OsString::from(format!("{TEMPORARY}{random:016x}"))
}

/// What lies at a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileMeta {
    pub what: FileType,
    pub mode: u32,
    pub size: u64,
    pub stamp: StatStamp,
    pub device: u64,
    /// How many names it has.
    pub links: u64,
}

// The fields differ in width from one machine to another.
#[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
impl From<&Stat> for FileMeta {
    fn from(stat: &Stat) -> Self {
        let nanos = |seconds: i64, nanos: i64| seconds.wrapping_mul(1_000_000_000) + nanos;
        FileMeta {
            what: FileType::from_raw_mode(stat.st_mode),
            mode: stat.st_mode as u32 & 0o7777,
            size: stat.st_size as u64,
            stamp: StatStamp {
                modified: nanos(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
                changed: nanos(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
                inode: stat.st_ino as i64,
            },
            device: stat.st_dev as u64,
            links: stat.st_nlink as u64,
        }
    }
}

/// The workspace's directory, held open.
pub struct WorkspaceRoot {
    root: OwnedFd,
}

/// A name in a directory that is held open.
pub struct DirEntryRef {
    directory: Arc<OwnedFd>,
    name: OsString,
}

/// The directory that was looked up last: one path is seldom alone in its directory.
#[derive(Default)]
pub struct ParentCache(Option<(PathBuf, Arc<OwnedFd>)>);

impl WorkspaceRoot {
    pub fn open(path: &Path) -> Result<WorkspaceRoot> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(WorkspaceRoot { root })
    }

    pub fn device(&self) -> Result<u64> {
        Ok(self.itself()?.device)
    }

    /// The workspace's own directory.
    pub fn itself(&self) -> Result<FileMeta> {
        Ok(FileMeta::from(&rustix::fs::fstat(&self.root)?))
    }

    /// What lies at a path, if anything. Directories on the way may be links: only to be asked for a
    /// path whose directories are known not to be.
    pub fn meta(&self, path: &Path) -> Option<FileMeta> {
        let stat = rustix::fs::statat(&self.root, path, AtFlags::SYMLINK_NOFOLLOW);
        stat.ok().map(|stat| FileMeta::from(&stat))
    }

    /// Opens the plain file at a relative path for reading.
    pub fn file(&self, path: &Path) -> Result<File> {
        let file = File::from(self.look_up(path, READ)?);
        if FileMeta::from(&rustix::fs::fstat(&file)?).what != FileType::RegularFile {
            return Err(Error::new(ErrorKind::Unsupported, "not a plain file"));
        }
        Ok(file)
    }

    /// The place of a relative path; its directory must exist.
    pub fn entry_ref(&self, path: &Path) -> Result<DirEntryRef> {
        self.entry_ref_near(path, &mut ParentCache::default())
    }

    /// As [`WorkspaceRoot::spot`]; the directory of the path before is not looked up again.
    pub fn entry_ref_near(
        &self,
        path: &Path,
        parent_cache: &mut ParentCache,
    ) -> Result<DirEntryRef> {
        let (Some(name), Some(parent)) = (path.file_name(), path.parent()) else {
            return Err(Error::from(ErrorKind::InvalidInput));
        };
        let directory = match &parent_cache.0 {
            Some((known, directory)) if known == parent => Arc::clone(directory),
            _ if parent == Path::new("") => {
                Arc::new(rustix::io::fcntl_dupfd_cloexec(&self.root, 0)?)
            }
            _ => Arc::new(self.look_up(parent, STEP)?),
        };
        parent_cache.0 = Some((parent.to_owned(), Arc::clone(&directory)));
        Ok(DirEntryRef {
            directory,
            name: name.to_owned(),
        })
    }

    fn look_up(&self, path: &Path, flags: OFlags) -> Result<OwnedFd> {
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        for _ in 0..TRIES_MAX {
            match rustix::fs::openat2(&self.root, path, flags, Mode::empty(), how) {
                // Something was renamed meanwhile: look again.
                Err(Errno::AGAIN) => {}
                // Old kernels and some sandboxes do not have it.
                Err(Errno::NOSYS | Errno::PERM) => return self.walk(path, flags),
                outcome => return Ok(outcome?),
            }
        }
        self.walk(path, flags)
    }

    fn walk(&self, path: &Path, flags: OFlags) -> Result<OwnedFd> {
        let mut components = path.components().peekable();
        let mut directory = rustix::io::fcntl_dupfd_cloexec(&self.root, 0)?;
        while let Some(component) = components.next() {
            let Component::Normal(name) = component else {
                return Err(Error::from(ErrorKind::InvalidInput));
            };
            let last = components.peek().is_none();
            let flags = if last { flags } else { STEP };
            directory = rustix::fs::openat(&directory, name, flags, Mode::empty())?;
        }
        Ok(directory)
    }
}

pub fn meta(file: &File) -> Result<FileMeta> {
    Ok(FileMeta::from(&rustix::fs::fstat(file)?))
}

impl DirEntryRef {
    pub fn meta(&self) -> Result<Option<FileMeta>> {
        match rustix::fs::statat(&*self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(FileMeta::from(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub fn link_target(&self) -> Result<Vec<u8>> {
        let target: CString = rustix::fs::readlinkat(&*self.directory, &self.name, Vec::new())?;
        Ok(target.into_bytes())
    }

    /// Removes a file or a link.
    pub fn unlink(&self) -> Result<()> {
        Ok(rustix::fs::unlinkat(
            &*self.directory,
            &self.name,
            AtFlags::empty(),
        )?)
    }

    /// Removes an empty directory.
    pub fn remove_directory(&self) -> Result<()> {
        Ok(rustix::fs::unlinkat(
            &*self.directory,
            &self.name,
            AtFlags::REMOVEDIR,
        )?)
    }

    pub fn make_directory(&self) -> Result<()> {
        let mode = Mode::from_raw_mode(0o700);
        Ok(rustix::fs::mkdirat(&*self.directory, &self.name, mode)?)
    }

    /// Sets the mode of a file or directory; never through a link.
    pub fn set_mode(&self, mode: u32, directory: bool) -> Result<()> {
        let flags = if directory { STEP } else { READ };
        let held = rustix::fs::openat(&*self.directory, &self.name, flags, Mode::empty());
        match held {
            Ok(held) => Ok(rustix::fs::fchmod(held, Mode::from_raw_mode(mode))?),
            // One that cannot be read cannot be opened either; it is still not a link.
            Err(Errno::ACCESS) => Ok(rustix::fs::chmodat(
                &*self.directory,
                &self.name,
                Mode::from_raw_mode(mode),
                AtFlags::SYMLINK_NOFOLLOW,
            )?),
            Err(error) => Err(error.into()),
        }
    }

    /// A new file beside the name, to be filled and then put in its place.
    pub fn temporary(&self) -> Result<(OsString, File)> {
        for attempt in 0..TRIES_MAX {
            let name = temporary_name(attempt as u64);
            let mode = Mode::from_raw_mode(0o600);
            match rustix::fs::openat(&*self.directory, &name, NEW, mode) {
                Ok(file) => return Ok((name, File::from(file))),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::from(ErrorKind::AlreadyExists))
    }

    /// A new link beside the name.
    pub fn temporary_link(&self, target: &[u8]) -> Result<OsString> {
        for attempt in 0..TRIES_MAX {
            let name = temporary_name(attempt as u64);
            match rustix::fs::symlinkat(OsStr::from_bytes(target), &*self.directory, &name) {
                Ok(()) => return Ok(name),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::from(ErrorKind::AlreadyExists))
    }

    /// Gives a temporary file its name. `over`: whether something may lie there.
    pub fn put(&self, temporary: &OsStr, over: bool) -> Result<()> {
        if over {
            let directory = &*self.directory;
            rustix::fs::renameat(directory, temporary, directory, &self.name)?;
            return Ok(());
        }
        let flags = RenameFlags::NOREPLACE;
        let (from, to) = (&*self.directory, &*self.directory);
        match rustix::fs::renameat_with(from, temporary, to, &self.name, flags) {
            // Not every file system can; then the look before must do.
            Err(Errno::INVAL | Errno::NOSYS) => match self.meta()? {
                None => Ok(rustix::fs::renameat(from, temporary, to, &self.name)?),
                Some(_) => Err(Error::from(ErrorKind::AlreadyExists)),
            },
            outcome => Ok(outcome?),
        }
    }

    pub fn drop_temporary(&self, temporary: &OsStr) {
        // It carries nothing that anyone misses; that it stays is no worse than the error before.
        let _ = rustix::fs::unlinkat(&*self.directory, temporary, AtFlags::empty());
    }
}
