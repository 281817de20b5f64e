//! The log as this protocol's history.

use std::collections::HashMap;

use vocabulary::{
    Event, Fact, Item, ItemId, Seq, ThreadCard, ToolCall, TurnId, TurnOutcome, UserInput,
};

use super::items;
use super::wire::history::{
    Input, ThreadHistoryEvent, ThreadHistoryEventPayload as Payload, TurnItemEvent, Whose,
};
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
    let mut planned: HashMap<&ItemId, &ToolCall> = HashMap::new();
    let mut found = Vec::new();
    for event in log {
        if let Fact::ToolPlanned { call, .. } = &event.fact {
            planned.insert(&call.item, call);
        }
        let Some((turn, payloads)) = payloads(card, &whose, &planned, &event.fact) else {
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
        images::Shown::Url(url) => Input::Image { url },
        images::Shown::Path(path) => Input::LocalImage { path },
    });
    std::iter::once(text).chain(pictures).collect()
}

fn payloads<'a>(
    card: &'a ThreadCard,
    whose: &Whose<'a>,
    planned: &HashMap<&'a ItemId, &'a ToolCall>,
    fact: &'a Fact,
) -> Option<(&'a TurnId, Vec<Payload<'a>>)> {
    let started = |turn: &'a TurnId, item| Payload::ItemStarted {
        whose: whose.clone(),
        turn_id: turn.as_str(),
        item,
    };
    let completed = |turn: &'a TurnId, item| Payload::ItemCompleted {
        whose: whose.clone(),
        turn_id: turn.as_str(),
        item,
    };
    let delta = |turn: &'a TurnId, item: &'a ItemId, delta, stream| Payload::ItemDelta {
        whose: whose.clone(),
        turn_id: turn.as_str(),
        item_id: item.as_str(),
        delta,
        stream,
    };
    Some(match fact {
        Fact::TurnStarted { turn, input, .. } => {
            let begun = Payload::TurnStarted {
                whose: whose.clone(),
                turn: items::running(turn),
                input: said_input(input),
            };
            let said = items::user_message(input);
            let payloads = vec![begun, started(turn, said.clone()), completed(turn, said)];
            (turn, payloads)
        }
        Fact::TurnSteered { turn, input, .. } => {
            let said = items::user_message(input);
            (
                turn,
                vec![started(turn, said.clone()), completed(turn, said)],
            )
        }
        Fact::Compacted {
            tag,
            item,
            summary,
            tokens_before,
        } => {
            let turn = &tag.turn;
            let item = items::compacted(item, summary, *tokens_before);
            (
                turn,
                vec![started(turn, item.clone()), completed(turn, item)],
            )
        }
        // A thought that its provider keeps to itself.
        Fact::ItemFinished {
            body: Item::Reasoning { text, .. },
            ..
        } if text.is_empty() => return None,
        Fact::TurnFinished { turn, outcome, .. } => {
            let (whose, ended) = (whose.clone(), items::ended(turn, outcome));
            let payload = match outcome {
                TurnOutcome::Completed | TurnOutcome::Cancelled => {
                    Payload::TurnCompleted { whose, turn: ended }
                }
                TurnOutcome::Failed(_) => Payload::TurnFailed { whose, turn: ended },
            };
            (turn, vec![payload])
        }
        Fact::ItemFinished {
            tag, item, body, ..
        } => {
            let turn = &tag.turn;
            let (written, text, stream) = items::written(item, body);
            let payloads = vec![
                started(turn, items::unwritten(item, body)),
                delta(turn, item, text, stream),
                completed(turn, written),
            ];
            (turn, payloads)
        }
        Fact::ToolPlanned { tag, call, .. } => {
            let item = items::call_started(card, call);
            (&tag.turn, vec![started(&tag.turn, item)])
        }
        Fact::ToolFinished { tag, call, outcome } => {
            let turn = &tag.turn;
            let planned = planned.get(&call.item).copied();
            let ended = items::call_ended(card, planned, call, outcome);
            let output = items::output(outcome);
            let output = output.map(|(text, stream)| delta(turn, &call.item, text, stream));
            let payloads = output.into_iter().chain([completed(turn, ended)]);
            (turn, payloads.collect())
        }
        Fact::ThreadCreated { .. }
        | Fact::TitleChanged { .. }
        | Fact::SettingsChanged { .. }
        | Fact::ArchivedChanged { .. }
        | Fact::ThreadReset
        | Fact::StatusChanged { .. }
        | Fact::ThreadClosed
        | Fact::StepStarted { .. }
        | Fact::StepFinished { .. }
        | Fact::StepFailed { .. }
        | Fact::ItemStarted { .. }
        | Fact::ItemGrew { .. }
        | Fact::ToolReached { .. }
        | Fact::UsageAdded { .. }
        | Fact::StepDelayed { .. }
        | Fact::GrantRevoked { .. }
        | Fact::ToolStarted { .. }
        | Fact::CommandExited { .. }
        | Fact::AskOpened { .. }
        | Fact::AskProgressed { .. }
        | Fact::AskClosed { .. }
        | Fact::PlanChanged { .. }
        | Fact::CheckpointsChanged { .. }
        | Fact::FilesChanged { .. }
        | Fact::TurnDiffed { .. }
        | Fact::Logged { .. }
        | Fact::RawReceived { .. } => return None,
    })
}
