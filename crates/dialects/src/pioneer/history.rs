//! The log as this protocol's history.

use vocabulary::{
    Event, Fact, Item, ItemFact, ItemId, Seq, StepFact, ThreadCard, ToolEvent, ToolFact, TurnFact,
    TurnId, TurnOutcome, UserInput,
};

use super::items;
use super::wire::history::{
    Input, ThreadHistoryEvent, ThreadHistoryEventPayload as Payload, TurnItemEvent, Whose,
};
use super::wire::item::TurnItem;
use super::wire::turn::ItemDeltaStream;
use crate::images;

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
        let Some((turn, payloads)) = payloads(card, &whose, &event.fact) else {
            continue;
        };
        let over = base(event.seq);
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
                },
            });
        }
    }
    found.sort_by_key(|each| each.event.sequence);
    found
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

/// Those of one turn that are about its items.
pub fn items_of<'a>(events: Vec<ThreadHistoryEvent<'a>>, turn: &str) -> Vec<TurnItemEvent<'a>> {
    let of_turn = events.into_iter().filter(|event| event.turn_id == turn);
    of_turn
        .filter(|event| match event.payload {
            Payload::ItemStarted { .. }
            | Payload::ItemDelta { .. }
            | Payload::ItemCompleted { .. } => true,
            Payload::TurnStarted { .. }
            | Payload::TurnCompleted { .. }
            | Payload::TurnFailed { .. } => false,
        })
        .map(|event| TurnItemEvent {
            sequence: event.sequence,
            created_at: event.created_at,
            payload: event.payload,
        })
        .collect()
}

fn said_input(input: &UserInput) -> Vec<Input<'_>> {
    let text = Input::Text {
        text: &input.text,
        text_elements: [],
    };
    let pictures = input.images.iter().map(|image| match images::show(image) {
        images::ImageLink::Url(url) => Input::Image { url },
        images::ImageLink::Path(path) => Input::LocalImage { path },
    });
    std::iter::once(text).chain(pictures).collect()
}

/// The payloads of one turn's item.
struct OfTurn<'a> {
    whose: Whose<'a>,
    turn: &'a TurnId,
}

impl<'a> OfTurn<'a> {
    fn started(&self, item: TurnItem<'a>) -> Payload<'a> {
        Payload::ItemStarted {
            whose: self.whose.clone(),
            turn_id: self.turn.as_str(),
            item,
        }
    }

    fn completed(&self, item: TurnItem<'a>) -> Payload<'a> {
        Payload::ItemCompleted {
            whose: self.whose.clone(),
            turn_id: self.turn.as_str(),
            item,
        }
    }

    fn whole(&self, item: TurnItem<'a>) -> Vec<Payload<'a>> {
        vec![self.started(item.clone()), self.completed(item)]
    }

    fn delta(&self, item: &'a ItemId, delta: &'a str, stream: ItemDeltaStream) -> Payload<'a> {
        Payload::ItemDelta {
            whose: self.whose.clone(),
            turn_id: self.turn.as_str(),
            item_id: item.as_str(),
            delta,
            stream,
        }
    }
}

fn payloads<'a>(
    card: &'a ThreadCard,
    whose: &Whose<'a>,
    fact: &'a Fact,
) -> Option<(&'a TurnId, Vec<Payload<'a>>)> {
    let of = |turn: &'a TurnId| OfTurn {
        whose: whose.clone(),
        turn,
    };
    match fact {
        Fact::Turn(what) => turn_payloads(whose, what),
        Fact::Step {
            tag,
            what:
                StepFact::Compacted {
                    item,
                    summary,
                    tokens_before,
                    kept: _,
                },
        } => {
            let item = items::compacted(item, summary, *tokens_before);
            Some((&tag.turn, of(&tag.turn).whole(item)))
        }
        Fact::Item {
            tag,
            item,
            what: ItemFact::Finished { body, .. },
            ..
        } if !is_silent(body) => {
            let of = of(&tag.turn);
            let (written, text, stream) = items::written(item, body)?;
            let payloads = vec![
                of.started(items::unwritten(item, body)?),
                of.delta(item, text, stream),
                of.completed(written),
            ];
            Some((&tag.turn, payloads))
        }
        Fact::Tool(ToolEvent { tag, call, what }) => {
            let of = of(&tag.turn);
            let payloads = match what {
                ToolFact::Planned { .. } => vec![of.started(items::call_started(card, call))],
                ToolFact::Finished { outcome, .. } => {
                    let output = items::output(outcome);
                    let output = output.map(|(text, stream)| of.delta(&call.item, text, stream));
                    let ended = of.completed(items::call_ended(card, call, outcome));
                    output.into_iter().chain([ended]).collect()
                }
                ToolFact::Reached
                | ToolFact::Started
                | ToolFact::Wrote { .. }
                | ToolFact::Interacted { .. }
                | ToolFact::JobEnded { .. }
                | ToolFact::Progressed { .. }
                | ToolFact::Exited { .. } => return None,
            };
            Some((&tag.turn, payloads))
        }
        Fact::Step { .. }
        | Fact::Item { .. }
        | Fact::Thread(_)
        | Fact::Ask { .. }
        | Fact::Files(_)
        | Fact::Note(_) => None,
    }
}

/// A thought that its provider keeps to itself.
fn is_silent(body: &Item) -> bool {
    matches!(body, Item::Reasoning { text, .. } if text.is_empty())
}

fn turn_payloads<'a>(
    whose: &Whose<'a>,
    what: &'a TurnFact,
) -> Option<(&'a TurnId, Vec<Payload<'a>>)> {
    let said = |turn: &'a TurnId, input: &'a UserInput| {
        let whose = whose.clone();
        OfTurn { whose, turn }.whole(items::user_message(input))
    };
    match what {
        TurnFact::Started { turn, input, .. } => {
            let begun = Payload::TurnStarted {
                whose: whose.clone(),
                turn: items::running(turn),
                input: said_input(input),
            };
            let payloads = std::iter::once(begun).chain(said(turn, input));
            Some((turn, payloads.collect()))
        }
        TurnFact::Steered { turn, input, .. } => Some((turn, said(turn, input))),
        TurnFact::Finished { turn, outcome, .. } => {
            let (whose, ended) = (whose.clone(), items::ended(turn, outcome));
            let payload = match outcome {
                TurnOutcome::Completed | TurnOutcome::Cancelled => {
                    Payload::TurnCompleted { whose, turn: ended }
                }
                TurnOutcome::Failed(_) => Payload::TurnFailed { whose, turn: ended },
            };
            Some((turn, vec![payload]))
        }
        TurnFact::SteerPlaced { .. }
        | TurnFact::PlanChanged { .. }
        | TurnFact::UsageAdded { .. } => None,
    }
}
