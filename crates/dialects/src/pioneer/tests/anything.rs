//! Whatever comes, a connection answers once, and in frames that are frames.

use proptest::prelude::*;
use serde_json::{Value, json};
use vocabulary::{AskFact, Fact, Refusal, Reply, Why};

use super::samples::{THREAD, WORKSPACE, approval, tag};
use super::stub::Stub;
use crate::pioneer::admin::METHODS;
use crate::pioneer::hear::BUILT;

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        Just(json!(THREAD)),
        Just(json!("7")),
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
        "thread_id",
        "threadId",
        "workspace_id",
        "turn_id",
        "input",
        "type",
        "text",
        "mode",
        "limit",
        "after_sequence",
        "folder_id",
        "name",
        "request_id",
        "answers",
        "provider",
        "api_key",
        "model",
        "url",
        "path",
    ];
    prop_oneof![
        prop::sample::select(known.to_vec()).prop_map(str::to_owned),
        ".{0,8}".prop_map(|name| name),
    ]
}

/// Says it to a connection with an open ask; one answer comes, at once or by way of a call.
fn check(frame: &str) -> Result<(), TestCaseError> {
    for outcome in [
        Ok(Reply::Done),
        Err(Refusal::new(Why::Internal, "no")),
        Err(Refusal::new(Why::UnknownThread, "no")),
    ] {
        let mut stub = Stub::subscribed(true);
        let ask = approval();
        stub.tell(Fact::Ask {
            tag: tag(),
            what: AskFact::Opened { ask },
        });
        stub.take();
        stub.say_text(frame);
        for _ in 0..4 {
            if !stub.calls.is_empty() {
                prop_assert!(stub.sent.is_empty());
                stub.reply(outcome.clone());
            }
        }
        prop_assert!(stub.calls.is_empty());
        let answers = stub.sent.iter().filter(|frame| frame.get("id").is_some());
        prop_assert_eq!(answers.count(), 1, "{:?}", stub.sent);
        prop_assert!(stub.sent.iter().all(|frame| frame["jsonrpc"] == "2.0"));
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn any_json_is_survived(value in any_json()) {
        check(&value.to_string())?;
    }

    #[test]
    fn any_params_of_any_method_are_survived(
        method in prop::sample::select(methods()),
        fields in prop::collection::btree_map(field(), any_json(), 0..6),
        right in any::<bool>(),
    ) {
        let mut params = Value::Object(fields.into_iter().collect());
        if right {
            params["thread_id"] = json!(THREAD);
            params["workspace_id"] = json!(WORKSPACE);
            params["turn_id"] = json!("t1");
        }
        let frame = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        check(&frame.to_string())?;
    }
}

fn methods() -> Vec<&'static str> {
    BUILT.iter().chain(METHODS).copied().collect()
}
