//! What goes wrong within a stream.

use serde_json::json;

use super::decode::{answer, chat, chat_end, error, gemini_end};
use super::*;
use crate::ErrorKind;

#[test]
fn errors_within_a_stream_have_their_kind() {
    let told = |kind: &str, words: &str| json!({ "type": "error", "error": { "type": kind, "message": words } });
    let failed = |code: &str| json!({ "type": "response.failed", "response": { "error": { "code": code, "message": "no" } } });
    let incomplete = json!({ "type": "response.incomplete",
        "response": { "incomplete_details": { "reason": "content_filter" } } });
    let cases = [
        (
            Wire::Messages,
            told("overloaded_error", "Overloaded"),
            ErrorKind::Overloaded,
            "Overloaded",
        ),
        (
            Wire::Messages,
            told("api_error", "Oh"),
            ErrorKind::Overloaded,
            "Oh",
        ),
        (
            Wire::Messages,
            told("invalid_request_error", "prompt is too long: 9 > 8"),
            ErrorKind::ContextTooLong,
            "prompt is too long: 9 > 8",
        ),
        (
            Wire::Messages,
            told("invalid_request_error", "no such field"),
            ErrorKind::BadRequest,
            "no such field",
        ),
        (
            Wire::Responses,
            failed("rate_limit_exceeded"),
            ErrorKind::RateLimited,
            "no",
        ),
        (
            Wire::Responses,
            failed("server_error"),
            ErrorKind::Overloaded,
            "no",
        ),
        (
            Wire::Responses,
            failed("insufficient_quota"),
            ErrorKind::Quota,
            "no",
        ),
        (
            Wire::Responses,
            failed("context_length_exceeded"),
            ErrorKind::ContextTooLong,
            "no",
        ),
        (
            Wire::Responses,
            json!({ "type": "error", "code": "rate_limit_exceeded", "message": "slow" }),
            ErrorKind::RateLimited,
            "slow",
        ),
        (
            Wire::Responses,
            incomplete,
            ErrorKind::Refused,
            "the model declined to answer: its answer was filtered",
        ),
        (
            Wire::Chat,
            json!({ "error": { "code": 502, "message": "bad gateway" } }),
            ErrorKind::Overloaded,
            "bad gateway",
        ),
        (
            Wire::Chat,
            json!({ "error": "boom" }),
            ErrorKind::Other,
            "boom",
        ),
        (
            Wire::Gemini,
            json!({ "error": { "code": 503, "status": "UNAVAILABLE", "message": "later" } }),
            ErrorKind::Overloaded,
            "later",
        ),
        (
            Wire::Gemini,
            gemini_end("MALFORMED_FUNCTION_CALL"),
            ErrorKind::Malformed,
            "the model wrote what its service cannot read (MALFORMED_FUNCTION_CALL)",
        ),
    ];
    for (wire, data, kind, words) in cases {
        assert_eq!(error(wire, &[data]), (kind, words.to_owned()));
    }
}

/// What services end an answer with that is no good end.
#[test]
fn bad_ends_of_chat_have_their_kind() {
    let cases = [
        ("insufficient_system_resource", ErrorKind::Overloaded),
        ("network_error", ErrorKind::Overloaded),
        ("abort", ErrorKind::Overloaded),
        ("model_length", ErrorKind::ContextTooLong),
        ("model_context_window_exceeded", ErrorKind::ContextTooLong),
        ("sensitive", ErrorKind::Refused),
        ("content_filter", ErrorKind::Refused),
        ("error", ErrorKind::Malformed),
    ];
    for (reason, kind) in cases {
        let data = [chat(json!({ "content": "Half a" })), chat_end(reason)];
        assert_eq!(error(Wire::Chat, &data).0, kind, "{reason}");
    }
    // OpenRouter passes on what the service behind it said, or puts an error beside it.
    let mut slip = chat_end("error");
    slip["choices"][0]["native_finish_reason"] = json!("MALFORMED_FUNCTION_CALL");
    let words = error(Wire::Chat, &[slip.clone()]).1;
    assert!(words.contains("MALFORMED_FUNCTION_CALL"), "{words}");
    slip["choices"][0]["error"] = json!({ "code": 502, "message": "gone" });
    let told = (ErrorKind::Overloaded, "gone".to_owned());
    assert_eq!(error(Wire::Chat, &[slip]), told);
}

#[test]
fn an_incomplete_response_says_why() {
    let incomplete = |reason: &str| {
        json!({ "type": "response.incomplete", "response": {
            "status": "incomplete", "incomplete_details": { "reason": reason } } })
    };
    for reason in ["max_output_tokens", "max_tokens"] {
        let parts = answer(Wire::Responses, &[incomplete(reason)]);
        assert_eq!(parts, finish(StopCause::Length, 0, 0));
    }
    let kind = |reason: &str| error(Wire::Responses, &[incomplete(reason)]).0;
    assert_eq!(kind("content_filter"), ErrorKind::Refused);
    assert_eq!(
        kind("model_context_window_exceeded"),
        ErrorKind::ContextTooLong
    );
    assert_eq!(kind("something_new"), ErrorKind::CutOff);
}

/// Errors that do not stand in `error`.
#[test]
fn an_error_is_heard_wherever_it_stands() {
    let vllm = json!({ "object": "error", "message": "This model's maximum context length is 8 tokens",
        "type": "BadRequestError", "param": null, "code": 400 });
    let told_by = |wire, event: Option<&str>, data: &str| {
        let events = [(event.map(str::to_owned), data.to_owned())];
        let (_, end) = decode(wire, &events);
        let error = end.expect_err("an error");
        (error.kind, error.message)
    };
    for wire in [Wire::Chat, Wire::Responses] {
        let (kind, words) = told_by(wire, None, &vllm.to_string());
        assert_eq!(kind, ErrorKind::ContextTooLong, "{words}");
        let words = told_by(wire, Some("error"), "the GPU is on fire").1;
        assert_eq!(words, "the GPU is on fire");
    }
    let told = |event, data: &str| told_by(Wire::Chat, event, data);
    let rate = (ErrorKind::RateLimited, "slow down".to_owned());
    let bare = json!({ "code": "rate_limit_exceeded", "message": "slow down" }).to_string();
    assert_eq!(told(Some("error"), &bare), rate);
    assert_eq!(told(None, &bare), rate);
    assert_eq!(told(None, "{\"detail\":\"no\"}").1, "no");
}

#[test]
fn a_refusal_is_not_an_answer() {
    let messages = json!({ "type": "message_delta", "delta": { "stop_reason": "refusal" } });
    let blocked = json!({ "promptFeedback": { "blockReason": "SAFETY" } });
    let message = json!({ "type": "response.output_item.done", "output_index": 0, "item": {
        "type": "message", "content": [{ "type": "refusal", "refusal": "No." }] } });
    let cases: [(Wire, Vec<Value>, &str); 7] = [
        (Wire::Messages, vec![messages], ""),
        (Wire::Gemini, vec![gemini_end("SAFETY")], ": SAFETY"),
        (
            Wire::Gemini,
            vec![blocked],
            ": the prompt was blocked (SAFETY)",
        ),
        (
            Wire::Chat,
            vec![chat_end("content_filter")],
            ": its answer was filtered",
        ),
        (
            Wire::Chat,
            vec![
                chat(json!({ "refusal": "N" })),
                chat(json!({ "refusal": "o." })),
                chat_end("stop"),
            ],
            ": No.",
        ),
        (Wire::Responses, vec![message], ": No."),
        (
            Wire::Responses,
            vec![json!({ "type": "response.refusal.done", "refusal": "No." })],
            ": No.",
        ),
    ];
    for (wire, data, words) in cases {
        let expected = (
            ErrorKind::Refused,
            format!("the model declined to answer{words}"),
        );
        assert_eq!(error(wire, &data), expected);
    }
}

#[test]
fn an_answer_has_a_limit() {
    let piece = "x".repeat(1024 * 1024);
    let data = vec![chat(json!({ "content": piece })); 17];
    let (parts, end) = decode_data(Wire::Chat, &data);
    assert_eq!(parts.len(), 1 + 16);
    let expected = "the answer is longer than 16777216 bytes";
    assert_eq!(end, Err(ProviderError::new(ErrorKind::Malformed, expected)));
}

#[test]
fn arguments_that_are_no_object_are_a_problem_the_model_can_read() {
    for (arguments, says) in [
        (
            "{\"path\": ",
            "are not valid JSON (EOF while parsing a value at line 1 column 9)",
        ),
        ("[1]", "are an array and not an object"),
        ("\"x\"", "are a string and not an object"),
    ] {
        let whole = json!([{ "index": 0, "id": "a", "function": { "name": "ls", "arguments": arguments } }]);
        let parts = answer(
            Wire::Chat,
            &[chat(json!({ "tool_calls": whole })), chat_end("stop")],
        );
        let problem = format!(
            "The arguments of this call {says}, so it was not run. Call the tool again with one JSON object that fits its schema."
        );
        let told = Part::ToolCall {
            block: 0,
            call_id: "a".to_owned(),
            name: "ls".to_owned(),
            input: json!({ "arguments": arguments }),
            native: None,
            problem: Some(problem),
        };
        assert_eq!(parts[2], told);
    }
}
