//! A session without a turn gives back the memory of what it has told, some time later.

use tokio::time::Instant;
use vocabulary::Seq;

use super::Session;
use super::outbox::Held;
use crate::limits::{RING_BYTES_AT_REST, RING_EVENTS_AT_REST, SHRINK_AFTER};

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

    /// A turn needs what is there.
    pub fn stop(&mut self) {
        self.due = None;
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
            self.shrinking.start(self.recorder.last());
        }
    }

    pub(super) fn shrink_when_due(&mut self, now: Instant) {
        if let Some(upto) = self.shrinking.take_due(now) {
            let keep = Held {
                events: RING_EVENTS_AT_REST,
                bytes: RING_BYTES_AT_REST,
            };
            self.recorder.outbox.shrink(upto, keep);
            self.recorder.shrink();
        }
    }
}
