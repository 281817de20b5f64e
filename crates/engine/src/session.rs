//! A session: a thread that is awake. One task owns its state and handles one thing at a time.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use store::{SharedStore, StoreError};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use vocabulary::{
    AskId, AskKind, Closing, Fact, ItemFact, ItemId, Person, Refusal, Seq, Status, StatusReason,
    ThreadCard, ThreadFact, Why,
};

use crate::Shared;
use crate::limits::{SLEEP_AFTER, TURN_FACTS_PER_ROUND};
use crate::turn::context::ReadConversation;
use crate::turn::{FromTurn, Permits};

mod asks;
mod calls;
mod checkpoints;
mod given;
mod granting;
pub mod live;
mod mail;
pub mod outbox;
mod recorder;
mod shrinking;
pub mod state;
mod titling;
mod turns;
pub mod waking;

use live::Live;
pub use mail::{Attached, Handle, ListenFrom, Mail, Outcome, Replied, Seen, Transcript};
use outbox::{Ended, Outbox};
use recorder::{Append, Recorder};
use shrinking::Shrinking;
use snapshots::CheckpointTasks;
use state::ThreadState;
use turns::TurnHandle;

pub struct Session {
    shared: Arc<Shared>,
    store: SharedStore,
    card: Arc<ThreadCard>,
    state: ThreadState,
    status: watch::Sender<Status>,
    recorder: Recorder,
    live: Live,
    turn: Option<TurnHandle>,
    /// Whose call is being answered.
    acting: Option<Arc<Person>>,
    permits: watch::Sender<Permits>,
    /// Turns that wait for an answer.
    waiters: HashMap<AskId, oneshot::Sender<Closing>>,
    /// Asks of this turn that were answered before the turn came to wait for them.
    early: HashMap<ItemId, (AskKind, Closing)>,
    closed_asks: std::collections::VecDeque<AskId>,
    /// Whether something may have been allowed for this turn only.
    turn_grants: bool,
    /// When the last ask was opened.
    asked_at: Instant,
    /// Since when nobody has been there to answer.
    unattended_since: Instant,
    mail: mpsc::Receiver<Mail>,
    /// Where whoever works for the session answers; keeps nobody awake.
    own_mail: mpsc::WeakSender<Mail>,
    title_asked: bool,
    seen: Arc<tools::Seen>,
    /// What turns have read of the conversation; let go of at rest.
    conversation: Arc<Mutex<Option<Box<ReadConversation>>>>,
    /// Boxed, because most of the time it only waits.
    checkpoints: Box<CheckpointTasks<oneshot::Sender<Outcome>>>,
    appending: Option<BoxFuture<'static, Result<(), StoreError>>>,
    list_row_sent: bool,
    /// Whether lists know of it: a thread that is not kept yet is in none.
    announced: bool,
    drafting: Option<BoxFuture<'static, Result<(), StoreError>>>,
    drafted_at: Instant,
    idle_since: Instant,
    shrinking: Shrinking,
    /// Whether it came from the store, for the next listener to know.
    woken: bool,
    stopping: Option<Stopping>,
    close_when_idle: bool,
}

struct Stopping {
    deadline: Instant,
    done: Vec<oneshot::Sender<()>>,
}

/// Sees to it that a session whose task is gone is reachable by nobody.
struct Fallen {
    shared: Arc<Shared>,
    outbox: Arc<Outbox>,
}

impl Drop for Fallen {
    fn drop(&mut self) {
        self.shared
            .registry
            .forget(self.outbox.card.id, &self.outbox);
        self.outbox.end(Ended::Failed);
    }
}

/// What a round of the loop came to.
enum Flow {
    On,
    End(Ended),
}

impl Session {
    /// Runs in a task of its own. Should that ever panic, listeners and callers learn of it.
    pub fn spawn(self) {
        let fallen = Fallen {
            shared: Arc::clone(&self.shared),
            outbox: Arc::clone(&self.recorder.outbox),
        };
        // Boxed, because a future has room for every place that its values are moved to.
        let session = Box::new(self);
        tokio::spawn(async move {
            session.run().await;
            drop(fallen);
        });
    }

    /// Runs until the thread falls asleep, is deleted, or its store fails.
    async fn run(mut self: Box<Self>) {
        let ended = loop {
            match self.round().await {
                Ok(Flow::On) => {}
                Ok(Flow::End(ended)) => break ended,
                Err(refusal) => {
                    tracing::error!(thread = %self.card.id, error = %refusal, "session discarded");
                    self.recorder.refuse_all(&refusal);
                    break Ended::Failed;
                }
            }
        };
        self.end(ended).await;
    }

    async fn round(&mut self) -> Result<Flow, Refusal> {
        let deadline = self.deadline();
        let mut facts = Vec::new();
        let mut unasked = false;
        tokio::select! {
            biased;
            result = ready(&mut self.appending) => self.append_ended(result)?,
            result = ready(&mut self.drafting) => {
                self.drafting = None;
                result.map_err(storage)?;
            }
            event = self.checkpoints.next() => {
                self.take_in_checkpoints(event)?;
                unasked = !self.recorder.kept;
            }
            mail = self.mail.recv() => match mail {
                Some(mail) => {
                    if let Some(flow) = self.open_mail(mail).await? {
                        return Ok(flow);
                    }
                }
                None => return Ok(Flow::End(Ended::Asleep)),
            },
            count = receive(&mut self.turn, &mut facts) => self.take_in(count, facts)?,
            () = self.recorder.outbox.left.notified() => {
                self.idle_since = Instant::now();
                self.unattended_since = self.idle_since;
            }
            () = tokio::time::sleep_until(deadline) => self.tick(),
        }
        let flow = self.settle()?;
        // A new thread must not vanish before its first listener comes, whatever else happens.
        let stays = unasked && self.stopping.is_none();
        Ok(if stays { Flow::On } else { flow })
    }

    /// Publishes, starts the next writes, and sees whether there is still something to do.
    fn settle(&mut self) -> Result<Flow, Refusal> {
        self.recorder.publish();
        self.shrink_later();
        if self.appending.is_none()
            && self.drafting.is_none()
            && let Some(append) = self.recorder.next_append(&self.state)?
        {
            self.list_row_sent = append.has_list_row();
            self.appending = Some(Box::pin(Append::run(append)));
        }
        if let Some(stopping) = &self.stopping
            && self.recorder.is_clean()
            && (self.turn.is_none() || self.state.thread.status == Status::Waiting)
            && (self.checkpoints.at_rest() || Instant::now() >= stopping.deadline)
        {
            tracing::debug!(waiters = stopping.done.len(), "session stops");
            return Ok(Flow::End(Ended::Asleep));
        }
        Ok(if self.may_sleep() {
            Flow::End(Ended::Asleep)
        } else {
            Flow::On
        })
    }

    fn may_sleep(&self) -> bool {
        let at_rest = self.turn.is_none()
            && self.recorder.outbox.listeners() == 0
            && self.mail.is_empty()
            && self.appending.is_none()
            && self.drafting.is_none()
            && self.checkpoints.at_rest();
        let long_enough =
            !self.recorder.kept || self.close_when_idle || self.idle_since.elapsed() >= SLEEP_AFTER;
        at_rest && self.recorder.is_clean() && long_enough
    }

    fn append_ended(&mut self, result: Result<(), StoreError>) -> Result<(), Refusal> {
        self.appending = None;
        result.map_err(storage)?;
        self.recorder.appended();
        if std::mem::take(&mut self.list_row_sent) {
            match std::mem::replace(&mut self.announced, true) {
                true => self.shared.thread_changed(&self.state.thread),
                false => self.shared.thread_added(&self.state.thread),
            }
        }
        Ok(())
    }

    /// When the session must look at itself again, whatever comes.
    fn deadline(&self) -> Instant {
        let far = self.idle_since + SLEEP_AFTER;
        let mut deadline = if self.turn.is_none() {
            far
        } else {
            Instant::now() + SLEEP_AFTER
        };
        if self.drafting.is_none()
            && self.appending.is_none()
            && let Some(save) = live::next_save(&self.live, self.drafted_at)
        {
            deadline = deadline.min(save);
        }
        if let Some(at) = self.turn.as_ref().and_then(|turn| turn.force_at) {
            deadline = deadline.min(at);
        }
        if let Some(stopping) = &self.stopping {
            deadline = deadline.min(stopping.deadline);
        }
        if let Some(due) = self.unattended_until() {
            deadline = deadline.min(due);
        }
        for at in [self.shrinking.at(), self.checkpoints.tell_at()] {
            deadline = deadline.min(at.unwrap_or(deadline));
        }
        deadline.max(Instant::now())
    }

    fn tick(&mut self) {
        let now = Instant::now();
        if let Err(refusal) = self.force_overdue_turn(now) {
            tracing::error!(thread = %self.card.id, error = %refusal, "turn could not be ended");
        }
        if self.unattended_until().is_some_and(|due| now >= due)
            && let Err(refusal) = self.answer_for_nobody()
        {
            tracing::error!(thread = %self.card.id, error = %refusal, "an ask could not be closed");
        }
        if self.drafting.is_none() && self.appending.is_none() {
            self.save_draft(now);
        }
        self.shrink_when_due(now);
        self.checkpoints.tell_when_due(now);
        if self.turn.is_none()
            && self.recorder.outbox.listeners() > 0
            && now >= self.idle_since + SLEEP_AFTER
        {
            // Somebody still listens: look again later, do not spin.
            self.idle_since = now;
        }
    }

    fn save_draft(&mut self, now: Instant) {
        let (Some(lease), true) = (self.recorder.lease(), self.recorder.kept) else {
            return;
        };
        if live::next_save(&self.live, self.drafted_at).is_none_or(|due| now < due) {
            return;
        }
        match self.live.next_draft() {
            Some(draft) => {
                let store = Arc::clone(&self.store);
                self.drafting = Some(Box::pin(async move { store.draft(lease, draft).await }));
                // Another item may have text to save, too: only then wait for the next time.
                if !self.live.has_unsaved_text() {
                    self.drafted_at = now;
                }
            }
            None => self.drafted_at = now,
        }
    }

    async fn open_mail(&mut self, mail: Mail) -> Result<Option<Flow>, Refusal> {
        self.idle_since = Instant::now();
        match mail {
            // Boxed, or every session at rest would keep room for it.
            Mail::Call {
                call,
                caller,
                reply,
            } => {
                self.acting = Some(Arc::new(Person::from(&caller)));
                let flow = Box::pin(self.open_call(*call, &caller, reply)).await;
                self.acting = None;
                return flow;
            }
            Mail::Attach {
                audience,
                from,
                reply,
            } => self.attach(audience, from, reply),
            Mail::Look { reply } => self.look(reply),
            Mail::Locate { reply } => {
                let head = self.recorder.last();
                let transcript = Transcript {
                    from_ordinal: self.state.history_from,
                    message_count: self.state.thread.message_count,
                    head,
                    reset_at: self.state.reset_at,
                };
                self.recorder.reply_after_commit(head, move |committed| {
                    if committed.is_ok() {
                        let _ = reply.send(transcript);
                    }
                });
            }
            Mail::Titled(titled) => self.titled(titled)?,
            Mail::Stop { grace, done } => self.stop(grace, done),
        }
        Ok(None)
    }

    fn stop(&mut self, grace: std::time::Duration, done: oneshot::Sender<()>) {
        let deadline = Instant::now() + grace;
        let stopping = self.stopping.get_or_insert(Stopping {
            deadline,
            done: Vec::new(),
        });
        stopping.done.push(done);
        if let Some(turn) = &mut self.turn {
            turn.force_at.get_or_insert(deadline);
        }
    }

    /// Numbers a fact, folds it, keeps it; whoever's call is being answered has caused it.
    fn record(&mut self, fact: Fact) -> Result<Seq, Refusal> {
        self.record_by(self.acting.clone(), fact)
    }

    fn record_by(&mut self, by: Option<Arc<Person>>, mut fact: Fact) -> Result<Seq, Refusal> {
        let parts = (self.shared.config.parts)(&fact);
        self.live.number(&mut fact, parts);
        let mut begins = false;
        if let Fact::Item { item, what, .. } = &mut fact {
            match what {
                ItemFact::Finished { began, .. } => *began = self.live.began(item),
                ItemFact::Started { .. } => begins = true,
                ItemFact::Grew { .. } => {}
            }
        }
        self.live.follow(&fact);
        if let Some(turn) = &mut self.state.turn {
            turn.parts = self.live.next_part;
        }
        let before = self.state.thread.status;
        let seq = self
            .recorder
            .record(&mut self.state, self.shared.now(), by, fact)?;
        if begins {
            self.live.began_at(seq);
        }
        // Asked before, because the send takes a lock and most facts are deltas.
        if self.state.thread.status != before {
            self.status.send_replace(self.state.thread.status);
        }
        Ok(seq)
    }

    /// Tells the states passed through from `from`, after or before the fact that led there.
    fn tell_status(
        &mut self,
        from: Status,
        to: Status,
        reason: StatusReason,
    ) -> Result<(), Refusal> {
        for status in from.path_to(to) {
            self.record(Fact::Thread(ThreadFact::StatusChanged { status, reason }))?;
        }
        Ok(())
    }

    /// The last thing a session does: nobody can reach it any more when this is over.
    async fn end(mut self: Box<Self>, ended: Ended) {
        // A turn that waits for an answer must see that none will come.
        self.waiters.clear();
        let refusal = match ended {
            Ended::Asleep => Refusal::shutting_down(),
            Ended::Deleted => Refusal::unknown_thread(self.card.id),
            Ended::Failed => Refusal::new(Why::Internal, "the session ended; try again"),
        };
        if let Some(reply) = self.checkpoints.abandon() {
            let _ = reply.send(Err(refusal));
        }
        if let Some(turn) = self.turn.take() {
            turn.abandon().await;
        }
        if let (Some(lease), true) = (self.recorder.lease(), ended != Ended::Deleted)
            && let Err(error) = self.store.release(lease).await
        {
            tracing::warn!(thread = %self.card.id, %error, "lease not released");
        }
        self.shared
            .registry
            .forget(self.card.id, &self.recorder.outbox);
        self.recorder.outbox.end(ended);
        self.mail.close();
        // Whoever wrote in the meantime sees the closed door and asks the registry again.
        while self.mail.recv().await.is_some() {}
        if let Some(stopping) = self.stopping.take() {
            for done in stopping.done {
                let _ = done.send(());
            }
        }
    }
}

pub(crate) fn storage(error: StoreError) -> Refusal {
    let why = match error {
        StoreError::Held { .. } | StoreError::Fenced => Why::OwnedElsewhere,
        StoreError::UnknownThread => Why::UnknownThread,
        StoreError::Taken => Why::Conflict,
        StoreError::BadCursor => Why::invalid("cursor"),
        StoreError::OutOfStep { .. }
        | StoreError::Outdated { .. }
        | StoreError::Foreign(_)
        | StoreError::Damaged(_)
        | StoreError::Full
        | StoreError::Failed(_) => Why::Storage,
    };
    Refusal::new(why, error.to_string())
}

/// Waits for a future that may not be there.
async fn ready<T>(future: &mut Option<BoxFuture<'static, T>>) -> T {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

async fn receive(turn: &mut Option<TurnHandle>, facts: &mut Vec<FromTurn>) -> usize {
    match turn {
        Some(turn) => turn.facts.recv_many(facts, TURN_FACTS_PER_ROUND).await,
        None => std::future::pending().await,
    }
}
