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

/// The log position from which a reader has to read to see everything after `sequence`.
pub fn position(sequence: i64) -> Seq {
    let seq = u64::try_from(sequence / EVENTS_PER_FACT).unwrap_or_default();
    Seq(seq.saturating_sub(1))
}

/// History events of a stretch of the log, oldest first.
pub fn events<'a>(
    card: &'a ThreadCard,
    thread_id: &'a str,
    log: &'a [Event],
) -> Vec<ThreadHistoryEvent<'a>> {
    let whose = Whose {
        workspace_id: card.workspace.as_str(),
        thread_id,
    };
    let mut found = Vec::new();
    for event in log {
        let Some((turn, payloads)) = payloads(card, &whose, &event.fact) else {
            continue;
        };
        let base = i64::try_from(event.seq.0).unwrap_or(i64::MAX / EVENTS_PER_FACT);
        let numbered = (base * EVENTS_PER_FACT..).zip(payloads);
        found.extend(numbered.map(|(sequence, payload)| ThreadHistoryEvent {
            turn_id: turn.as_str(),
            sequence,
            created_at: event.at.seconds(),
            payload,
        }));
    }
    found
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
            let (written, text, stream) = items::written(item, body);
            let payloads = vec![
                of.started(items::unwritten(item, body)),
                of.delta(item, text, stream),
                of.completed(written),
            ];
            Some((&tag.turn, payloads))
        }
        Fact::Tool(ToolEvent { tag, call, what }) => {
            let of = of(&tag.turn);
            let payloads = match what {
                ToolFact::Planned { .. } => vec![of.started(items::call_started(card, call))],
                ToolFact::Finished { outcome } => {
                    let output = items::output(outcome);
                    let output = output.map(|(text, stream)| of.delta(&call.item, text, stream));
                    let ended = of.completed(items::call_ended(card, call, outcome));
                    output.into_iter().chain([ended]).collect()
                }
                ToolFact::Reached
                | ToolFact::Started
                | ToolFact::Wrote { .. }
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
        TurnFact::PlanChanged { .. } | TurnFact::UsageAdded { .. } => None,
    }
}
