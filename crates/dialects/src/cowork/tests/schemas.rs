//! The wire types describe themselves.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::cowork::hear::MESSAGES;
use crate::cowork::wire::ServerEvent;
use crate::cowork::wire::client::ClientMessage;

/// The `type` of every variant of a schema.
fn types_of(schema: schemars::Schema) -> BTreeSet<String> {
    let schema = schema.to_value();
    let variants = schema["oneOf"].as_array().expect("variants");
    let kind = |variant: &Value| {
        variant["properties"]["type"]["const"]
            .as_str()
            .map(str::to_owned)
    };
    variants.iter().filter_map(kind).collect()
}

/// The names of all server events.
pub fn event_types() -> BTreeSet<String> {
    static TYPES: std::sync::OnceLock<BTreeSet<String>> = std::sync::OnceLock::new();
    TYPES
        .get_or_init(|| types_of(schemars::schema_for!(ServerEvent<'_>)))
        .clone()
}

#[test]
fn the_schema_of_messages_has_every_message_of_the_table() {
    let table: BTreeSet<_> = MESSAGES.iter().map(|(kind, _)| kind.to_string()).collect();
    assert_eq!(types_of(schemars::schema_for!(ClientMessage)), table);
}

#[test]
fn the_schema_of_events_has_the_protocols_names() {
    let types = event_types();
    for kind in [
        "server_hello",
        "model_stream_chunk",
        "provider_status",
        "error",
        "todos",
    ] {
        assert!(types.contains(kind), "{kind} of {types:?}");
    }
}
