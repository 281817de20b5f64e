//! Pictures in the results of calls, in all four formats.

use serde_json::json;

use super::*;
use crate::{Block, Message, MessageImage, ModelRequest, ResultBlock, ToolResult};

/// One call whose result is words, a picture and words again.
fn request(is_error: bool) -> ModelRequest {
    let picture = MessageImage::Data {
        media_type: "image/png".to_owned(),
        base64: "aGk=".into(),
    };
    let messages = [
        Message::user("Look."),
        Message::Assistant(vec![Block::ToolCall {
            call_id: "call_a".to_owned(),
            name: "look".to_owned(),
            input: json!({}),
            native: None,
        }]),
        Message::ToolResults(vec![ToolResult {
            call_id: "call_a".to_owned(),
            name: "look".to_owned(),
            content: vec![
                ResultBlock::Text("before".to_owned()),
                ResultBlock::Image(picture),
                ResultBlock::Text("behind".to_owned()),
            ],
            is_error,
        }]),
    ];
    ModelRequest {
        model: "m".to_owned(),
        messages: messages.map(std::sync::Arc::new).into(),
        ..ModelRequest::default()
    }
}

/// What stands behind the call.
fn behind_the_call(wire: Wire, field: &str, is_error: bool) -> Value {
    let body = encoded(wire, &request(is_error)).body;
    let Some(Value::Array(messages)) = body.get(field) else {
        panic!("{body}");
    };
    Value::Array(messages[2..].to_vec())
}

#[test]
fn a_result_shows_its_pictures_in_their_place_where_the_format_can() {
    assert_eq!(
        behind_the_call(Wire::Responses, "input", true),
        json!([{ "type": "function_call_output", "call_id": "call_a", "output": [
            { "type": "input_text", "text": "Error:" },
            { "type": "input_text", "text": "before" },
            { "type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto" },
            { "type": "input_text", "text": "behind" },
        ] }])
    );
    let mut messages = behind_the_call(Wire::Messages, "messages", false);
    // The mark for the cache is another test's.
    messages[0]["content"][0]["cache_control"].take();
    let result = json!({ "type": "tool_result", "tool_use_id": "call_a", "cache_control": null, "content": [
        { "type": "text", "text": "before" },
        { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "aGk=" } },
        { "type": "text", "text": "behind" },
    ] });
    assert_eq!(messages, json!([{ "role": "user", "content": [result] }]));
}

#[test]
fn elsewhere_they_are_shown_behind_the_result() {
    assert_eq!(
        behind_the_call(Wire::Chat, "messages", false),
        json!([
            { "role": "tool", "tool_call_id": "call_a", "content": "before\n\nbehind" },
            { "role": "user", "content": [
                { "type": "text", "text": "What the call showed:" },
                { "type": "image_url", "image_url": { "url": "data:image/png;base64,aGk=" } },
            ] },
        ])
    );
    let function = json!({ "name": "look", "response": { "output": "before\n\nbehind" } });
    assert_eq!(
        behind_the_call(Wire::Gemini, "contents", false),
        json!([{ "role": "user", "parts": [
            { "functionResponse": function },
            { "inlineData": { "mimeType": "image/png", "data": "aGk=" } },
        ] }])
    );
}
