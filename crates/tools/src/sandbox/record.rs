//! What lies at a protected path: read before a command, compared and put back after it.
//!
//! No link is followed on the way, when reading or when putting back: another command may still run in
//! the same workspace.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Read as _, Result};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::placeholder::Placeholder;
use super::taken::CallDirectory;
use crate::git;
use crate::held::{self, NodeKind, Place};

/// What a record of one workspace may hold.
const ENTRIES_MAX: usize = 4_000;
const BYTES_MAX: u64 = 16 << 20;
/// How deep a directory is looked into.
const DEPTH_MAX: usize = 32;

/// What the owner of a directory may do.
const OWNER_MODE: u32 = 0o700;

/// Where git takes settings and hooks from, in a repository's own directory.
const GIT_SETTINGS: &[&str] = &["config", "config.worktree", "commondir", "gitdir"];
const GIT_HOOKS: &str = "hooks";
/// What of such a directory is data, and much of it.
const GIT_DATA: &[&str] = &["objects", "refs", "logs", "lfs", "info"];

/// What counts of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Extent {
    /// All that lies there.
    Whole,
    /// All that lies there, deeper in a workspace: with the directory around it, it may go.
    Deeper,
    /// The settings and hooks of the repositories that lie there.
    GitSettings,
    /// Only that it is no link, and a directory where it was one: other paths lie in it.
    Way,
    /// Nothing was there. What `git init` makes is harmless.
    Repository,
    /// Nothing was there, and a placeholder is held there: what appears is not a command's.
    Held,
}

/// One protected path, as it was. Nothing is recorded of what was not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedPath {
    pub path: PathBuf,
    pub extent: Extent,
    /// By the path from here on; the empty one is this itself.
    nodes: BTreeMap<PathBuf, Node>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Node {
    File {
        mode: u32,
        #[serde(with = "as_hex")]
        content: Vec<u8>,
    },
    Directory {
        mode: u32,
    },
    Link {
        target: PathBuf,
    },
    /// A pipe, a socket, a device.
    Special,
}

/// What is left of the room for a record.
pub struct Room {
    entries: usize,
    bytes: u64,
}

impl Room {
    pub fn for_records() -> Room {
        Room {
            entries: ENTRIES_MAX,
            bytes: BYTES_MAX,
        }
    }

    /// Room for looking at what a command has made of it, which may be more.
    fn for_comparing() -> Room {
        Room {
            entries: 4 * ENTRIES_MAX,
            bytes: 4 * BYTES_MAX,
        }
    }

    fn take(&mut self, bytes: u64) -> Result<()> {
        let left = (self.entries.checked_sub(1), self.bytes.checked_sub(bytes));
        let (Some(entries), Some(bytes)) = left else {
            return Err(Error::new(ErrorKind::FileTooLarge, "it is too large"));
        };
        (self.entries, self.bytes) = (entries, bytes);
        Ok(())
    }
}

/// What was found changed and put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutBack {
    pub path: PathBuf,
    pub how: Change,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Made,
    Changed,
    Removed,
}

impl RecordedPath {
    /// Records what lies at a path. An error says that it cannot be recorded, so not be put back.
    pub fn record(path: &Path, extent: Extent, room: &mut Room) -> Result<RecordedPath> {
        let mut item = RecordedPath {
            path: path.to_owned(),
            extent,
            nodes: BTreeMap::new(),
        };
        item.nodes = item.look(room)?;
        if item.nodes.values().any(|node| *node == Node::Special) {
            return Err(Error::other("it holds a pipe, a socket or a device"));
        }
        match item.nodes.iter().all(is_text) {
            true => Ok(item),
            false => Err(Error::other("it holds a name that is not text")),
        }
    }

    /// Whether anything was there.
    pub fn was_there(&self) -> bool {
        self.nodes.contains_key(Path::new(""))
    }

    /// Takes a change for good: it was no command's.
    pub fn accept(&mut self) {
        if let Ok(nodes) = self.look(&mut Room::for_records()) {
            self.nodes = nodes;
        }
    }

    /// What lies there now.
    fn look(&self, room: &mut Room) -> Result<BTreeMap<PathBuf, Node>> {
        let mut nodes = BTreeMap::new();
        let mut looking = Looking {
            base: &self.path,
            room,
            nodes: &mut nodes,
        };
        match self.extent {
            Extent::Whole | Extent::Deeper => looking.whole(Path::new(""), DEPTH_MAX)?,
            Extent::Way | Extent::Repository => looking.alone(Path::new(""))?,
            Extent::GitSettings => looking.git_settings(Path::new(""), DEPTH_MAX)?,
            Extent::Held => {}
        }
        Ok(nodes)
    }

    /// Makes it as it was; tells what had changed. What is in the way is taken away, not deleted.
    pub fn put_back(&self, taken: &mut CallDirectory) -> Result<Vec<PutBack>> {
        let now = match self.look(&mut Room::for_comparing()) {
            Ok(now) => now,
            // It has become too much to look through, or was closed to us; what it was is known.
            Err(_) => return self.replace(taken),
        };
        if self.extent == Extent::Deeper && now.is_empty() {
            return Ok(Vec::new());
        }
        let mut changes = Vec::new();
        let mut gone: Option<&PathBuf> = None;
        // Those that come first contain those behind them.
        for (inner, node) in &now {
            let was = self.nodes.get(inner);
            let went = gone.is_some_and(|gone| inner.starts_with(gone));
            if went || self.is_kept(was, Some(node)) {
                continue;
            }
            if was.is_none() {
                gone = Some(inner);
            }
            let path = self.at(inner);
            changes.push(PutBack {
                path: path.clone(),
                how: was.map_or(Change::Made, |_| Change::Changed),
            });
            self.undo(&path, was, node, taken)?;
        }
        for (inner, was) in &self.nodes {
            if !now.contains_key(inner) && !self.is_kept(Some(was), None) {
                changes.push(PutBack {
                    path: self.at(inner),
                    how: Change::Removed,
                });
            }
            self.make(&self.at(inner), was)?;
        }
        Ok(changes)
    }

    /// Whether what is there now may stay.
    fn is_kept(&self, was: Option<&Node>, now: Option<&Node>) -> bool {
        let is_directory = |node: Option<&Node>| matches!(node, Some(Node::Directory { .. }));
        match self.extent {
            Extent::Whole | Extent::Deeper | Extent::GitSettings => was == now,
            // A directory that vanished took with it what was protected in it; one that is closed
            // to us would keep us from looking.
            Extent::Way => match (was, now) {
                (_, None) => true,
                (Some(Node::Directory { mode }), Some(Node::Directory { mode: now })) => {
                    mode & OWNER_MODE == now & OWNER_MODE
                }
                (_, Some(Node::Directory { mode })) => mode & OWNER_MODE == OWNER_MODE,
                (was, now) => was == now,
            },
            Extent::Held => true,
            Extent::Repository => now.is_none() || is_directory(now) && git::is_plain(&self.path),
        }
    }

    /// Takes away what a command made of a path; a file that only changed is made what it was at once.
    fn undo(
        &self,
        path: &Path,
        was: Option<&Node>,
        now: &Node,
        taken: &mut CallDirectory,
    ) -> Result<()> {
        let place = match Place::find(path) {
            // What contained it was taken away already.
            Err(error) if is_missing(&error) => return Ok(()),
            outcome => outcome?,
        };
        match (was, now, place.kind()?) {
            (_, _, None) => Ok(()),
            (
                Some(Node::File { mode, content }),
                Node::File { content: made, .. },
                Some(NodeKind::File { stamp, .. }),
            ) => {
                let mut outcome = Ok(());
                if content != made {
                    let copied = taken.copy(path, made);
                    let replaced = place.replace(content, Some(stamp));
                    outcome = copied.and(replaced.map(drop));
                }
                match outcome {
                    Ok(()) => place.set_mode(*mode),
                    // On a full disk it must be away all the same.
                    Err(_) => taken.take(path, &place),
                }
            }
            (Some(Node::Directory { mode }), Node::Directory { .. }, Some(NodeKind::Directory)) => {
                place.set_mode(*mode)
            }
            (_, _, Some(_)) => taken.take(path, &place),
        }
    }

    /// Makes what is missing.
    fn make(&self, path: &Path, was: &Node) -> Result<()> {
        if self.extent == Extent::Way && matches!(was, Node::Directory { .. }) {
            return Ok(());
        }
        let place = Place::make(path)?;
        if place.kind()?.is_some() {
            return Ok(());
        }
        match was {
            Node::File { mode, content } => {
                place.replace(content, None)?;
                place.set_mode(*mode)
            }
            Node::Directory { mode } => {
                place.make_directory()?;
                place.set_mode(*mode)
            }
            Node::Link { target } => place.make_link(target),
            Node::Special => Ok(()),
        }
    }

    /// Takes all of it away, and makes anew what it was.
    fn replace(&self, taken: &mut CallDirectory) -> Result<Vec<PutBack>> {
        taken.take(&self.path, &Place::find(&self.path)?)?;
        for (inner, was) in &self.nodes {
            self.make(&self.at(inner), was)?;
        }
        let how = match self.was_there() {
            true => Change::Changed,
            false => Change::Made,
        };
        let path = self.path.clone();
        Ok(vec![PutBack { path, how }])
    }

    fn at(&self, inner: &Path) -> PathBuf {
        match inner.as_os_str().is_empty() {
            true => self.path.clone(),
            false => self.path.join(inner),
        }
    }
}

struct Looking<'a> {
    base: &'a Path,
    room: &'a mut Room,
    nodes: &'a mut BTreeMap<PathBuf, Node>,
}

impl Looking<'_> {
    /// The thing itself.
    fn alone(&mut self, inner: &Path) -> Result<()> {
        let path = self.base.join(inner);
        let path = if inner.as_os_str().is_empty() {
            self.base
        } else {
            &path
        };
        let meta = match path.symlink_metadata() {
            Err(error) if is_missing(&error) => return Ok(()),
            outcome => outcome?,
        };
        // What another call holds the place with is as good as nothing.
        if Placeholder::is_one(path) {
            return Ok(());
        }
        let kind = meta.file_type();
        self.room
            .take(if kind.is_file() { meta.size() } else { 0 })?;
        let mode = meta.permissions().mode() & 0o7777;
        let node = if kind.is_file() {
            let mut content = Vec::new();
            held::open(path)?
                .take(BYTES_MAX + 1)
                .read_to_end(&mut content)?;
            Node::File { mode, content }
        } else if kind.is_dir() {
            Node::Directory { mode }
        } else if kind.is_symlink() {
            let target = std::fs::read_link(path)?;
            Node::Link { target }
        } else {
            Node::Special
        };
        self.nodes.insert(inner.to_owned(), node);
        Ok(())
    }

    /// The thing and all in it.
    fn whole(&mut self, inner: &Path, depth: usize) -> Result<()> {
        self.alone(inner)?;
        if !matches!(self.nodes.get(inner), Some(Node::Directory { .. })) {
            return Ok(());
        }
        for name in self.names(inner, depth)? {
            self.whole(&inner.join(name), depth - 1)?;
        }
        Ok(())
    }

    /// Settings and hooks in a directory of repositories. A link on the way counts, for it may lead to
    /// others; directories do not.
    fn git_settings(&mut self, inner: &Path, depth: usize) -> Result<()> {
        let path = self.base.join(inner);
        let path = if inner.as_os_str().is_empty() {
            self.base
        } else {
            &path
        };
        if !path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            return self.alone(inner);
        }
        for name in self.names(inner, depth)? {
            let below = inner.join(&name);
            let meta = self.base.join(&below).symlink_metadata();
            let is = |list: &[&str]| list.iter().any(|each| name == **each);
            let is_directory = meta.as_ref().is_ok_and(std::fs::Metadata::is_dir);
            if is(GIT_SETTINGS) && !is_directory || is(&[GIT_HOOKS]) {
                self.whole(&below, depth - 1)?;
            } else if is(GIT_DATA) {
                continue;
            } else if is_directory || meta.is_ok_and(|meta| meta.is_symlink()) {
                self.room.take(0)?;
                self.git_settings(&below, depth - 1)?;
            }
        }
        Ok(())
    }

    fn names(&self, inner: &Path, depth: usize) -> Result<Vec<std::ffi::OsString>> {
        if depth == 0 {
            return Err(Error::new(ErrorKind::FileTooLarge, "it is too deep"));
        }
        let entries = std::fs::read_dir(self.base.join(inner))?;
        entries
            // A directory with more is not recorded anyway.
            .take(4 * ENTRIES_MAX + 1)
            .map(|entry| Ok(entry?.file_name()))
            .collect()
    }
}

/// The journal is text.
fn is_text((path, node): (&PathBuf, &Node)) -> bool {
    let target = match node {
        Node::Link { target } => target.to_str(),
        Node::File { .. } | Node::Directory { .. } | Node::Special => Some(""),
    };
    path.to_str().and(target).is_some()
}

fn is_missing(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Bytes as text, for the journal.
mod as_hex {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        let text: String = digits
            .map(|digit| char::from(DIGITS[usize::from(digit)]))
            .collect();
        serializer.serialize_str(&text)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        let pairs = text.as_bytes().chunks(2);
        let byte = |pair: &[u8]| {
            let text = std::str::from_utf8(pair).ok()?;
            u8::from_str_radix(text, 16).ok()
        };
        pairs
            .map(|pair| byte(pair).ok_or_else(|| D::Error::custom("not hexadecimal")))
            .collect()
    }
}

#[cfg(test)]
mod tests;
