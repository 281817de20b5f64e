//! How answers end: what is a good end, what is one that lacks something, and what is none.

use serde_json::json;

use super::decode::{answer, error, gemini, gemini_end};
use super::*;
use crate::ErrorKind;

fn claude_end(reason: &str) -> [Value; 5] {
    [
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "So" } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": reason } }),
        json!({ "type": "message_stop" }),
    ]
}

fn stop(wire: Wire, data: &[Value]) -> StopCause {
    match answer(wire, data).last() {
        Some(Part::Finish { stop, .. }) => *stop,
        other => panic!("{other:?}"),
    }
}

#[test]
fn ends_of_messages() {
    for (reason, expected) in [
        ("end_turn", StopCause::Stop),
        ("stop_sequence", StopCause::Stop),
        ("max_tokens", StopCause::Length),
        ("pause_turn", StopCause::Length),
        ("something_new", StopCause::Stop),
    ] {
        let found = stop(Wire::Messages, &claude_end(reason));
        assert_eq!(found, expected, "{reason}");
    }
    for (reason, kind) in [
        ("refusal", ErrorKind::Refused),
        ("sensitive", ErrorKind::Refused),
        ("model_context_window_exceeded", ErrorKind::ContextTooLong),
    ] {
        let (found, words) = error(Wire::Messages, &claude_end(reason));
        assert_eq!(found, kind, "{reason}: {words}");
    }
}

#[test]
fn ends_of_gemini() {
    let said = || gemini(json!([{ "text": "So" }]));
    let ended = |reason: &str| [said(), gemini_end(reason)];
    for (reason, expected) in [
        ("STOP", StopCause::Stop),
        ("MAX_TOKENS", StopCause::Length),
        ("CONTINUATION", StopCause::Length),
    ] {
        let found = stop(Wire::Gemini, &ended(reason));
        assert_eq!(found, expected, "{reason}");
    }
    for (reason, kind) in [
        ("SAFETY", ErrorKind::Refused),
        ("RECITATION", ErrorKind::Refused),
        ("PROHIBITED_CONTENT", ErrorKind::Refused),
        ("MALFORMED_FUNCTION_CALL", ErrorKind::Malformed),
        ("UNEXPECTED_TOOL_CALL", ErrorKind::Malformed),
        ("OTHER", ErrorKind::Malformed),
        ("MISSING_THOUGHT_SIGNATURE", ErrorKind::BadRequest),
    ] {
        let (found, words) = error(Wire::Gemini, &ended(reason));
        assert_eq!(found, kind, "{reason}");
        assert!(words.contains(reason), "{words}");
    }
    let blocked = json!({ "promptFeedback": {
        "blockReason": "JAILBREAK", "blockReasonMessage": "Not with us." } });
    assert_eq!(
        error(Wire::Gemini, &[blocked]),
        (
            ErrorKind::Refused,
            "the model declined to answer: the prompt was blocked (JAILBREAK: Not with us.)"
                .to_owned()
        )
    );
}

/// Claude after the results of calls, and Gemini now and then: nothing more to say is a good end.
#[test]
fn an_empty_answer_has_a_good_end() {
    let empty = [
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } }),
        json!({ "type": "message_stop" }),
    ];
    assert_eq!(
        answer(Wire::Messages, &empty),
        finish(StopCause::Stop, 0, 0)
    );
    assert_eq!(
        answer(Wire::Gemini, &[gemini_end("STOP")]),
        finish(StopCause::Stop, 0, 0)
    );
}

#[test]
fn arguments_of_gemini_may_come_as_text() {
    let call_part = json!([{ "functionCall": { "name": "ls", "args": "{\"path\": \"a\"}" } }]);
    let expected = [
        call(0, "seed_0", "ls", &["{\"path\": \"a\"}"], None),
        finish(StopCause::ToolUse, 0, 0),
    ];
    let data = [gemini(call_part), gemini_end("STOP")];
    assert_eq!(answer(Wire::Gemini, &data), expected.concat());
}
