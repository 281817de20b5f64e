//! The files of a workspace as a client sees them: what lies in a directory, and whole files.
//!
//! Everything is looked up from the workspace's own open directory on, by the kernel, which lets neither
//! `..` nor a link lead out of it. What is found is held before it is looked at, and only a plain file is
//! then opened for reading: nothing can be put in its place meanwhile, a pipe is not woken, a device does
//! nothing. What no tool may read is not there.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Error, ErrorKind, Read as _, Result};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use vocabulary::{FileListing, ListedFile, ListedKind, ReadFile, Timestamp};

use crate::path::{PATH_CHARS_MAX, Private};
use crate::policy::{Decision, Policy, PolicyCall};
use crate::{Judgement, Scope};

/// Files and directories that one list has.
pub const LISTED_MAX: usize = 10_000;
/// How deep one list goes.
pub const DEPTH_MAX: u64 = 32;
/// How often a look-up is tried that a rename disturbed.
const TRIES_MAX: usize = 8;
/// The repository of git is listed, but what lies in it only where somebody asks for it.
const NOT_ENTERED: &str = ".git";

const HOLD: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);
const READ_DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// One workspace, and what may be seen of it. Everything here blocks.
pub struct WorkspaceFiles<'a> {
    root: OwnedFd,
    /// As it was named, and as the file system knows it.
    named: PathBuf,
    real: PathBuf,
    private: Private,
    policy: &'a Policy,
}

impl<'a> WorkspaceFiles<'a> {
    pub fn open(scope: &Scope, policy: &'a Policy) -> Result<Self> {
        let flags = HOLD | OFlags::DIRECTORY;
        let root = rustix::fs::open(&scope.directory, flags, Mode::empty())?;
        let real = path_of(&root)?;
        if !scope.outside.may_open(&real) {
            return Err(ErrorKind::NotFound.into());
        }
        Ok(Self {
            real,
            named: scope.directory.clone(),
            private: Private::of(scope),
            policy,
            root,
        })
    }

    /// A whole plain file; without its content if it has more than `bytes_max` bytes.
    pub fn read(&self, path: &str, bytes_max: u64) -> Result<ReadFile> {
        let held = self.hold(&self.inside(path)?)?;
        let stat = rustix::fs::fstat(&held)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(ErrorKind::NotFound.into());
        }
        let size = size_of_file(&stat);
        let too_large = |size| ReadFile {
            size,
            content: None,
        };
        if size > bytes_max {
            return Ok(too_large(size));
        }
        let same = format!("/proc/self/fd/{}", held.as_raw_fd());
        let file = File::from(rustix::fs::open(same, READ, Mode::empty())?);
        let mut content = Vec::with_capacity(size as usize);
        file.take(bytes_max.saturating_add(1))
            .read_to_end(&mut content)?;
        let size = content.len() as u64;
        if size > bytes_max {
            return Ok(too_large(size));
        }
        Ok(ReadFile {
            size,
            content: Some(content),
        })
    }

    /// What lies in a directory, `depth` levels deep; of the levels the upper ones first, so that a limit
    /// leaves out the deepest.
    pub fn list(&self, path: Option<&str>, depth: u64) -> Result<FileListing> {
        let start = match path.filter(|path| !is_root(path)) {
            Some(path) => self.inside(path)?,
            None => PathBuf::new(),
        };
        let base = self.hold(&start)?;
        let mut listing = FileListing::default();
        let mut waiting = VecDeque::from([(PathBuf::new(), 1)]);
        while let Some((below, level)) = waiting.pop_front() {
            let directory = match look_up(&base, &below, READ_DIRECTORY, false) {
                Ok(directory) => directory,
                Err(error) if level == 1 => return Err(error),
                // Gone or closed meanwhile; that it was there is told already.
                Err(_) => continue,
            };
            let inner = self.list_one(&directory, &start.join(&below), &mut listing);
            for name in inner {
                match level < depth.min(DEPTH_MAX) {
                    true => waiting.push_back((below.join(name), level + 1)),
                    false => listing.truncated |= level < depth,
                }
            }
        }
        listing.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(listing)
    }

    /// Adds what lies in one directory; gives the directories among it that may be gone into.
    fn list_one(
        &self,
        directory: &OwnedFd,
        path: &Path,
        listing: &mut FileListing,
    ) -> Vec<PathBuf> {
        let mut inner = Vec::new();
        let (Ok(real), Ok(entries)) = (path_of(directory), Dir::read_from(directory)) else {
            return inner;
        };
        for entry in entries.flatten() {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let listed = path.join(name);
            let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
            let Ok(stat) = stat else { continue };
            if self.is_hidden(&real.join(name), &listed) {
                continue;
            }
            if listing.files.len() >= LISTED_MAX {
                listing.truncated = true;
                break;
            }
            let file = listed_file(&listed, &stat);
            if file.kind == ListedKind::Directory && name != NOT_ENTERED {
                inner.push(PathBuf::from(name));
            }
            listing.files.push(file);
        }
        inner.sort();
        inner
    }

    /// A path as a client gives it, from the workspace on.
    fn inside(&self, path: &str) -> Result<PathBuf> {
        let nowhere = || Err(ErrorKind::NotFound.into());
        if path.contains('\0') || path.chars().count() > PATH_CHARS_MAX {
            return nowhere();
        }
        let given = Path::new(path);
        let roots = [&self.named, &self.real];
        let inner = roots.iter().find_map(|root| given.strip_prefix(root).ok());
        let mut inside = PathBuf::new();
        for component in inner.unwrap_or(given).components() {
            match component {
                Component::Normal(name) => inside.push(name),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return nowhere();
                }
            }
        }
        Ok(inside)
    }

    /// Holds what lies at a path, whatever it is, if it may be seen.
    fn hold(&self, inside: &Path) -> Result<OwnedFd> {
        let held = look_up(&self.root, inside, HOLD, true)?;
        let real = path_of(&held)?;
        match real.starts_with(&self.real) && !self.is_hidden(&real, inside) {
            true => Ok(held),
            false => Err(ErrorKind::NotFound.into()),
        }
    }

    /// Whether no tool may read it: the server's own data, keys, and what the policy refuses.
    fn is_hidden(&self, real: &Path, inside: &Path) -> bool {
        self.private.has(real) || {
            let of_root = real.strip_prefix(&self.real).unwrap_or(inside);
            self.is_refused(of_root) || (of_root != inside && self.is_refused(inside))
        }
    }

    fn is_refused(&self, inside: &Path) -> bool {
        is_refused(self.policy, inside.to_string_lossy().into_owned())
    }
}

/// Whether the policy refuses that a path of the workspace is read.
pub fn is_refused(policy: &Policy, path: String) -> bool {
    let decision = policy.decide(&PolicyCall {
        tool: "read",
        summary: &path,
        command: None,
        paths: std::slice::from_ref(&path),
        hosts: &[],
        judgement: &Judgement::Allow,
    });
    matches!(decision, Decision::Refuse { .. })
}

fn is_root(path: &str) -> bool {
    path.is_empty() || path == "." || path == "/"
}

/// Where the kernel says that it lies.
fn path_of(held: &OwnedFd) -> Result<PathBuf> {
    let link = format!("/proc/self/fd/{}", held.as_raw_fd());
    let path = rustix::fs::readlink(link, Vec::new())?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(
        path.into_bytes(),
    )))
}

/// Looks a relative path up below an open directory. Links on the way are followed, where they are, only as
/// long as they stay below it.
fn look_up(base: impl AsFd, path: &Path, flags: OFlags, links: bool) -> Result<OwnedFd> {
    let path = match path.as_os_str().is_empty() {
        true => Path::new("."),
        false => path,
    };
    let how = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let how = match links {
        true => how,
        false => how | ResolveFlags::NO_SYMLINKS,
    };
    for _ in 0..TRIES_MAX {
        match rustix::fs::openat2(&base, path, flags, Mode::empty(), how) {
            // Something was renamed meanwhile: look again.
            Err(Errno::AGAIN) => {}
            // Old kernels and some sandboxes do not have it.
            Err(Errno::NOSYS | Errno::PERM) => return step_by_step(base, path, flags),
            outcome => return Ok(outcome?),
        }
    }
    step_by_step(base, path, flags)
}

/// The same by hand, which follows no link.
fn step_by_step(base: impl AsFd, path: &Path, flags: OFlags) -> Result<OwnedFd> {
    let step = HOLD | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let mut held = rustix::fs::openat(base, ".", step, Mode::empty())?;
    let mut components = path.components().peekable();
    while let Some(component) = components.next() {
        let name = match component {
            Component::Normal(name) => name,
            Component::CurDir => OsStr::new("."),
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(Error::from(ErrorKind::InvalidInput));
            }
        };
        let flags = match components.peek() {
            Some(_) => step,
            None => flags | OFlags::NOFOLLOW,
        };
        held = rustix::fs::openat(&held, name, flags, Mode::empty())?;
    }
    Ok(held)
}

#[allow(
    clippy::useless_conversion,
    clippy::unnecessary_cast,
    reason = "the fields differ in width from one machine to another"
)]
fn size_of_file(stat: &Stat) -> u64 {
    stat.st_size as u64
}

#[allow(
    clippy::useless_conversion,
    clippy::unnecessary_cast,
    reason = "as above"
)]
fn listed_file(path: &Path, stat: &Stat) -> ListedFile {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => ListedKind::File,
        FileType::Directory => ListedKind::Directory,
        FileType::Symlink => ListedKind::Link,
        _ => ListedKind::Special,
    };
    let seconds = stat.st_mtime as i64;
    let millis = stat.st_mtime_nsec as i64 / 1_000_000;
    ListedFile {
        path: path.to_string_lossy().into_owned(),
        kind,
        size: match kind {
            ListedKind::File => size_of_file(stat),
            ListedKind::Directory | ListedKind::Link | ListedKind::Special => 0,
        },
        modified_at: Timestamp(seconds.saturating_mul(1_000).saturating_add(millis)),
    }
}

#[cfg(test)]
mod tests;
