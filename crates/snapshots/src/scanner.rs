//! The scanner of a workspace: one per directory and process, shared by its sessions. It
//! owns the vault, scans the workspace for whoever needs to know how it is, and tells all
//! sessions what it found. All work with the vault is done where blocking is fine.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use checkpoints::{Error, RetentionPolicy, ScanOutcome, Vault, WorkControl, WorkProgress};
use parking_lot::Mutex;
use tokio::sync::{Notify, OnceCell, Semaphore, mpsc};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use vocabulary::{FileVersion, ThreadId, Timestamp};

use crate::backup_record;
use crate::limits::{
    PROGRESS_AFTER, PROGRESS_EVERY, PRUNE_EVERY, VAULT_READS_MAX, WORKSPACE_EVENTS_MAX,
};
use crate::scan_queue::ScanQueue;
use crate::{
    CheckpointSetting, SnapshotClock, SnapshotError, SnapshotSettings, VaultPlace, WorkspaceWatch,
    translate,
};

/// The scanners of all workspaces where threads are awake.
pub struct WorkspaceScanners {
    settings: SnapshotSettings,
    awake: Mutex<HashMap<PathBuf, Weak<WorkspaceScanner>>>,
    /// What is being let go of, of threads that were deleted.
    forgetting: TaskTracker,
}

/// What happens to a workspace, as its sessions hear it.
#[derive(Clone, Debug)]
pub enum WorkspaceEvent {
    FilesChanged(Arc<[FileVersion]>),
    /// How far work is that takes long; for those who wait.
    Progress(String),
    /// Some checkpoints are gone.
    Pruned,
}

/// How the workspace was found.
#[derive(Clone, Copy, Debug)]
pub struct ScanResult {
    pub moment: checkpoints::Moment,
    pub at: Timestamp,
    pub partial: bool,
}

pub struct WorkspaceScanner {
    pub(crate) workspace: PathBuf,
    pub(crate) place: VaultPlace,
    policy: RetentionPolicy,
    vault: OnceCell<Arc<Vault>>,
    /// A vault has one connection: without this, a hundred sessions would wait for it in a hundred
    /// threads, each with a stack and a heap of its own.
    reads: Arc<Semaphore>,
    pub(crate) queue: Mutex<ScanQueue>,
    /// Somebody does not want to wait.
    pub(crate) expedite: Notify,
    /// Each session has a channel of its own: one for all would be a lock that every round of every
    /// session takes.
    listeners: Mutex<Vec<mpsc::Sender<WorkspaceEvent>>>,
    /// While somebody wants to hear what others change.
    pub(crate) watch: Mutex<Weak<WorkspaceWatch>>,
    pruned_at: Mutex<Option<Instant>>,
    /// Restores of this process that are under way.
    pub(crate) restores: AtomicUsize,
    cancel: Arc<AtomicBool>,
    clock: SnapshotClock,
    forgetting: TaskTracker,
}

/// The first state of a workspace that a vault has: everything in it is new, nothing changed.
const FIRST_MOMENT: i64 = 1;

impl WorkspaceScanners {
    pub fn new(settings: SnapshotSettings) -> Self {
        Self {
            settings,
            awake: Mutex::default(),
            forgetting: TaskTracker::new(),
        }
    }

    pub fn now(&self) -> Timestamp {
        (self.settings.clock)()
    }

    /// The scanner of a directory; none where files are not kept.
    pub fn of(&self, directory: &Path) -> Option<Arc<WorkspaceScanner>> {
        let settings = &self.settings;
        let CheckpointSetting::On { limits, policy } = settings.checkpoints else {
            return None;
        };
        let mut scanners = self.awake.lock();
        if let Some(scanner) = scanners.get(directory).and_then(Weak::upgrade) {
            return Some(scanner);
        }
        scanners.retain(|_, scanner| scanner.strong_count() > 0);
        let scanner = Arc::new(WorkspaceScanner {
            workspace: directory.to_owned(),
            place: VaultPlace::new(&settings.home, &settings.workspace_data, directory, limits),
            policy,
            vault: OnceCell::new(),
            reads: Arc::new(Semaphore::new(VAULT_READS_MAX)),
            queue: Mutex::new(ScanQueue::new()),
            expedite: Notify::new(),
            listeners: Mutex::default(),
            watch: Mutex::default(),
            pruned_at: Mutex::default(),
            restores: AtomicUsize::new(0),
            cancel: Arc::default(),
            clock: Arc::clone(&settings.clock),
            forgetting: self.forgetting.clone(),
        });
        scanners.insert(directory.to_owned(), Arc::downgrade(&scanner));
        Some(scanner)
    }

    /// Waits until nothing is kept any more of threads that were deleted. None is deleted meanwhile.
    pub async fn forgotten(&self) {
        self.forgetting.close();
        self.forgetting.wait().await;
    }

    /// The process is about to end: nothing is worth waiting for any more.
    pub fn cancel(&self) {
        for scanner in self.awake.lock().values().filter_map(Weak::upgrade) {
            scanner.cancel.store(true, Ordering::Relaxed);
        }
    }
}

impl WorkspaceScanner {
    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    pub fn subscribe(&self) -> mpsc::Receiver<WorkspaceEvent> {
        let (listener, events) = mpsc::channel(WORKSPACE_EVENTS_MAX);
        let mut listeners = self.listeners.lock();
        // Now and then, so that those who are gone are not kept until there is something to tell.
        if listeners.len().is_power_of_two() {
            listeners.retain(|listener| !listener.is_closed());
        }
        listeners.push(listener);
        events
    }

    /// Tells all sessions of the workspace; those that are gone are forgotten.
    fn publish(&self, event: &WorkspaceEvent) {
        self.listeners
            .lock()
            .retain(|listener| match listener.try_send(event.clone()) {
                Ok(()) => true,
                Err(mpsc::error::TrySendError::Closed(_)) => false,
                Err(mpsc::error::TrySendError::Full(_)) => {
                    tracing::warn!("a session was not told of changed files: it is too busy");
                    true
                }
            });
    }

    /// The vault, opened when it is first needed. What failed once is tried again.
    async fn vault(&self) -> Result<&Arc<Vault>, SnapshotError> {
        let open = || async {
            let place = self.place.clone();
            blocking(move || place.open()).await.map(Arc::new)
        };
        self.vault.get_or_try_init(open).await
    }

    /// Reads from the vault.
    pub async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Vault) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, SnapshotError> {
        let vault = Arc::clone(self.vault().await?);
        let place = Arc::clone(&self.reads).acquire_owned().await;
        let place = place.map_err(|_| SnapshotError::Interrupted)?;
        blocking(move || {
            // Given back when this closure is done, even if the caller has gone away.
            let _place = place;
            read(&vault)
        })
        .await
    }

    /// Works with the vault; goes on even if nobody waits for it any more.
    pub async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Vault, &WorkControl<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, SnapshotError> {
        self.watched_work(Arc::default(), work).await
    }

    async fn watched_work<T: Send + 'static>(
        &self,
        seen: Arc<Mutex<WorkProgress>>,
        work: impl FnOnce(&Vault, &WorkControl<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, SnapshotError> {
        let vault = Arc::clone(self.vault().await?);
        let cancel = Arc::clone(&self.cancel);
        blocking(move || {
            let progress = |now: WorkProgress| *seen.lock() = now;
            let (cancel, progress) = (&*cancel, &progress);
            work(&vault, &WorkControl { cancel, progress })
        })
        .await
    }

    /// The same, and those who wait hear how far it is when it takes long.
    pub(crate) async fn work_with_progress<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Vault, &WorkControl<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, SnapshotError> {
        let progress = Arc::new(Mutex::new(WorkProgress::default()));
        let mut done = std::pin::pin!(self.watched_work(Arc::clone(&progress), work));
        let mut patience = PROGRESS_AFTER;
        loop {
            match tokio::time::timeout(patience, &mut done).await {
                Ok(done) => return done,
                Err(_) => {
                    let line = translate::progress(doing, *progress.lock());
                    self.publish(&WorkspaceEvent::Progress(line));
                    patience = PROGRESS_EVERY;
                }
            }
        }
    }

    /// Keeps what lies at these paths now.
    pub async fn record(&self, paths: Vec<PathBuf>) -> Result<ScanResult, SnapshotError> {
        let at = self.now();
        let record = move |vault: &Vault, work: &WorkControl<'_>| vault.record(work, &paths);
        let scan = self.work(record).await?;
        self.publish_changes(&scan);
        Ok(scan_result(&scan, at))
    }

    /// Tells all sessions which files are not what they were.
    pub fn publish_changes(&self, scan: &ScanOutcome) {
        if scan.moment.0 <= FIRST_MOMENT {
            return;
        }
        let files = translate::files(&scan.changes);
        if !files.is_empty() {
            self.publish(&WorkspaceEvent::FilesChanged(files.into()));
        }
    }

    /// Whether a restore of this process is under way.
    pub fn restoring(&self) -> bool {
        self.restores.load(Ordering::Relaxed) > 0
    }

    /// Lets go of what the policy does not keep, if it is time to look.
    pub fn prune_when_due(self: &Arc<Self>, checkpoints: u64) {
        let due = {
            let mut pruned_at = self.pruned_at.lock();
            let late = pruned_at.is_none_or(|at| at.elapsed() >= PRUNE_EVERY);
            let due = late || checkpoints > self.policy.count;
            if due {
                *pruned_at = Some(Instant::now());
            }
            due
        };
        if !due {
            return;
        }
        let (scanner, mut policy) = (Arc::clone(self), self.policy);
        if checkpoints > policy.count {
            // Some more than must, so that it is not done again after the next turn.
            policy.count -= policy.count / 10;
        }
        tokio::spawn(async move {
            let prune = move |vault: &Vault, work: &WorkControl<'_>| vault.prune(work, &policy);
            match scanner.work(prune).await {
                Ok(pruned) if pruned.checkpoints > 0 => {
                    scanner.publish(&WorkspaceEvent::Pruned);
                }
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "checkpoints could not be pruned"),
            }
        });
    }

    /// Lets go of all that is kept of a thread, once `first` is over.
    pub fn forget(
        self: &Arc<Self>,
        thread: ThreadId,
        first: impl Future<Output = ()> + Send + 'static,
    ) {
        let scanner = Arc::clone(self);
        self.forgetting.spawn(async move {
            first.await;
            let place = scanner.place.clone();
            let is_there = move || {
                let record = place.record(&thread.to_string());
                if let Err(error) = backup_record::remove(&record) {
                    tracing::warn!(%thread, %error, "the backup directory of a deleted thread is left");
                }
                Ok(place.is_taken())
            };
            let forgotten = match blocking(is_there).await {
                // Where nothing was ever kept nothing is made to forget it.
                Ok(false) => Ok(()),
                Ok(true) => {
                    scanner
                        .read(move |vault| vault.forget(&thread.to_string()))
                        .await
                }
                Err(error) => Err(error),
            };
            if let Err(error) = forgotten {
                tracing::warn!(%thread, %error, "checkpoints of a deleted thread are left");
            }
        });
    }
}

pub(crate) fn scan_result(scan: &ScanOutcome, at: Timestamp) -> ScanResult {
    ScanResult {
        moment: scan.moment,
        at,
        partial: scan.partial,
    }
}

/// Runs where blocking is fine.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, SnapshotError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(SnapshotError::from),
        Err(_) => Err(SnapshotError::Interrupted),
    }
}
