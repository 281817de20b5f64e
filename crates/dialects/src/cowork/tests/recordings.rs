//! What the reference server was recorded to say, beside what we say of the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use vocabulary::{
    Cause, Entry, Fact, Growth, Item, ItemFact, ItemId, MessagePage, Opening, Reply, StepFact,
    StopReason, StreamTag, ThreadFact, Title, TitleSource, TurnFact, TurnId, TurnOutcome, Usage,
    UserInput,
};

use super::samples::{SESSION, card, event, json, model, view};
use super::stub::Stub;
use crate::cowork::tell::{RawParts, tell};

const CONNECT: &str = include_str!("../../../tests/data/cowork7/01-connect.json");
const TURN_TEXT: &str = include_str!("../../../tests/data/cowork7/04-turn-text.json");

/// The frames a recording shows in one direction.
fn recorded(recording: &str, direction: &str) -> Vec<Value> {
    let recording: Value = serde_json::from_str(recording).expect("a recording");
    let frames = recording["frames"].as_array().expect("frames");
    let right = frames.iter().filter(|frame| frame["dir"] == direction);
    right.map(|frame| frame["data"].clone()).collect()
}

/// Where something stands in a frame, lists being one place each.
fn paths(value: &Value) -> BTreeSet<String> {
    fn walk(at: &str, value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let at = format!("{at}.{name}");
                    found.insert(at.clone());
                    walk(&at, value, found);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| walk(at, item, found)),
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    walk("", value, &mut found);
    found
}

fn by_type(frames: &[Value]) -> BTreeMap<String, BTreeSet<String>> {
    let kind = |frame: &Value| frame["type"].as_str().expect("a type").to_owned();
    frames.iter().map(|f| (kind(f), paths(f))).collect()
}

#[test]
fn a_connection_starts_with_the_recorded_events_and_fields() {
    let mut stub = Stub::greeted(view());
    stub.answer_connect_calls();
    let (ours, theirs) = (by_type(&stub.take()), by_type(&recorded(CONNECT, "s2c")));
    let types = |frames: &BTreeMap<String, _>| frames.keys().cloned().collect::<Vec<_>>();
    assert_eq!(types(&ours), types(&theirs));
    for (kind, theirs) in theirs {
        assert_eq!(ours[&kind], theirs, "{kind}");
    }
}

/// The first turn of the recording, as facts.
fn hello_turn() -> Vec<Fact> {
    let (turn, item) = (TurnId::new("t1"), ItemId::new("i1"));
    let tag = |part| StreamTag {
        turn: turn.clone(),
        model: Some(Arc::new(model())),
        step: 1,
        part,
    };
    let usage = Usage {
        input_tokens: 100,
        output_tokens: 10,
        ..Usage::default()
    };
    let title = |text: &str, source, by: Option<&str>| {
        Fact::Thread(ThreadFact::Titled {
            title: Title {
                text: text.to_owned(),
                source,
                model: by.map(str::to_owned),
            },
            model: model(),
        })
    };
    let grew = |part, delta: &str| Fact::Item {
        tag: tag(part),
        item: item.clone(),
        content: 0,
        what: ItemFact::Grew {
            growth: Growth::Text,
            delta: delta.to_owned(),
        },
    };
    let text = "Echo: Hello there.";
    vec![
        Fact::Turn(TurnFact::Started {
            turn: turn.clone(),
            cause: Cause::UserMessage,
            input: UserInput {
                images: Vec::new(),
                item: item.clone(),
                text: "Hello there.".to_owned(),
                display: None,
                client_id: Some("cm-1".to_owned()),
                pieces: Vec::new(),
            },
            model: Some(Arc::new(model())),
        }),
        title("Hello there", TitleSource::Heuristic, None),
        Fact::Step {
            tag: tag(0),
            what: StepFact::Started,
        },
        title("Fake Session Title", TitleSource::Model, Some("gpt-5-mini")),
        Fact::Item {
            tag: tag(2),
            item: item.clone(),
            content: 0,
            what: ItemFact::Started {
                opening: Opening::Text,
            },
        },
        grew(3, "Echo: "),
        grew(4, "Hello there."),
        Fact::Item {
            tag: tag(5),
            item: item.clone(),
            content: 0,
            what: ItemFact::Finished {
                began: None,
                body: Item::AgentMessage {
                    native: None,
                    text: text.to_owned(),
                    partial: false,
                },
            },
        },
        Fact::Step {
            tag: tag(6),
            what: StepFact::Finished {
                context_limit: None,
                thread_usage: Default::default(),
                reason: StopReason::Stop,
                usage,
            },
        },
        Fact::Turn(TurnFact::Finished {
            turn: turn.clone(),
            outcome: TurnOutcome::Completed,
            text: text.to_owned(),
            reasoning: Vec::new(),
            usage: Some(usage),
            model: Some(Arc::new(model())),
            started_at: None,
        }),
    ]
}

/// Ids and times are each server's own.
fn without_own_values(mut frame: Value) -> Value {
    for name in ["sessionId", "turnId", "createdAt", "updatedAt"] {
        if let Some(value) = frame.get_mut(name) {
            *value = Value::Null;
        }
    }
    frame
}

/// A title made by a model comes whenever it comes; the rest has an order.
fn titles_apart(frames: Vec<Value>) -> (Vec<Value>, Vec<Value>) {
    let frames = frames.into_iter().map(without_own_values);
    frames.partition(|frame| frame["type"] == "session_info")
}

#[test]
fn a_text_turn_is_told_as_recorded() {
    let theirs = recorded(TURN_TEXT, "s2c");
    let is = |frame: &Value, kind: &str| frame["type"] == kind;
    let from = theirs.iter().position(|f| is(f, "user_message"));
    let from = from.expect("an echo");
    let to = theirs[from..]
        .iter()
        .position(|f| is(f, "session_busy") && f["busy"] == false);
    let theirs = theirs[from..=from + to.expect("an end")].to_vec();
    let ours = hello_turn()
        .into_iter()
        .flat_map(|fact| tell(&card(), &event(fact), RawParts::Sanitized))
        .map(|frame| json(&frame));
    assert_eq!(titles_apart(ours.collect()), titles_apart(theirs));
}

#[test]
fn the_history_of_a_text_turn_is_told_as_recorded() {
    let theirs = recorded(TURN_TEXT, "s2c");
    let messages = theirs.iter().find(|frame| frame["type"] == "messages");
    let theirs = &messages.expect("a history")["messages"];
    let entries = hello_turn().into_iter().filter(Fact::durable).enumerate();
    let entries = entries.map(|(at, fact)| Entry {
        ordinal: at as u64,
        message: at as u64,
        event: event(fact),
    });
    let mut stub = Stub::connected();
    stub.say(serde_json::json!({ "type": "get_messages", "sessionId": SESSION }));
    stub.reply(Ok(Reply::Messages(MessagePage {
        entries: entries.collect(),
        total: 2,
        offset: 0,
        limit: 100,
    })));
    let ours = &stub.take()[0]["messages"];
    assert_eq!(ours[0], theirs[0]);
    assert_eq!(ours[1], theirs[1]);
}

#[test]
fn every_recorded_client_frame_is_understood() {
    for mut frame in recorded(TURN_TEXT, "c2s") {
        frame["sessionId"] = Value::from(SESSION);
        let mut stub = Stub::connected();
        stub.say(frame);
        assert!(stub.sent.is_empty(), "no error: {:?}", stub.sent);
        assert_eq!(stub.calls.len(), 1);
    }
}
