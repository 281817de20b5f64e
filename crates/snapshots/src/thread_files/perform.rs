//! What is done to a thread's checkpoints: taken, restored, deleted, read anew.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use checkpoints::{RestoreStep, Vault, WorkControl, WorkGuard};
use vocabulary::{CheckpointId, Refusal, RestoreAction, Trigger, Why};

use super::{Original, ThreadFiles};
use crate::{
    PendingScan, ScanPriority, ScanResult, SnapshotDetail, SnapshotError, ThreadSnapshots,
    WorkspaceScanner, translate,
};

/// What can be done to a thread's checkpoints.
pub enum CheckpointTask {
    /// At the end of a turn; nobody restores before it is over.
    Automatic {
        pending: PendingScan,
        working: Option<WorkGuard>,
    },
    Take,
    Restore {
        to: Option<CheckpointId>,
        path: Option<PathBuf>,
    },
    Delete {
        id: CheckpointId,
    },
    /// Reads the list anew.
    Refresh,
}

/// How a task ended.
pub struct TaskResult {
    pub outcome: Result<(), TaskFailure>,
    /// As it is now, if it could be read.
    pub snapshots: Result<ThreadSnapshots, SnapshotError>,
    /// For people who watch.
    pub lines: Vec<String>,
}

pub enum TaskFailure {
    /// It could not be done as things stand; nothing is wrong.
    Refused(Refusal),
    Broken(SnapshotError),
}

impl TaskFailure {
    pub fn into_refusal(self) -> Refusal {
        match self {
            TaskFailure::Refused(refusal) => refusal,
            TaskFailure::Broken(error) => error.refusal(),
        }
    }
}

impl From<SnapshotError> for TaskFailure {
    fn from(error: SnapshotError) -> Self {
        let refusal = error.refusal();
        match refusal.why {
            Why::Busy
            | Why::UnknownCheckpoint
            | Why::UnknownFile
            | Why::Invalid { .. }
            | Why::ShuttingDown => TaskFailure::Refused(refusal),
            // tidy: wildcard, because whatever else a vault says is its own failure.
            _ => TaskFailure::Broken(error),
        }
    }
}

impl ThreadFiles {
    /// Does it, and sees what is kept then.
    pub async fn perform(
        self: Arc<Self>,
        task: CheckpointTask,
        detail: SnapshotDetail,
    ) -> TaskResult {
        let mut lines = Vec::new();
        let outcome = self.attempt(task, &mut lines).await;
        let snapshots = match outcome {
            Ok(()) => self.snapshots(detail).await,
            // That something is wrong is told at once, and always whole.
            Err(_) => self.snapshots(SnapshotDetail::List).await,
        };
        if let Ok(ThreadSnapshots {
            kept: Some(kept), ..
        }) = &snapshots
        {
            self.scanner.prune_when_due(kept.count);
            self.write_record().await;
        }
        TaskResult {
            outcome,
            snapshots,
            lines,
        }
    }

    async fn attempt(
        &self,
        task: CheckpointTask,
        lines: &mut Vec<String>,
    ) -> Result<(), TaskFailure> {
        match task {
            CheckpointTask::Automatic { pending, working } => {
                let noted = self.note(&pending, Trigger::Automatic, lines).await;
                drop(working);
                noted
            }
            CheckpointTask::Take => {
                self.usable().await?;
                let pending = self.scanner.request_scan(ScanPriority::Urgent);
                self.note(&pending, Trigger::Manual, lines).await
            }
            CheckpointTask::Restore { to, path } => self.restore(to, path, lines).await,
            CheckpointTask::Delete { id } => {
                self.usable().await?;
                self.moment(Some(id)).await?;
                let thread = self.thread.to_string();
                let delete = move |vault: &Vault| vault.delete(&thread, id.0);
                Ok(self.scanner.read(delete).await?)
            }
            CheckpointTask::Refresh => Ok(()),
        }
    }

    /// Waits for the original; refuses where files are not kept.
    async fn usable(&self) -> Result<(), TaskFailure> {
        match self.settled().await? {
            Original::Failed(error) => {
                let message = error.to_string();
                Err(TaskFailure::Refused(Refusal::new(
                    Why::NotAvailable,
                    message,
                )))
            }
            Original::Unknown | Original::Coming(_) | Original::Here(_) | Original::Begun(_) => {
                Ok(())
            }
        }
    }

    async fn note(
        &self,
        pending: &PendingScan,
        trigger: Trigger,
        lines: &mut Vec<String>,
    ) -> Result<(), TaskFailure> {
        let found = pending.result().await?;
        self.begin(Some(found), lines).await?;
        match self.note_moment(found, trigger).await {
            Err(error) if error.is_not_begun() => {
                // All of it was pruned, the original included: what is there now is the first again.
                self.original.send_replace(Original::Here(found));
                self.begin(Some(found), lines).await?;
                Ok(self.note_moment(found, trigger).await?)
            }
            noted => Ok(noted?),
        }
    }

    async fn note_moment(&self, found: ScanResult, trigger: Trigger) -> Result<(), SnapshotError> {
        let thread = self.thread.to_string();
        let note = move |vault: &Vault| vault.note(&thread, found.moment, trigger);
        self.scanner.read(note).await.map(|_| ())
    }

    async fn restore(
        &self,
        to: Option<CheckpointId>,
        path: Option<PathBuf>,
        lines: &mut Vec<String>,
    ) -> Result<(), TaskFailure> {
        self.usable().await?;
        // Refused before anything is kept; and asked again, because an original that nobody kept for
        // long may be another one by then.
        self.moment(to).await?;
        self.begin(None, lines).await?;
        let to = self.moment(to).await?;
        let thread = self.thread.to_string();
        let restore = move |vault: &Vault, work: &WorkControl<'_>| {
            vault.restore(work, &thread, to, path.as_deref())
        };
        let restoring = Restoring::new(&self.scanner);
        let restored = self
            .scanner
            .work_with_progress("restoring files", restore)
            .await;
        drop(restoring);
        match restored {
            Ok(restored) => {
                self.scanner.publish_changes(&restored.scan);
                lines.extend(left_alone(&restored.steps));
                Ok(())
            }
            Err(error) => {
                let failure = TaskFailure::from(error);
                if let TaskFailure::Broken(_) = failure {
                    // Some files may be back already: whoever watches shall see it. That this may
                    // fail as well is no news.
                    let _ = self
                        .scanner
                        .request_scan(ScanPriority::Urgent)
                        .result()
                        .await;
                }
                Err(failure)
            }
        }
    }
}

/// Lets turns know that a restore is under way.
struct Restoring<'a>(&'a WorkspaceScanner);

impl<'a> Restoring<'a> {
    fn new(scanner: &'a WorkspaceScanner) -> Self {
        scanner.restores.fetch_add(1, Ordering::Relaxed);
        Self(scanner)
    }
}

impl Drop for Restoring<'_> {
    fn drop(&mut self) {
        self.0.restores.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Says what a restore did not touch.
fn left_alone(steps: &[RestoreStep]) -> Option<String> {
    let skipped = |step: &&RestoreStep| matches!(step.how, RestoreAction::Skip { .. });
    let mut skipped = steps.iter().filter(skipped);
    let first = translate::touched(skipped.next()?.clone());
    let more = skipped.count();
    let RestoreAction::Skip { why } = first.how else {
        return None;
    };
    let path = first.path;
    Some(match more {
        0 => format!("[checkpoints] left alone: {path} ({why})"),
        more => format!("[checkpoints] left alone: {path} ({why}) and {more} more"),
    })
}
