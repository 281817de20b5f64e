//! Any history, as a strict service would read the request: each rule is one that a real service
//! enforces with a 400 or 422.

use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::format::{CallIdStyle, Quirks, ThoughtReplay};
use crate::{Block, Message, MessageImage, ResultBlock, ToolResult, ToolSpec, UserMessage};

/// A service that speaks Chat Completions.
struct ChatService {
    name: &'static str,
    model: &'static str,
    quirks: Quirks,
    /// Fields of an assistant's message besides role, content and calls.
    takes: &'static [&'static str],
    /// Whether every message of the assistant needs a thought.
    wants_thoughts: bool,
    nine_letters: bool,
    user_after_tool: bool,
    stream_options: bool,
}

fn chat_services() -> Vec<ChatService> {
    let plain = |name, model| ChatService {
        name,
        model,
        quirks: Quirks::default(),
        takes: &[],
        wants_thoughts: false,
        nine_letters: false,
        user_after_tool: true,
        stream_options: true,
    };
    let thoughts = |thoughts| Quirks {
        thoughts: Some(thoughts),
        ..Quirks::default()
    };
    vec![
        ChatService {
            takes: &["reasoning_content", "reasoning_details"],
            ..plain("a local server", "gpt-oss-20b")
        },
        ChatService {
            quirks: thoughts(ThoughtReplay::Never),
            ..plain("Groq", "moonshotai/kimi-k3")
        },
        ChatService {
            quirks: thoughts(ThoughtReplay::Always),
            takes: &["reasoning_content", "reasoning_details"],
            wants_thoughts: true,
            ..plain("Moonshot", "kimi-k3")
        },
        ChatService {
            quirks: thoughts(ThoughtReplay::Details),
            takes: &["reasoning_details"],
            ..plain("OpenRouter", "google/gemini-4-argon")
        },
        ChatService {
            quirks: Quirks {
                call_ids: Some(CallIdStyle::NineAlphanumeric),
                stream_options: Some(false),
                user_after_tool: Some(false),
                ..Quirks::default()
            },
            nine_letters: true,
            user_after_tool: false,
            stream_options: false,
            ..plain("Mistral", "mistral-large-latest")
        },
        ChatService {
            nine_letters: true,
            user_after_tool: false,
            ..plain("Mistral's model elsewhere", "devstral-small")
        },
    ]
}

/// Where natives of the strategy belong: replaced by the service's own.
const OWN: &str = "own";

fn natives() -> impl Strategy<Value = Option<Box<Native>>> {
    let values = [
        json!({ "field": "reasoning_content" }),
        json!({ "reasoning_details": [{ "type": "reasoning.encrypted", "data": "zz", "index": 0 }] }),
        json!({ "type": "reasoning", "summary": [], "encrypted_content": "zz" }),
        json!({ "extra_content": { "google": { "thought_signature": "zz" } } }),
    ];
    let origin = proptest::sample::select(&[OWN, OWN, "elsewhere"][..]);
    proptest::option::of((origin, proptest::sample::select(values.to_vec())))
        .prop_map(|native| native.map(|(origin, value)| crate::format::native(origin, value)))
}

fn ids() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ab]?",
        "call_[a-z0-9]{16}",
        "[a-zA-Z0-9]{9}",
        "functions\\.[a-z]{2}:[0-9]",
        "[a-z ü]{41,70}",
    ]
}

fn pictures() -> impl Strategy<Value = Vec<MessageImage>> {
    let picture = MessageImage::Data {
        media_type: "image/png".to_owned(),
        base64: "aGk=".into(),
    };
    (0usize..2).prop_map(move |count| vec![picture.clone(); count])
}

/// Stories in which results come for the calls before them, or do not.
fn stories() -> impl Strategy<Value = Vec<Message>> {
    let block =
        (0..3, "[a \n]{0,3}", ids(), natives()).prop_map(|(kind, text, id, native)| match kind {
            0 => Block::Text { text, native },
            1 => Block::Reasoning { text, native },
            _ => Block::ToolCall {
                call_id: id,
                name: "n".to_owned(),
                input: json!({ "a": 1 }),
                native,
            },
        });
    let step = (
        proptest::collection::vec(block, 0..5),
        any::<bool>(),
        "[a ]{0,2}",
        pictures(),
    );
    let step = step.prop_map(|(blocks, answered, text, images)| {
        let results = results(&blocks, answered, &text, &images);
        vec![Message::Assistant(blocks), Message::ToolResults(results)]
    });
    let user = ("[a ]{0,2}", pictures()).prop_map(|(text, images)| {
        vec![Message::User(UserMessage {
            text,
            images,
            ..UserMessage::default()
        })]
    });
    let messages = proptest::collection::vec(prop_oneof![user, step], 0..6);
    messages.prop_map(|messages| messages.concat())
}

fn results(
    blocks: &[Block],
    answered: bool,
    text: &str,
    images: &[MessageImage],
) -> Vec<ToolResult> {
    let calls = blocks.iter().filter_map(|block| match block {
        Block::ToolCall { call_id, .. } => Some(call_id.clone()),
        Block::Text { .. } | Block::Reasoning { .. } | Block::File { .. } => None,
    });
    let content: Vec<_> = std::iter::once(ResultBlock::Text(text.to_owned()))
        .chain(images.iter().cloned().map(ResultBlock::Image))
        .collect();
    let results = calls.filter(|_| answered).map(|call_id| ToolResult {
        call_id,
        name: "n".to_owned(),
        content: content.clone(),
        is_error: false,
    });
    results.collect()
}

/// The body that a story becomes for a service.
fn written(wire: Wire, target: &RequestTarget, mut story: Vec<Message>) -> Value {
    let own = target.origin(wire);
    for native in story.iter_mut().flat_map(natives_of).flatten() {
        if native.origin == OWN {
            own.clone_into(&mut native.origin);
        }
    }
    let request = ModelRequest {
        model: target.model.id.clone(),
        system: "Be brief.".to_owned(),
        messages: story.into_iter().map(std::sync::Arc::new).collect(),
        tools: vec![ToolSpec {
            grammar: Some("start: /.+/"),
            ..ToolSpec::new("n", "Does n.", json!({ "type": "object" }))
        }]
        .into(),
        max_output_tokens: Some(9),
        cache_key: Some("k".repeat(80)),
        ..ModelRequest::default()
    };
    wire.encode(&request, target).body
}

/// As after a change of the model: nothing native goes back.
fn without_natives(mut story: Vec<Message>) -> Vec<Message> {
    for native in story.iter_mut().flat_map(natives_of) {
        *native = None;
    }
    story
}

fn natives_of(message: &mut Message) -> impl Iterator<Item = &mut Option<Box<Native>>> {
    let blocks = match message {
        Message::Assistant(blocks) => blocks.as_mut_slice(),
        Message::User(_) | Message::ToolResults(_) => &mut [],
    };
    blocks.iter_mut().map(|block| match block {
        Block::Text { native, .. }
        | Block::Reasoning { native, .. }
        | Block::ToolCall { native, .. }
        | Block::File { native, .. } => native,
    })
}

/// The names of an object are all among these.
#[track_caller]
fn check_fields(value: &Value, known: &[&str]) {
    for name in value.as_object().expect("an object").keys() {
        assert!(
            known.contains(&name.as_str()),
            "unknown field {name} in {value}"
        );
    }
}

/// A text that says something, or a list of parts that do.
#[track_caller]
fn check_content(content: &Value) {
    let filled = |text: &Value| text.as_str().is_some_and(|text| !text.trim().is_empty());
    match content {
        Value::String(_) => assert!(filled(content), "blank content"),
        Value::Array(parts) => {
            assert!(!parts.is_empty(), "empty content");
            for part in parts {
                let text = part.get("text");
                assert!(text.is_none_or(filled), "a blank part");
            }
        }
        other => panic!("content is {other}"),
    }
}

fn check_chat(service: &ChatService, body: &Value) {
    let mut known = vec!["model", "messages", "stream", "tools", "max_tokens"];
    if service.stream_options {
        known.push("stream_options");
    }
    check_fields(body, &known);
    let mut waiting: Vec<Value> = Vec::new();
    let mut seen = HashSet::new();
    let mut before = "";
    let messages = body["messages"].as_array().unwrap();
    for message in messages {
        let role = message["role"].as_str().unwrap();
        if role != "tool" {
            assert!(waiting.is_empty(), "calls without a result");
        }
        match role {
            "system" => assert_eq!(before, "", "a system message that is not the first"),
            "user" => {
                check_fields(message, &["role", "content"]);
                check_content(&message["content"]);
                assert!(before != "tool" || service.user_after_tool);
            }
            "assistant" => {
                assert!(
                    ["user", "tool"].contains(&before),
                    "speaks after {before:?}"
                );
                check_assistant(service, message);
                let calls = message["tool_calls"].as_array().into_iter().flatten();
                waiting = calls.map(|call| call["id"].clone()).collect();
                for id in &waiting {
                    check_id(service, id.as_str().unwrap());
                    assert!(seen.insert(id.clone()), "{id} twice");
                }
            }
            "tool" => {
                check_fields(message, &["role", "content", "tool_call_id"]);
                check_content(&message["content"]);
                assert_eq!(waiting.remove(0), message["tool_call_id"]);
            }
            other => panic!("there is no role {other}"),
        }
        before = role;
    }
    assert!(waiting.is_empty(), "calls without a result");
    assert!(["user", "tool"].contains(&before), "the model spoke last");
}

fn check_assistant(service: &ChatService, message: &Value) {
    let known = [&["role", "content", "tool_calls"], service.takes].concat();
    check_fields(message, &known);
    match message.get("tool_calls") {
        Some(calls) => assert!(!calls.as_array().unwrap().is_empty(), "no calls"),
        None => check_content(&message["content"]),
    }
    if !message["content"].is_null() {
        check_content(&message["content"]);
    }
    if service.wants_thoughts {
        let thought = message["reasoning_content"].as_str().unwrap_or("");
        let details = message["reasoning_details"].is_array();
        assert!(!thought.is_empty() || details, "no thought in {message}");
    }
    if let Some(thought) = message.get("reasoning_content") {
        assert_ne!(thought, "");
    }
}

fn check_id(service: &ChatService, id: &str) {
    match service.nine_letters {
        true => {
            assert_eq!(id.len(), 9, "{id}");
            assert!(id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
        }
        false => {
            assert!((1..=40).contains(&id.len()), "{id}");
            assert!(id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
        }
    }
}

fn check_responses(body: &Value) {
    check_fields(
        body,
        &[
            "model",
            "input",
            "stream",
            "store",
            "instructions",
            "include",
            "reasoning",
            "text",
            "tools",
            "max_output_tokens",
            "prompt_cache_key",
        ],
    );
    let (call, output, input) = match body["tools"][0]["type"].as_str() {
        Some("custom") => ("custom_tool_call", "custom_tool_call_output", "input"),
        Some(_) | None => ("function_call", "function_call_output", "arguments"),
    };
    assert!(body["prompt_cache_key"].as_str().unwrap().len() <= 64);
    let (mut called, mut answered) = (Vec::new(), Vec::new());
    let mut thinking = false;
    for item in body["input"].as_array().unwrap() {
        let kind = item["type"].as_str().unwrap();
        let own = kind == call || item["role"] == "assistant";
        assert!(
            !thinking || own || kind == "reasoning",
            "a thought without what follows"
        );
        thinking = kind == "reasoning";
        match kind {
            "message" => {
                check_fields(item, &["type", "role", "content", "phase"]);
                check_content(&item["content"]);
                let rested = item["role"] == "assistant" || called == answered;
                assert!(rested, "calls without a result");
            }
            "reasoning" => {
                check_fields(
                    item,
                    &[
                        "type",
                        "id",
                        "summary",
                        "content",
                        "encrypted_content",
                        "status",
                    ],
                );
                assert!(item["encrypted_content"].is_string());
            }
            kind if kind == call => {
                check_fields(item, &["type", "call_id", "name", input]);
                assert!(item[input].is_string());
                let id = item["call_id"].as_str().unwrap();
                assert!((1..=64).contains(&id.len()) && !called.contains(&id));
                called.push(id);
            }
            kind if kind == output => {
                check_fields(item, &["type", "call_id", "output"]);
                check_content(&item["output"]);
                answered.push(item["call_id"].as_str().unwrap());
            }
            other => panic!("there is no item {other}"),
        }
    }
    assert_eq!(called, answered, "calls without a result");
    assert!(!thinking, "a thought without what follows");
}

/// Anthropic's: user and assistant in turn, results before words, thoughts before what they led to.
fn check_messages(body: &Value) {
    let mut waiting: Vec<&str> = Vec::new();
    let mut seen = HashSet::new();
    let messages = body["messages"].as_array().unwrap();
    for (at, message) in messages.iter().enumerate() {
        check_fields(message, &["role", "content"]);
        check_content(&message["content"]);
        let user = at % 2 == 0;
        assert_eq!(message["role"], if user { "user" } else { "assistant" });
        let mut spoke = false;
        for block in message["content"].as_array().unwrap() {
            let kind = block["type"].as_str().unwrap();
            assert_eq!(
                user,
                ["text", "image", "tool_result"].contains(&kind) && user
            );
            match kind {
                "tool_result" => {
                    assert!(!spoke, "a result behind words");
                    assert_eq!(block["tool_use_id"], waiting.remove(0));
                    check_content(&block["content"]);
                }
                "tool_use" => {
                    let id = block["id"].as_str().unwrap();
                    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
                    assert!(
                        (1..=64).contains(&id.len()) && id.bytes().all(plain),
                        "{id:?}"
                    );
                    assert!(seen.insert(id), "{id} twice");
                    assert!(block["input"].is_object());
                    waiting.push(id);
                }
                "text" | "image" | "thinking" | "redacted_thinking" => spoke = true,
                other => panic!("there is no block {other}"),
            }
        }
        assert!(!user || waiting.is_empty(), "calls without a result");
    }
    assert_eq!(messages.len() % 2, 1, "the user speaks last");
}

/// Google's: every call is answered in the next content, in its order.
fn check_gemini(body: &Value) {
    let contents = body["contents"].as_array().unwrap();
    let mut waiting = 0;
    let mut before = "";
    for content in contents {
        check_fields(content, &["role", "parts"]);
        let parts = content["parts"].as_array().unwrap();
        assert!(!parts.is_empty(), "no parts");
        let role = content["role"].as_str().unwrap();
        let of = |field: &str| {
            parts
                .iter()
                .filter(|part| part.get(field).is_some())
                .count()
        };
        match role {
            "user" => assert_eq!(of("functionResponse"), std::mem::take(&mut waiting)),
            "model" => {
                assert_eq!((before, waiting), ("user", 0));
                waiting = of("functionCall");
            }
            other => panic!("there is no role {other}"),
        }
        before = role;
    }
    assert_eq!((before, waiting), ("user", 0));
}

proptest! {
    #[test]
    fn messages_and_gemini_take_any_story(story in stories()) {
        let target = RequestTarget::unknown("claude-sonnet-4-5");
        check_messages(&written(Wire::Messages, &target, without_natives(story.clone())));
        let target = RequestTarget::unknown("gemini-2.5-pro");
        check_gemini(&written(Wire::Gemini, &target, without_natives(story)));
    }

    #[test]
    fn every_chat_service_takes_any_story(story in stories()) {
        for service in chat_services() {
            let target = RequestTarget { quirks: service.quirks.clone(), ..RequestTarget::unknown(service.model) };
            let body = written(Wire::Chat, &target, story.clone());
            let named = std::panic::AssertUnwindSafe(|| check_chat(&service, &body));
            let outcome = std::panic::catch_unwind(named);
            prop_assert!(outcome.is_ok(), "{}: {body:#}", service.name);
        }
    }

    #[test]
    fn responses_take_any_story(story in stories()) {
        let mut target = RequestTarget::unknown("gpt-5");
        check_responses(&written(Wire::Responses, &target, story.clone()));
        target.quirks.custom_tools = Some(true);
        check_responses(&written(Wire::Responses, &target, story));
    }

    /// A request begins as the one before it did, so that the service finds what it has read.
    #[test]
    fn what_was_sent_is_sent_again(story in stories(), more in stories()) {
        for service in chat_services() {
            let target = RequestTarget { quirks: service.quirks.clone(), ..RequestTarget::unknown(service.model) };
            let story = [vec![Message::user("go")], story.clone(), vec![Message::user("and")]].concat();
            let longer = [story.clone(), vec![Message::Assistant(vec![Block::Text { text: "yes".to_owned(), native: None }])], more.clone()].concat();
            let before = written(Wire::Chat, &target, story)["messages"].clone();
            let after = written(Wire::Chat, &target, longer)["messages"].clone();
            let before = before.as_array().unwrap();
            prop_assert_eq!(&before[..], &after.as_array().unwrap()[..before.len()], "{}", service.name);
        }
    }
}
