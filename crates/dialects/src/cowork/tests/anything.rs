//! Whatever comes, a connection answers little, and in frames that are frames.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};
use vocabulary::{AskFact, Fact, NoteFact, Refusal, Reply, Why};

use super::messages::right_messages;
use super::samples::{SESSION, event, questions, tag};
use super::schemas::event_types;
use super::stub::Stub;
use crate::cowork::hear::MESSAGES;
use crate::cowork::tell::{RawParts, tell};

/// JSON of any shape, a few levels deep.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        Just(json!(SESSION)),
        Just(json!("req-7")),
        Just(json!("cp-0001")),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(field_name(), inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn field_name() -> impl Strategy<Value = String> {
    let known = [
        "type",
        "sessionId",
        "text",
        "requestId",
        "answer",
        "approved",
        "model",
        "provider",
        "config",
        "context",
        "server",
        "name",
        "offset",
        "limit",
        "metadata",
        "maxSteps",
        "checkpointId",
    ];
    prop_oneof![
        prop::sample::select(known.to_vec()).prop_map(str::to_owned),
        ".{0,8}".prop_map(|name| name),
    ]
}

/// A right message with one field replaced or added.
fn almost_right() -> impl Strategy<Value = Value> {
    let message = prop::sample::select(right_messages());
    let nth = any::<prop::sample::Index>();
    (message, nth, field_name(), any_json()).prop_map(|(mut message, nth, name, value)| {
        let names: Vec<_> = message
            .as_object()
            .expect("fields")
            .keys()
            .cloned()
            .collect();
        let old = names[nth.index(names.len())].clone();
        message[old.as_str()] = value.clone();
        message[name.as_str()] = value;
        message["sessionId"] = json!(SESSION);
        message
    })
}

/// Says it to a connection with an open ask, and checks what comes back.
fn check(frame: &str) -> Result<(), TestCaseError> {
    let mut stub = Stub::connected();
    let ask = questions(7, &["Which?"]);
    stub.tell(Fact::Ask {
        tag: tag(0),
        what: AskFact::Opened { ask },
    });
    stub.say_text(frame);
    prop_assert!(stub.sent.len() <= 2, "{:?}", stub.sent);
    prop_assert!(stub.calls.len() <= 1);
    let waits = !stub.calls.is_empty();
    if waits {
        let refusal = Refusal::new(Why::Internal, "no");
        stub.reply(Err(refusal));
        prop_assert!(stub.sent.len() <= 2);
    }
    let known = event_types();
    for frame in stub.take() {
        let kind = frame["type"].as_str().unwrap_or_default();
        prop_assert!(known.contains(kind), "{frame}");
        prop_assert!(frame.to_string().len() < 4096);
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_text_is_survived(frame in ".{0,200}") {
        check(&frame)?;
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn any_json_is_survived(value in any_json()) {
        check(&value.to_string())?;
    }

    #[test]
    fn any_known_message_with_any_fields_is_survived(
        kind in prop::sample::select(MESSAGES.iter().map(|(kind, _)| *kind).collect::<Vec<_>>()),
        fields in prop::collection::btree_map(field_name(), any_json(), 0..6),
    ) {
        let mut message = Value::Object(fields.into_iter().collect());
        message["type"] = json!(kind);
        message["sessionId"] = json!(SESSION);
        check(&message.to_string())?;
    }

    #[test]
    fn any_almost_right_message_is_survived(message in almost_right()) {
        check(&message.to_string())?;
    }

    #[test]
    fn any_line_makes_a_frame(line in any::<String>()) {
        let card = super::samples::card();
        let frames = tell(&card, &event(Fact::Note(NoteFact::Logged { line: line.clone() })), RawParts::Leave);
        let frame: Value = serde_json::from_str(&frames[0]).expect("JSON");
        prop_assert_eq!(&frame["line"], &json!(line));
    }
}

#[test]
fn any_answer_to_any_call_is_survived() {
    for message in right_messages() {
        for reply in [Reply::Done, Reply::Tools(Vec::new())] {
            let mut stub = Stub::connected();
            stub.say(message.clone());
            if !stub.calls.is_empty() {
                stub.reply(Ok(reply));
            }
            assert!(stub.sent.len() <= 2);
        }
    }
}

#[test]
fn every_event_of_the_protocol_has_a_type_of_its_own() {
    let types: BTreeSet<String> = event_types();
    assert_eq!(types.len(), 38);
}
