//! What is under way for a thread's checkpoints while it is awake: how they stand, what happens in its
//! workspace, and the work that is done one piece at a time.

use std::collections::VecDeque;
use std::sync::Arc;

use checkpoints::Moment;
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use vocabulary::{CheckpointNews, Standing, ThreadCard, ThreadId};

use crate::limits::{CHECKPOINTS_TOLD_AT_ONCE, CHECKPOINTS_TOLD_EVERY};
use crate::{
    CheckpointSummary, CheckpointTask, SnapshotDetail, SnapshotError, TaskResult, ThreadFiles,
    ThreadSnapshots, TurnWrites, WorkspaceEvent, WorkspaceScanners,
};

mod handling;

pub use handling::{SnapshotReport, TaskEffects};

/// The checkpoints of a thread as everybody but its session sees them.
pub struct PublishedCheckpoints {
    pub now: CheckpointSummary,
    /// Whether somebody saw that they are being prepared, and must be told when they are.
    pub owed: bool,
    /// Whether something is being done to them.
    pub at_work: bool,
    pub original: Option<Moment>,
}

impl PublishedCheckpoints {
    /// Whether it is worth waiting: they will be different in a moment.
    pub fn is_settled(&self) -> bool {
        self.now.standing != Standing::Initializing && !self.at_work
    }
}

/// What a session has to do with its thread's checkpoints. `R` is where a client's call is answered.
pub struct CheckpointTasks<R> {
    thread: ThreadId,
    /// None where files are not kept.
    files: Option<Arc<ThreadFiles>>,
    pub published: watch::Sender<PublishedCheckpoints>,
    events: Option<mpsc::Receiver<WorkspaceEvent>>,
    preparing: Option<BoxFuture<'static, Result<ThreadSnapshots, SnapshotError>>>,
    running: Option<BoxFuture<'static, FinishedTask>>,
    waiting: VecDeque<BoxFuture<'static, FinishedTask>>,
    /// What a client wants done and is not done yet.
    requested: Option<(CheckpointRequest, R)>,
    /// When the list was told last.
    told_at: Option<Instant>,
    /// When it is to be told, if it is not before.
    tell_at: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointRequest {
    Take,
    Restore,
    Delete,
}

/// Work that is over.
pub struct FinishedTask {
    pub result: TaskResult,
    pub cause: TaskCause,
}

/// Why something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskCause {
    Requested(CheckpointRequest),
    TurnOver,
    Pruned,
    /// Only to tell what there is.
    Telling(CheckpointNews),
}

pub enum SnapshotEvent {
    Workspace(WorkspaceEvent),
    Prepared(Result<ThreadSnapshots, SnapshotError>),
    Finished(Box<FinishedTask>),
}

impl<R> CheckpointTasks<R> {
    /// For a session that begins.
    pub fn new(scanners: &WorkspaceScanners, card: &ThreadCard) -> Self {
        let scanner = scanners.of(&card.directory);
        let standing = match scanner {
            Some(_) => Standing::Initializing,
            None => Standing::Failed {
                why: "checkpoints are turned off".to_owned(),
            },
        };
        let now = CheckpointSummary {
            standing,
            directory: None,
            created_at: scanners.now(),
            count: 0,
            last: None,
        };
        let events = scanner.as_ref().map(|scanner| scanner.subscribe());
        let files = scanner.map(|scanner| ThreadFiles::new(scanner, card.id));
        let preparing = files.as_ref().map(|files| Arc::clone(files).prepare());
        Self {
            thread: card.id,
            files,
            published: watch::Sender::new(PublishedCheckpoints {
                now,
                owed: false,
                at_work: false,
                original: None,
            }),
            events,
            preparing: preparing.map(|preparing| Box::pin(preparing) as _),
            running: None,
            waiting: VecDeque::new(),
            requested: None,
            told_at: None,
            tell_at: None,
        }
    }

    pub fn writes(&self) -> Arc<TurnWrites> {
        Arc::new(TurnWrites::new(self.files.clone()))
    }

    /// Waits for whatever comes next.
    pub async fn next(&mut self) -> SnapshotEvent {
        tokio::select! {
            // What happened to files is told before what was done to them.
            biased;
            event = next_event(&mut self.events) => SnapshotEvent::Workspace(event),
            prepared = ready(&mut self.preparing) => {
                self.preparing = None;
                SnapshotEvent::Prepared(prepared)
            }
            done = ready(&mut self.running) => {
                self.running = self.waiting.pop_front();
                SnapshotEvent::Finished(Box::new(done))
            }
        }
    }

    pub fn at_rest(&self) -> bool {
        self.running.is_none()
    }

    pub fn restoring(&self) -> bool {
        let requested = self.requested.as_ref();
        requested.is_some_and(|(requested, _)| *requested == CheckpointRequest::Restore)
    }

    fn waits(&self) -> bool {
        self.preparing.is_some() || self.running.is_some()
    }

    fn standing(&self) -> Standing {
        self.published.borrow().now.standing.clone()
    }

    /// Does it when what was to be done before is done.
    fn perform(&mut self, task: CheckpointTask, cause: TaskCause) {
        let Some(files) = self.files.clone() else {
            return;
        };
        let detail = match cause {
            TaskCause::TurnOver if !self.may_tell() => SnapshotDetail::Outline,
            TaskCause::TurnOver
            | TaskCause::Requested(_)
            | TaskCause::Pruned
            | TaskCause::Telling(_) => SnapshotDetail::List,
        };
        let work: BoxFuture<'static, FinishedTask> = Box::pin(async move {
            let result = files.perform(task, detail).await;
            FinishedTask { result, cause }
        });
        self.published
            .send_modify(|published| published.at_work = true);
        match self.running {
            None => self.running = Some(work),
            Some(_) => self.waiting.push_back(work),
        }
    }

    /// Whether the end of a turn is a reason to tell the whole list.
    fn may_tell(&self) -> bool {
        let few = self.published.borrow().now.count < CHECKPOINTS_TOLD_AT_ONCE;
        few || self
            .told_at
            .is_none_or(|at| at.elapsed() >= CHECKPOINTS_TOLD_EVERY)
    }

    /// The list is told now.
    fn told(&mut self) {
        self.told_at = Some(Instant::now());
        self.tell_at = None;
    }

    /// It is not, and will be when it was not for long enough.
    fn tell_later(&mut self) {
        let now = Instant::now();
        let told_at = self.told_at.unwrap_or(now);
        self.tell_at
            .get_or_insert((told_at + CHECKPOINTS_TOLD_EVERY).max(now));
    }

    /// When the list is to be told, whatever comes.
    pub fn tell_at(&self) -> Option<Instant> {
        self.tell_at.filter(|_| self.running.is_none())
    }

    /// Tells it if it is time.
    pub fn tell_when_due(&mut self, now: Instant) {
        if self.tell_at().is_some_and(|due| now >= due) {
            self.tell_at = None;
            let news = CheckpointNews::Taken(vocabulary::Trigger::Automatic);
            self.perform(CheckpointTask::Refresh, TaskCause::Telling(news));
        }
    }

    /// A piece of work is over; there may be more.
    fn rest(&self) {
        let at_work = self.running.is_some();
        self.published
            .send_modify(|published| published.at_work = at_work);
    }

    /// Who waits for what a client wanted, when the session ends before it is done.
    pub fn abandon(&mut self) -> Option<R> {
        self.requested.take().map(|(_, reply)| reply)
    }

    /// Shows how things stand now; whether somebody is owed to hear of it.
    fn publish(&mut self, now: CheckpointSummary, original: Option<Moment>) -> bool {
        let prepared = now.standing != Standing::Initializing;
        let mut owed = false;
        self.published.send_modify(|published| {
            published.now = now;
            published.original = original.or(published.original);
            owed = prepared && std::mem::take(&mut published.owed);
        });
        owed
    }

    /// Lets go of what is kept of a thread that is gone, once nothing is done to it any more.
    pub fn forget(&mut self) {
        let Some(files) = self.files.take() else {
            return;
        };
        let work = self
            .running
            .take()
            .into_iter()
            .chain(self.waiting.drain(..));
        let work: Vec<_> = work.collect();
        files.scanner.forget(self.thread, async move {
            for each in work {
                each.await;
            }
        });
    }
}

async fn next_event(events: &mut Option<mpsc::Receiver<WorkspaceEvent>>) -> WorkspaceEvent {
    if let Some(receiver) = events {
        match receiver.recv().await {
            Some(event) => return event,
            None => *events = None,
        }
    }
    std::future::pending().await
}

/// Waits for a future that may not be there.
async fn ready<T>(future: &mut Option<BoxFuture<'static, T>>) -> T {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}
