//! One thread's part in its workspace's scanner: its original, its checkpoints, and what is done to
//! them. Each piece of work is a future that the session waits for and that needs nothing of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use checkpoints::{Moment, Vault};
use tokio::sync::watch;
use vocabulary::{CheckpointId, Refusal, ThreadId, Timestamp, Why};

use crate::backup_record::BackupRecord;
use crate::limits::ORIGINAL_WAIT_MAX;
use crate::{
    PendingScan, ScanPriority, ScanResult, SnapshotDetail, SnapshotError, ThreadSnapshots,
    WorkspaceScanner,
};

mod perform;

pub use perform::{CheckpointTask, TaskFailure, TaskResult};

/// The files of a thread, as its session and its turns share them.
pub struct ThreadFiles {
    pub scanner: Arc<WorkspaceScanner>,
    thread: ThreadId,
    original: watch::Sender<Original>,
    /// Whether files may have been changed before the original could be taken.
    late: AtomicBool,
    /// Whether it was said that files are not kept.
    pub complained: AtomicBool,
}

/// What is known of the state before a thread's first change.
#[derive(Clone)]
pub enum Original {
    Unknown,
    Coming(PendingScan),
    /// Found, and kept by nobody yet: nothing happened in the thread.
    Here(ScanResult),
    /// The vault has it.
    Begun(Moment),
    Failed(SnapshotError),
}

impl ThreadFiles {
    pub fn new(scanner: Arc<WorkspaceScanner>, thread: ThreadId) -> Arc<Self> {
        Arc::new(Self {
            scanner,
            thread,
            original: watch::Sender::new(Original::Unknown),
            late: AtomicBool::new(false),
            complained: AtomicBool::new(false),
        })
    }

    /// Finds what is kept of the thread, or has its original taken.
    pub async fn prepare(self: Arc<Self>) -> Result<ThreadSnapshots, SnapshotError> {
        let prepared = match self.snapshots(SnapshotDetail::Outline).await {
            Ok(snapshots) if snapshots.kept.is_some() => Ok(snapshots),
            Ok(snapshots) => {
                let pending = self.scanner.request_scan(ScanPriority::Background);
                self.original
                    .send_replace(Original::Coming(pending.clone()));
                pending.result().await.map(|found| ThreadSnapshots {
                    original: Some(found),
                    ..snapshots
                })
            }
            Err(error) => Err(error),
        };
        self.original.send_replace(match &prepared {
            Ok(snapshots) => match (snapshots.kept, snapshots.original) {
                (Some(kept), _) => Original::Begun(kept.original),
                (None, Some(found)) => Original::Here(found),
                (None, None) => Original::Unknown,
            },
            Err(error) => Original::Failed(error.clone()),
        });
        prepared
    }

    async fn snapshots(&self, detail: SnapshotDetail) -> Result<ThreadSnapshots, SnapshotError> {
        let thread = self.thread.to_string();
        let place = self.scanner.place.record(&thread);
        let read = move |vault: &Vault| ThreadSnapshots::read(vault, &thread, place, detail);
        self.scanner.read(read).await
    }

    /// Writes down what is kept, for whoever looks for it without asking.
    async fn write_record(&self) {
        let (thread, workspace) = (self.thread.to_string(), self.scanner.workspace.clone());
        let place = self.scanner.place.record(&thread);
        let write = move |vault: &Vault| {
            let Some(kept) = vault.kept(&thread)? else {
                return Ok(());
            };
            let record = BackupRecord {
                thread: &thread,
                workspace: &workspace,
                vault: vault.directory(),
                kept: &kept,
            };
            if let Err(error) = record.write(&place) {
                let place = place.display();
                tracing::warn!(%error, "what is kept is not written down in {place}");
            }
            Ok(())
        };
        if let Err(error) = self.scanner.read(write).await {
            tracing::debug!(thread = %self.thread, %error, "what is kept cannot be read");
        }
    }

    /// What the files were before this turn: the original if it is still being taken, or as they are now.
    pub async fn before_turn(&self) -> PendingScan {
        let mut known = self.original.subscribe();
        let known = known
            .wait_for(|original| !matches!(original, Original::Unknown))
            .await;
        let coming = known.ok().and_then(|original| match &*original {
            Original::Coming(pending) => Some(pending.clone()),
            Original::Unknown | Original::Here(_) | Original::Begun(_) | Original::Failed(_) => {
                None
            }
        });
        match coming {
            Some(pending) => {
                pending.expedite();
                pending
            }
            None => self.scanner.request_scan(ScanPriority::Urgent),
        }
    }

    /// Has the vault keep the original, if it is there: what comes next may be lost, it must not.
    /// Gives what is to be said about it.
    pub async fn secure(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.begin(None, &mut lines).await.is_err() {
            // It is tried again with the first checkpoint, which tells if it fails.
            tracing::debug!(thread = %self.thread, "the original is not kept yet");
        }
        lines
    }

    /// Something is changed although the original was not even begun to be taken.
    pub fn changed_unseen(&self) {
        if matches!(*self.original.borrow(), Original::Unknown) {
            self.late.store(true, Ordering::Relaxed);
        }
    }

    /// Waits until the original is there or will not come.
    async fn settled(&self) -> Result<Original, TaskFailure> {
        let mut original = self.original.subscribe();
        let settled = |original: &Original| match original {
            Original::Unknown => false,
            Original::Coming(pending) => {
                pending.expedite();
                false
            }
            Original::Here(_) | Original::Begun(_) | Original::Failed(_) => true,
        };
        let waiting = original.wait_for(settled);
        match tokio::time::timeout(ORIGINAL_WAIT_MAX, waiting).await {
            Ok(Ok(original)) => Ok(original.clone()),
            Ok(Err(_)) => Err(SnapshotError::Interrupted.into()),
            Err(_) => {
                let message = "the first snapshot of the workspace is still being taken";
                Err(TaskFailure::Refused(Refusal::new(
                    Why::NotAvailable,
                    message,
                )))
            }
        }
    }

    /// From now on the vault has the original. One that could not be taken is replaced by what is
    /// there now, and said to be partial.
    async fn begin(
        &self,
        instead: Option<ScanResult>,
        lines: &mut Vec<String>,
    ) -> Result<(), TaskFailure> {
        let original = match (self.settled().await?, instead) {
            (Original::Begun(_), _) => return Ok(()),
            (Original::Here(found), _) => found,
            (Original::Failed(_), Some(found)) => ScanResult {
                partial: true,
                ..found
            },
            (Original::Failed(error), None) => return Err(error.into()),
            (Original::Unknown | Original::Coming(_), _) => {
                return Err(SnapshotError::Interrupted.into());
            }
        };
        let late = self.late.load(Ordering::Relaxed);
        let (thread, partial) = (self.thread.to_string(), original.partial || late);
        let (moment, Timestamp(at)) = (original.moment, original.at);
        let begin = move |vault: &Vault| vault.begin(&thread, moment, at, partial);
        self.scanner.read(begin).await?;
        self.original.send_replace(Original::Begun(moment));
        if partial {
            let line = "[checkpoints] files may have changed before the first snapshot was \
                        complete; the original may show them as they were after that";
            lines.push(line.to_owned());
        }
        Ok(())
    }

    /// The state of the files at a checkpoint, or at the beginning.
    async fn moment(&self, at: Option<CheckpointId>) -> Result<Moment, TaskFailure> {
        let thread = self.thread.to_string();
        let kept = self.scanner.read(move |vault| vault.kept(&thread)).await?;
        let Some(id) = at else {
            if let Some(kept) = kept {
                return Ok(kept.original);
            }
            return match self.settled().await? {
                Original::Here(found) => Ok(found.moment),
                Original::Begun(moment) => Ok(moment),
                Original::Failed(error) => Err(error.into()),
                Original::Unknown | Original::Coming(_) => Err(SnapshotError::Interrupted.into()),
            };
        };
        let kept = kept.iter().flat_map(|kept| &kept.checkpoints);
        let mut kept = kept.filter(|kept| kept.number == id.0);
        let known = kept.next().ok_or_else(|| unknown(id));
        known.map(|kept| kept.moment).map_err(TaskFailure::Refused)
    }
}

pub fn unknown(id: CheckpointId) -> Refusal {
    Refusal::new(Why::UnknownCheckpoint, format!("Unknown checkpoint: {id}"))
}
