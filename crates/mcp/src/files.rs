//! Small files that other programs write too: read within limits, written whole or not at all.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use thiserror::Error;

/// The most bytes that such a file may have.
pub const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// How long to wait for another process that writes.
const WRITER_WAIT: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

#[derive(Debug, Error)]
pub enum SmallFileError {
    #[error("it is a link; only a file of its own is used there")]
    Link,
    #[error("a link, or no directory, is in its way at {}", .0.display())]
    NoDirectory(PathBuf),
    #[error("it is not a file")]
    NotAFile,
    #[error("it is larger than {FILE_BYTES_MAX} bytes")]
    TooLarge,
    #[error("links lead in a circle")]
    Circle,
    #[error("another process is writing there; try again")]
    Busy,
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl From<Errno> for SmallFileError {
    fn from(error: Errno) -> Self {
        SmallFileError::Io(error.into())
    }
}

/// What a file says; none if there is none. Links are followed. A pipe in its place is not waited for.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, SmallFileError> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    match rustix::fs::openat(CWD, path, flags, Mode::empty()) {
        Ok(file) => read_open(File::from(file)).map(Some),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(Errno::LOOP) => Err(SmallFileError::Circle),
        // A socket cannot even be opened.
        Err(Errno::NXIO) => Err(SmallFileError::NotAFile),
        Err(error) => Err(error.into()),
    }
}

fn read_open(file: File) -> Result<Vec<u8>, SmallFileError> {
    if !file.metadata()?.is_file() {
        return Err(SmallFileError::NotAFile);
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(SmallFileError::TooLarge);
    }
    Ok(bytes)
}

/// A directory that was reached without following a link, and that is held: what is put in its place
/// meanwhile changes nothing.
pub struct HeldDirectory {
    file: File,
    path: PathBuf,
}

/// Nobody else writes in the directory until it is dropped.
pub struct DirectoryLock {
    _file: File,
}

impl HeldDirectory {
    /// `below` lies in `base`, step by step; links are followed to `base` only. None if it is not there.
    pub fn open(base: &Path, below: &[&str]) -> Result<Option<Self>, SmallFileError> {
        let Some(mut here) = Self::base(base)? else {
            return Ok(None);
        };
        for name in below {
            match here.inner(name)? {
                Some(inner) => here = inner,
                None => return Ok(None),
            }
        }
        Ok(Some(here))
    }

    /// As [`HeldDirectory::open`]; what is missing is made with these permissions.
    pub fn create(base: &Path, below: &[&str], mode: u32) -> Result<Self, SmallFileError> {
        let mut here = match Self::base(base)? {
            Some(here) => here,
            None => {
                // Our data, which is for its owner alone: a workspace is there already.
                let mut builder = std::fs::DirBuilder::new();
                builder.recursive(true).mode(0o700).create(base)?;
                Self::base(base)?.ok_or_else(|| SmallFileError::NoDirectory(base.to_owned()))?
            }
        };
        for name in below {
            match rustix::fs::mkdirat(&here.file, *name, Mode::from_raw_mode(mode)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            let path = here.path.join(name);
            let inner = here.inner(name)?;
            here = inner.ok_or(SmallFileError::NoDirectory(path))?;
        }
        Ok(here)
    }

    fn base(path: &Path) -> Result<Option<Self>, SmallFileError> {
        match rustix::fs::openat(CWD, path, directory_flags(), Mode::empty()) {
            Ok(file) => Ok(Some(Self {
                file: file.into(),
                path: path.to_owned(),
            })),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::NOTDIR | Errno::LOOP) => Err(SmallFileError::NoDirectory(path.to_owned())),
            Err(error) => Err(error.into()),
        }
    }

    fn inner(&self, name: &str) -> Result<Option<Self>, SmallFileError> {
        let path = self.path.join(name);
        let flags = directory_flags() | OFlags::NOFOLLOW;
        match rustix::fs::openat(&self.file, name, flags, Mode::empty()) {
            Ok(file) => Ok(Some(Self {
                file: file.into(),
                path,
            })),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::NOTDIR | Errno::LOOP) => Err(SmallFileError::NoDirectory(path)),
            Err(error) => Err(error.into()),
        }
    }

    /// Closes it to everyone else.
    pub fn make_private(&self) -> Result<(), SmallFileError> {
        let mode = Mode::from_raw_mode(rustix::fs::fstat(&self.file)?.st_mode);
        if mode.intersects(Mode::RWXG | Mode::RWXO) {
            rustix::fs::fchmod(&self.file, Mode::RWXU)?;
        }
        Ok(())
    }

    /// Waits for its lock, which the kernel frees when a process dies; blocks the thread.
    pub fn lock(&self) -> Result<DirectoryLock, SmallFileError> {
        // A lock belongs to one opening of the directory, so that threads exclude each other too.
        let file = rustix::fs::openat(&self.file, ".", directory_flags(), Mode::empty())?;
        let file = File::from(file);
        let deadline = Instant::now() + WRITER_WAIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(DirectoryLock { _file: file }),
                Err(TryLockError::Error(error)) => return Err(error.into()),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                    return Err(SmallFileError::Busy);
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOOK_AGAIN),
            }
        }
    }

    /// An empty file in it, only there to be locked.
    pub fn lock_file(&self, name: &str) -> Result<File, SmallFileError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        match rustix::fs::openat(&self.file, name, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => Ok(File::from(file)),
            Err(Errno::LOOP) => Err(SmallFileError::Link),
            Err(error) => Err(error.into()),
        }
    }

    /// A file in it and its permissions; none if there is none.
    pub fn read(&self, name: &str) -> Result<Option<(Vec<u8>, u32)>, SmallFileError> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = match rustix::fs::openat(&self.file, name, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(SmallFileError::Link),
            Err(Errno::NXIO) => return Err(SmallFileError::NotAFile),
            Err(error) => return Err(error.into()),
        };
        let mode = rustix::fs::fstat(&file)?.st_mode & 0o777;
        Ok(Some((read_open(file)?, mode)))
    }

    /// Puts a file there, whole or not at all. Whoever calls holds the lock.
    pub fn write(&self, name: &str, bytes: &[u8], mode: u32) -> Result<(), SmallFileError> {
        match rustix::fs::statat(&self.file, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => match FileType::from_raw_mode(found.st_mode) {
                FileType::RegularFile => {}
                FileType::Symlink => return Err(SmallFileError::Link),
                // Nothing else is a file.
                _ => return Err(SmallFileError::NotAFile),
            },
            Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let fresh = format!(".{name}.new");
        // Left over by a process that was killed.
        remove(&self.file, &fresh)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.file, &fresh, flags, Mode::RUSR | Mode::WUSR)?;
        let mut file = File::from(file);
        let written = file
            .write_all(bytes)
            .and_then(|()| Ok(rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?))
            .and_then(|()| file.sync_all())
            .and_then(|()| Ok(rustix::fs::renameat(&self.file, &fresh, &self.file, name)?));
        if let Err(error) = written {
            remove(&self.file, &fresh)?;
            return Err(error.into());
        }
        self.file.sync_all()?;
        Ok(())
    }

    /// Gives a file another name, unless something has it already. Whoever calls holds the lock.
    pub fn rename(&self, name: &str, to: &str) -> Result<bool, SmallFileError> {
        match rustix::fs::statat(&self.file, to, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => return Ok(false),
            Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        rustix::fs::renameat(&self.file, name, &self.file, to)?;
        self.file.sync_all()?;
        Ok(true)
    }
}

fn directory_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC
}

fn remove(directory: impl AsFd, name: &str) -> Result<(), SmallFileError> {
    match rustix::fs::unlinkat(directory, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;
