//! A session: a thread that is awake. One task owns its state and handles one thing at a time.

use std::sync::Arc;

use store::{SharedStore, StoreError};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use vocabulary::{
    Fact, ItemFact, Person, Refusal, Seq, Status, StatusReason, StepFact, ThreadCard, ThreadFact,
    Timestamp, TurnError, TurnErrorKind, TurnFact, TurnOutcome, Why,
};

use crate::library::remains;
use crate::limits::{HAND_OVER_WAIT, TURN_FACTS_PER_ROUND};
use crate::turn::{FromTurn, TurnEnd};
use crate::{Ended, Shared};

mod asks;
mod calls;
mod checkpoints;
mod credits;
mod given;
mod granting;
mod jobs;
mod listening;
pub mod live;
mod mail;
mod orders;
pub mod outbox;
mod recorder;
mod resent;
mod resting;
mod reverting;
mod shrinking;
pub mod state;
mod titling;
mod turn_index;
mod turns;
mod uploads;
pub mod waking;
mod writing;

use asks::Asking;
pub(crate) use given::changed_settings;
use live::Live;
pub use mail::{
    AttachedListener, Handle, ListenFrom, Mail, Outcome, Replied, SessionView, Transcript,
};
use outbox::Outbox;
use recorder::Recorder;
use resting::Resting;
pub(crate) use reverting::{born, first_hidden, fold_on};
use snapshots::CheckpointTasks;
use state::ThreadState;
use turns::{TurnHandle, TurnSupplies};
use writing::{Writing, ready};

pub struct Session {
    shared: Arc<Shared>,
    store: SharedStore,
    card: Arc<ThreadCard>,
    state: ThreadState,
    /// The state that was told last. The log knows of sleep nothing, so it is not that of `state`.
    status: watch::Sender<Status>,
    recorder: Recorder,
    live: Live,
    turn: Option<TurnHandle>,
    /// Whose call is being answered.
    acting: Option<Arc<Person>>,
    asking: Asking,
    supplies: TurnSupplies,
    mail: mpsc::Receiver<Box<Mail>>,
    /// Where whoever works for the session answers; keeps nobody awake.
    own_mail: mpsc::WeakSender<Box<Mail>>,
    title_asked: bool,
    /// Boxed, because most of the time it only waits.
    checkpoints: Box<CheckpointTasks<oneshot::Sender<Outcome>>>,
    writing: Writing,
    resting: Resting,
    /// Whether lists know of it: a thread that is not kept yet is in none.
    announced: bool,
    /// Whether it came from the store, for the next listener to know.
    woken: bool,
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
enum RoundOutcome {
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
                Ok(RoundOutcome::On) => {}
                Ok(RoundOutcome::End(ended)) => break ended,
                Err(refusal) => {
                    tracing::error!(thread = %self.card.id, error = %refusal, "session discarded");
                    self.recorder.refuse_all(&refusal);
                    break Ended::Failed;
                }
            }
        };
        self.end(ended).await;
    }

    async fn round(&mut self) -> Result<RoundOutcome, Refusal> {
        let deadline = self.deadline();
        let mut facts = Vec::new();
        let mut unasked = false;
        tokio::select! {
            biased;
            result = ready(&mut self.writing.appending) => self.append_ended(result)?,
            result = ready(&mut self.writing.drafting) => self.draft_ended(result)?,
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
                None => return Ok(RoundOutcome::End(Ended::Asleep)),
            },
            count = receive(&mut self.turn, &mut facts) => self.take_in(count, facts)?,
            end = self.supplies.jobs.next_end() => self.job_ended(end)?,
            () = self.recorder.outbox.left.notified() => self.listener_left(),
            () = tokio::time::sleep_until(deadline) => self.tick(),
        }
        if self.is_forsaken() {
            return self.vanish().await;
        }
        let flow = self.settle()?;
        if let (true, RoundOutcome::End(_)) = (self.card.ephemeral, &flow) {
            return self.vanish().await;
        }
        // A new thread must not vanish before its first listener comes, whatever else happens.
        let stays = unasked && self.resting.stopping.is_none();
        Ok(if stays { RoundOutcome::On } else { flow })
    }

    /// An ephemeral thread goes with its last listener, whatever it does.
    fn is_forsaken(&self) -> bool {
        let listeners = self.recorder.outbox.listeners();
        self.card.ephemeral && self.resting.was_heard && listeners == 0 && self.mail.is_empty()
    }

    /// Ends the session and leaves nothing of its thread.
    async fn vanish(&mut self) -> Result<RoundOutcome, Refusal> {
        if !self.recorder.kept {
            return Ok(RoundOutcome::End(Ended::Asleep));
        }
        self.erase().await?;
        Ok(RoundOutcome::End(Ended::Deleted))
    }

    /// Publishes, starts the next writes, and sees whether there is still something to do.
    fn settle(&mut self) -> Result<RoundOutcome, Refusal> {
        self.end_jobs_of_stopping();
        self.recorder.publish();
        self.shrink_later();
        self.start_append()?;
        Ok(if self.may_stop() || self.may_sleep() {
            RoundOutcome::End(Ended::Asleep)
        } else if self.may_hand_over() {
            RoundOutcome::End(Ended::HandedOver)
        } else {
            RoundOutcome::On
        })
    }

    async fn open_mail(&mut self, mail: Box<Mail>) -> Result<Option<RoundOutcome>, Refusal> {
        self.resting.idle_since = Instant::now();
        match *mail {
            // Boxed, or every session at rest would keep room for it.
            Mail::Call {
                call,
                caller,
                reply,
            } => {
                self.acting = Some(Arc::new(Person::from(&caller)));
                let flow = Box::pin(self.open_call(call, &caller, reply)).await;
                self.acting = None;
                return flow;
            }
            Mail::Attach {
                attendance,
                from,
                start,
                reply,
            } => {
                let caller = start.as_ref().map(|(_, caller)| caller);
                self.acting = caller.map(|caller| Arc::new(Person::from(caller)));
                Box::pin(self.attach(attendance, from, start, reply)).await;
                self.acting = None;
            }
            Mail::Look { reply } => self.look(reply),
            Mail::Locate { reply } => {
                let head = self.recorder.last();
                let transcript = Transcript {
                    from_ordinal: self.state.history_from,
                    message_count: self.state.thread.message_count,
                    head,
                    untold: self.state.untold(),
                };
                self.recorder.reply_after_commit(head, move |committed| {
                    if committed.is_ok() {
                        let _ = reply.send(transcript);
                    }
                });
            }
            Mail::Titled(titled) => self.titled(titled)?,
            Mail::Typed(typed) => self.typed(typed)?,
            Mail::Stopped(stopped) => self.stopped(stopped)?,
            Mail::PeopleChanged(people) => self.cancel_turn_of_nobody(&people)?,
            Mail::Stop { grace, done } => self.stop(grace, done),
            Mail::HandOver => self.resting.hand_over_until = Some(Instant::now() + HAND_OVER_WAIT),
        }
        Ok(None)
    }

    /// Takes in what the turn told. No facts at all: its task is gone without a word.
    fn take_in(&mut self, count: usize, told: Vec<FromTurn>) -> Result<(), Refusal> {
        if count == 0 {
            let message = "the agent stopped unexpectedly".to_owned();
            let error = TurnError {
                kind: TurnErrorKind::Internal,
                message,
            };
            return self.end_turn_here(TurnOutcome::Failed(error), "the agent stopped");
        }
        let deltas = told.iter().filter(|each| each.is_delta()).count();
        self.shared.metrics.deltas.add(deltas as u64);
        for each in told {
            match each {
                FromTurn::Tell(mut fact) => {
                    self.hear_of_user_command(&mut fact);
                    self.record(fact)?;
                }
                FromTurn::Commit(fact, done) => {
                    self.record(fact)?;
                    self.answer_when_on_disk(done);
                }
                FromTurn::Heard(done) => {
                    // A turn that does not wait for it any more is fine.
                    let _ = done.send(());
                }
                FromTurn::Sync(done) => self.answer_when_on_disk(done),
                FromTurn::Ask { tag, ask, reply } => self.open_ask(tag, ask, reply)?,
                FromTurn::Ended(TurnEnd::Completed) if self.has_more_to_hear() => {
                    self.run_on();
                    return Ok(());
                }
                FromTurn::Ended(end) => {
                    let outcome = match end {
                        TurnEnd::Completed => TurnOutcome::Completed,
                        TurnEnd::Cancelled => TurnOutcome::Cancelled,
                        TurnEnd::Failed(error) => TurnOutcome::Failed(error),
                    };
                    self.end_what_is_open("the turn is over")?;
                    self.finish_turn(outcome)?;
                }
            }
        }
        Ok(())
    }

    fn answer_when_on_disk(&mut self, done: oneshot::Sender<()>) {
        self.recorder.after_commit(move |committed| {
            if committed.is_ok() {
                let _ = done.send(());
            }
        });
    }

    /// Numbers a fact, folds it, keeps it; whoever's call is being answered has caused it.
    fn record(&mut self, fact: Fact) -> Result<Seq, Refusal> {
        self.record_by(self.acting.clone(), fact)
    }

    fn record_by(&mut self, by: Option<Arc<Person>>, mut fact: Fact) -> Result<Seq, Refusal> {
        if self.live.has_unplaced()
            && let Some(step) = fact.tag().map(|tag| tag.step)
        {
            self.place_steers(step)?;
        }
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
        let at = self.shared.now();
        self.count(at, &fact);
        if let Some(turn) = &mut self.state.turn {
            turn.parts = self.live.next_part;
        }
        // Asked before, because the send takes a lock and most facts are deltas.
        if let Fact::Thread(ThreadFact::StatusChanged { status, .. }) = fact {
            self.status.send_replace(status);
        }
        let seq = self.recorder.record(&mut self.state, at, by, fact)?;
        self.asking.open.set(self.state.asks.len());
        if begins {
            self.live.began_at(seq);
        }
        Ok(seq)
    }

    /// What was said to the turn has its place before the first thing of the step that reads it.
    fn place_steers(&mut self, step: u32) -> Result<(), Refusal> {
        let Some(turn) = self.state.turn.as_ref().map(|turn| turn.turn.clone()) else {
            return Ok(());
        };
        for input in self.live.due_at(step) {
            let turn = turn.clone();
            self.record(Fact::Turn(TurnFact::SteerPlaced { turn, input }))?;
        }
        Ok(())
    }

    /// For metrics and traces. Deltas, which are most facts, are passed over here.
    fn count(&self, at: Timestamp, fact: &Fact) {
        match fact {
            Fact::Tool(tool) => {
                let turn = self.turn.as_ref();
                if let Some(trace) = turn.and_then(|turn| turn.trace.as_ref()) {
                    trace.follow(at, tool);
                }
            }
            Fact::Step { tag, what } => {
                if let (Some(model), StepFact::Finished { usage, .. }) = (&tag.model, what) {
                    self.shared.metrics.spent(model, *usage);
                }
            }
            Fact::Turn(TurnFact::UsageAdded { model, usage, .. }) => {
                self.shared.metrics.spent(model, *usage);
            }
            Fact::Turn(_)
            | Fact::Item { .. }
            | Fact::Thread(_)
            | Fact::Ask { .. }
            | Fact::Files(_)
            | Fact::Note(_) => {}
        }
    }

    /// Tells the states passed through from the one that was told last, after or before the fact that
    /// led there: so none is ever told that cannot follow.
    fn tell_status(&mut self, to: Status, reason: StatusReason) -> Result<(), Refusal> {
        let from = *self.status.borrow();
        for status in from.path_to(to) {
            self.record(Fact::Thread(ThreadFact::StatusChanged { status, reason }))?;
        }
        Ok(())
    }

    /// The last thing a session does: nobody can reach it any more when this is over.
    async fn end(mut self: Box<Self>, ended: Ended) {
        // A turn that waits for an answer must see that none will come.
        self.asking.waiters.clear();
        let refusal = match ended {
            Ended::Asleep | Ended::HandedOver => Refusal::shutting_down(),
            Ended::Deleted => Refusal::unknown_thread(self.card.id),
            Ended::Failed => Refusal::new(Why::Internal, "the session ended; try again"),
        };
        if let Some(reply) = self.checkpoints.abandon() {
            let _ = reply.send(Err(refusal));
        }
        if let Some(turn) = self.turn.take() {
            turn.abandon().await;
        }
        self.supplies.jobs.end(jobs::WITH_THREAD).await;
        if let (Some(lease), true) = (self.recorder.lease(), ended != Ended::Deleted)
            && let Err(error) = self.store.release(lease).await
        {
            tracing::warn!(thread = %self.card.id, %error, "lease not released");
        }
        if !self.recorder.kept && !self.card.tenant.is_local() {
            // Nothing of it is kept, and so neither is the workspace that was made for it. Before anybody
            // can make it anew.
            remains::remove(&self.shared, &self.card).await;
        }
        self.shared
            .registry
            .forget(self.card.id, &self.recorder.outbox);
        self.tell_lists_of_sleep(ended).await;
        self.recorder.outbox.end(ended);
        self.mail.close();
        // Whoever wrote in the meantime sees the closed door and asks the registry again.
        while self.mail.recv().await.is_some() {}
        if let Some(stopping) = self.resting.stopping.take() {
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

async fn receive(turn: &mut Option<TurnHandle>, facts: &mut Vec<FromTurn>) -> usize {
    match turn {
        Some(turn) => turn.facts.recv_many(facts, TURN_FACTS_PER_ROUND).await,
        None => std::future::pending().await,
    }
}
