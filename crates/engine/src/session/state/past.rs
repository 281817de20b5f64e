//! What of a thread's past is told no more: all of it after a reset, some turns after a revert.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vocabulary::{Event, Fact, RevertPoint, Seq, Status, Timestamp};

use super::ThreadState;

/// A part of the log whose turns were taken back, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HiddenSpan {
    from: Seq,
    upto: Seq,
    /// Where its first entry stood in the transcript.
    entry: u64,
}

/// What of a log nobody is told.
#[derive(Clone, Debug, Default)]
pub struct Untold {
    /// Nothing up to here: the conversation began anew.
    pub reset_at: Seq,
    hidden: Arc<[HiddenSpan]>,
}

impl Untold {
    /// Whether whoever reads the log is told this event. What was said of the thread itself while hidden
    /// turns ran, its title or its settings, holds and is told.
    pub fn tells(&self, event: &Event) -> bool {
        let within = |span: &HiddenSpan| span.from <= event.seq && event.seq <= span.upto;
        event.seq > self.reset_at
            && (matches!(event.fact, Fact::Thread(_)) || !self.hidden.iter().any(within))
    }
}

impl ThreadState {
    pub fn untold(&self) -> Untold {
        Untold {
            reset_at: self.reset_at,
            hidden: self.hidden.as_slice().into(),
        }
    }

    pub(super) fn reset(&mut self, seq: Seq, at: Timestamp) {
        self.plan.clear();
        self.plan_turn = None;
        self.last_message = None;
        self.history_from = self.next_ordinal;
        self.reset_at = seq;
        self.hidden.clear();
        self.compacted = None;
        self.context_tokens = 0;
        self.open_message = None;
        self.thread.message_count = 0;
        self.thread.preview.clear();
        self.thread.updated_at = at;
    }

    /// How it stands before its next turn, which is this one: what a revert goes back to.
    pub fn point_before(&self, turn: &vocabulary::IndexedTurn) -> RevertPoint {
        RevertPoint {
            turn: turn.turn.clone(),
            number: turn.number,
            seq: turn.first_seq,
            entry: turn.first_ordinal,
            message_count: self.thread.message_count,
            preview: self.thread.preview.clone(),
            plan: self.plan.clone(),
            plan_turn: self.plan_turn.clone(),
            context_tokens: self.context_tokens,
            compacted: self.compacted,
        }
    }

    /// What was spent stays spent, and what the thread is set to stays set.
    pub(super) fn revert(&mut self, seq: Seq, at: Timestamp, point: &RevertPoint) {
        self.hide(point.seq, Seq(seq.0.saturating_sub(1)), point.entry);
        self.next_ordinal = point.entry;
        self.turn_count = Some(point.number.saturating_sub(1));
        self.plan = point.plan.clone();
        self.plan_turn = point.plan_turn.clone();
        self.last_message = None;
        self.compacted = point.compacted;
        self.context_tokens = point.context_tokens;
        self.open_message = None;
        self.thread.message_count = point.message_count;
        self.thread.preview = point.preview.clone();
        self.thread.status = Status::Ready;
        self.thread.updated_at = at;
    }

    /// Spans that lie in this one are part of it. One that ended where this one begins goes on with it:
    /// else a place that is taken back again and again would be kept each time.
    fn hide(&mut self, from: Seq, upto: Seq, entry: u64) {
        self.hidden.retain(|span| span.from < from);
        match self.hidden.last_mut() {
            Some(last) if last.entry == entry => last.upto = upto,
            _ => self.hidden.push(HiddenSpan { from, upto, entry }),
        }
    }
}
