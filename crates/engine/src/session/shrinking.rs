//! A session without a turn gives back the memory of what it has told, some time later.

use tokio::time::Instant;
use vocabulary::Seq;

use super::Session;
use super::outbox::RingSize;
use crate::agents;
use crate::limits::{
    RING_BYTES_AT_REST, RING_BYTES_BETWEEN_TURNS, RING_EVENTS_AT_REST, RING_EVENTS_BETWEEN_TURNS,
    SHRINK_AFTER,
};

const AT_REST: RingSize = RingSize {
    events: RING_EVENTS_AT_REST,
    bytes: RING_BYTES_AT_REST,
};
const BETWEEN_TURNS: RingSize = RingSize {
    events: RING_EVENTS_BETWEEN_TURNS,
    bytes: RING_BYTES_BETWEEN_TURNS,
};

/// What is to be let go of, and when.
pub struct Shrinking {
    /// What was told up to here, and when its time is over.
    due: Option<(Instant, Seq)>,
    /// Everything up to here has been let go of.
    done: Seq,
}

impl Shrinking {
    pub fn new(done: Seq) -> Self {
        Self { due: None, done }
    }

    pub fn at(&self) -> Option<Instant> {
        self.due.map(|(at, _)| at)
    }

    /// Sees to what was told since. Its time runs from the first of it: files that other threads change
    /// are told here again and again, and must not keep each other alive.
    fn start(&mut self, last: Seq) {
        if self.due.is_none() && last > self.done {
            self.due = Some((Instant::now() + SHRINK_AFTER, last));
        }
    }

    fn take_due(&mut self, now: Instant) -> Option<Seq> {
        let (_, upto) = self.due.take_if(|(at, _)| now >= *at)?;
        self.done = upto;
        Some(upto)
    }
}

impl Session {
    /// Call after each round.
    pub(super) fn shrink_later(&mut self) {
        if self.turn.is_none() {
            self.resting.shrinking.start(self.recorder.last());
        }
    }

    pub(super) fn shrink_when_due(&mut self, now: Instant) {
        if let Some(upto) = self.resting.shrinking.take_due(now) {
            self.recorder.outbox.shrink(upto, AT_REST);
            self.recorder.shrink();
            agents::shrink(&self.supplies.memory);
            self.supplies.jobs.shrink();
        }
    }

    /// A thread that is never at rest must not gather turn after turn: what all have heard is let go
    /// of, and of the rest what is too much.
    pub(super) fn shrink_between_turns(&mut self) {
        self.resting.shrinking.due = None;
        let (outbox, last) = (&self.recorder.outbox, self.recorder.last());
        outbox.forget_heard(AT_REST);
        outbox.shrink(last, BETWEEN_TURNS);
    }
}
