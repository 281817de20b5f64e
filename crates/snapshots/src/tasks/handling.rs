//! What came of a thread's checkpoints, and what is to be told of it.

use std::path::Path;
use std::sync::Arc;

use vocabulary::{
    Checkpoint, CheckpointCall, CheckpointNews, Checkpoints, FileVersion, Refusal, Standing,
    Trigger, Why,
};

use super::{CheckpointRequest, CheckpointTasks, FinishedTask, SnapshotEvent, TaskCause};
use crate::limits::CHECKPOINTS_WAITING_MAX;
use crate::{
    CheckpointSummary, CheckpointTask, ScanPriority, SnapshotError, TaskFailure, ThreadSnapshots,
    TurnWrites, WorkspaceEvent, translate,
};

/// What is to be told to those who listen to the thread.
#[derive(Clone, Debug)]
pub enum SnapshotReport {
    Line(String),
    FilesChanged(Arc<[FileVersion]>),
    Checkpoints {
        news: CheckpointNews,
        now: Arc<Checkpoints>,
    },
}

/// What is to be done now, in this order.
pub struct TaskEffects<R> {
    pub reports: Vec<SnapshotReport>,
    /// Who is to be answered, and how.
    pub reply: Option<(R, Result<(), Refusal>)>,
}

impl<R> CheckpointTasks<R> {
    /// Takes in what came. `turn_waits` says whether the running turn waits for a scan.
    pub fn handle(&mut self, event: SnapshotEvent, turn_waits: bool) -> TaskEffects<R> {
        let mut reply = None;
        let reports = match event {
            SnapshotEvent::Workspace(WorkspaceEvent::FilesChanged(files)) => {
                vec![SnapshotReport::FilesChanged(files)]
            }
            SnapshotEvent::Workspace(WorkspaceEvent::Progress(line))
                if turn_waits || self.waits() =>
            {
                vec![SnapshotReport::Line(line)]
            }
            SnapshotEvent::Workspace(WorkspaceEvent::Progress(_)) => Vec::new(),
            SnapshotEvent::Workspace(WorkspaceEvent::Pruned) => {
                self.perform(CheckpointTask::Refresh, TaskCause::Pruned);
                Vec::new()
            }
            SnapshotEvent::Prepared(prepared) => self.prepared(prepared).into_iter().collect(),
            SnapshotEvent::Finished(task) => {
                let effects = self.finished(*task);
                reply = effects.reply;
                effects.reports
            }
        };
        TaskEffects { reports, reply }
    }

    /// The original is there, or will not come.
    fn prepared(
        &mut self,
        prepared: Result<ThreadSnapshots, SnapshotError>,
    ) -> Option<SnapshotReport> {
        let before = self.published.borrow().now.clone();
        if before.standing != Standing::Initializing {
            return None;
        }
        let owed = match prepared {
            Ok(snapshots) => {
                let now = snapshots.summary(Standing::Ready, before.created_at);
                self.publish(now, snapshots.original())
            }
            Err(error) => self.publish(failed(&before, &error), None),
        };
        let news = CheckpointNews::Standing;
        let none = self.published.borrow().now.count == 0;
        match (owed, none) {
            (true, true) => Some(self.report(news, Vec::new())),
            (true, false) => {
                self.perform(CheckpointTask::Refresh, TaskCause::Telling(news));
                None
            }
            (false, _) => None,
        }
    }

    fn report(&mut self, news: CheckpointNews, list: Vec<Checkpoint>) -> SnapshotReport {
        let now = Arc::new(self.published.borrow().now.with(list));
        self.told();
        SnapshotReport::Checkpoints { news, now }
    }

    /// Every turn that is over leaves a checkpoint.
    pub fn turn_over(&mut self, writes: Option<Arc<TurnWrites>>) {
        let Some(files) = &self.files else {
            return;
        };
        if self.waiting.len() >= CHECKPOINTS_WAITING_MAX {
            tracing::warn!(thread = %self.thread, "too many checkpoints wait; one is left out");
            return;
        }
        let task = CheckpointTask::Automatic {
            pending: files.scanner.request_scan(ScanPriority::Urgent),
            working: writes.and_then(|writes| writes.close()),
        };
        self.perform(task, TaskCause::TurnOver);
    }

    /// What a client's call comes to, if it can be done at all as things stand.
    pub fn admit(
        &self,
        call: CheckpointCall,
        directory: &Path,
    ) -> Result<(CheckpointTask, CheckpointRequest), Refusal> {
        if let Standing::Failed { why } = self.standing() {
            return Err(Refusal::new(Why::NotAvailable, why));
        }
        let admitted = match call {
            CheckpointCall::Take => (CheckpointTask::Take, CheckpointRequest::Take),
            CheckpointCall::Restore { to, path } => {
                let checked = |path: String| translate::checked_path(directory, &path);
                let path = path.map(checked).transpose()?;
                (
                    CheckpointTask::Restore { to, path },
                    CheckpointRequest::Restore,
                )
            }
            CheckpointCall::Delete { id } => {
                (CheckpointTask::Delete { id }, CheckpointRequest::Delete)
            }
            CheckpointCall::Get
            | CheckpointCall::Preview { .. }
            | CheckpointCall::Diff { .. }
            | CheckpointCall::History { .. }
            | CheckpointCall::FileAt { .. } => {
                let message = "this call is not for a session";
                return Err(Refusal::new(Why::Internal, message));
            }
        };
        match self.requested {
            Some(_) => Err(Refusal::busy()),
            None => Ok(admitted),
        }
    }

    /// Takes on what a client wants done; it is answered when it is done.
    pub fn begin(&mut self, task: CheckpointTask, requested: CheckpointRequest, reply: R) {
        self.requested = Some((requested, reply));
        self.perform(task, TaskCause::Requested(requested));
    }

    /// Something was done to the checkpoints, or could not be.
    fn finished(&mut self, task: FinishedTask) -> TaskEffects<R> {
        let FinishedTask { result, cause } = task;
        let mut reports: Vec<_> = result.lines.into_iter().map(SnapshotReport::Line).collect();
        let before = self.published.borrow().now.clone();
        let list = self.read_back(result.snapshots, &before);
        self.rest();
        let changed = self.published.borrow().now.lists_other_than(&before);
        reports.extend(match (&result.outcome, cause) {
            (Ok(()), cause) => self.succeeded(cause, changed, list),
            (Err(failure), TaskCause::TurnOver | TaskCause::Requested(CheckpointRequest::Take)) => {
                self.take_failed(failure, &before, list)
            }
            // A restore that failed has taken its own checkpoint before.
            (Err(_), TaskCause::Requested(CheckpointRequest::Restore)) if changed => {
                let news = CheckpointNews::Taken(Trigger::Automatic);
                Some(self.report(news, list.unwrap_or_default()))
            }
            (
                Err(_),
                TaskCause::Requested(CheckpointRequest::Restore | CheckpointRequest::Delete),
            )
            | (Err(_), TaskCause::Pruned | TaskCause::Telling(_)) => None,
        });
        let reply = match cause {
            TaskCause::Requested(_) => self.requested.take(),
            TaskCause::TurnOver | TaskCause::Pruned | TaskCause::Telling(_) => None,
        };
        let outcome = result.outcome.map_err(TaskFailure::into_refusal);
        TaskEffects {
            reports,
            reply: reply.map(|(_, reply)| (reply, outcome)),
        }
    }

    fn succeeded(
        &mut self,
        cause: TaskCause,
        changed: bool,
        list: Option<Vec<Checkpoint>>,
    ) -> Option<SnapshotReport> {
        let news = match cause {
            TaskCause::Requested(CheckpointRequest::Take) => CheckpointNews::Taken(Trigger::Manual),
            TaskCause::Requested(CheckpointRequest::Restore) => CheckpointNews::Restored,
            TaskCause::Requested(CheckpointRequest::Delete) => CheckpointNews::Deleted,
            TaskCause::TurnOver => CheckpointNews::Taken(Trigger::Automatic),
            TaskCause::Pruned if changed => CheckpointNews::Deleted,
            TaskCause::Pruned => return None,
            TaskCause::Telling(news) => news,
        };
        match list {
            Some(list) => Some(self.report(news, list)),
            None => {
                self.tell_later();
                None
            }
        }
    }

    /// Shows what is kept now, if it could be read and there is anything; gives the list of it, if that
    /// was read.
    fn read_back(
        &mut self,
        snapshots: Result<ThreadSnapshots, SnapshotError>,
        before: &CheckpointSummary,
    ) -> Option<Vec<Checkpoint>> {
        let snapshots = snapshots
            .ok()
            .filter(|snapshots| snapshots.kept.is_some())?;
        let now = snapshots.summary(Standing::Ready, before.created_at);
        self.publish(now, snapshots.original());
        snapshots.list
    }

    /// Says why no checkpoint could be taken, if that is new.
    fn take_failed(
        &mut self,
        failure: &TaskFailure,
        before: &CheckpointSummary,
        list: Option<Vec<Checkpoint>>,
    ) -> Option<SnapshotReport> {
        let why = match failure {
            TaskFailure::Broken(error) if error.is_cancelled() => return None,
            TaskFailure::Broken(error) => error.to_string(),
            TaskFailure::Refused(refusal) if refusal.why == Why::ShuttingDown => return None,
            TaskFailure::Refused(refusal) => refusal.message.clone(),
        };
        let standing = Standing::Failed { why };
        let published = self.published.borrow().now.clone();
        let now = CheckpointSummary {
            standing,
            ..published
        };
        let known = now.standing == before.standing;
        self.publish(now, None);
        // A list that cannot be read cannot be told; that, too, the standing says.
        (!known).then(|| self.report(CheckpointNews::Standing, list.unwrap_or_default()))
    }
}

fn failed(before: &CheckpointSummary, error: &SnapshotError) -> CheckpointSummary {
    CheckpointSummary {
        standing: Standing::Failed {
            why: error.to_string(),
        },
        ..before.clone()
    }
}
