//! A turn and the files it changes: before its first write somebody looks at the workspace, after
//! each write the new versions are kept and everyone is told.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use checkpoints::{Moment, Vault, WorkControl, WorkGuard};
use parking_lot::Mutex;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::limits::{
    AFTER_WRITE_WAIT_MAX, FIRST_WRITE_WAIT_MAX, RESTORE_WAIT_MAX, TURN_DIFF_BYTES_MAX,
};
use crate::{PendingScan, ScanPriority, SnapshotError, ThreadFiles, WorkspaceScanner};

/// What a turn has to do with files; its session has it, too, and outlives it.
pub struct TurnWrites {
    files: Option<Arc<ThreadFiles>>,
    first: OnceCell<()>,
    /// The workspace as it was before the turn's first write.
    before: Mutex<Option<PendingScan>>,
    /// As long as it is held nobody restores files here.
    working: Mutex<RestoreHold>,
    /// The last diff that was told.
    told: Mutex<Option<(Moment, blake3::Hash)>>,
    /// For people who watch, and not told yet.
    lines: Mutex<Vec<String>>,
}

/// What a call may change, in a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteScope {
    /// These paths, from the workspace on.
    Paths(Vec<PathBuf>),
    /// Nobody knows what.
    Anything,
}

enum RestoreHold {
    Open(Option<WorkGuard>),
    Closed,
}

impl TurnWrites {
    pub fn new(files: Option<Arc<ThreadFiles>>) -> Self {
        Self {
            files,
            first: OnceCell::new(),
            before: Mutex::default(),
            working: Mutex::new(RestoreHold::Open(None)),
            told: Mutex::default(),
            lines: Mutex::default(),
        }
    }

    /// The turn is over. Whoever takes this holds off restores in its stead.
    pub fn close(&self) -> Option<WorkGuard> {
        match std::mem::replace(&mut *self.working.lock(), RestoreHold::Closed) {
            RestoreHold::Open(working) => working,
            RestoreHold::Closed => None,
        }
    }

    /// Whether the turn's first write waits, or did not wait to the end.
    pub fn waits(&self) -> bool {
        let before = self.before.lock();
        before.as_ref().is_some_and(|pending| !pending.is_over())
    }

    /// Whether the turn has come to its first write.
    pub fn has_begun(&self) -> bool {
        self.files.is_some() && self.first.initialized()
    }

    fn hold(&self, working: WorkGuard) {
        let mut hold = self.working.lock();
        if let RestoreHold::Open(held) = &mut *hold {
            *held = Some(working);
        }
    }

    /// Sees to it that what a call is about to change is kept as it was. Gives what is to be said
    /// about it.
    pub async fn before(
        self: &Arc<Self>,
        write: WriteScope,
        cancel: &CancellationToken,
    ) -> Vec<String> {
        let Some(files) = &self.files else {
            return Vec::new();
        };
        let first = self.first.get_or_init(|| self.first_write(files));
        tokio::select! {
            _ = first => {}
            () = cancel.cancelled() => return Vec::new(),
        }
        let before = self.before.lock().clone();
        match before {
            // The look goes on while the call runs.
            Some(pending) if !pending.is_over() => match write {
                WriteScope::Paths(paths) => pending.keep(paths).await,
                WriteScope::Anything => pending.mark_incomplete(),
            },
            Some(pending) => {
                if let Err(error) = pending.result().await {
                    self.complain(files, &error);
                }
            }
            None => files.changed_unseen(),
        }
        std::mem::take(&mut *self.lines.lock())
    }

    async fn first_write(self: &Arc<Self>, files: &Arc<ThreadFiles>) {
        let scanner = &files.scanner;
        let patience = match scanner.restoring() {
            true => RESTORE_WAIT_MAX,
            false => FIRST_WRITE_WAIT_MAX,
        };
        let held = hold(scanner, self);
        let look = async {
            let pending = files.before_turn().await;
            *self.before.lock() = Some(pending.clone());
            // Whether it failed is asked when the call is about to run.
            let _ = pending.result().await;
            let lines = files.secure().await;
            self.lines.lock().extend(lines);
        };
        // Whoever comes too late is not waited for, but counts all the same.
        let (held, _) = tokio::join!(
            tokio::time::timeout(patience, held),
            tokio::time::timeout(FIRST_WRITE_WAIT_MAX, look)
        );
        if held.is_err() {
            tracing::debug!("a turn writes before others know of it");
        }
    }

    /// Says once that files are not kept.
    fn complain(&self, files: &ThreadFiles, error: &SnapshotError) {
        if !files.complained.swap(true, Ordering::Relaxed) {
            let line = format!("[checkpoints] files are changed without being kept: {error}");
            self.lines.lock().push(line);
        }
    }

    /// Keeps what a call changed and has it told; what takes long goes on without the turn. `diffed`
    /// is called with how the files differ from before the turn, if that is news.
    pub async fn after<F>(
        self: &Arc<Self>,
        write: WriteScope,
        cancel: &CancellationToken,
        diffed: impl FnOnce(String) -> F + Send + 'static,
    ) where
        F: Future<Output = ()> + Send,
    {
        let Some(files) = self.files.as_ref().filter(|_| self.has_begun()) else {
            return;
        };
        let follow = WriteFollower {
            scanner: Arc::clone(&files.scanner),
            writes: Arc::clone(self),
            cancel: cancel.clone(),
        };
        let mut following = tokio::spawn(async move {
            match follow.diff_after(write).await {
                Ok(Some(diff)) => diffed(diff).await,
                Ok(None) => {}
                Err(error) => tracing::debug!(%error, "what a call changed is not kept yet"),
            }
        });
        tokio::select! {
            _ = tokio::time::timeout(AFTER_WRITE_WAIT_MAX, &mut following) => {}
            () = cancel.cancelled() => {}
        }
    }

    /// Whether it is not what was told last. At first there is no difference.
    fn is_news(&self, moment: Moment, diff: &str) -> bool {
        let mut told = self.told.lock();
        let hash = blake3::hash(diff.as_bytes());
        let news = match &*told {
            Some((last, known)) => *last <= moment && *known != hash,
            None => !diff.is_empty(),
        };
        if news {
            *told = Some((moment, hash));
        }
        news
    }
}

/// Holds off restores until the turn is over, even if nobody waits for that any more.
async fn hold(scanner: &Arc<WorkspaceScanner>, writes: &Arc<TurnWrites>) {
    let (scanner, writes) = (Arc::clone(scanner), Arc::clone(writes));
    let held = tokio::spawn(async move {
        let work = |vault: &Vault, work: &WorkControl<'_>| vault.working(work);
        match scanner.work(work).await {
            Ok(working) => writes.hold(working),
            Err(error) => tracing::debug!(%error, "a turn writes unknown to others"),
        }
    });
    // A task that panicked has nothing to hold.
    let _ = held.await;
}

/// Sees what a call changed.
struct WriteFollower {
    scanner: Arc<WorkspaceScanner>,
    writes: Arc<TurnWrites>,
    cancel: CancellationToken,
}

impl WriteFollower {
    /// How the files differ now from before the turn, if that is not what was told last.
    async fn diff_after(&self, write: WriteScope) -> Result<Option<String>, SnapshotError> {
        let now = match write {
            WriteScope::Paths(paths) => self.scanner.record(paths).await?,
            WriteScope::Anything => {
                self.scanner
                    .request_scan(ScanPriority::Urgent)
                    .result()
                    .await?
            }
        };
        let Some(before) = self.writes.before.lock().clone() else {
            return Ok(None);
        };
        let (from, to) = (before.result().await?.moment, now.moment);
        let diff = move |vault: &Vault| vault.diff(from, to, TURN_DIFF_BYTES_MAX);
        let diff = self.scanner.read(diff).await?;
        // A turn that is being ended does not wait for this, so nothing more is told of it.
        let news = !self.cancel.is_cancelled() && self.writes.is_news(to, &diff);
        Ok(news.then_some(diff))
    }
}
