//! Watching a workspace: what others change there is seen as it happens, while somebody wants to hear of it.
//!
//! The kernel says in which directories something happened (inotify: no thread, and nothing to do until then).
//! What happened is found by the scanner, as after every write of a turn, so that versions have one count and
//! what is ignored stays so. Where too much happened to be told apart everything is looked at.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use checkpoints::{IGNORE_FILE, Vault};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use tokio::net::unix::pipe;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use crate::limits::{
    WATCH_PAUSE, WATCH_PAUSE_MAX, WATCHED_DIRECTORIES_MAX, WATCHED_PATHS_MAX, WATCHED_ROUNDS_MAX,
};
use crate::{ScanPriority, SnapshotError, WorkspaceScanner};

/// Whoever holds it hears of changes from outside.
pub struct WorkspaceWatch {
    _task: AbortOnDropHandle<()>,
}

/// What is not watched, although versions of it may be kept: it changes by the thousand.
const NOT_WATCHED: [&str; 3] = [".git", "node_modules", "target"];
/// How files begin that are on their way to their name.
const TEMPORARY: &[u8] = b".dragoman-";
const EVENTS_BYTES: usize = 16 << 10;
/// Whoever changes something again within this time goes on and on.
const STEADY: Duration = Duration::from_millis(100);

impl WorkspaceScanner {
    /// Watches as long as what it gives is held; one for all who want it.
    pub fn watch(self: &Arc<Self>) -> Arc<WorkspaceWatch> {
        let mut known = self.watch.lock();
        if let Some(watch) = known.upgrade() {
            return watch;
        }
        let scanner = Arc::clone(self);
        let task = tokio::spawn(async move {
            if let Err(error) = follow(&scanner).await {
                tracing::warn!(%error, "what others change in a workspace is seen only later");
            }
        });
        let watch = Arc::new(WorkspaceWatch {
            _task: AbortOnDropHandle::new(task),
        });
        *known = Arc::downgrade(&watch);
        watch
    }
}

async fn follow(scanner: &Arc<WorkspaceScanner>) -> io::Result<()> {
    let mut watched = WatchedDirectories::new(scanner.workspace.clone())?;
    look_at_all(scanner, &mut watched).await;
    let mut pause = WATCH_PAUSE;
    loop {
        let since = Instant::now();
        watched.wait().await?;
        pause = match since.elapsed() < STEADY {
            true => (pause * 2).min(WATCH_PAUSE_MAX),
            false => WATCH_PAUSE,
        };
        tokio::time::sleep(pause).await;
        match watched.drain()? {
            WatchedChanges::Paths(paths) if paths.is_empty() => {}
            WatchedChanges::Paths(paths) => {
                if let Err(error) = scanner.record(paths.into_iter().collect()).await {
                    complain(&error);
                }
            }
            WatchedChanges::Anything => look_at_all(scanner, &mut watched).await,
        }
    }
}

/// Looks at everything, and watches what there is now. What came in between is looked at again.
async fn look_at_all(scanner: &Arc<WorkspaceScanner>, watched: &mut WatchedDirectories) {
    for _ in 0..WATCHED_ROUNDS_MAX {
        let scan = scanner.request_scan(ScanPriority::Background);
        if let Err(error) = scan.result().await {
            return complain(&error);
        }
        let directories = |vault: &Vault| vault.directories(&NOT_WATCHED, WATCHED_DIRECTORIES_MAX);
        let has_new = match scanner.read(directories).await {
            Ok(directories) => watched.update(directories),
            Err(error) => return complain(&error),
        };
        if !has_new {
            return;
        }
    }
}

fn complain(error: &SnapshotError) {
    tracing::debug!(%error, "what others changed in a workspace cannot be looked at");
}

/// What happened since the last look.
#[derive(Debug, PartialEq, Eq)]
enum WatchedChanges {
    /// At these paths, from the workspace on.
    Paths(BTreeSet<PathBuf>),
    /// Too much, or something that concerns more than a path.
    Anything,
}

impl WatchedChanges {
    fn take_in(&mut self, event: &inotify::Event<'_>, directories: &mut HashMap<i32, PathBuf>) {
        let what = event.events();
        if what.contains(ReadFlags::IGNORED) {
            directories.remove(&event.wd());
            return;
        }
        if what.intersects(ReadFlags::ISDIR | ReadFlags::QUEUE_OVERFLOW) {
            *self = WatchedChanges::Anything;
            return;
        }
        let directory = directories.get(&event.wd());
        let (Some(directory), Some(name)) = (directory, event.file_name()) else {
            return;
        };
        match name.to_bytes() {
            name if name.starts_with(TEMPORARY) => {}
            // What counts may be something else now.
            b".gitignore" => *self = WatchedChanges::Anything,
            rules if rules == IGNORE_FILE.as_bytes() => *self = WatchedChanges::Anything,
            name => self.add(directory.join(OsStr::from_bytes(name))),
        }
    }

    fn add(&mut self, path: PathBuf) {
        if let WatchedChanges::Paths(paths) = self {
            paths.insert(path);
            if paths.len() > WATCHED_PATHS_MAX {
                *self = WatchedChanges::Anything;
            }
        }
    }
}

/// The directories that are watched, from the workspace on, by what the kernel calls them.
struct WatchedDirectories {
    workspace: PathBuf,
    /// Like a pipe it is waited for and read; there is no type of its own for it.
    inotify: pipe::Receiver,
    directories: HashMap<i32, PathBuf>,
}

impl WatchedDirectories {
    /// With the workspace itself, so that nothing is missed from now on.
    fn new(workspace: PathBuf) -> io::Result<Self> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let mut watched = Self {
            workspace,
            inotify: pipe::Receiver::from_owned_fd_unchecked(inotify)?,
            directories: HashMap::new(),
        };
        watched.add(Path::new(""))?;
        Ok(watched)
    }

    fn add(&mut self, directory: &Path) -> io::Result<i32> {
        let events = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MODIFY
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::ONLYDIR
            | WatchFlags::DONT_FOLLOW
            | WatchFlags::EXCL_UNLINK;
        // The workspace itself may be named by a link.
        let events = match directory.as_os_str().is_empty() {
            true => events - WatchFlags::DONT_FOLLOW,
            false => events,
        };
        let path = self.workspace.join(directory);
        let number = inotify::add_watch(&self.inotify, &path, events)?;
        self.directories.insert(number, directory.to_owned());
        Ok(number)
    }

    /// Watches these and the workspace itself, and nothing else; whether any of them is new.
    fn update(&mut self, directories: Vec<PathBuf>) -> bool {
        let mut before = std::mem::take(&mut self.directories);
        let mut has_new = false;
        for directory in std::iter::once(PathBuf::new()).chain(directories) {
            match self.add(&directory) {
                Ok(number) => {
                    // One that was moved is watched already, under its old name.
                    let known = before.remove(&number);
                    has_new |= known.is_none_or(|known| known != directory);
                }
                Err(error) if error.raw_os_error() == Some(Errno::NOSPC.raw_os_error()) => {
                    tracing::warn!("the system lets no more directories be watched");
                    break;
                }
                // Gone meanwhile, or closed to us.
                Err(_) => {}
            }
        }
        for number in before.into_keys() {
            // One that is gone is not watched any more by itself.
            let _ = inotify::remove_watch(&self.inotify, number);
        }
        has_new
    }

    async fn wait(&self) -> io::Result<()> {
        self.inotify.readable().await
    }

    /// Takes in all that was told.
    fn drain(&mut self) -> io::Result<WatchedChanges> {
        let mut changes = WatchedChanges::Paths(BTreeSet::new());
        let mut buffer = [MaybeUninit::uninit(); EVENTS_BYTES];
        let mut events = inotify::Reader::new(&self.inotify, &mut buffer);
        loop {
            match events.next() {
                Ok(event) => changes.take_in(&event, &mut self.directories),
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // Finds nothing, and so the next wait waits; but for what came in this moment.
        match self.inotify.try_read(&mut [0; EVENTS_BYTES]) {
            Ok(_) => Ok(WatchedChanges::Anything),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(changes),
            Err(error) => Err(error),
        }
    }
}
