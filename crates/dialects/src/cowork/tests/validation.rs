//! Every text by which a message is refused, in the order in which it is looked at.

use serde_json::json;

use super::messages::{of_session, right_messages, wrong_fields};
use super::samples::{SESSION, catalog};
use super::stub::Stub;
use crate::cowork::hear::{MESSAGES, MessageContext, hear};
use crate::cowork::sign_in::Methods;

fn check(frame: &str, code: &str, message: &str) {
    let mut stub = Stub::connected();
    stub.say_text(frame);
    let expected = json!({
        "type": "error",
        "sessionId": SESSION,
        "message": message,
        "code": code,
        "source": "protocol",
    });
    assert_eq!(stub.take(), [expected], "{frame}");
    assert!(stub.calls.is_empty(), "a wrong message asks for nothing");
}

#[test]
fn a_frame_is_json_then_an_object_then_has_a_known_type() {
    for frame in ["", "{", "nope", "{\"type\":}", "\u{0}"] {
        check(frame, "invalid_json", "Invalid JSON");
    }
    for frame in ["[]", "null", "1", "\"ping\"", "[{\"type\":\"ping\"}]"] {
        check(frame, "invalid_payload", "Expected object");
    }
    for frame in ["{}", "{\"type\":1}", "{\"type\":null}"] {
        check(frame, "missing_type", "Missing type");
    }
    check("{\"type\":\"x\"}", "unknown_type", "Unknown type: x");
    check("{\"type\":\"\"}", "unknown_type", "Unknown type: ");
    // Removed in version 4.0 of the protocol.
    let removed = "{\"type\":\"observability_query\"}";
    check(removed, "unknown_type", "Unknown type: observability_query");
}

#[test]
fn every_message_but_the_hello_needs_its_session() {
    for (kind, _) in MESSAGES.iter().filter(|(kind, _)| *kind != "client_hello") {
        let missing = format!("{kind} missing sessionId");
        for session in [json!(null), json!(""), json!("  "), json!(7)] {
            let frame = json!({ "type": kind, "sessionId": session }).to_string();
            check(&frame, "validation_failed", &missing);
        }
        check(
            &json!({ "type": kind }).to_string(),
            "validation_failed",
            &missing,
        );
    }
}

#[test]
fn another_session_is_unknown_once_the_fields_are_right() {
    let frame = json!({ "type": "ping", "sessionId": "abc" }).to_string();
    check(&frame, "unknown_session", "Unknown sessionId: abc");
    let frame = json!({ "type": "user_message", "sessionId": "abc" }).to_string();
    check(&frame, "validation_failed", "user_message missing text");
}

#[test]
fn each_wrong_field_has_its_words() {
    for (kind, fields, message) in wrong_fields() {
        let frame = of_session(kind, fields).to_string();
        check(&frame, "validation_failed", message);
    }
    let hello = |fields: &str| format!("{{\"type\":\"client_hello\"{fields}}}");
    let client = "client_hello missing/invalid client";
    check(&hello(""), "validation_failed", client);
    check(&hello(",\"client\":\" \""), "validation_failed", client);
    let version = ",\"client\":\"c\",\"version\":1";
    check(
        &hello(version),
        "validation_failed",
        "client_hello invalid version",
    );
}

#[test]
fn a_right_message_of_every_type_is_understood() {
    let methods = Methods::of(&catalog());
    let known = MessageContext {
        session: SESSION,
        methods: &methods,
    };
    for message in right_messages() {
        let hearing = hear(&message.to_string(), known);
        let hearing = hearing.unwrap_or_else(|wrong| panic!("{message}: {wrong:?}"));
        assert_eq!(hearing.name, message["type"]);
    }
}

#[test]
fn a_long_text_is_not_sent_back_whole() {
    let long = "é".repeat(100_000);
    for frame in [
        json!({ "type": long }),
        json!({ "type": "ping", "sessionId": long }),
        of_session("set_model", json!({ "model": "m", "provider": long })),
        of_session("ask_response", json!({ "requestId": long, "answer": "a" })),
        of_session("delete_session", json!({ "targetSessionId": long })),
    ] {
        let mut stub = Stub::connected();
        stub.say(frame);
        let sent = stub.take();
        assert_eq!(sent.len(), 1);
        assert!(sent[0].to_string().len() < 1000);
    }
}
