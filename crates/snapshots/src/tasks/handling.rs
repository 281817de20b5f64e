//! What came of a thread's checkpoints, and what is to be told of it.

use std::path::Path;
use std::sync::Arc;

use vocabulary::{
    Checkpoint, CheckpointCall, CheckpointNews, Checkpoints, FileVersion, Refusal, Standing,
    Trigger, Why,
};

use super::{Asked, Came, Cause, Checkpointing, Done};
use crate::limits::CHECKPOINTS_WAITING_MAX;
use crate::{Failure, Haste, News, Shelf, Summary, Task, Trouble, Writing, translate};

/// What is to be told to those who listen to the thread.
#[derive(Clone, Debug)]
pub enum Report {
    Line(String),
    Files(Arc<[FileVersion]>),
    Checkpoints {
        news: CheckpointNews,
        now: Arc<Checkpoints>,
    },
}

/// What is to be done now, in this order.
pub struct Handled<R> {
    pub reports: Vec<Report>,
    /// Who is to be answered, and how.
    pub reply: Option<(R, Result<(), Refusal>)>,
}

impl<R> Checkpointing<R> {
    /// Takes in what came. `turn_waits` says whether the running turn waits for a look.
    pub fn handle(&mut self, came: Came, turn_waits: bool) -> Handled<R> {
        let mut reply = None;
        let reports = match came {
            Came::News(News::Files(files)) => vec![Report::Files(files)],
            Came::News(News::Progress(line)) if turn_waits || self.waits() => {
                vec![Report::Line(line)]
            }
            Came::News(News::Progress(_)) => Vec::new(),
            Came::News(News::Pruned) => {
                self.perform(Task::Refresh, Cause::Pruned);
                Vec::new()
            }
            Came::Prepared(prepared) => self.prepared(prepared).into_iter().collect(),
            Came::Done(done) => {
                let handled = self.done(*done);
                reply = handled.reply;
                handled.reports
            }
        };
        Handled { reports, reply }
    }

    /// The original is there, or will not come.
    fn prepared(&mut self, prepared: Result<Shelf, Trouble>) -> Option<Report> {
        let before = self.shown.borrow().now.clone();
        if before.standing != Standing::Initializing {
            return None;
        }
        let owed = match prepared {
            Ok(shelf) => {
                let now = shelf.summary(Standing::Ready, before.created_at);
                self.show(now, shelf.original())
            }
            Err(trouble) => self.show(failed(&before, &trouble), None),
        };
        let news = CheckpointNews::Standing;
        let none = self.shown.borrow().now.count == 0;
        match (owed, none) {
            (true, true) => Some(self.report(news, Vec::new())),
            (true, false) => {
                self.perform(Task::Refresh, Cause::Telling(news));
                None
            }
            (false, _) => None,
        }
    }

    fn report(&mut self, news: CheckpointNews, list: Vec<Checkpoint>) -> Report {
        let now = Arc::new(self.shown.borrow().now.with(list));
        self.told();
        Report::Checkpoints { news, now }
    }

    /// Every turn that is over leaves a checkpoint.
    pub fn turn_over(&mut self, writing: Option<Arc<Writing>>) {
        let Some(files) = &self.files else {
            return;
        };
        if self.waiting.len() >= CHECKPOINTS_WAITING_MAX {
            tracing::warn!(thread = %self.thread, "too many checkpoints wait; one is left out");
            return;
        }
        let task = Task::Automatic {
            ticket: files.keeper.look(Haste::Urgent),
            working: writing.and_then(|writing| writing.close()),
        };
        self.perform(task, Cause::TurnOver);
    }

    /// What a client's call comes to, if it can be done at all as things stand.
    pub fn admit(&self, call: CheckpointCall, directory: &Path) -> Result<(Task, Asked), Refusal> {
        if let Standing::Failed { why } = self.standing() {
            return Err(Refusal::new(Why::NotAvailable, why));
        }
        let admitted = match call {
            CheckpointCall::Take => (Task::Take, Asked::Take),
            CheckpointCall::Restore { to, path } => {
                let checked = |path: String| translate::checked_path(directory, &path);
                let path = path.map(checked).transpose()?;
                (Task::Restore { to, path }, Asked::Restore)
            }
            CheckpointCall::Delete { id } => (Task::Delete { id }, Asked::Delete),
            CheckpointCall::Get
            | CheckpointCall::Preview { .. }
            | CheckpointCall::Diff { .. }
            | CheckpointCall::History { .. }
            | CheckpointCall::FileAt { .. } => {
                let message = "this call is not for a session";
                return Err(Refusal::new(Why::Internal, message));
            }
        };
        match self.asked {
            Some(_) => Err(Refusal::busy()),
            None => Ok(admitted),
        }
    }

    /// Takes on what a client wants done; it is answered when it is done.
    pub fn begin(&mut self, task: Task, asked: Asked, reply: R) {
        self.asked = Some((asked, reply));
        self.perform(task, Cause::Asked(asked));
    }

    /// Something was done to the checkpoints, or could not be.
    fn done(&mut self, done: Done) -> Handled<R> {
        let Done { ended, cause } = done;
        let mut reports: Vec<_> = ended.lines.into_iter().map(Report::Line).collect();
        let before = self.shown.borrow().now.clone();
        let list = self.take_up(ended.shelf, &before);
        self.rest();
        let changed = self.shown.borrow().now.lists_other_than(&before);
        reports.extend(match (&ended.outcome, cause) {
            (Ok(()), cause) => self.succeeded(cause, changed, list),
            (Err(failure), Cause::TurnOver | Cause::Asked(Asked::Take)) => {
                self.could_not_take(failure, &before, list)
            }
            // A restore that failed has taken its own checkpoint before.
            (Err(_), Cause::Asked(Asked::Restore)) if changed => {
                let news = CheckpointNews::Taken(Trigger::Automatic);
                Some(self.report(news, list.unwrap_or_default()))
            }
            (Err(_), Cause::Asked(Asked::Restore | Asked::Delete))
            | (Err(_), Cause::Pruned | Cause::Telling(_)) => None,
        });
        let reply = match cause {
            Cause::Asked(_) => self.asked.take(),
            Cause::TurnOver | Cause::Pruned | Cause::Telling(_) => None,
        };
        let outcome = ended.outcome.map_err(Failure::into_refusal);
        Handled {
            reports,
            reply: reply.map(|(_, reply)| (reply, outcome)),
        }
    }

    fn succeeded(
        &mut self,
        cause: Cause,
        changed: bool,
        list: Option<Vec<Checkpoint>>,
    ) -> Option<Report> {
        let news = match cause {
            Cause::Asked(Asked::Take) => CheckpointNews::Taken(Trigger::Manual),
            Cause::Asked(Asked::Restore) => CheckpointNews::Restored,
            Cause::Asked(Asked::Delete) => CheckpointNews::Deleted,
            Cause::TurnOver => CheckpointNews::Taken(Trigger::Automatic),
            Cause::Pruned if changed => CheckpointNews::Deleted,
            Cause::Pruned => return None,
            Cause::Telling(news) => news,
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
    fn take_up(
        &mut self,
        shelf: Result<Shelf, Trouble>,
        before: &Summary,
    ) -> Option<Vec<Checkpoint>> {
        let shelf = shelf.ok().filter(|shelf| shelf.kept.is_some())?;
        let now = shelf.summary(Standing::Ready, before.created_at);
        self.show(now, shelf.original());
        shelf.list
    }

    /// Says why no checkpoint could be taken, if that is new.
    fn could_not_take(
        &mut self,
        failure: &Failure,
        before: &Summary,
        list: Option<Vec<Checkpoint>>,
    ) -> Option<Report> {
        let why = match failure {
            Failure::Broken(trouble) if trouble.is_cancelled() => return None,
            Failure::Broken(trouble) => trouble.to_string(),
            Failure::Refused(refusal) if refusal.why == Why::ShuttingDown => return None,
            Failure::Refused(refusal) => refusal.message.clone(),
        };
        let standing = Standing::Failed { why };
        let shown = self.shown.borrow().now.clone();
        let now = Summary { standing, ..shown };
        let known = now.standing == before.standing;
        self.show(now, None);
        // A list that cannot be read cannot be told; that, too, the standing says.
        (!known).then(|| self.report(CheckpointNews::Standing, list.unwrap_or_default()))
    }
}

fn failed(before: &Summary, trouble: &Trouble) -> Summary {
    Summary {
        standing: Standing::Failed {
            why: trouble.to_string(),
        },
        ..before.clone()
    }
}
