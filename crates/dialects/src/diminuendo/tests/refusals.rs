//! What is refused, in which words, and to whom.

use serde_json::json;
use vocabulary::{Refusal, Why};

use super::stub::Stub;
use crate::cowork::tests::samples::{OTHER, SESSION};

fn check(message: &str, code: &str, text: &str) {
    let mut stub = Stub::connected();
    stub.say_text(message);
    let sent = stub.take();
    assert_eq!(sent.len(), 1, "{message}");
    assert_eq!(sent[0]["type"], "error");
    assert_eq!(sent[0]["code"], code, "{message}");
    assert_eq!(sent[0]["message"], text);
}

#[test]
fn a_wrong_message_is_told_which_field_and_what_it_should_be() {
    let invalid = "INVALID_MESSAGE";
    check("{", "INVALID_JSON", "the message is not valid JSON");
    check("[]", invalid, "expected an object");
    check("{}", invalid, "type is missing: expected a string");
    check(r#"{"type":"dance"}"#, invalid, "unknown type: dance");
    check(
        r#"{"type":"run_turn","sessionId":"x"}"#,
        invalid,
        "run_turn: text is missing: expected a string that is not empty",
    );
    check(
        r#"{"type":"join_session","sessionId":"x","afterSeq":1.5}"#,
        invalid,
        "join_session: afterSeq must be an integer",
    );
    check(
        r#"{"type":"manage_members","action":"dance"}"#,
        invalid,
        "manage_members: action must be one of list, set_role, remove",
    );
    check(
        r#"{"type":"stop_turn","sessionId":"nobody"}"#,
        "SessionNotFound",
        "there is no such session",
    );
    let read = json!({"type": "read_file", "sessionId": SESSION, "path": "a.txt"});
    check(
        &read.to_string(),
        "NotAvailable",
        "read_file is not available in this build yet",
    );
}

#[test]
fn an_error_repeats_the_request_id() {
    let mut stub = Stub::connected();
    stub.say(json!({"type": "dance", "requestId": "r9"}));
    assert_eq!(stub.take()[0]["requestId"], "r9");
    stub.say(json!({"type": "run_turn", "sessionId": SESSION, "text": "x", "requestId": "r10"}));
    stub.reply(Err(Refusal::busy()));
    let sent = stub.take();
    assert_eq!(sent[0]["code"], "SessionBusy");
    assert_eq!(sent[0]["requestId"], "r10");
    stub.say(json!({"type": "dance", "requestId": 9}));
    assert_eq!(stub.take()[0].get("requestId"), None);
}

#[test]
fn each_reason_has_its_code() {
    for (why, code) in [
        (Why::Busy, "SessionBusy"),
        (Why::UnknownThread, "SessionNotFound"),
        (Why::UnknownFile, "FileNotFound"),
        (Why::UnknownCheckpoint, "InvalidRequest"),
        (Why::AlreadyAnswered, "RequestAlreadyResolved"),
        (Why::Forbidden, "Forbidden"),
        (Why::Unauthenticated, "Unauthenticated"),
        (Why::InsufficientCredits, "InsufficientCredits"),
        (Why::Storage, "InternalError"),
    ] {
        let mut stub = Stub::connected();
        stub.say(json!({"type": "stop_turn", "sessionId": OTHER}));
        stub.reply(Err(Refusal::new(why, "no")));
        assert_eq!(stub.take_error(), code);
    }
}

#[test]
fn a_message_of_more_than_a_megabyte_is_not_even_read() {
    let mut stub = Stub::connected();
    stub.say_text(&"x".repeat((1 << 20) + 1));
    assert_eq!(stub.take_error(), "MESSAGE_TOO_LARGE");
    stub.say_text(&"x".repeat(1 << 20));
    assert_eq!(stub.take_error(), "INVALID_JSON");
}

#[test]
fn sixty_messages_in_ten_seconds_are_enough() {
    let mut stub = Stub::connected();
    let ping = json!({"type": "ping", "ts": 1});
    for _ in 0..60 {
        stub.say(ping.clone());
    }
    assert_eq!(stub.take().len(), 60);
    stub.now = stub.now.plus_millis(4_000);
    stub.say(ping.clone());
    let sent = stub.take();
    assert_eq!(sent[0]["code"], "RATE_LIMITED");
    assert_eq!(sent[0]["retryAfterMs"], 6_000);
    stub.now = stub.now.plus_millis(6_000);
    stub.say(ping);
    assert_eq!(stub.take_types(), ["pong"]);
}
