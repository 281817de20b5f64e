//! The whole request of one story to the flagship and the small model of every provider of the
//! built-in catalog, compared with what is checked in.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::json;

use super::*;
use crate::catalog::merged::MergedCatalog;
use crate::catalog::{ApiEndpoint, Model, ProviderInfo};
use crate::format::ThoughtReplay;
use crate::kept_blocks::kept_blocks;
use crate::{
    Block, FREE_TEXT_FIELD, Message, MessageImage, ModelFamily, ResultBlock, ToolResult, ToolSpec,
    UserMessage,
};

/// For a server on this machine: its models are whatever a person has.
const LOCAL_MODEL: &str = "a-model-of-its-own";

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden/requests")
}

/// `DRAGOMAN_REQUESTS=update` rewrites; anything else compares.
#[test]
fn golden_requests() {
    let requests = requests();
    let update = std::env::var("DRAGOMAN_REQUESTS").is_ok_and(|mode| mode == "update");
    if update {
        std::fs::remove_dir_all(folder()).ok();
        std::fs::create_dir_all(folder()).expect("a folder");
        for (name, text) in &requests {
            std::fs::write(folder().join(name), text).expect("a written request");
        }
    }
    let kept = std::fs::read_dir(folder()).expect("the folder of golden requests");
    let kept = kept.map(|entry| entry.expect("an entry").file_name().into_string());
    let mut names: BTreeSet<String> = kept.map(|name| name.expect("a name")).collect();
    names.extend(requests.keys().cloned());
    let differs = |name: &&String| {
        let kept = std::fs::read_to_string(folder().join(name.as_str())).ok();
        kept.as_ref() != requests.get(*name)
    };
    let different: Vec<_> = names.iter().filter(differs).collect();
    assert!(
        different.is_empty(),
        "these are not the requests that go out now: {different:?}; \
         `DRAGOMAN_REQUESTS=update cargo test -p providers golden_requests` rewrites them, and the \
         difference is to be read before it is committed"
    );
}

/// By the name of their file.
fn requests() -> BTreeMap<String, String> {
    let catalog = MergedCatalog::open(None, &BTreeMap::new()).catalog();
    let mut requests = BTreeMap::new();
    for provider in &catalog.providers {
        let Some(endpoint) = &provider.endpoint else {
            continue;
        };
        for model in models(provider) {
            let name = format!("{}.{}.json", provider.id, model.id.replace(['/', ':'], "-"));
            let outgoing = outgoing(endpoint, model);
            let headers: BTreeMap<_, _> = outgoing.headers.into_iter().collect();
            let request =
                json!({ "path": outgoing.path, "headers": headers, "body": outgoing.body });
            let text = serde_json::to_string_pretty(&request).expect("JSON") + "\n";
            requests.insert(name, text);
        }
    }
    requests
}

/// The flagship is the first.
fn models(provider: &ProviderInfo) -> Vec<Model> {
    let small = provider.small_model.as_ref();
    let is_small = |model: &&Model| Some(&model.id) == small;
    let small = provider.models.iter().find(is_small);
    let Some(flagship) = provider.models.first() else {
        return vec![RequestTarget::unknown(LOCAL_MODEL).model];
    };
    let small = small.filter(|small| small.id != flagship.id);
    [flagship].into_iter().chain(small).cloned().collect()
}

fn outgoing(endpoint: &ApiEndpoint, model: Model) -> Outgoing {
    let target = RequestTarget {
        quirks: endpoint.quirks.with(&model.quirks),
        account: "service:0123456789".to_owned(),
        model,
        ..RequestTarget::default()
    };
    let request = target.settle(story(endpoint.wire, &target));
    endpoint.wire.encode(&request, &target)
}

/// A user with a picture where the model sees, a thought, a call and its result, a steer, an answer,
/// and the user again.
fn story(wire: Wire, target: &RequestTarget) -> ModelRequest {
    let picture = MessageImage::Data {
        media_type: "image/png".to_owned(),
        base64: "aGk=".into(),
    };
    let sees = target.model.vision != Some(false);
    let blocks = blocks(wire, target);
    let called = blocks.iter().find_map(|block| match block {
        Block::ToolCall { call_id, .. } => Some(call_id.clone()),
        Block::Text { .. } | Block::Reasoning { .. } | Block::File { .. } => None,
    });
    let result = ToolResult {
        call_id: called.expect("a call"),
        name: "read".to_owned(),
        content: vec![ResultBlock::Text("one\ntwo".to_owned())],
        is_error: false,
    };
    let mut messages = vec![
        Message::User(UserMessage {
            text: "Is this what notes.txt says?".to_owned(),
            images: sees.then_some(picture).into_iter().collect(),
            ..UserMessage::default()
        }),
        Message::Assistant(blocks),
        Message::ToolResults(vec![result]),
        Message::user("Count its lines, too."),
        Message::Assistant(vec![Block::Text {
            text: "It says so, in two lines.".to_owned(),
            native: None,
        }]),
        Message::user("Now run the tests."),
    ];
    let mut tools = vec![tool("read", "path"), tool("bash", "command")];
    if ModelFamily::of("", &target.model.id) == ModelFamily::Gpt {
        tools.push(ToolSpec {
            grammar: Some("start: /.+/"),
            ..tool("apply_patch", FREE_TEXT_FIELD)
        });
        messages.extend(patching());
    }
    ModelRequest {
        model: target.model.id.clone(),
        system: "Be brief.".to_owned(),
        messages: messages.into_iter().map(std::sync::Arc::new).collect(),
        tools: tools.into(),
        cache_key: Some("thread-1".to_owned()),
        ..ModelRequest::default()
    }
}

/// A call whose input is one text, and its result.
fn patching() -> [Message; 2] {
    let (call_id, name) = ("call_2".to_owned(), "apply_patch".to_owned());
    let result = ToolResult {
        call_id: call_id.clone(),
        name: name.clone(),
        content: vec![ResultBlock::Text("D notes.txt (-2)".to_owned())],
        is_error: false,
    };
    let input = "*** Begin Patch\n*** Delete File: notes.txt\n*** End Patch\n";
    let call = Block::ToolCall {
        call_id,
        name,
        input: json!({ FREE_TEXT_FIELD: input }),
        native: None,
    };
    [
        Message::Assistant(vec![call]),
        Message::ToolResults(vec![result]),
    ]
}

fn tool(name: &str, field: &str) -> ToolSpec {
    let text = json!({ "type": "string", "minLength": 1, "maxLength": 100_000 });
    let parameters = json!({
        "type": "object",
        "properties": { field: text },
        "required": [field],
        "additionalProperties": false,
    });
    ToolSpec::new(name, &format!("The tool {name}."), parameters)
}

/// What is kept of an answer with a thought and a call, as the format reads it.
fn blocks(wire: Wire, target: &RequestTarget) -> Vec<Block> {
    let mut decoder = wire.decoder(target, SEED);
    let mut parts = Vec::new();
    for data in stream(wire, target) {
        let data = data.to_string();
        let event = SseEvent {
            event: None,
            data: &data,
        };
        decoder.push(event, &mut parts).expect("an answer");
    }
    decoder.end(&mut parts).expect("an end");
    kept_blocks(parts)
}

fn stream(wire: Wire, target: &RequestTarget) -> Vec<Value> {
    let arguments = "{\"path\":\"notes.txt\"}";
    match wire {
        Wire::Responses => vec![
            json!({ "type": "response.completed", "response": { "output": [
            { "type": "reasoning", "id": "rs_1", "encrypted_content": "ENCRYPTED",
              "summary": [{ "type": "summary_text", "text": "I read it." }] },
            { "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": arguments },
        ] } }),
        ],
        Wire::Messages => vec![
            json!({ "type": "message", "stop_reason": "tool_use", "content": [
                { "type": "thinking", "thinking": "I read it.", "signature": "SIGNATURE" },
                { "type": "tool_use", "id": "toolu_1", "name": "read", "input": { "path": "notes.txt" } },
            ] }),
        ],
        Wire::Gemini => vec![
            json!({ "candidates": [{ "finishReason": "STOP", "content": { "parts": [
            { "text": "I read it.", "thought": true },
            { "functionCall": { "name": "read", "args": { "path": "notes.txt" } }, "thoughtSignature": "SIGNATURE" },
        ] } }] }),
        ],
        Wire::Chat => {
            let thought = match target.quirks.thoughts {
                Some(ThoughtReplay::Details) => {
                    json!({ "reasoning": "I read it.", "reasoning_details": [
                    { "type": "reasoning.text", "index": 0, "text": "I read it.", "signature": "SIGNATURE" },
                ] })
                }
                Some(ThoughtReplay::Never | ThoughtReplay::AsSent | ThoughtReplay::Always)
                | None => {
                    json!({ "reasoning_content": "I read it." })
                }
            };
            let call = json!({ "tool_calls": [{
                "index": 0, "id": "call_0123456789", "function": { "name": "read", "arguments": arguments },
            }] });
            let delta = |delta: Value| json!({ "choices": [{ "index": 0, "delta": delta }] });
            let end =
                json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] });
            vec![delta(thought), delta(call), end]
        }
    }
}
