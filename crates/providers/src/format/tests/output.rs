//! How much a model of Messages may write, and what its service is asked to keep.

use serde_json::json;

use super::*;
use crate::catalog::Model;
use crate::{Block, Message, MessageImage, ResultBlock, ToolResult, ToolSpec, UserMessage};

fn ask(model: &str, text: &str) -> ModelRequest {
    ModelRequest {
        model: model.to_owned(),
        messages: vec![Message::user(text).into()],
        ..ModelRequest::default()
    }
}

fn limit(request: &ModelRequest, model: Model) -> Value {
    let target = RequestTarget {
        model,
        ..RequestTarget::default()
    };
    let body = Wire::Messages.encode(request, &target).body;
    body["max_tokens"].clone()
}

#[test]
fn an_answer_may_be_as_long_as_the_model_can_write() {
    let known = |output, context| Model {
        output,
        context,
        ..Model::default()
    };
    let asked = |model| ask(model, "hi");
    let opus = asked("claude-opus-4-6");
    assert_eq!(limit(&opus, known(Some(128_000), Some(1_000_000))), 128_000);
    assert_eq!(limit(&opus, known(Some(128_000), None)), 128_000);
    // No catalog knows these.
    for (model, expected) in [
        ("claude-opus-5-5", 64_000),
        ("claude-sonnet-4-5", 64_000),
        ("claude-sonnet-4-20250514", 64_000),
        ("claude-opus-4-1", 32_000),
        ("claude-opus-4-20250514", 32_000),
        ("claude-3-5-haiku-latest", 8_192),
        ("kimi-k2", 8_192),
    ] {
        assert_eq!(limit(&asked(model), Model::default()), expected, "{model}");
    }
    let mut wished = asked("claude-opus-4-6");
    wished.max_output_tokens = Some(300);
    assert_eq!(limit(&wished, known(Some(128_000), Some(200_000))), 300);
}

/// A service refuses a limit that does not fit behind the conversation.
#[test]
fn a_limit_leaves_room_for_the_conversation() {
    let model = Model {
        output: Some(64_000),
        context: Some(200_000),
        ..Model::default()
    };
    let of_bytes = |bytes| ask("claude-sonnet-4-5", &"x".repeat(bytes));
    let limit = |request: &ModelRequest| limit(request, model.clone()).as_u64().unwrap();
    assert_eq!(limit(&of_bytes(300_000)), 64_000);
    let left = limit(&of_bytes(480_000));
    assert!((39_000..=40_000).contains(&left), "{left}");
    // It is an estimate: what may still fit is asked.
    assert_eq!(limit(&of_bytes(900_000)), 4_096);
    // A picture counts by its size on a screen and not by its bytes.
    let mut picture = ask("claude-sonnet-4-5", "Look.");
    picture.messages.push(
        Message::User(UserMessage {
            text: String::new(),
            images: vec![MessageImage::Data {
                media_type: "image/png".to_owned(),
                base64: "a".repeat(3_000_000).into(),
            }],
            ..UserMessage::default()
        })
        .into(),
    );
    assert_eq!(limit(&picture), 64_000);
}

/// Steps of so many calls each, and two tools.
fn steps(steps: usize, calls: usize) -> ModelRequest {
    let mut request = ask("claude-sonnet-4-5", "Go.");
    request.system = "Be brief.".to_owned();
    request.tools = ["read", "ls"]
        .map(|name| ToolSpec::new(name, "", json!({ "type": "object" })))
        .into();
    for step in 0..steps {
        let ids = (0..calls).map(|call| format!("call_{step}_{call}"));
        let said = ids.clone().map(|call_id| Block::ToolCall {
            call_id,
            name: "ls".to_owned(),
            input: json!({}),
            native: None,
        });
        let results = ids.map(|call_id| ToolResult {
            call_id,
            name: "ls".to_owned(),
            content: vec![ResultBlock::Text("a.txt".to_owned())],
            is_error: false,
        });
        let messages = [
            Message::Assistant(said.collect()),
            Message::ToolResults(results.collect()),
        ];
        request.messages.extend(messages.map(std::sync::Arc::new));
    }
    request
}

/// Where marks are: `messages/2/1` is the second block of the third message.
fn marks(value: &Value, place: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if fields.contains_key("cache_control") {
                found.push(place.to_owned());
                assert_ne!(fields.get("type"), Some(&json!("thinking")));
                assert_ne!(fields.get("text"), Some(&json!("")));
            }
            for (name, each) in fields {
                let inner = match name.as_str() {
                    "content" => place.to_owned(),
                    name => format!("{place}/{name}"),
                };
                marks(each, &inner, found);
            }
        }
        Value::Array(values) => {
            for (at, each) in values.iter().enumerate() {
                marks(each, &format!("{place}/{at}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn marked(request: &ModelRequest) -> Vec<String> {
    let mut found = Vec::new();
    marks(&encoded(Wire::Messages, request).body, "", &mut found);
    found.sort();
    found
}

/// The service looks back over twenty blocks from a mark. A step of eleven calls is longer, so the
/// end of the request before is marked, too.
#[test]
fn the_end_of_the_request_before_is_marked_however_long_a_step_is() {
    let before = marked(&steps(1, 11));
    assert_eq!(
        before,
        ["/messages/0/0", "/messages/2/10", "/system/0", "/tools/1"]
    );
    let now = marked(&steps(2, 11));
    assert_eq!(
        now,
        ["/messages/2/10", "/messages/4/10", "/system/0", "/tools/1"]
    );
    assert_eq!(
        marked(&steps(0, 0)),
        ["/messages/0/0", "/system/0", "/tools/1"]
    );
}
