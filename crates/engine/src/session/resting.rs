//! When a session looks at itself, falls asleep, or stops.

use tokio::sync::oneshot;
use tokio::time::Instant;
use vocabulary::{Seq, Status, Thread};

use super::Session;
use super::shrinking::Shrinking;
use crate::Ended;
use crate::library::asleep;
use crate::limits::{HAND_OVER_REST, SLEEP_AFTER};

pub struct Resting {
    pub idle_since: Instant,
    pub close_when_idle: bool,
    /// Whether somebody has listened since it woke.
    pub was_heard: bool,
    pub shrinking: Shrinking,
    pub stopping: Option<Stopping>,
    /// Another process waits until then for the thread.
    pub hand_over_until: Option<Instant>,
    /// Whether it came from a process that still lives, and when.
    pub taken_over_at: Option<Instant>,
}

impl Resting {
    /// For a session whose log ends here.
    pub fn new(head: Seq) -> Self {
        Self {
            idle_since: Instant::now(),
            close_when_idle: false,
            was_heard: false,
            shrinking: Shrinking::new(head),
            stopping: None,
            hand_over_until: None,
            taken_over_at: None,
        }
    }
}

pub struct Stopping {
    pub deadline: Instant,
    pub done: Vec<oneshot::Sender<()>>,
}

impl Session {
    /// When the session must look at itself again, whatever comes.
    pub(super) fn deadline(&self) -> Instant {
        let far = self.resting.idle_since + SLEEP_AFTER;
        let mut deadline = if self.turn.is_none() {
            far
        } else {
            Instant::now() + SLEEP_AFTER
        };
        if let Some(save) = self.next_save() {
            deadline = deadline.min(save);
        }
        if let Some(at) = self.turn.as_ref().and_then(|turn| turn.force_at) {
            deadline = deadline.min(at);
        }
        if let Some(stopping) = &self.resting.stopping {
            deadline = deadline.min(stopping.deadline);
        }
        if let Some(due) = self.unattended_until() {
            deadline = deadline.min(due);
        }
        for at in [self.resting.shrinking.at(), self.checkpoints.tell_at()] {
            deadline = deadline.min(at.unwrap_or(deadline));
        }
        deadline.max(Instant::now())
    }

    pub(super) fn tick(&mut self) {
        let now = Instant::now();
        if let Err(refusal) = self.force_overdue_turn(now) {
            tracing::error!(thread = %self.card.id, error = %refusal, "turn could not be ended");
        }
        if self.unattended_until().is_some_and(|due| now >= due)
            && let Err(refusal) = self.answer_for_nobody()
        {
            tracing::error!(thread = %self.card.id, error = %refusal, "an ask could not be closed");
        }
        self.save_draft(now);
        self.shrink_when_due(now);
        self.checkpoints.tell_when_due(now);
        let is_needed = self.recorder.outbox.listeners() > 0 || !self.supplies.jobs.at_rest();
        if self.turn.is_none() && is_needed && now >= self.resting.idle_since + SLEEP_AFTER {
            // Somebody still listens, or a job runs: look again later, do not spin.
            self.resting.idle_since = now;
        }
    }

    pub(super) fn may_sleep(&self) -> bool {
        let at_rest = self.turn.is_none()
            && self.recorder.outbox.listeners() == 0
            && self.mail.is_empty()
            && self.writing.is_idle()
            && self.supplies.jobs.at_rest()
            && self.checkpoints.at_rest();
        let long_enough = !self.recorder.kept
            || self.resting.close_when_idle
            || self.resting.idle_since.elapsed() >= SLEEP_AFTER;
        at_rest && self.recorder.is_clean() && long_enough
    }

    /// Whether the server may stop now, as far as this session goes.
    pub(super) fn may_stop(&self) -> bool {
        self.resting.stopping.as_ref().is_some_and(|stopping| {
            self.recorder.is_clean()
                && (self.turn.is_none() || self.state.thread.status == Status::Waiting)
                && (self.checkpoints.at_rest() && self.supplies.jobs.at_rest()
                    || Instant::now() >= stopping.deadline)
        })
    }

    /// Whether another process may have the thread now. Nothing may run here: what only waits for a person
    /// goes on there. Those who listen here are told; lest two who both come back take it from each
    /// other for ever, it stays a while with those to whom it went.
    pub(super) fn may_hand_over(&self) -> bool {
        let now = Instant::now();
        if self
            .resting
            .hand_over_until
            .is_none_or(|until| now >= until)
        {
            return false;
        }
        let alone = self.recorder.outbox.listeners() == 0;
        let taken_over = self.resting.taken_over_at;
        let stays = taken_over.is_some_and(|at| now < at + HAND_OVER_REST);
        let waits = || {
            let agent = self.shared.agents.of(
                &self.shared.own(&self.card.tenant),
                &self.state.thread.settings,
            );
            alone && self.state.thread.status == Status::Waiting && agent.abilities().picks_up
        };
        (alone || !stays)
            && (self.turn.is_none() || waits())
            && self.recorder.kept
            && self.recorder.is_clean()
            && self.mail.is_empty()
            && self.writing.is_idle()
            && self.supplies.jobs.at_rest()
            && self.checkpoints.at_rest()
    }

    pub(super) fn stop(&mut self, grace: std::time::Duration, done: oneshot::Sender<()>) {
        let deadline = Instant::now() + grace;
        let stopping = self.resting.stopping.get_or_insert(Stopping {
            deadline,
            done: Vec::new(),
        });
        stopping.done.push(done);
        if let Some(turn) = &mut self.turn {
            turn.force_at.get_or_insert(deadline);
        }
    }

    /// The thread as lists show it: in the state that was told.
    pub(super) fn shown_thread(&self) -> Thread {
        Thread {
            status: *self.status.borrow(),
            ..self.state.thread.clone()
        }
    }

    /// Whoever listens keeps the thread awake. Its state on the way is told by who brings the news to
    /// the listener, which is the first one: nobody else could hear it.
    pub(super) fn activate(&mut self) {
        if *self.status.borrow() == Status::Inactive {
            self.status.send_replace(Status::Ready);
            if self.announced {
                self.shared.thread_status_changed(self.shown_thread());
            }
        }
    }

    /// Lists show from now on what the store has of it.
    pub(super) async fn tell_lists_of_sleep(&mut self, ended: Ended) {
        let kept = match ended {
            Ended::Deleted => return,
            // A server that stops says so to everyone.
            Ended::Asleep | Ended::HandedOver if self.resting.stopping.is_some() => return,
            Ended::Asleep | Ended::HandedOver => Some(self.state.thread.clone()),
            // What was not committed did not happen.
            Ended::Failed => self.store.thread(self.card.id).await.ok().flatten(),
        };
        let Some(mut thread) = kept.filter(|_| self.announced) else {
            return;
        };
        thread.status = asleep(thread.status);
        if thread.status != *self.status.borrow() {
            self.shared.thread_status_changed(thread);
        }
    }
}
