//! One conversation in all four formats, compared whole; and what depends on the model and the
//! request.

use serde_json::json;

use super::*;
use crate::format::history::NOT_RUN;
use crate::format::{Outgoing, family};
use crate::{
    Block, Message, MessageImage, ModelRequest, ResultBlock, ToolResult, ToolSpec, UserMessage,
};

/// A user with an image, a thought, a text, two calls of which one was interrupted, and the user
/// again.
fn conversation(wire: Wire, thought: Value, call_native: Option<Value>) -> ModelRequest {
    let origin = origin(wire, model(wire));
    let own = |value| Some(crate::format::native(&origin, value));
    let call = |call_id: &str, path: &str, native| Block::ToolCall {
        call_id: call_id.to_owned(),
        name: "read".to_owned(),
        input: json!({ "path": path }),
        native,
    };
    ModelRequest {
        purpose: Default::default(),
        attempts_max: None,
        model: model(wire).to_owned(),
        system: "Be brief.".to_owned(),
        messages: [
            Message::User(UserMessage {
                text: "Look.".to_owned(),
                images: vec![
                    MessageImage::Data {
                        media_type: "image/png".to_owned(),
                        base64: "aGk=".into(),
                    },
                    MessageImage::Url("https://example.org/a.jpg?x=1".to_owned()),
                ],
                ..UserMessage::default()
            }),
            Message::Assistant(vec![
                Block::Reasoning {
                    text: "Hm.".to_owned(),
                    native: own(thought),
                },
                Block::Text {
                    text: "I read both.".to_owned(),
                    native: None,
                },
                call("call_a", "a.txt", call_native.and_then(own)),
                call("call_b", "b.txt", None),
            ]),
            Message::ToolResults(vec![ToolResult {
                call_id: "call_a".to_owned(),
                name: "read".to_owned(),
                content: vec![ResultBlock::Text("no such file".to_owned())],
                is_error: true,
            }]),
            Message::user("Go on."),
        ]
        .map(std::sync::Arc::new)
        .into(),
        tools: vec![ToolSpec::new("read", "Reads a file.", schema())].into(),
        no_calls: false,
        effort: Some("high".to_owned()),
        verbosity: None,
        summary: None,
        max_output_tokens: Some(30_000),
        cache_key: Some("thread-1".to_owned()),
    }
}

fn schema() -> Value {
    json!({ "type": "object", "properties": { "path": { "type": "string" } }, "additionalProperties": false })
}

#[test]
fn responses_whole() {
    let thought =
        json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "zz" });
    let request = conversation(Wire::Responses, thought.clone(), None);
    let body = json!({
        "model": "gpt-5",
        "input": [
            { "type": "message", "role": "user", "content": [
                { "type": "input_text", "text": "Look." },
                { "type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto" },
                { "type": "input_image", "image_url": "https://example.org/a.jpg?x=1", "detail": "auto" },
            ] },
            thought,
            { "type": "message", "role": "assistant", "content": "I read both." },
            { "type": "function_call", "call_id": "call_a", "name": "read", "arguments": "{\"path\":\"a.txt\"}" },
            { "type": "function_call", "call_id": "call_b", "name": "read", "arguments": "{\"path\":\"b.txt\"}" },
            { "type": "function_call_output", "call_id": "call_a", "output": "Error: no such file" },
            { "type": "function_call_output", "call_id": "call_b", "output": format!("Error: {NOT_RUN}") },
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Go on." }] },
        ],
        "stream": true,
        "store": false,
        "instructions": "Be brief.",
        "text": { "verbosity": "low" },
        "reasoning": { "effort": "high", "summary": "auto" },
        "include": ["reasoning.encrypted_content"],
        "tools": [{
            "type": "function", "name": "read", "description": "Reads a file.",
            "parameters": schema(), "strict": false,
        }],
        "max_output_tokens": 30_000,
        "prompt_cache_key": "thread-1",
    });
    let expected = Outgoing {
        path: "responses".to_owned(),
        headers: vec![],
        body,
    };
    assert_eq!(encoded(Wire::Responses, &request), expected);
}

#[test]
fn chat_whole() {
    let request = conversation(Wire::Chat, json!({}), None);
    let body = json!({
        "model": "gpt-5",
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": [
                { "type": "text", "text": "Look." },
                { "type": "image_url", "image_url": { "url": "data:image/png;base64,aGk=" } },
                { "type": "image_url", "image_url": { "url": "https://example.org/a.jpg?x=1" } },
            ] },
            { "role": "assistant", "content": "I read both.", "tool_calls": [
                { "id": "call_a", "type": "function", "function": { "name": "read", "arguments": "{\"path\":\"a.txt\"}" } },
                { "id": "call_b", "type": "function", "function": { "name": "read", "arguments": "{\"path\":\"b.txt\"}" } },
            ] },
            { "role": "tool", "tool_call_id": "call_a", "content": "Error: no such file" },
            { "role": "tool", "tool_call_id": "call_b", "content": format!("Error: {NOT_RUN}") },
            { "role": "user", "content": "Go on." },
        ],
        "stream": true,
        "stream_options": { "include_usage": true },
        "tools": [{ "type": "function", "function": {
            "name": "read", "description": "Reads a file.", "parameters": schema(),
        } }],
        "max_completion_tokens": 30_000,
        "reasoning_effort": "high",
    });
    let expected = Outgoing {
        path: "chat/completions".to_owned(),
        headers: vec![],
        body,
    };
    assert_eq!(encoded(Wire::Chat, &request), expected);
}

#[test]
fn messages_whole() {
    let thought = json!({ "type": "thinking", "thinking": "Hm.", "signature": "sig" });
    let request = conversation(Wire::Messages, thought.clone(), None);
    let kept = json!({ "type": "ephemeral" });
    let body = json!({
        "model": "claude-sonnet-4-5",
        "messages": [
            { "role": "user", "content": [
                { "type": "text", "text": "Look." },
                { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "aGk=" } },
                { "type": "image", "source": { "type": "url", "url": "https://example.org/a.jpg?x=1" }, "cache_control": kept },
            ] },
            { "role": "assistant", "content": [
                thought,
                { "type": "text", "text": "I read both." },
                { "type": "tool_use", "id": "call_a", "name": "read", "input": { "path": "a.txt" } },
                { "type": "tool_use", "id": "call_b", "name": "read", "input": { "path": "b.txt" } },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "call_a", "content": "no such file", "is_error": true },
                { "type": "tool_result", "tool_use_id": "call_b", "content": NOT_RUN, "is_error": true },
                { "type": "text", "text": "Go on.", "cache_control": kept },
            ] },
        ],
        "max_tokens": 30_000,
        "stream": true,
        "system": [{ "type": "text", "text": "Be brief.", "cache_control": kept }],
        "tools": [{
            "name": "read", "description": "Reads a file.", "input_schema": schema(), "cache_control": kept,
        }],
        "thinking": { "type": "enabled", "budget_tokens": 16_384 },
    });
    let expected = Outgoing {
        path: "messages".to_owned(),
        headers: vec![
            ("anthropic-version", "2023-06-01".to_owned()),
            (
                "anthropic-beta",
                "interleaved-thinking-2025-05-14".to_owned(),
            ),
        ],
        body,
    };
    assert_eq!(encoded(Wire::Messages, &request), expected);
}

#[test]
fn gemini_whole() {
    let call_native = json!({ "thoughtSignature": "sig", "id": "call_a" });
    let thought = json!({ "thoughtSignature": "hm" });
    let request = conversation(Wire::Gemini, thought, Some(call_native));
    let body = json!({
        "contents": [
            { "role": "user", "parts": [
                { "text": "Look." },
                { "inlineData": { "mimeType": "image/png", "data": "aGk=" } },
                { "fileData": { "mimeType": "image/jpeg", "fileUri": "https://example.org/a.jpg?x=1" } },
            ] },
            { "role": "model", "parts": [
                { "text": "Hm.", "thoughtSignature": "hm" },
                { "text": "I read both." },
                { "functionCall": { "name": "read", "args": { "path": "a.txt" }, "id": "call_a" }, "thoughtSignature": "sig" },
                { "functionCall": { "name": "read", "args": { "path": "b.txt" } } },
            ] },
            { "role": "user", "parts": [
                { "functionResponse": { "name": "read", "response": { "error": "no such file" }, "id": "call_a" } },
                { "functionResponse": { "name": "read", "response": { "error": NOT_RUN } } },
            ] },
            { "role": "user", "parts": [{ "text": "Go on." }] },
        ],
        "systemInstruction": { "parts": [{ "text": "Be brief." }] },
        "tools": [{ "functionDeclarations": [{
            "name": "read", "description": "Reads a file.", "parametersJsonSchema": schema(),
        }] }],
        "generationConfig": {
            "maxOutputTokens": 30_000,
            "thinkingConfig": { "includeThoughts": true, "thinkingBudget": 24_576 },
        },
    });
    let expected = Outgoing {
        path: "models/gemini-2.5-pro:streamGenerateContent?alt=sse".to_owned(),
        headers: vec![],
        body,
    };
    assert_eq!(encoded(Wire::Gemini, &request), expected);
}

fn ask(model: &str) -> ModelRequest {
    ModelRequest {
        model: model.to_owned(),
        messages: vec![Message::user("hi").into()],
        ..ModelRequest::default()
    }
}

/// Nothing is sent that was not asked for.
#[test]
fn a_bare_question_is_bare() {
    let user = json!({ "role": "user", "content": "hi" });
    let responses = json!({ "model": "m", "stream": true, "store": false, "input": [
        { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "hi" }] }] });
    let chat = json!({ "model": "m", "stream": true, "stream_options": { "include_usage": true }, "messages": [user] });
    let messages = json!({ "model": "m", "stream": true, "max_tokens": 8_192, "messages": [
        { "role": "user", "content": [
            { "type": "text", "text": "hi", "cache_control": { "type": "ephemeral" } }] }] });
    let gemini = json!({ "contents": [{ "role": "user", "parts": [{ "text": "hi" }] }] });
    assert_eq!(encoded(Wire::Responses, &ask("m")).body, responses);
    assert_eq!(encoded(Wire::Chat, &ask("m")).body, chat);
    assert_eq!(encoded(Wire::Messages, &ask("m")).body, messages);
    assert_eq!(encoded(Wire::Gemini, &ask("m")).body, gemini);
}

/// The tools stay, or the cached prefix would be lost.
#[test]
fn words_alone_are_asked_for_with_the_same_tools() {
    let spec = ToolSpec::new("read", "Reads a file.", schema());
    for (wire, field, expected) in [
        (Wire::Responses, "tool_choice", json!("none")),
        (Wire::Chat, "tool_choice", json!("none")),
        (Wire::Messages, "tool_choice", json!({ "type": "none" })),
        (
            Wire::Gemini,
            "toolConfig",
            json!({ "functionCallingConfig": { "mode": "NONE" } }),
        ),
    ] {
        let with_tools = ModelRequest {
            tools: vec![spec.clone()].into(),
            ..ask("m")
        };
        let words = ModelRequest {
            no_calls: true,
            ..with_tools.clone()
        };
        let (free, words) = (encoded(wire, &with_tools).body, encoded(wire, &words).body);
        assert_eq!((&free[field], &words[field]), (&Value::Null, &expected));
        assert_eq!(free["tools"], words["tools"], "{wire:?}");
        let bare = ModelRequest {
            no_calls: true,
            ..ask("m")
        };
        assert_eq!(encoded(wire, &bare).body, encoded(wire, &ask("m")).body);
    }
}

#[test]
fn the_limit_of_chat_has_the_name_the_model_knows() {
    let limited = |model| {
        let request = ModelRequest {
            max_output_tokens: Some(9),
            ..ask(model)
        };
        encoded(Wire::Chat, &request).body
    };
    assert_eq!(limited("llama-3.3-70b")["max_tokens"], 9);
    assert_eq!(limited("gpt-4o")["max_tokens"], 9);
    assert_eq!(limited("o3-mini")["max_completion_tokens"], 9);
    assert_eq!(limited("openai/gpt-5.2")["max_completion_tokens"], 9);
    assert_eq!(limited("gpt-5.2")["max_tokens"], Value::Null);
    assert_eq!(limited("gpt-oss-20b")["max_tokens"], 9);
}

#[test]
fn thoughts_are_asked_of_models_that_have_them() {
    let include = |model| encoded(Wire::Responses, &ask(model)).body["include"].clone();
    assert_eq!(
        include("gpt-5-mini"),
        json!(["reasoning.encrypted_content"])
    );
    assert_eq!(include("gpt-4o"), Value::Null);
    assert_eq!(include("gpt-5-chat-latest"), Value::Null);
    let reasoning = |model| encoded(Wire::Responses, &ask(model)).body["reasoning"].clone();
    assert_eq!(reasoning("gpt-5-mini"), json!({ "summary": "auto" }));
    assert_eq!(reasoning("gpt-4o"), Value::Null);
}

#[test]
fn calls_of_another_model_are_signed_where_gemini_demands_it() {
    let mut request = conversation(Wire::Chat, json!({}), None);
    request.model = "gemini-3-pro-preview".to_owned();
    let parts = encoded(Wire::Gemini, &request).body["contents"][1]["parts"].clone();
    assert_eq!(
        parts[1]["thoughtSignature"],
        "skip_thought_signature_validator"
    );
    assert_eq!(parts[2]["thoughtSignature"], Value::Null);
}

#[test]
fn a_model_is_a_name_and_not_a_path() {
    let path = |model| encoded(Wire::Gemini, &ask(model)).path;
    assert_eq!(
        path("models/gemini-x"),
        "models/gemini-x:streamGenerateContent?alt=sse"
    );
    assert_eq!(
        path("a/b ?ü"),
        "models/a%2Fb%20%3F%C3%BC:streamGenerateContent?alt=sse"
    );
}

#[test]
fn keys_go_where_the_format_wants_them() {
    assert_eq!(
        Wire::Responses.auth_header("k"),
        ("authorization", "Bearer k".to_owned())
    );
    assert_eq!(
        Wire::Chat.auth_header("k"),
        ("authorization", "Bearer k".to_owned())
    );
    assert_eq!(
        Wire::Messages.auth_header("k"),
        ("x-api-key", "k".to_owned())
    );
    assert_eq!(
        Wire::Gemini.auth_header("k"),
        ("x-goog-api-key", "k".to_owned())
    );
}

#[test]
fn versions_are_read_from_names() {
    assert_eq!(family::version("gemini-2.5-pro", "gemini"), Some((2, 5)));
    assert_eq!(
        family::version("gemini-3-pro-preview", "gemini"),
        Some((3, 0))
    );
    assert_eq!(
        family::version("claude-opus-4-20250514", "claude"),
        Some((4, 0))
    );
    assert_eq!(family::version("claude-instant", "claude"), None);
    assert_eq!(family::version("gpt-5", "claude"), None);
    let newest = |model| family::version_or_newest(model, "gemini");
    assert_eq!(newest("gemini-2.5-pro"), Some((2, 5)));
    assert!(newest("models/gemini-flash-latest") > Some((9, 9)));
    assert_eq!(newest("gemma-4-31b-it"), None);
}
