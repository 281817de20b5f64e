//! A look at the workspace: every path that counts, with its stat data and without its content.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ignore::{DirEntry, WalkBuilder, WalkState};
use parking_lot::Mutex;

use crate::blobs::Hash;
use crate::database::{EntryKind, StatStamp};
use crate::scan::{DirtyDirs, parent};
use crate::workspace_root::is_temporary;
use crate::{Error, FileKind, LeftOutReason, Result, SnapshotLimits, WorkControl};

/// The file in which a user names what is not to be kept, over what `.gitignore` says.
pub const IGNORE_FILE: &str = ".dragomanignore";
/// A look at a directory is bound by the disk and the kernel; more threads do not help.
const THREADS_MAX: usize = 4;
/// How many entries are seen between two looks at the clock.
const TOLD_EVERY: u64 = 4096;

/// What was met at a path.
#[derive(Clone, Debug)]
pub struct WalkedEntry {
    pub path: Vec<u8>,
    pub kind: EntryKind,
    pub mode: u32,
    pub size: u64,
    pub stamp: StatStamp,
}

#[derive(Default)]
pub struct Walked {
    /// In no order.
    pub seen: Vec<WalkedEntry>,
    /// What a restore that died left lying.
    pub stale: Vec<PathBuf>,
    /// Whether something that had a name was gone when it was looked at. It may have been moved, and
    /// back: the times of its directory do not tell.
    pub missed: bool,
}

/// Which part of the workspace is looked at.
#[derive(Clone, Copy)]
pub enum ScanScope<'a> {
    All,
    /// These relative paths, what lies below them, and the directories above them.
    Paths(&'a [PathBuf]),
    /// What lies in the directories that have to be read, and in new ones.
    DirtyDirs(&'a DirtyDirs),
}

/// Whether a walk has anything to do with a path.
fn concerns(paths: &Option<Vec<PathBuf>>, path: &Path) -> bool {
    let near = |wanted: &PathBuf| wanted.starts_with(path) || path.starts_with(wanted);
    paths.as_ref().is_none_or(|paths| paths.iter().any(near))
}

impl ScanScope<'_> {
    /// Whether what was met is to be told, and whether to go on below it.
    fn wants(&self, seen: &WalkedEntry) -> (bool, bool) {
        let ScanScope::DirtyDirs(dirty_dirs) = self else {
            return (true, true);
        };
        let path = &seen.path;
        let above = parent(path).unwrap_or_default();
        match (dirty_dirs.is_clean(above), dirty_dirs.leads_on(path)) {
            // On the way to something.
            (true, true) => (dirty_dirs.is_dirty(path), true),
            (true, false) => (false, false),
            (false, on) if dirty_dirs.is_clean(path) => (false, on),
            (false, _) => (true, true),
        }
    }
}

pub fn walk(
    workspace: &Path,
    apart: &[PathBuf],
    limits: &SnapshotLimits,
    device: u64,
    part: ScanScope<'_>,
    work: &WorkControl<'_>,
) -> Result<Walked> {
    let look = Arc::new(WalkRules {
        workspace: workspace.to_owned(),
        apart: apart.to_vec(),
        device,
    });
    let paths = match part {
        ScanScope::All | ScanScope::DirtyDirs(_) => None,
        ScanScope::Paths(paths) => Some(paths.to_vec()),
    };
    let walker = builder(&look, paths).build_parallel();
    let (seen, count) = (Mutex::new(Walked::default()), AtomicU64::new(0));
    let failed = Mutex::new(None);
    walker.run(|| {
        let mut mine = ThreadResults {
            walked: Walked::default(),
            all: &seen,
        };
        let (look, count, failed) = (&look, &count, &failed);
        Box::new(move |entry| {
            let counted = count.fetch_add(1, Ordering::Relaxed) + 1;
            if counted > limits.entries {
                failed
                    .lock()
                    .get_or_insert(Error::TooManyFiles(limits.entries));
                return WalkState::Quit;
            }
            if counted.is_multiple_of(TOLD_EVERY) {
                if let Err(error) = work.check() {
                    failed.lock().get_or_insert(error);
                    return WalkState::Quit;
                }
                (work.progress)(crate::WorkProgress {
                    done: counted,
                    ..Default::default()
                });
            }
            match look.at(entry) {
                Ok(Some((seen, state))) => {
                    let (told, on) = part.wants(&seen);
                    if told {
                        mine.walked.seen.push(seen);
                    }
                    if on { state } else { WalkState::Skip }
                }
                Ok(None) => WalkState::Continue,
                // What lies in a directory that is gone by now would lie nowhere.
                Err(WalkError::Gone) => {
                    mine.walked.missed = true;
                    WalkState::Skip
                }
                Err(WalkError::Stale(path)) => {
                    mine.walked.stale.push(path);
                    WalkState::Continue
                }
                Err(WalkError::Root(error)) => {
                    failed.lock().get_or_insert(Error::Workspace(error));
                    WalkState::Quit
                }
            }
        })
    });
    match failed.into_inner() {
        Some(error) => Err(error),
        None => Ok(seen.into_inner()),
    }
}

/// What one thread has met; joins the rest when the thread is done.
struct ThreadResults<'a> {
    walked: Walked,
    all: &'a Mutex<Walked>,
}

impl Drop for ThreadResults<'_> {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        all.seen.append(&mut self.walked.seen);
        all.stale.append(&mut self.walked.stale);
        all.missed |= self.walked.missed;
    }
}

fn builder(look: &Arc<WalkRules>, paths: Option<Vec<PathBuf>>) -> WalkBuilder {
    let mut builder = WalkBuilder::new(&look.workspace);
    // Rules of a repository count where there is one, up to its root. Elsewhere only those that lie in
    // the workspace: a rule in some directory above was not meant for it.
    let repository = in_repository(&look.workspace);
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
    let filter = Arc::clone(look);
    builder
        .standard_filters(false)
        .git_ignore(true)
        .git_exclude(repository)
        .git_global(repository)
        .parents(repository)
        .require_git(repository)
        .add_custom_ignore_filename(IGNORE_FILE)
        .follow_links(false)
        .threads(threads.min(THREADS_MAX))
        .filter_entry(move |entry| {
            filter.lets_in(entry) && concerns(&paths, filter.relative(entry.path()))
        });
    builder
}

fn in_repository(workspace: &Path) -> bool {
    workspace.ancestors().any(|path| path.join(".git").exists())
}

/// Whether a name is that of a file with rules.
pub fn has_rules(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    name == b".gitignore" || name == IGNORE_FILE.as_bytes()
}

/// What tells whether the rules that lie outside of the workspace are what they were.
pub fn outer_rules(workspace: &Path) -> Hash {
    let mut files = Vec::new();
    for above in workspace.ancestors() {
        files.push(above.join(".git"));
        files.push(above.join(".git/info/exclude"));
        if above != workspace {
            files.push(above.join(".gitignore"));
            files.push(above.join(IGNORE_FILE));
        }
    }
    let home = std::env::home_dir();
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let config = config.or_else(|| Some(home.as_ref()?.join(".config")));
    files.extend(config.iter().map(|config| config.join("git/ignore")));
    files.extend(config.iter().map(|config| config.join("git/config")));
    files.extend(home.iter().map(|home| home.join(".gitconfig")));
    let mut hasher = blake3::Hasher::new();
    for file in files {
        use std::os::unix::fs::MetadataExt;
        let is_repository = file.ends_with(".git");
        let told = match std::fs::metadata(&file) {
            // A repository changes all the time; only that it is there counts.
            Ok(_) if is_repository => (1, 0, 0, 0),
            Ok(found) => (2, found.mtime(), found.mtime_nsec(), found.size()),
            Err(_) => (0, 0, 0, 0),
        };
        hasher.update(format!("{told:?}").as_bytes());
    }
    *hasher.finalize().as_bytes()
}

struct WalkRules {
    workspace: PathBuf,
    apart: Vec<PathBuf>,
    device: u64,
}

enum WalkError {
    /// It was there a moment ago.
    Gone,
    /// A file of ours that was never finished.
    Stale(PathBuf),
    /// The workspace itself cannot be read: nothing can be said of what lies in it.
    Root(io::Error),
}

impl WalkRules {
    /// Every path of the walk begins with the workspace's own, so that it need not be compared.
    fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        let bytes = path.as_os_str().as_bytes();
        let skip = self.workspace.as_os_str().len() + 1;
        Path::new(OsStr::from_bytes(bytes.get(skip..).unwrap_or_default()))
    }

    fn lets_in(&self, entry: &DirEntry) -> bool {
        // The user's repository is theirs alone.
        entry.depth() == 0
            || (entry.file_name() != ".git" && !self.apart.iter().any(|p| entry.path() == p))
    }

    fn at(
        &self,
        entry: Result<DirEntry, ignore::Error>,
    ) -> Result<Option<(WalkedEntry, WalkState)>, WalkError> {
        let entry = match entry {
            Ok(entry) if entry.depth() == 0 => return Ok(None),
            Ok(entry) => entry,
            Err(error) => return self.unreadable(&error),
        };
        let path = self.relative(entry.path());
        if is_temporary(entry.file_name()) {
            return Err(WalkError::Stale(path.to_owned()));
        }
        let metadata = match entry.metadata() {
            Ok(metadata) => metadata,
            Err(error) => return self.unreadable(&error),
        };
        let mut seen = self.seen(path, &metadata);
        let mut state = WalkState::Continue;
        if seen.kind == EntryKind::Kept(FileKind::Directory) && self.is_elsewhere(&metadata) {
            seen.kind = EntryKind::LeftOut(LeftOutReason::Mounted);
            state = WalkState::Skip;
        }
        Ok(Some((seen, state)))
    }

    fn is_elsewhere(&self, metadata: &std::fs::Metadata) -> bool {
        std::os::unix::fs::MetadataExt::dev(metadata) != self.device
    }

    fn seen(&self, path: &Path, metadata: &std::fs::Metadata) -> WalkedEntry {
        use std::os::unix::fs::MetadataExt;
        let what = metadata.file_type();
        let (kind, mode, size) = if what.is_file() {
            // What a restore makes never runs as somebody else.
            let mode = metadata.mode() & 0o777;
            (EntryKind::Kept(FileKind::File), mode, metadata.size())
        } else if what.is_dir() {
            (
                EntryKind::Kept(FileKind::Directory),
                metadata.mode() & 0o7777,
                0,
            )
        } else if what.is_symlink() {
            (EntryKind::Kept(FileKind::Link), 0, metadata.size())
        } else {
            (EntryKind::LeftOut(LeftOutReason::Special), 0, 0)
        };
        let nanos = |seconds: i64, nanos: i64| seconds.wrapping_mul(1_000_000_000) + nanos;
        WalkedEntry {
            path: path.as_os_str().as_bytes().to_vec(),
            kind,
            mode,
            size,
            stamp: StatStamp {
                modified: nanos(metadata.mtime(), metadata.mtime_nsec()),
                changed: nanos(metadata.ctime(), metadata.ctime_nsec()),
                inode: metadata.ino() as i64,
            },
        }
    }

    /// A path that could not be looked at; one that is gone by now was never there.
    fn unreadable(
        &self,
        error: &ignore::Error,
    ) -> Result<Option<(WalkedEntry, WalkState)>, WalkError> {
        let kind = error.io_error().map(io::Error::kind);
        let Some(path) = path_of(error).map(|path| self.relative(path)) else {
            return Err(WalkError::Gone);
        };
        if path == Path::new("") {
            let kind = kind.unwrap_or(io::ErrorKind::Other);
            return Err(WalkError::Root(io::Error::new(kind, error.to_string())));
        }
        if kind == Some(io::ErrorKind::NotFound) {
            return Err(WalkError::Gone);
        }
        let seen = WalkedEntry {
            path: path.as_os_str().as_bytes().to_vec(),
            kind: EntryKind::LeftOut(LeftOutReason::Unreadable),
            mode: 0,
            size: 0,
            stamp: StatStamp::default(),
        };
        Ok(Some((seen, WalkState::Skip)))
    }
}

fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            path_of(err)
        }
        ignore::Error::Partial(errors) => errors.iter().find_map(path_of),
        // tidy: wildcard, because the other errors name no path of the walk.
        _ => None,
    }
}
