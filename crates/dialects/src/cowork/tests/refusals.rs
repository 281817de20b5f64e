//! Refusals in this protocol's codes.

use serde_json::json;
use vocabulary::{Refusal, Why};

use super::samples::SESSION;
use super::stub::Stub;

#[test]
fn each_refusal_has_a_code_and_a_source() {
    for (why, code, source) in [
        (Why::Busy, "busy", "session"),
        (Why::OwnedElsewhere, "busy", "session"),
        (Why::UnknownThread, "unknown_session", "session"),
        (Why::UnknownAsk, "validation_failed", "session"),
        (Why::UnknownCheckpoint, "validation_failed", "backup"),
        (Why::UnknownFile, "validation_failed", "session"),
        (Why::AlreadyAnswered, "validation_failed", "session"),
        (Why::invalid("x"), "validation_failed", "session"),
        (Why::BlankAnswer, "validation_failed", "session"),
        (Why::NoRunningTurn, "validation_failed", "session"),
        (Why::Conflict, "validation_failed", "session"),
        (Why::Forbidden, "permission_denied", "permissions"),
        (Why::Unauthenticated, "permission_denied", "permissions"),
        (Why::NotAvailable, "internal_error", "session"),
        (Why::ShuttingDown, "internal_error", "session"),
        (Why::InsufficientCredits, "permission_denied", "session"),
        (Why::Storage, "internal_error", "session"),
        (Why::Internal, "internal_error", "session"),
    ] {
        let mut stub = Stub::connected();
        stub.say(json!({ "type": "reset", "sessionId": SESSION }));
        stub.reply(Err(Refusal::new(why, "Agent is busy")));
        let expected = json!({
            "type": "error",
            "sessionId": SESSION,
            "message": "Agent is busy",
            "code": code,
            "source": source,
        });
        assert_eq!(stub.take(), [expected]);
    }
}

#[test]
fn nothing_to_cancel_is_no_error() {
    let mut stub = Stub::connected();
    stub.say(json!({ "type": "cancel", "sessionId": SESSION }));
    stub.reply(Err(Refusal::new(Why::NoRunningTurn, "no turn")));
    assert!(stub.sent.is_empty());
}

#[test]
fn a_session_that_cannot_be_closed_still_closes_its_socket() {
    for (why, frames) in [(Why::UnknownThread, 0), (Why::Storage, 1)] {
        let mut stub = Stub::connected();
        stub.say(json!({ "type": "session_close", "sessionId": SESSION }));
        stub.reply(Err(Refusal::new(why, "no")));
        assert_eq!(stub.sent.len(), frames);
        assert_eq!(stub.closed.map(|reason| reason.code), Some(1000));
    }
}
