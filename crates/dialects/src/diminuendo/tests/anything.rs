//! Whatever comes, a connection answers little, and in frames that are frames.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};
use vocabulary::{Refusal, Why};

use super::stub::Stub;
use crate::cowork::tests::samples::{SESSION, view};
use crate::diminuendo::hear::MESSAGES;
use crate::diminuendo::wire::{ClientMessage, ServerEvent};

fn types_of(schema: schemars::Schema) -> BTreeSet<String> {
    let schema = schema.to_value();
    let variants = schema["oneOf"].as_array().expect("variants");
    let kind = |variant: &Value| {
        let kind = &variant["properties"]["type"]["const"];
        kind.as_str().map(str::to_owned)
    };
    variants.iter().filter_map(kind).collect()
}

#[test]
fn the_table_the_types_and_the_schema_have_the_same_messages() {
    let table: BTreeSet<_> = MESSAGES.iter().map(|(kind, _)| kind.to_string()).collect();
    assert_eq!(types_of(schemars::schema_for!(ClientMessage)), table);
    assert_eq!(table.len(), 22, "the protocol's 21, and approve");
    let events = types_of(schemars::schema_for!(ServerEvent<'_>));
    assert!(events.contains("message.delta") && events.contains("replay_complete"));
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        Just(json!(SESSION)),
        Just(json!("req-7")),
        Just(json!("approve")),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(field(), inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn field() -> impl Strategy<Value = String> {
    let known = [
        "type",
        "text",
        "content",
        "requestId",
        "answers",
        "approved",
        "afterSeq",
        "limit",
        "name",
        "agentType",
        "token",
        "features",
        "ts",
        "path",
        "dismissed",
        "action",
        "iteration",
    ];
    prop_oneof![
        prop::sample::select(known.to_vec()).prop_map(str::to_owned),
        ".{0,8}".prop_map(|name| name),
    ]
}

fn check(frame: &str) -> Result<(), TestCaseError> {
    let mut stub = Stub::joined(view());
    stub.say_text(frame);
    prop_assert!(stub.sent.len() + stub.asked.len() <= 1);
    if !stub.asked.is_empty() {
        stub.reply(Err(Refusal::new(Why::Internal, "no")));
    }
    for frame in stub.take() {
        prop_assert!(frame["type"].is_string());
        prop_assert!(frame.to_string().len() < 4096);
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn any_json_is_survived(value in any_value()) {
        check(&value.to_string())?;
    }

    #[test]
    fn any_known_message_with_any_fields_is_survived(
        kind in prop::sample::select(MESSAGES.iter().map(|(kind, _)| *kind).collect::<Vec<_>>()),
        fields in prop::collection::btree_map(field(), any_value(), 0..6),
    ) {
        let mut message = Value::Object(fields.into_iter().collect());
        message["type"] = json!(kind);
        message["sessionId"] = json!(SESSION);
        check(&message.to_string())?;
    }
}
