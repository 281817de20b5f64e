//! Whatever comes, a connection survives it and answers little.

use proptest::prelude::*;
use serde_json::{Value, json};
use vocabulary::{AskFact, Fact, Refusal, Why};

use super::stub::{Stub, THREAD, approval, tag};
use crate::codex::Endpoint;

const METHODS: [&str; 21] = [
    "initialize",
    "account/read",
    "model/list",
    "config/read",
    "configRequirements/read",
    "collaborationMode/list",
    "thread/start",
    "thread/list",
    "thread/loaded/list",
    "thread/read",
    "thread/resume",
    "thread/name/set",
    "thread/archive",
    "thread/unsubscribe",
    "turn/start",
    "turn/interrupt",
    "turn/steer",
    "account/login/start",
    "account/login/cancel",
    "account/logout",
    "anchor.listDirs",
];

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        Just(json!(THREAD)),
        Just(json!("text")),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let name = prop::sample::select(vec![
            "threadId", "input", "type", "text", "cwd", "model", "cursor", "limit", "decision",
            "answers", "id", "method", "result", "params", "url", "apiKey", "effort", "x",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name.prop_map(str::to_owned), inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Says it to a connection with an open ask; every request gets at most one answer.
fn check(frame: &str) -> Result<(), TestCaseError> {
    for endpoint in [Endpoint::Codex, Endpoint::Zane] {
        let mut stub = Stub::started(endpoint);
        let ask = approval(7);
        stub.tell(Fact::Ask {
            tag: tag(),
            what: AskFact::Opened { ask },
        });
        stub.say(frame);
        prop_assert!(stub.calls.len() <= 1);
        if !stub.calls.is_empty() {
            stub.reply(Err(Refusal::new(Why::Internal, "no")));
        }
        prop_assert!(stub.sent.len() <= 1, "{:?}", stub.sent);
        prop_assert!(stub.sent.iter().all(|sent| sent.to_string().len() < 4096));
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
        method in prop::sample::select(METHODS.to_vec()),
        params in any_json(),
    ) {
        check(&json!({ "id": 1, "method": method, "params": params }).to_string())?;
    }

    #[test]
    fn any_result_is_survived(result in any_json()) {
        check(&json!({ "id": 7, "result": result }).to_string())?;
    }
}
