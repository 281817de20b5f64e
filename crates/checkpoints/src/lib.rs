//! Takes, lists, diffs, restores and deletes snapshots of a directory, content-addressed.
//!
//! A [`Vault`] keeps the history of one workspace: a line of [`Moment`]s, each a state of all its
//! files. A new moment costs what changed since the one before. A checkpoint is a thread's name
//! for a moment. Everything here blocks; call it where blocking is fine.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use vocabulary::{FileChangeKind, RestoreAction, Trigger};

mod blobs;
mod copy;
mod database;
mod diff;
mod lock;
mod pre_images;
mod prune;
mod restore;
mod scan;
mod threads;
mod tree;
mod vault;
mod verify;
mod walk;
mod workspace_root;

pub use pre_images::PreImages;
pub use vault::{Vault, WorkGuard};
pub use walk::IGNORE_FILE;

/// A state of all files of a workspace; later ones are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub i64);

/// Milliseconds since 1970.
pub type Millis = i64;

/// What a vault is opened with.
#[derive(Clone, Debug)]
pub struct VaultOptions {
    /// The directory whose files are kept.
    pub workspace: PathBuf,
    /// Never looked at and never touched, wherever they lie: our own data.
    pub apart: Vec<PathBuf>,
    pub limits: SnapshotLimits,
}

/// What is left out of a snapshot because it would be too much. What is left out is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotLimits {
    /// The largest file.
    pub file_bytes: u64,
    /// All files together; the largest are left out first.
    pub total_bytes: u64,
    /// Files, links and directories; a workspace with more is refused as a whole.
    pub entries: u64,
}

impl Default for SnapshotLimits {
    fn default() -> Self {
        Self {
            file_bytes: 64 << 20,
            total_bytes: 2 << 30,
            entries: 500_000,
        }
    }
}

impl SnapshotLimits {
    /// A home directory may be used as a project, but one that is lived in is none.
    fn of_home(self) -> Self {
        Self {
            total_bytes: self.total_bytes.min(256 << 20),
            entries: self.entries.min(20_000),
            ..self
        }
    }
}

/// How long work goes on, and who is told how far it is.
pub struct WorkControl<'a> {
    pub cancel: &'a AtomicBool,
    /// Called now and then, from any thread, with how much is done.
    pub progress: &'a (dyn Fn(WorkProgress) + Sync),
}

impl WorkControl<'_> {
    pub(crate) fn check(&self) -> Result<()> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkProgress {
    /// Files looked at, blobs verified, files restored.
    pub done: u64,
    /// Of how many, where that is known.
    pub total: Option<u64>,
    pub bytes: u64,
}

/// What a look at the workspace found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanOutcome {
    /// The state that was found: a new moment if anything changed, the last one otherwise.
    pub moment: Moment,
    /// Files that are not what they were at the moment before. Directories and links included.
    pub changes: Vec<EntryChange>,
    /// Bytes by which the store grew.
    pub bytes: u64,
    /// Whether a path was changed by somebody else before it could be read; see [`PreImages`].
    pub partial: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryChange {
    /// Relative to the workspace.
    pub path: PathBuf,
    pub what: FileChangeKind,
    /// The number of the version that lies there now; a removal has one, too, under which nothing is kept.
    pub iteration: u64,
    pub size: u64,
    pub kind: FileKind,
    /// What lay there before, where that was kept.
    pub was: Option<FileKind>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    File,
    Link,
    Directory,
}

/// A checkpoint with its moment, which means something to its vault alone; a thread tells a
/// `vocabulary::Checkpoint`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptCheckpoint {
    /// From 1; never used twice.
    pub number: u64,
    pub moment: Moment,
    pub at: Millis,
    pub trigger: Trigger,
    /// Whether files differ from the checkpoint before, or from the original if it is the first.
    pub changed: bool,
    pub changed_from_original: bool,
    /// Bytes that were stored for it and not for the one before.
    pub bytes: u64,
}

/// What a thread has kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadHistory {
    /// The state before its first change.
    pub original: Moment,
    /// When the original was taken.
    pub at: Millis,
    /// Whether something may have changed before the original was complete.
    pub partial: bool,
    /// Oldest first.
    pub checkpoints: Vec<KeptCheckpoint>,
}

/// The same without the checkpoints themselves, which grow in number with every turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadOutline {
    pub original: Moment,
    pub at: Millis,
    pub partial: bool,
    /// How many checkpoints there are.
    pub count: u64,
    /// The highest number among them.
    pub last: Option<u64>,
}

impl ThreadHistory {
    pub fn outline(&self) -> ThreadOutline {
        ThreadOutline {
            original: self.original,
            at: self.at,
            partial: self.partial,
            count: self.checkpoints.len() as u64,
            last: self.checkpoints.iter().map(|each| each.number).max(),
        }
    }
}

/// What is not in a snapshot, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    pub path: PathBuf,
    pub why: LeftOutReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOutReason {
    /// Over [`SnapshotLimits::file_bytes`].
    TooLarge,
    /// Over [`SnapshotLimits::total_bytes`] with the rest.
    TooMuch,
    /// No permission to read it.
    Unreadable,
    /// A pipe, a socket, a device.
    Special,
    /// Another file system is mounted there.
    Mounted,
}

/// What a restore does to a path, or would do. A path here is what the file system has, which need
/// not be text; `vocabulary::Touched` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreStep {
    pub path: PathBuf,
    pub how: RestoreAction,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The checkpoint that undoes it.
    pub before: KeptCheckpoint,
    pub steps: Vec<RestoreStep>,
    /// What changed in the workspace by it.
    pub scan: ScanOutcome,
}

/// What may stay; the rest goes with [`Vault::prune`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// Checkpoints, and versions of files that no checkpoint needs, older than this go.
    pub age: std::time::Duration,
    /// Checkpoints of one thread; the oldest automatic ones go first.
    pub count: u64,
    /// Bytes of the vault on disk; the oldest checkpoints of any thread go until it fits.
    pub bytes: u64,
}

impl Default for RetentionPolicy {
    fn default() -> Self {
        Self {
            age: std::time::Duration::from_secs(30 * 24 * 3600),
            count: 200,
            bytes: 4 << 30,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    pub checkpoints: u64,
    pub versions: u64,
    /// Bytes given back to the disk.
    pub bytes: u64,
}

/// What a verification found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    pub blobs: u64,
    pub bytes: u64,
    /// One sentence each, naming what is damaged; empty if all is well.
    pub damage: Vec<String>,
}

/// How much a vault holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VaultSize {
    /// Bytes on disk.
    pub bytes: u64,
    pub files: u64,
    pub threads: u64,
    pub checkpoints: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cancelled")]
    Cancelled,
    /// Someone else has the vault and did not let go in time.
    #[error("the checkpoints of this workspace are in use: {0}")]
    Busy(&'static str),
    #[error("a turn is running in this workspace")]
    TurnRunning,
    #[error("the disk is full")]
    Full,
    #[error("the workspace has more than {0} files; name what to leave out in .dragomanignore")]
    TooManyFiles(u64),
    #[error("checkpoints are not taken of {0}; start in a project directory")]
    NotAProject(PathBuf),
    #[error("the workspace cannot be read: {0}")]
    Workspace(std::io::Error),
    #[error("the thread has no original here; it was pruned")]
    NotBegun,
    #[error("Unknown checkpoint: cp-{0:04}")]
    UnknownCheckpoint(u64),
    #[error("{0:?} is not a path inside the workspace")]
    BadPath(PathBuf),
    #[error("nothing is kept of {0:?}")]
    UnknownPath(PathBuf),
    #[error("damaged: {0}")]
    Damaged(String),
    #[error("the store was made by a newer version (format {0})")]
    Newer(i64),
    #[error("{0}")]
    Io(std::io::Error),
    #[error("{0}")]
    Database(rusqlite::Error),
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        use std::io::ErrorKind;
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Error::Full,
            _ => Error::Io(error),
        }
    }
}

pub type Result<T, E = Error> = std::result::Result<T, E>;
