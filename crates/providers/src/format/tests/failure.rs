//! What providers say when they refuse a request.

use super::*;
use crate::ErrorKind;
use crate::format::MESSAGE_CHARS_MAX;

fn check(wire: Wire, status: u16, body: &str, kind: ErrorKind, message: &str) {
    let failure = wire.failure(status, body.as_bytes());
    assert_eq!(
        (failure.kind, failure.message),
        (kind, message.to_owned()),
        "{body}"
    );
}

/// One entry of `fixtures/refusals.toml`.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedRefusal {
    provider: String,
    what: String,
    status: u16,
    body: String,
    kind: String,
    says: String,
    advice: Option<String>,
    remedy: Option<String>,
}

#[test]
fn what_services_say_is_taken_for_what_it_is() {
    #[derive(serde::Deserialize)]
    struct Refusals {
        refusal: Vec<RecordedRefusal>,
    }
    let text = include_str!("../../../fixtures/refusals.toml");
    let recorded: Refusals = toml::from_str(text).expect("a table");
    let mut wrong = Vec::new();
    for each in recorded.refusal {
        let told = Wire::Chat.failure(each.status, each.body.as_bytes());
        let advised = match (&each.advice, told.advice) {
            (Some(words), Some(advice)) => advice.contains(words),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        let remedy = told.remedy.map(|remedy| format!("{remedy:?}"));
        let right = format!("{:?}", told.kind) == each.kind
            && told.message.contains(&each.says)
            && advised
            && remedy == each.remedy;
        if !right {
            wrong.push(format!("{}, {}: {told:?}", each.provider, each.what));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What is told within a stream has no status to go by.
#[test]
fn an_error_within_a_stream_may_pass_unless_it_is_known_not_to() {
    use ErrorKind::*;
    let failed = |code: &str| {
        serde_json::json!({ "type": "response.failed", "response": {
        "error": { "code": code, "message": "no" } } })
    };
    for (code, kind) in [
        ("server_is_overloaded", Overloaded),
        ("slow_down", Overloaded),
        ("vector_store_timeout", Overloaded),
        ("usage_limit_reached", Quota),
        ("invalid_prompt", BadRequest),
        ("context_length_exceeded", ContextTooLong),
    ] {
        let (_, end) = decode_data(Wire::Responses, &[failed(code)]);
        assert_eq!(end.expect_err(code).kind, kind, "{code}");
    }
}

#[test]
fn kinds_are_told_by_status_and_by_what_the_provider_says() {
    use ErrorKind::*;
    let openai = |status, kind: &str, code: &str, words: &str, expected| {
        let body = serde_json::json!({ "error": { "type": kind, "code": code, "message": words } });
        check(Wire::Responses, status, &body.to_string(), expected, words);
    };
    openai(
        429,
        "insufficient_quota",
        "insufficient_quota",
        "You exceeded your current quota.",
        Quota,
    );
    openai(
        429,
        "tokens",
        "rate_limit_exceeded",
        "Limit 30000 tokens per min.",
        RateLimited,
    );
    openai(
        400,
        "invalid_request_error",
        "context_length_exceeded",
        "Too much.",
        ContextTooLong,
    );
    openai(
        400,
        "invalid_request_error",
        "",
        "This model's maximum context length is 8192 tokens.",
        ContextTooLong,
    );
    openai(
        404,
        "invalid_request_error",
        "model_not_found",
        "The model `x` does not exist.",
        UnknownModel,
    );
    openai(
        400,
        "invalid_request_error",
        "unsupported_value",
        "No such effort.",
        BadRequest,
    );
    openai(
        403,
        "invalid_request_error",
        "unsupported_country",
        "Not here.",
        Refused,
    );
    openai(500, "server_error", "", "Sorry.", Overloaded);
    openai(502, "", "", "Bad gateway.", Overloaded);

    let anthropic = |status, kind: &str, words: &str, expected| {
        let body =
            serde_json::json!({ "type": "error", "error": { "type": kind, "message": words } });
        check(Wire::Messages, status, &body.to_string(), expected, words);
    };
    anthropic(
        400,
        "invalid_request_error",
        "prompt is too long: 210000 tokens > 200000 maximum",
        ContextTooLong,
    );
    anthropic(
        400,
        "invalid_request_error",
        "Your credit balance is too low to access the API.",
        Quota,
    );
    anthropic(402, "billing_error", "Pay.", Quota);
    anthropic(403, "permission_error", "No.", Auth);
    anthropic(404, "not_found_error", "model: claude-9", UnknownModel);
    anthropic(413, "request_too_large", "Too large.", ContextTooLong);
    anthropic(529, "overloaded_error", "Overloaded", Overloaded);

    let google = |status, kind: &str, words: &str, expected| {
        let body =
            serde_json::json!([{ "error": { "code": status, "status": kind, "message": words } }]);
        check(Wire::Gemini, status, &body.to_string(), expected, words);
    };
    google(
        400,
        "INVALID_ARGUMENT",
        "API key not valid. Please pass a valid API key.",
        Auth,
    );
    google(
        400,
        "INVALID_ARGUMENT",
        "The input token count (9) exceeds the maximum number of tokens allowed (8).",
        ContextTooLong,
    );
    google(
        404,
        "NOT_FOUND",
        "models/x is not found for API version v1beta",
        UnknownModel,
    );
    google(
        429,
        "RESOURCE_EXHAUSTED",
        "You exceeded your current quota.",
        RateLimited,
    );
    google(503, "UNAVAILABLE", "The model is overloaded.", Overloaded);
}

/// Limits per minute are told in the same words as limits of length.
#[test]
fn too_many_tokens_for_now_are_not_too_many_for_ever() {
    let words = "Request exceeds the context window of tokens per minute";
    let body = serde_json::json!({ "error": { "message": words } }).to_string();
    check(Wire::Chat, 429, &body, ErrorKind::RateLimited, words);
    check(Wire::Chat, 400, &body, ErrorKind::ContextTooLong, words);
}

#[test]
fn a_quota_of_the_day_is_not_worth_waiting_for() {
    let body = r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Quota.",
        "details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}}"#;
    check(Wire::Gemini, 429, body, ErrorKind::Quota, "Quota.");
}

#[test]
fn words_are_found_wherever_a_server_puts_them() {
    check(
        Wire::Chat,
        400,
        r#"{"error":"model is required"}"#,
        ErrorKind::BadRequest,
        "model is required",
    );
    check(
        Wire::Chat,
        404,
        r#"{"error":{"message":"model 'x' not found"}}"#,
        ErrorKind::UnknownModel,
        "model 'x' not found",
    );
    check(
        Wire::Chat,
        400,
        r#"{"object":"error","message":"bad","code":400}"#,
        ErrorKind::BadRequest,
        "bad",
    );
    check(
        Wire::Chat,
        422,
        r#"{"detail":[{"msg":"extra field"}]}"#,
        ErrorKind::BadRequest,
        "extra field",
    );
    check(
        Wire::Chat,
        500,
        "<html><head><title>502  Bad\nGateway</title></head><body>x</body></html>",
        ErrorKind::Overloaded,
        "502 Bad Gateway",
    );
    check(
        Wire::Chat,
        503,
        "<p>Try <b>later</b></p>",
        ErrorKind::Overloaded,
        "Try later",
    );
    check(
        Wire::Chat,
        418,
        "",
        ErrorKind::BadRequest,
        "HTTP status 418 without an explanation",
    );
    check(
        Wire::Chat,
        302,
        "{}",
        ErrorKind::Other,
        "HTTP status 302 without an explanation",
    );
    check(
        Wire::Chat,
        400,
        r#"{"error":{"message":"Provider returned error","metadata":{"raw":"no images"}}}"#,
        ErrorKind::BadRequest,
        "no images",
    );
}

#[test]
fn words_are_bounded_and_hold_no_key() {
    let message = Wire::Chat
        .failure(500, "ä ".repeat(5_000).as_bytes())
        .message;
    assert_eq!(message.chars().count(), MESSAGE_CHARS_MAX);
    let message = Wire::Chat
        .failure(500, "x".repeat(5_000).as_bytes())
        .message;
    assert_eq!(message.chars().count(), MESSAGE_CHARS_MAX);
    let body = r#"{"error":{"message":"Incorrect API key provided: sk-proj-abcdefghijkl. See task-management-docs."}}"#;
    let words = "Incorrect API key provided: [key] See task-management-docs.";
    check(Wire::Chat, 401, body, ErrorKind::Auth, words);
    check(
        Wire::Gemini,
        403,
        "key=AIzaSyA1234567890 no",
        ErrorKind::Auth,
        "[key] no",
    );
}
