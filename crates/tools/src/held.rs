//! Opening a file by a path that no link can bend.
//!
//! A path that was found to lie inside the scope may have changed by the time it is used. So each
//! directory on the way is held open and the next name is looked up in it, and no name is followed
//! if it is a link. What is not a plain file is never opened: a FIFO would wait, a device would act.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{Error, ErrorKind, Result, Write};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// New directories and files are open to all whom the process's umask lets.
const NEW_DIRECTORY_MODE: u32 = 0o777;
const NEW_FILE_MODE: u32 = 0o666;
/// What will replace a file is nobody else's before it has that file's own mode.
const REPLACING_MODE: u32 = 0o600;
/// How often another name is tried for the temporary file.
const NAMES_MAX: usize = 8;

/// Waits for nobody, follows no link, and takes no terminal.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);
const STEP: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// What tells one state of a file from another without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    inode: (u64, u64),
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeKind {
    File {
        stamp: Stamp,
        mode: u32,
        owner: (u32, u32),
    },
    Directory,
    Link,
    Special,
}

/// A name in a directory that is held open.
pub(crate) struct Place {
    directory: OwnedFd,
    name: OsString,
}

impl Place {
    /// The place of a canonical path; its directory must exist.
    pub fn find(path: &Path) -> Result<Place> {
        Place::walk(path, false)
    }

    /// As [`Place::find`], and makes the directories that are missing.
    pub fn make(path: &Path) -> Result<Place> {
        Place::walk(path, true)
    }

    fn walk(path: &Path, make: bool) -> Result<Place> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Error::from(ErrorKind::IsADirectory));
        };
        let mut directory = rustix::fs::open("/", STEP, Mode::empty())?;
        for component in parent.components() {
            let Component::Normal(step) = component else {
                continue;
            };
            directory = match rustix::fs::openat(&directory, step, STEP, Mode::empty()) {
                Err(Errno::NOENT) if make => {
                    match rustix::fs::mkdirat(&directory, step, NEW_DIRECTORY_MODE.into()) {
                        // Somebody else was faster, which is as good.
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(error) => return Err(error.into()),
                    }
                    rustix::fs::openat(&directory, step, STEP, Mode::empty())?
                }
                outcome => outcome?,
            };
        }
        Ok(Place {
            directory,
            name: name.to_owned(),
        })
    }

    /// What lies here; `None` if nothing does.
    pub fn kind(&self) -> Result<Option<NodeKind>> {
        match rustix::fs::statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(kind_of(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the plain file that lies here.
    pub fn open(&self) -> Result<(File, Stamp)> {
        match self.kind()? {
            Some(NodeKind::File { .. }) => {}
            Some(other) => return Err(not_plain(other)),
            None => return Err(Error::from(ErrorKind::NotFound)),
        }
        let file = rustix::fs::openat(&self.directory, &self.name, READ, Mode::empty())?;
        plain(File::from(file))
    }

    /// Puts `content` here in one step: it is there whole, or the old one still is.
    ///
    /// `expected` is what lay here when the content was made; another file by now is an error of
    /// the kind `StaleNetworkFileHandle`. Mode and owner of what it replaces are kept.
    pub fn replace(&self, content: &[u8], expected: Option<Stamp>) -> Result<Stamp> {
        let mode = expected.map_or(NEW_FILE_MODE, |_| REPLACING_MODE);
        let (temporary, file) = self.temporary(mode)?;
        let outcome = self.fill_and_rename(&temporary, file, content, expected);
        if outcome.is_err() {
            // It carries no content that anyone misses; that it stays is no worse than the error.
            let _ = rustix::fs::unlinkat(&self.directory, &temporary, AtFlags::empty());
        }
        outcome
    }

    fn fill_and_rename(
        &self,
        temporary: &OsStr,
        mut file: File,
        content: &[u8],
        expected: Option<Stamp>,
    ) -> Result<Stamp> {
        file.write_all(content)?;
        let now = match self.kind()? {
            None => None,
            Some(NodeKind::File { stamp, mode, owner }) => {
                // Only root may give files away; for others the new file is theirs, as they may
                // write it. It comes first, as it takes special bits of the mode away.
                let _ = std::os::unix::fs::fchown(&file, Some(owner.0), Some(owner.1));
                rustix::fs::fchmod(&file, (mode & 0o7777).into())?;
                Some(stamp)
            }
            Some(other) => return Err(not_plain(other)),
        };
        // Without this a power cut may leave the new name with none of its content.
        file.sync_all()?;
        if now != expected {
            return Err(Error::from(ErrorKind::StaleNetworkFileHandle));
        }
        rustix::fs::renameat(&self.directory, temporary, &self.directory, &self.name)?;
        // So that the new name lasts as well; not every file system can.
        if let Ok(directory) = rustix::fs::openat(
            &self.directory,
            ".",
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        ) {
            let _ = rustix::fs::fsync(directory);
        }
        Ok(plain(file)?.1)
    }

    /// Takes what lies here, whatever it is, to another place of the same file system.
    pub fn rename_to(&self, other: &Place) -> Result<()> {
        let (from, to) = (&self.directory, &other.directory);
        Ok(rustix::fs::renameat(from, &self.name, to, &other.name)?)
    }

    /// Removes the plain file that lies here, unless it is another by now: an error as with
    /// [`Place::replace`].
    pub fn remove(&self, expected: Stamp) -> Result<()> {
        match self.kind()? {
            Some(NodeKind::File { stamp, .. }) if stamp == expected => {}
            Some(NodeKind::File { .. }) | None => {
                return Err(Error::from(ErrorKind::StaleNetworkFileHandle));
            }
            Some(other) => return Err(not_plain(other)),
        }
        let flags = AtFlags::empty();
        Ok(rustix::fs::unlinkat(&self.directory, &self.name, flags)?)
    }

    /// Another name in the same directory.
    pub fn beside(&self, name: impl Into<OsString>) -> Result<Place> {
        Ok(Place {
            directory: self.directory.try_clone()?,
            name: name.into(),
        })
    }

    pub fn make_directory(&self) -> Result<()> {
        let mode = NEW_DIRECTORY_MODE.into();
        Ok(rustix::fs::mkdirat(&self.directory, &self.name, mode)?)
    }

    pub fn make_link(&self, target: &Path) -> Result<()> {
        Ok(rustix::fs::symlinkat(target, &self.directory, &self.name)?)
    }

    /// Sets the mode of the file or directory that lies here, even of one that cannot be opened.
    pub fn set_mode(&self, mode: u32) -> Result<()> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = rustix::fs::openat(&self.directory, &self.name, flags, Mode::empty())?;
        match kind_of(&rustix::fs::fstat(&held)?) {
            NodeKind::File { .. } | NodeKind::Directory => {}
            other @ (NodeKind::Link | NodeKind::Special) => return Err(not_plain(other)),
        }
        let path = format!("/proc/self/fd/{}", held.as_raw_fd());
        Ok(rustix::fs::chmod(path, (mode & 0o7777).into())?)
    }

    fn temporary(&self, mode: u32) -> Result<(OsString, File)> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for attempt in 0..NAMES_MAX {
            let random = RandomState::new().hash_one(attempt);
            let name = OsString::from(format!(".dragoman-{random:016x}"));
            match rustix::fs::openat(&self.directory, &name, flags, mode.into()) {
                Ok(file) => return Ok((name, File::from(file))),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::from(ErrorKind::AlreadyExists))
    }
}

/// Opens the plain file of a canonical path, in one call where the kernel can.
pub(crate) fn open(path: &Path) -> Result<File> {
    match rustix::fs::openat2(CWD, path, READ, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Ok(file) => Ok(plain(File::from(file))?.0),
        // Old kernels and some sandboxes do not have it.
        Err(Errno::NOSYS | Errno::PERM) => Ok(Place::find(path)?.open()?.0),
        Err(error) => Err(error.into()),
    }
}

fn plain(file: File) -> Result<(File, Stamp)> {
    match kind_of(&rustix::fs::fstat(&file)?) {
        NodeKind::File { stamp, .. } => Ok((file, stamp)),
        other => Err(not_plain(other)),
    }
}

fn not_plain(kind: NodeKind) -> Error {
    match kind {
        NodeKind::Directory => Error::from(ErrorKind::IsADirectory),
        NodeKind::File { .. } | NodeKind::Link | NodeKind::Special => {
            Error::new(ErrorKind::Unsupported, "not a plain file")
        }
    }
}

/// How the plain file at this path stands now, without opening it.
pub(crate) fn stamp_at(path: &Path) -> Option<Stamp> {
    match kind_of(&rustix::fs::lstat(path).ok()?) {
        NodeKind::File { stamp, .. } => Some(stamp),
        NodeKind::Directory | NodeKind::Link | NodeKind::Special => None,
    }
}

// The fields differ in width from one machine to another.
#[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
fn kind_of(stat: &rustix::fs::Stat) -> NodeKind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => NodeKind::File {
            stamp: Stamp {
                bytes: stat.st_size as u64,
                modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
                changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
                inode: (stat.st_dev as u64, stat.st_ino as u64),
            },
            mode: stat.st_mode as u32,
            owner: (stat.st_uid as u32, stat.st_gid as u32),
        },
        FileType::Directory => NodeKind::Directory,
        FileType::Symlink => NodeKind::Link,
        _ => NodeKind::Special,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::*;
    use crate::scratch::Scratch;

    fn canonical(scratch: &Scratch) -> PathBuf {
        std::fs::canonicalize(scratch.path("")).unwrap()
    }

    #[test]
    fn a_directory_that_became_a_link_is_not_followed() {
        let (scratch, other) = (Scratch::new(), Scratch::new());
        std::fs::write(other.path("secret"), "s").unwrap();
        let inside = canonical(&scratch).join("dir");
        std::fs::create_dir(&inside).unwrap();
        std::fs::write(inside.join("secret"), "mine").unwrap();
        let target = inside.join("secret");
        assert!(open(&target).is_ok() && Place::find(&target).is_ok());
        let held = Place::find(&target).unwrap();
        std::fs::rename(&inside, scratch.path("moved")).unwrap();
        symlink(other.path(""), &inside).unwrap();
        assert!(open(&target).is_err());
        assert!(Place::find(&target).is_err());
        // What was held before the swap still leads to the file that was meant.
        let old = held.kind().unwrap();
        let Some(NodeKind::File { stamp, .. }) = old else {
            panic!("{old:?}");
        };
        held.replace(b"new", Some(stamp)).unwrap();
        assert_eq!(std::fs::read(scratch.path("moved/secret")).unwrap(), b"new");
        assert_eq!(std::fs::read(other.path("secret")).unwrap(), b"s");
    }

    #[test]
    fn what_is_no_plain_file_is_never_opened() {
        let scratch = Scratch::new();
        let fifo = canonical(&scratch).join("fifo");
        rustix::fs::mknodat(CWD, &fifo, FileType::Fifo, 0o600.into(), 0).unwrap();
        let link = canonical(&scratch).join("link");
        symlink("/dev/zero", &link).unwrap();
        for path in [fifo, link, PathBuf::from("/dev/null"), canonical(&scratch)] {
            assert!(open(&path).is_err(), "{}", path.display());
            assert!(Place::find(&path).unwrap().open().is_err());
            assert!(Place::find(&path).unwrap().replace(b"x", None).is_err());
        }
        let left = std::fs::read_dir(scratch.path("")).unwrap().count();
        assert_eq!(left, 2, "no temporary file stays");
    }

    #[test]
    fn what_changed_in_between_is_not_replaced() {
        let scratch = Scratch::new();
        let path = canonical(&scratch).join("a");
        let place = Place::make(&path).unwrap();
        let stamp = place.replace(b"one", None).unwrap();
        std::fs::write(&path, "another").unwrap();
        let error = place.replace(b"two", Some(stamp)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StaleNetworkFileHandle);
        assert_eq!(std::fs::read(&path).unwrap(), b"another");
    }

    /// Another user watches the directory while a file that is closed to them is replaced.
    #[test]
    fn what_replaces_a_closed_file_is_closed_from_the_start() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = Scratch::new();
        let path = canonical(&scratch).join("a");
        std::fs::write(&path, "one").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let place = Place::find(&path).unwrap();
        let Some(NodeKind::File { stamp, .. }) = place.kind().unwrap() else {
            panic!("a file");
        };
        let stop = std::sync::atomic::AtomicBool::new(false);
        let seen = std::thread::scope(|threads| {
            let watching = threads.spawn(|| {
                let mut seen = std::collections::BTreeSet::new();
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    for entry in std::fs::read_dir(scratch.path("")).unwrap().flatten() {
                        let meta = entry.metadata();
                        seen.extend(meta.map(|meta| meta.permissions().mode() & 0o777));
                    }
                }
                seen
            });
            let (large, mut stamp) = (vec![b'x'; 8 << 20], stamp);
            for _ in 0..8 {
                stamp = place.replace(&large, Some(stamp)).unwrap();
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            watching.join().unwrap()
        });
        assert_eq!(seen, [0o600].into());
    }

    #[test]
    fn mode_and_owner_are_kept() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
        let scratch = Scratch::new();
        let path = canonical(&scratch).join("a");
        std::fs::write(&path, "one").unwrap();
        // Only root can; for others the owner stays who they are.
        let _ = chown(&path, Some(1234), Some(1234));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o4750)).unwrap();
        let before = std::fs::metadata(&path).unwrap();
        let place = Place::find(&path).unwrap();
        let Some(NodeKind::File { stamp, .. }) = place.kind().unwrap() else {
            panic!("a file");
        };
        place.replace(b"two", Some(stamp)).unwrap();
        let after = std::fs::metadata(&path).unwrap();
        assert_ne!(after.ino(), before.ino());
        let kept = |file: &std::fs::Metadata| (file.mode(), file.uid(), file.gid());
        assert_eq!(kept(&after), kept(&before));
    }
}
