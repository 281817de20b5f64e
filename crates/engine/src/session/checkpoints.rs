//! A session and its thread's checkpoints: what clients want done to them, and what is told of them.

use std::sync::Arc;

use tokio::sync::oneshot;
use vocabulary::{
    Checkpoint, CheckpointCall, CheckpointNews, Fact, FilesFact, NoteFact, Refusal, Reply, Seq,
    Standing, Trigger, Why,
};

use super::checkpointing::{Asked, Came, Cause, Done};
use super::{Flow, Outcome, Replied, Session};
use crate::keeper::thread::{Failure, Task};
use crate::keeper::{Haste, News, Shelf, Summary, Trouble, words};
use crate::limits::CHECKPOINTS_WAITING_MAX;
use crate::turn::writing::Writing;

impl Session {
    pub(super) fn take_in_checkpoints(&mut self, came: Came) -> Result<(), Refusal> {
        match came {
            Came::News(News::Files(files)) => {
                let turn = self.state.turn.as_ref().map(|turn| turn.turn.clone());
                let files = files.to_vec();
                self.record(Fact::Files(FilesFact::Changed { turn, files }))?;
            }
            Came::News(News::Progress(line)) => {
                let turn = self.turn.as_ref();
                let turn_waits = turn.is_some_and(|turn| turn.writing.waits());
                if turn_waits || self.checkpoints.waits() {
                    self.record(Fact::Note(NoteFact::Logged { line }))?;
                }
            }
            Came::News(News::Pruned) => self.checkpoints.perform(Task::Refresh, Cause::Pruned),
            Came::Prepared(prepared) => self.prepared(prepared)?,
            Came::Done(done) => self.done(*done)?,
        }
        Ok(())
    }

    /// The original is there, or will not come.
    fn prepared(&mut self, prepared: Result<Shelf, Trouble>) -> Result<(), Refusal> {
        let before = self.checkpoints.shown.borrow().now.clone();
        if before.standing != Standing::Initializing {
            return Ok(());
        }
        let owed = match prepared {
            Ok(shelf) => {
                let now = shelf.summary(Standing::Ready, before.created_at);
                self.checkpoints.show(now, shelf.original())
            }
            Err(trouble) => {
                let now = failed(&before, &trouble);
                self.checkpoints.show(now, None)
            }
        };
        let news = CheckpointNews::Standing;
        let none = self.checkpoints.shown.borrow().now.count == 0;
        match (owed, none) {
            (true, true) => self.tell_checkpoints(news, Vec::new())?,
            (true, false) => self
                .checkpoints
                .perform(Task::Refresh, Cause::Telling(news)),
            (false, _) => {}
        }
        Ok(())
    }

    fn tell_checkpoints(
        &mut self,
        news: CheckpointNews,
        list: Vec<Checkpoint>,
    ) -> Result<(), Refusal> {
        let now = Arc::new(self.checkpoints.shown.borrow().now.with(list));
        self.checkpoints.told();
        self.record(Fact::Files(FilesFact::CheckpointsChanged { news, now }))?;
        Ok(())
    }

    /// Every turn that is over leaves a checkpoint.
    pub(super) fn checkpoint_turn(&mut self, writing: Option<Arc<Writing>>) {
        let Some(files) = &self.checkpoints.files else {
            return;
        };
        if self.checkpoints.waiting.len() >= CHECKPOINTS_WAITING_MAX {
            tracing::warn!(thread = %self.card.id, "too many checkpoints wait; one is left out");
            return;
        }
        let task = Task::Automatic {
            ticket: files.keeper.look(Haste::Urgent),
            working: writing.and_then(|writing| writing.close()),
        };
        self.checkpoints.perform(task, Cause::TurnOver);
    }

    /// Takes on what a client wants done; it is answered when it is done.
    pub(super) async fn open_checkpoint_call(
        &mut self,
        call: CheckpointCall,
        reply: oneshot::Sender<Outcome>,
    ) -> Result<Option<Flow>, Refusal> {
        match self.admit(call).await {
            Ok((task, asked)) => {
                self.checkpoints.asked = Some((asked, reply));
                self.checkpoints.perform(task, Cause::Asked(asked));
            }
            Err(refusal) => {
                let _ = reply.send(Err(refusal));
            }
        }
        Ok(None)
    }

    async fn admit(&mut self, call: CheckpointCall) -> Result<(Task, Asked), Refusal> {
        if let Standing::Failed { why } = self.checkpoints.standing() {
            return Err(Refusal::new(Why::NotAvailable, why));
        }
        let (task, asked) = match call {
            CheckpointCall::Take => (Task::Take, Asked::Take),
            CheckpointCall::Restore { to, path } => {
                let checked = |path: String| words::checked_path(&self.card.directory, &path);
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
        if self.state.turn.is_some() || self.checkpoints.asked.is_some() {
            return Err(Refusal::busy());
        }
        if self.stopping.is_some() {
            return Err(Refusal::shutting_down());
        }
        if asked != Asked::Delete {
            // What is kept of its files must not outlive the thread itself.
            self.keep().await?;
        }
        Ok((task, asked))
    }

    /// Something was done to the checkpoints, or could not be.
    fn done(&mut self, done: Done) -> Result<(), Refusal> {
        let as_of = self.recorder.last();
        let Done { ended, cause } = done;
        for line in ended.lines {
            self.record(Fact::Note(NoteFact::Logged { line }))?;
        }
        let before = self.checkpoints.shown.borrow().now.clone();
        let list = self.take_up(ended.shelf, &before);
        self.checkpoints.rest();
        let now = self.checkpoints.shown.borrow().now.clone();
        let changed = now.lists_other_than(&before);
        match (&ended.outcome, cause) {
            (Ok(()), cause) => {
                let news = match cause {
                    Cause::Asked(Asked::Take) => Some(CheckpointNews::Taken(Trigger::Manual)),
                    Cause::Asked(Asked::Restore) => Some(CheckpointNews::Restored),
                    Cause::Asked(Asked::Delete) => Some(CheckpointNews::Deleted),
                    Cause::TurnOver => Some(CheckpointNews::Taken(Trigger::Automatic)),
                    Cause::Pruned => changed.then_some(CheckpointNews::Deleted),
                    Cause::Telling(news) => Some(news),
                };
                match (news, list) {
                    (Some(news), Some(list)) => self.tell_checkpoints(news, list)?,
                    (Some(_), None) => self.checkpoints.tell_later(),
                    (None, _) => {}
                }
            }
            (Err(failure), Cause::TurnOver | Cause::Asked(Asked::Take)) => {
                self.could_not_take(failure, &before, list)?;
            }
            // A restore that failed has taken its own checkpoint before.
            (Err(_), Cause::Asked(Asked::Restore)) if changed => {
                let news = CheckpointNews::Taken(Trigger::Automatic);
                self.tell_checkpoints(news, list.unwrap_or_default())?;
            }
            (Err(_), Cause::Asked(Asked::Restore | Asked::Delete))
            | (Err(_), Cause::Pruned | Cause::Telling(_)) => {}
        }
        if let Cause::Asked(_) = cause
            && let Some((_, reply)) = self.checkpoints.asked.take()
        {
            self.reply_done(reply, as_of, ended.outcome);
        }
        Ok(())
    }

    fn reply_done(
        &mut self,
        reply: oneshot::Sender<Outcome>,
        as_of: Seq,
        outcome: Result<(), Failure>,
    ) {
        let refusal = match outcome {
            Ok(()) => {
                let done = move |()| Replied {
                    reply: Reply::Done,
                    as_of,
                };
                return self.recorder.reply_after_commit(as_of, move |committed| {
                    let _ = reply.send(committed.map(done));
                });
            }
            Err(Failure::Refused(refusal)) => refusal,
            Err(Failure::Broken(trouble)) => trouble.refusal(),
        };
        let _ = reply.send(Err(refusal));
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
        self.checkpoints.show(now, shelf.original());
        shelf.list
    }

    /// Says why no checkpoint could be taken, if that is new.
    fn could_not_take(
        &mut self,
        failure: &Failure,
        before: &Summary,
        list: Option<Vec<Checkpoint>>,
    ) -> Result<(), Refusal> {
        let why = match failure {
            Failure::Broken(trouble) if trouble.is_cancelled() => return Ok(()),
            Failure::Broken(trouble) => trouble.to_string(),
            Failure::Refused(refusal) if refusal.why == Why::ShuttingDown => return Ok(()),
            Failure::Refused(refusal) => refusal.message.clone(),
        };
        let standing = Standing::Failed { why };
        let shown = self.checkpoints.shown.borrow().now.clone();
        let now = Summary { standing, ..shown };
        let known = now.standing == before.standing;
        self.checkpoints.show(now, None);
        match known {
            true => Ok(()),
            // A list that cannot be read cannot be told; that, too, the standing says.
            false => self.tell_checkpoints(CheckpointNews::Standing, list.unwrap_or_default()),
        }
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
