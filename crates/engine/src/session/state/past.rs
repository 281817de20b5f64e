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
    /// The stretches of the log that nobody is told, both ends included.
    pub fn spans(&self) -> impl Iterator<Item = (Seq, Seq)> {
        let reset = (self.reset_at > Seq::ZERO).then_some((Seq(1), self.reset_at));
        let hidden = self.hidden.iter().map(|span| (span.from, span.upto));
        reset.into_iter().chain(hidden)
    }

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

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use store::StoredEvent;
    use vocabulary::{ThreadFact, TurnId};

    use super::*;
    use crate::codec;

    const GOLDEN: &str = include_str!("../../../golden/reverted.jsonl");
    const FIRST: &str = include_str!("../../../golden/first/1.jsonl");

    fn state() -> ThreadState {
        let line = FIRST.lines().next().expect("a line");
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        serde_json::from_value(line["state"].clone()).expect("a state row")
    }

    fn reverts() -> Vec<RevertPoint> {
        let read = |line: &'static str| {
            let stored = StoredEvent {
                seq: Seq(9),
                at: Timestamp(9),
                payload: Bytes::from(line),
            };
            match codec::decode(&stored).expect("an event").fact {
                Fact::Thread(ThreadFact::Reverted { point }) => *point,
                other => panic!("not a revert: {other:?}"),
            }
        };
        GOLDEN.lines().map(read).collect()
    }

    #[test]
    fn a_log_says_how_the_thread_stood() {
        let (mut state, points) = (state(), reverts());
        state.revert(Seq(20), Timestamp(20), &points[0]);
        assert_eq!((state.next_ordinal, state.turn_count), (4, Some(1)));
        assert_eq!(state.thread.message_count, 2);
        assert_eq!(state.thread.preview, "one");
        assert_eq!(
            (state.plan.len(), state.plan_turn),
            (1, Some(TurnId::new("t1")))
        );
        assert_eq!((state.context_tokens, state.compacted), (120, Some(1)));
        assert_eq!(state.thread.updated_at, Timestamp(20));
        assert_eq!(points[1].plan, []);
    }

    #[test]
    fn spans_take_in_what_lies_in_them_and_what_they_go_on_from() {
        let mut state = state();
        let spans = |state: &ThreadState| -> Vec<(u64, u64)> {
            let spans = state.hidden.iter();
            spans.map(|span| (span.from.0, span.upto.0)).collect()
        };
        state.hide(Seq(10), Seq(19), 4);
        state.hide(Seq(21), Seq(29), 4);
        assert_eq!(spans(&state), [(10, 29)], "the same place again");
        state.hide(Seq(40), Seq(49), 8);
        assert_eq!(spans(&state), [(10, 29), (40, 49)]);
        let untold = state.untold();
        let event = |seq, fact| Event {
            seq: Seq(seq),
            at: Timestamp(0),
            by: None,
            fact,
        };
        let note = || Fact::Note(vocabulary::NoteFact::Unknown);
        for (seq, told) in [(9, true), (10, false), (29, false), (30, true), (45, false)] {
            assert_eq!(untold.tells(&event(seq, note())), told, "{seq}");
        }
        let archived = Fact::Thread(ThreadFact::Archived { archived: true });
        assert!(untold.tells(&event(45, archived)));
        state.hide(Seq(5), Seq(60), 2);
        assert_eq!(spans(&state), [(5, 60)]);
        state.reset(Seq(70), Timestamp(70));
        assert_eq!(spans(&state), []);
    }
}
