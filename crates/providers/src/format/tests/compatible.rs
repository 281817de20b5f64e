//! Services that speak Chat Completions in their own way: what each streams, and what it then takes
//! back. From the stream of one request to the next request.

use serde_json::json;

use super::decode::{chat, chat_end};
use super::*;
use crate::format::{CallIdStyle, EffortStyle, Quirks, ThoughtReplay};
use crate::kept_blocks::kept_blocks;
use crate::{Block, Message, ResultBlock, ToolResult};

pub fn target(model: &str, quirks: Quirks) -> RequestTarget {
    RequestTarget {
        quirks,
        ..RequestTarget::unknown(model)
    }
}

fn thoughts(replay: ThoughtReplay) -> Quirks {
    Quirks {
        thoughts: Some(replay),
        ..Quirks::default()
    }
}

pub fn read(target: &RequestTarget, data: &[Value]) -> Vec<Part> {
    let mut decoder = Wire::Chat.decoder(target, SEED);
    let mut parts = Vec::new();
    for data in data {
        let data = data.to_string();
        let event = SseEvent {
            event: None,
            data: &data,
        };
        decoder.push(event, &mut parts).unwrap();
    }
    decoder.end(&mut parts).unwrap();
    parts
}

fn body(target: &RequestTarget, messages: Vec<Message>) -> Value {
    let request = ModelRequest {
        model: target.model.id.clone(),
        messages: messages.into_iter().map(std::sync::Arc::new).collect(),
        ..ModelRequest::default()
    };
    Wire::Chat.encode(&request, target).body
}

/// What goes back of an answer in the request after it.
pub fn replayed(target: &RequestTarget, blocks: Vec<Block>) -> Value {
    let messages = vec![Message::user("?"), Message::Assistant(blocks)];
    body(target, messages)["messages"][1].clone()
}

fn call_chunk(extra: Value) -> Value {
    let mut call = json!({ "index": 0, "id": "call_1", "type": "function",
        "function": { "name": "ls", "arguments": "{}" } });
    for (name, value) in extra.as_object().into_iter().flatten() {
        call[name] = value.clone();
    }
    chat(json!({ "tool_calls": [call] }))
}

fn ls() -> Value {
    json!([{ "id": "call_1", "type": "function", "function": { "name": "ls", "arguments": "{}" } }])
}

fn said(text: &str) -> Block {
    Block::Text {
        text: text.to_owned(),
        native: None,
    }
}

fn called(call_id: &str) -> Block {
    Block::ToolCall {
        call_id: call_id.to_owned(),
        name: "ls".to_owned(),
        input: json!({}),
        native: None,
    }
}

fn result(call_id: &str) -> ToolResult {
    ToolResult {
        call_id: call_id.to_owned(),
        name: "ls".to_owned(),
        content: vec![ResultBlock::Text("files".to_owned())],
        is_error: false,
    }
}

/// OpenRouter with Gemini: "Gemini models require OpenRouter reasoning details to be preserved in
/// each request". The text comes in pieces, the signature with the call.
#[test]
fn a_router_gets_its_details_back_put_together() {
    let gemini = target("google/gemini-3.8-flash", thoughts(ThoughtReplay::Details));
    let piece = |text: &str| {
        chat(
            json!({ "content": "", "reasoning": text, "reasoning_details": [
            { "type": "reasoning.text", "text": text, "format": "google-gemini-v1", "index": 0 }] }),
        )
    };
    let signed = json!({ "type": "reasoning.encrypted", "data": "c2ln", "id": "call_1",
        "format": "google-gemini-v1", "index": 0 });
    let mut call = call_chunk(json!({}));
    call["choices"][0]["delta"]["reasoning_details"] = json!([signed]);
    let data = [piece("I "), piece("look."), call, chat_end("tool_calls")];
    let parts = read(&gemini, &data);
    let shown: String = parts
        .iter()
        .filter_map(|part| match part {
            Part::ReasoningDelta { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(shown, "I look.", "said once though it came twice");
    let expected = json!({ "role": "assistant", "content": null, "tool_calls": ls(),
        "reasoning_details": [
            { "type": "reasoning.text", "text": "I look.", "format": "google-gemini-v1", "index": 0 },
            signed,
        ] });
    assert_eq!(replayed(&gemini, kept_blocks(parts.clone())), expected);
    // Another model gets nothing of it.
    let other = target("openai/gpt-6-sol", thoughts(ThoughtReplay::Details));
    let expected = json!({ "role": "assistant", "content": null, "tool_calls": ls() });
    assert_eq!(replayed(&other, kept_blocks(parts)), expected);
}

/// Claude's signature comes behind its thought, OpenAI's encrypted one at the end of everything.
#[test]
fn details_that_come_late_go_back_too() {
    let router = target(
        "anthropic/claude-opus-5.5",
        thoughts(ThoughtReplay::Details),
    );
    let detail = |detail: Value| chat(json!({ "reasoning_details": [detail] }));
    let data = [
        detail(json!({ "type": "reasoning.text", "text": "Hm", "index": 0, "signature": null })),
        detail(json!({ "type": "reasoning.text", "text": ".", "index": 0 })),
        detail(json!({ "type": "reasoning.text", "signature": "sig", "index": 0 })),
        detail(json!({ "type": "reasoning.summary", "summary": "One.", "index": 1 })),
        detail(json!({ "type": "reasoning.summary", "summary": " Two.", "index": 2 })),
        chat(json!({ "content": "Yes." })),
        detail(json!({ "type": "reasoning.encrypted", "data": "zz", "index": 3 })),
        chat_end("stop"),
    ];
    let expected = json!({ "role": "assistant", "content": "Yes.", "reasoning_details": [
        { "type": "reasoning.text", "text": "Hm.", "index": 0, "signature": "sig" },
        { "type": "reasoning.summary", "summary": "One.", "index": 1 },
        { "type": "reasoning.summary", "summary": " Two.", "index": 2 },
        { "type": "reasoning.encrypted", "data": "zz", "index": 3 },
    ] });
    assert_eq!(
        replayed(&router, kept_blocks(read(&router, &data))),
        expected
    );
}

/// A thought of which nothing is shown stands before the calls it led to.
#[test]
fn hidden_details_come_before_the_calls() {
    let router = target("openai/gpt-6-sol", thoughts(ThoughtReplay::Details));
    let mut call = call_chunk(json!({}));
    let hidden = json!([{ "type": "reasoning.encrypted", "data": "zz", "index": 0 }]);
    call["choices"][0]["delta"]["reasoning_details"] = hidden.clone();
    let parts = read(&router, &[call, chat_end("tool_calls")]);
    assert!(matches!(parts[0], Part::ReasoningStart { .. }), "{parts:?}");
    assert_eq!(
        replayed(&router, kept_blocks(parts))["reasoning_details"],
        hidden
    );
}

/// Google's own endpoint for this format: "Function call is missing a thought_signature".
#[test]
fn a_signature_goes_back_with_its_call() {
    let gemini = target("gemini-3.8-flash", Quirks::default());
    let extra = json!({ "google": { "thought_signature": "c2ln" } });
    let data = [
        call_chunk(json!({ "extra_content": extra })),
        chat_end("tool_calls"),
    ];
    let blocks = kept_blocks(read(&gemini, &data));
    let call = &replayed(&gemini, blocks.clone())["tool_calls"][0];
    assert_eq!(call["extra_content"], extra);
    let other = target("gpt-4o", Quirks::default());
    let call = &replayed(&other, blocks)["tool_calls"][0];
    assert_eq!(call["extra_content"], Value::Null);
}

/// Kimi: "thinking is enabled but reasoning_content is missing in assistant tool call message".
#[test]
fn thoughts_go_back_where_the_model_sent_them() {
    let data = [
        chat(json!({ "reasoning_content": "Hm." })),
        call_chunk(json!({})),
        chat_end("tool_calls"),
    ];
    let answer = |target: &RequestTarget| replayed(target, kept_blocks(read(target, &data)));
    let with = json!({ "role": "assistant", "content": null, "tool_calls": ls(),
        "reasoning_content": "Hm." });
    let without = json!({ "role": "assistant", "content": null, "tool_calls": ls() });
    for model in [
        "kimi-k3",
        "deepseek-v4-pro",
        "glm-5.3",
        "mimo-v2.6",
        "gpt-oss-20",
    ] {
        assert_eq!(answer(&target(model, Quirks::default())), with, "{model}");
    }
    // Groq and Cerebras: "property 'reasoning_content' is unsupported".
    for model in ["openai/gpt-oss-120", "moonshotai/kimi-k3"] {
        assert_eq!(
            answer(&target(model, thoughts(ThoughtReplay::Never))),
            without
        );
    }
    // What came in another field has no place to go back to.
    let plain = target("gpt-oss-120", Quirks::default());
    let reasoning = [
        chat(json!({ "reasoning": "Hm." })),
        call_chunk(json!({})),
        chat_end("tool_calls"),
    ];
    assert_eq!(
        replayed(&plain, kept_blocks(read(&plain, &reasoning))),
        without
    );
}

#[test]
fn an_answer_without_a_thought_gets_a_blank_where_one_is_demanded() {
    let thought = |target: &RequestTarget| {
        let message = replayed(target, vec![said("Yes."), called("call_1")]);
        message["reasoning_content"].clone()
    };
    let always = thoughts(ThoughtReplay::Always);
    assert_eq!(thought(&target("some-model", always)), " ");
    assert_eq!(thought(&target("kimi-k3", Quirks::default())), " ");
    assert_eq!(thought(&target("DeepSeek-V4-Pro", Quirks::default())), " ");
    let details = || thoughts(ThoughtReplay::Details);
    assert_eq!(thought(&target("deepseek/deepseek-v4-pro", details())), " ");
    assert_eq!(thought(&target("openai/gpt-6-sol", details())), Value::Null);
    assert_eq!(thought(&target("glm-5.3", Quirks::default())), Value::Null);
    let never = thoughts(ThoughtReplay::Never);
    assert_eq!(thought(&target("kimi-k3", never)), Value::Null);
}

#[test]
fn every_service_spells_an_effort_in_its_own_way() {
    let spelt = |style: Option<EffortStyle>, effort: &str| {
        let quirks = Quirks {
            effort: style,
            ..Quirks::default()
        };
        let target = target("m", quirks);
        let request = ModelRequest {
            model: "m".to_owned(),
            effort: Some(effort.to_owned()),
            ..ModelRequest::default()
        };
        let mut body = Wire::Chat.encode(&request, &target).body;
        let fields = body.as_object_mut().unwrap();
        for field in ["model", "messages", "stream", "stream_options"] {
            fields.remove(field);
        }
        body
    };
    let cases = [
        (None, "high", json!({ "reasoning_effort": "high" })),
        (Some(EffortStyle::None), "high", json!({})),
        (
            Some(EffortStyle::ReasoningEffort),
            "none",
            json!({ "reasoning_effort": "none" }),
        ),
        (
            Some(EffortStyle::Reasoning),
            "low",
            json!({ "reasoning": { "effort": "low" } }),
        ),
        (
            Some(EffortStyle::ReasoningEnabled),
            "high",
            json!({ "reasoning": { "enabled": true } }),
        ),
        (
            Some(EffortStyle::ReasoningEnabled),
            "none",
            json!({ "reasoning": { "enabled": false } }),
        ),
        (
            Some(EffortStyle::Thinking),
            "high",
            json!({ "thinking": { "type": "enabled" } }),
        ),
        (
            Some(EffortStyle::Thinking),
            "off",
            json!({ "thinking": { "type": "disabled" } }),
        ),
        (
            Some(EffortStyle::ThinkingEffort),
            "max",
            json!({ "thinking": { "type": "enabled" }, "reasoning_effort": "max" }),
        ),
        (
            Some(EffortStyle::ThinkingEffort),
            "none",
            json!({ "thinking": { "type": "disabled" } }),
        ),
        (
            Some(EffortStyle::EnableThinking),
            "high",
            json!({ "enable_thinking": true }),
        ),
    ];
    for (style, effort, expected) in cases {
        assert_eq!(spelt(style, effort), expected, "{style:?} {effort}");
    }
}

/// xAI: "does not support parameter reasoningEffort"; Groq: "`reasoning_effort` is not supported
/// with this model".
#[test]
fn no_effort_goes_to_a_model_that_lists_none() {
    let llama = target("llama-3.3-70b-versatile", Quirks::default());
    let wished = ModelRequest {
        model: llama.model.id.clone(),
        effort: Some("high".to_owned()),
        ..ModelRequest::default()
    };
    let body = Wire::Chat.encode(&llama.settle(wished), &llama).body;
    assert_eq!(body["reasoning_effort"], Value::Null);
}

#[test]
fn claude_behind_a_router_is_cached_and_others_cache_by_themselves() {
    let quirks = || Quirks {
        cache_control: Some(true),
        ..Quirks::default()
    };
    let marked =
        |target: RequestTarget| body(&target, vec![Message::user("hi")])["cache_control"].clone();
    let claude = "anthropic/claude-opus-5.5";
    assert_eq!(
        marked(target(claude, quirks())),
        json!({ "type": "ephemeral" })
    );
    assert_eq!(
        marked(target("google/gemini-4-argon", quirks())),
        Value::Null
    );
    assert_eq!(marked(target(claude, Quirks::default())), Value::Null);
}

fn mistral() -> Quirks {
    Quirks {
        call_ids: Some(CallIdStyle::NineAlphanumeric),
        stream_options: Some(false),
        user_after_tool: Some(false),
        ..Quirks::default()
    }
}

/// Mistral: 400, code 3280, "Tool call id was … but must be a-z, A-Z, 0-9, with a length of 9";
/// code 3230, "Unexpected role 'user' after role 'tool'"; 422 for `stream_options`.
#[test]
fn mistral_takes_nine_letters_and_no_user_behind_a_result() {
    let story = || {
        vec![
            Message::user("go"),
            Message::Assistant(vec![called("call_abcdefghijklmnop"), called("call_1")]),
            Message::ToolResults(vec![result("call_abcdefghijklmnop"), result("call_1")]),
            Message::user("faster"),
            Message::Assistant(vec![called("aB3dE6gH9"), called("call_1")]),
            Message::ToolResults(vec![result("aB3dE6gH9")]),
        ]
    };
    let own = body(&target("mistral-large-latest", mistral()), story());
    assert_eq!(own["stream_options"], Value::Null);
    let elsewhere = body(&target("devstral-small", Quirks::default()), story());
    assert_eq!(
        elsewhere["stream_options"],
        json!({ "include_usage": true }),
        "another server tells its usage only when asked"
    );
    for body in [&own, &elsewhere] {
        let roles: Vec<_> = body["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|message| message["role"].as_str().unwrap())
            .collect();
        let expected = [
            "user",
            "assistant",
            "tool",
            "tool",
            "assistant",
            "user",
            "assistant",
            "tool",
            "tool",
        ];
        assert_eq!(roles, expected);
        assert_eq!(body["messages"][4]["content"], "Understood.");
        assert_eq!(body["messages"][6]["tool_calls"][0]["id"], "aB3dE6gH9");
        // `call_1` was called twice: each call has its own.
        let first = &body["messages"][1]["tool_calls"][1]["id"];
        let again = &body["messages"][6]["tool_calls"][1]["id"];
        assert_ne!(first, again);
    }
    let ids = |body: &Value| {
        let messages = body["messages"].as_array().unwrap().clone();
        let ids = messages
            .into_iter()
            .map(|each| each["tool_call_id"].clone());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(ids(&own), ids(&elsewhere), "the same in every request");
}

#[test]
fn a_router_says_what_an_answer_cost() {
    let cost = |usage: Value| {
        let data = [chat_end("stop"), json!({ "choices": [], "usage": usage })];
        match read(&target("m", Quirks::default()), &data).last() {
            Some(Part::Finish { usage, .. }) => usage.cost_micro_dollars,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(cost(json!({ "prompt_tokens": 1 })), None);
    assert_eq!(cost(json!({ "cost": 0.0012345 })), Some(1_235));
    assert_eq!(cost(json!({ "cost": 0 })), Some(0));
    assert_eq!(cost(json!({ "cost": -1 })), None);
    let own_key = json!({ "cost": 0.001, "is_byok": true,
        "cost_details": { "upstream_inference_cost": 0.02 } });
    assert_eq!(cost(own_key), Some(21_000));
}
