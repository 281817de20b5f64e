//! Whatever comes, a connection answers little, and does not fall over.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::stub::Stub;
use crate::cowork::tests::samples::SESSION;
use crate::cowork::v1::hear::MESSAGES;

fn check(frame: &str) -> Result<(), TestCaseError> {
    let mut stub = Stub::connected();
    stub.say_text(frame);
    prop_assert!(stub.sent.len() + stub.calls.len() <= 1);
    for frame in stub.take() {
        prop_assert!(frame.to_string().len() < 4096);
    }
    Ok(())
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        Just(json!("cp-0001")),
        Just(json!({"a": [1, {}]})),
    ]
}

fn field() -> impl Strategy<Value = String> {
    let known = [
        "text",
        "requestId",
        "answer",
        "approved",
        "model",
        "provider",
        "checkpointId",
        "clientMessageId",
    ];
    prop::sample::select(known.to_vec()).prop_map(str::to_owned)
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn any_fields_of_any_message_are_survived(
        kind in prop::sample::select(MESSAGES.to_vec()),
        fields in prop::collection::btree_map(field(), any_value(), 0..6),
    ) {
        let mut message = Value::Object(fields.into_iter().collect());
        message["type"] = json!(kind);
        message["sessionId"] = json!(SESSION);
        check(&message.to_string())?;
    }
}
