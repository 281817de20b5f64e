//! The log as this protocol's history.

use vocabulary::{Event, Fact, ItemFact, Seq, Subject, ThreadCard, ToolEvent, ToolFact};

use super::wire::history::{
    ThreadHistoryEvent, ThreadHistoryEventPayload as Payload, TurnItemEvent, Whose,
};
use super::wire::timeline::TimelineLane;

mod payloads;
mod said;

use payloads::payloads;

/// One fact makes at most this many history events; each has a number of its own.
const EVENTS_PER_FACT: i64 = 4;

/// History events of a stretch of the log, oldest first.
pub fn events<'a>(
    card: &'a ThreadCard,
    thread_id: &'a str,
    log: &'a [Event],
) -> Vec<ThreadHistoryEvent<'a>> {
    let numbered = numbered(card, thread_id, log, i64::MIN);
    numbered.into_iter().map(|each| each.event).collect()
}

/// What of a thread's history is wanted, of a log that was read far enough for it.
#[derive(Clone, Copy)]
pub struct HistoryQuery {
    pub after: Option<i64>,
    pub limit: Option<usize>,
}

impl HistoryQuery {
    /// The log position from which a reader has to read to see everything that is wanted.
    pub fn from(self) -> Seq {
        let seq = self.after.unwrap_or_default() / EVENTS_PER_FACT;
        Seq(u64::try_from(seq).unwrap_or_default().saturating_sub(1))
    }

    /// Whether it is about the newest events: then the log is read from its end.
    pub fn is_of_the_end(self) -> bool {
        self.after.is_none() && self.limit.is_some()
    }

    /// Whether these log events are as many as an answer may have.
    pub fn is_full(self, card: &ThreadCard, log: &[Event]) -> bool {
        let found = || self.found(card, "", log, true).len();
        self.limit.is_some_and(|limit| found() >= limit)
    }

    fn found<'a>(
        self,
        card: &'a ThreadCard,
        thread_id: &'a str,
        log: &'a [Event],
        more: bool,
    ) -> Vec<Numbered<'a>> {
        let after = self.after.unwrap_or(i64::MIN);
        let mut found = numbered(card, thread_id, log, after);
        // What began before the log that was read has its place before that.
        let first = log.first().filter(|_| more && self.is_of_the_end());
        let first = first.map_or(i64::MIN, |event| base(event.seq));
        found.retain(|each| each.event.sequence > after && each.event.sequence >= first);
        found
    }

    /// The page that these log events make, and where the next one begins. `more`: the log goes on
    /// in the direction in which it was read.
    pub fn page<'a>(
        self,
        card: &'a ThreadCard,
        thread_id: &'a str,
        log: &'a [Event],
        more: bool,
    ) -> (Vec<ThreadHistoryEvent<'a>>, Option<i64>) {
        let mut found = self.found(card, thread_id, log, more);
        if self.is_of_the_end() {
            let limit = self.limit.unwrap_or_default();
            found.drain(..found.len().saturating_sub(limit));
            return (found.into_iter().map(|each| each.event).collect(), None);
        }
        let limit = self.limit.unwrap_or(usize::MAX);
        let cut = more || found.len() > limit;
        found.truncate(limit);
        if cut {
            end_before_what_is_written(&mut found);
        }
        let events: Vec<_> = found.into_iter().map(|each| each.event).collect();
        let next = events.last().filter(|_| cut).map(|event| event.sequence);
        (events, next)
    }
}

/// A history event, and where the item that it begins is over.
struct Numbered<'a> {
    event: ThreadHistoryEvent<'a>,
    over: i64,
}

/// The beginning of what the model wrote stands where it began, as it was told: what was said
/// meanwhile stands behind it. To who has read past that it is told with the rest.
fn numbered<'a>(
    card: &'a ThreadCard,
    thread_id: &'a str,
    log: &'a [Event],
    after: i64,
) -> Vec<Numbered<'a>> {
    let whose = Whose {
        workspace_id: card.workspace.as_str(),
        thread_id,
    };
    let mut found = Vec::new();
    for event in log {
        let Some((turn, payloads)) = payloads(card, &whose, event) else {
            continue;
        };
        let over = base(event.seq);
        let (lane, child_of) = lane(&event.fact);
        let began = began(&event.fact).map(base).filter(|began| *began > after);
        for (place, payload) in (over..).zip(payloads) {
            let sequence = match (place == over, began) {
                (true, Some(began)) => began,
                (true, None) | (false, _) => place,
            };
            found.push(Numbered {
                over: over.max(sequence),
                event: ThreadHistoryEvent {
                    turn_id: turn.as_str(),
                    sequence,
                    created_at: event.at.seconds(),
                    payload,
                    lane,
                    child_of,
                },
            });
        }
    }
    found.sort_by_key(|each| each.event.sequence);
    found
}

/// What a sub-agent does is a child's, and so is what it gives its caller.
fn lane(fact: &Fact) -> (TimelineLane, Option<&str>) {
    let Fact::Tool(ToolEvent { call, what, .. }) = fact else {
        return (TimelineLane::Parent, None);
    };
    let is_agent = matches!(call.subject, Subject::Agent { .. });
    match (&call.agent, what) {
        (Some(agent), _) if is_agent => (TimelineLane::ChildAgent, Some(agent.parent.as_str())),
        (Some(agent), _) => (TimelineLane::ChildTool, Some(agent.parent.as_str())),
        (None, ToolFact::Finished { .. }) if is_agent => {
            (TimelineLane::ChildResult, Some(call.item.as_str()))
        }
        (None, _) => (TimelineLane::Parent, None),
    }
}

fn base(seq: Seq) -> i64 {
    let seq = i64::try_from(seq.0).unwrap_or(i64::MAX / EVENTS_PER_FACT);
    seq.saturating_mul(EVENTS_PER_FACT)
}

fn began(fact: &Fact) -> Option<Seq> {
    match fact {
        Fact::Item {
            what: ItemFact::Finished { began, .. },
            ..
        } => *began,
        // tidy: wildcard, because only what is written takes its time.
        _ => None,
    }
}

/// Who reads on is told of the beginning of what ends there: so it is left out here, unless nothing
/// else is.
fn end_before_what_is_written(found: &mut Vec<Numbered<'_>>) {
    let Some(last) = found.last().map(|each| each.event.sequence) else {
        return;
    };
    if found.iter().any(|each| each.over <= last) {
        found.retain(|each| each.over <= last);
    }
}

/// Whether it is about the items of a turn rather than the turn itself.
fn is_of_items(payload: &Payload<'_>) -> bool {
    match payload {
        Payload::TurnStarted { .. }
        | Payload::TurnCompleted { .. }
        | Payload::TurnFailed { .. } => false,
        Payload::ItemStarted { .. }
        | Payload::ItemDelta { .. }
        | Payload::ItemCompleted { .. }
        | Payload::ItemUpdated { .. }
        | Payload::ItemTimeoutDetected { .. }
        | Payload::ItemRecoveryOpened { .. }
        | Payload::ItemRetryScheduled { .. }
        | Payload::ItemRetryAttemptStarted { .. }
        | Payload::ItemRecoverySucceeded { .. }
        | Payload::ItemRecoveryExhausted { .. }
        | Payload::TurnToolLoopBudgetExceeded { .. } => true,
    }
}

/// Those of one turn that are about its items.
pub fn items_of<'a>(
    mut events: Vec<ThreadHistoryEvent<'a>>,
    turn: &str,
) -> Vec<ThreadHistoryEvent<'a>> {
    events.retain(|event| event.turn_id == turn && is_of_items(&event.payload));
    events
}

impl<'a> From<ThreadHistoryEvent<'a>> for TurnItemEvent<'a> {
    fn from(event: ThreadHistoryEvent<'a>) -> Self {
        Self {
            sequence: event.sequence,
            created_at: event.created_at,
            payload: event.payload,
        }
    }
}
