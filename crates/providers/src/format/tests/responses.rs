//! What OpenAI's Responses are asked, where it depends on the model and on what was refused.

use serde_json::json;

use super::*;
use crate::Message;
use crate::catalog::Model;
use crate::format::{Omitted, Quirks};

fn ask(model: &str, effort: Option<&str>) -> ModelRequest {
    ModelRequest {
        model: model.to_owned(),
        messages: vec![Message::user("hi").into()],
        effort: effort.map(str::to_owned),
        ..ModelRequest::default()
    }
}

fn with_key(key: &str) -> ModelRequest {
    ModelRequest {
        cache_key: Some(key.to_owned()),
        ..ask("gpt-5", None)
    }
}

/// OpenAI: "Invalid 'prompt_cache_key': string too long. Expected a string with maximum length 64".
#[test]
fn a_key_of_two_ids_is_short_enough_and_the_same_every_time() {
    let two = "5f0c6a1e-8c4b-4d8e-9a57-2f1f4c1d7a10/0b8a3c52-6a1d-4e0f-8d2b-93b5f0f7c9ee";
    assert_eq!(two.len(), 73);
    let sent = |key: &str| {
        let body = encoded(Wire::Responses, &with_key(key)).body;
        body["prompt_cache_key"].as_str().unwrap().to_owned()
    };
    assert_eq!(sent(two).len(), 64);
    assert!(sent(two).bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert_eq!(sent(two), sent(two));
    assert_ne!(sent(two), sent(&two.replace("5f0c", "5f0d")));
    let exactly = "x".repeat(64);
    assert_eq!(sent(&exactly), exactly);
}

#[test]
fn the_conversation_is_named_in_headers_where_the_service_looks_there() {
    let mut target = RequestTarget::unknown("gpt-5");
    let headers = |target: &RequestTarget| {
        let request = with_key("thread-1");
        Wire::Responses.encode(&request, target).headers
    };
    assert_eq!(headers(&target), []);
    target.quirks.session_headers = Some(true);
    let named = [
        ("session-id", "thread-1".to_owned()),
        ("x-client-request-id", "thread-1".to_owned()),
    ];
    assert_eq!(headers(&target), named);
}

#[test]
fn a_summary_is_asked_of_models_that_think_until_it_is_refused() {
    let grok = Model {
        id: "grok-4.7".to_owned(),
        efforts: vec!["low".to_owned(), "high".to_owned()],
        ..Model::default()
    };
    let mut target = RequestTarget {
        model: grok,
        ..RequestTarget::default()
    };
    let body = |target: &RequestTarget, effort| {
        let request = ask(&target.model.id, effort);
        Wire::Responses.encode(&request, target).body
    };
    let kept = json!(["reasoning.encrypted_content"]);
    let asked = body(&target, None);
    assert_eq!(asked["reasoning"], json!({ "summary": "auto" }));
    assert_eq!(asked["include"], kept);
    assert_eq!(
        body(&target, Some("low"))["reasoning"],
        json!({ "effort": "low", "summary": "auto" })
    );
    target.omitted = Omitted {
        summaries: true,
        ..Omitted::default()
    };
    let without = body(&target, None);
    assert_eq!(without["reasoning"], Value::Null);
    assert_eq!(without["include"], kept, "thoughts still go back");
    assert_eq!(
        body(&target, Some("low"))["reasoning"],
        json!({ "effort": "low" })
    );
}

/// gpt-4.1: "Unsupported parameter: 'reasoning.effort' is not supported with this model".
#[test]
fn a_model_that_does_not_think_is_asked_for_nothing_of_the_kind() {
    let target = RequestTarget {
        model: Model {
            id: "gpt-4.1".to_owned(),
            ..Model::default()
        },
        quirks: Quirks::default(),
        ..RequestTarget::default()
    };
    let request = target.settle(ask("gpt-4.1", Some("high")));
    let body = Wire::Responses.encode(&request, &target).body;
    assert_eq!(body["reasoning"], Value::Null);
    assert_eq!(body["include"], Value::Null);
}

/// As xAI streams a thought: in full, or only encrypted.
#[test]
fn thoughts_of_grok_are_shown_and_go_back() {
    let item = json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "zz",
        "content": [{ "type": "reasoning_text", "text": "Hm, so." }], "status": "completed" });
    let data = [
        json!({ "type": "response.output_item.added", "output_index": 0,
            "item": { "type": "reasoning", "id": "rs_1", "summary": [] } }),
        json!({ "type": "response.reasoning_text.delta", "item_id": "rs_1", "output_index": 0, "content_index": 0, "delta": "Hm, " }),
        json!({ "type": "response.reasoning_text.delta", "item_id": "rs_1", "output_index": 0, "content_index": 0, "delta": "so." }),
        json!({ "type": "response.reasoning_text.done", "item_id": "rs_1", "output_index": 0, "content_index": 0, "text": "Hm, so." }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({ "type": "response.done", "response": { "status": "completed", "usage": { "input_tokens": 1, "output_tokens": 2 } } }),
    ];
    let (parts, end) = decode_data(Wire::Responses, &data);
    assert_eq!(end, Ok(()));
    let expected = [
        thought(0, false, &["Hm, ", "so."], native(Wire::Responses, item)),
        finish(StopCause::Stop, 1, 2),
    ];
    assert_eq!(parts, expected.concat());
}
