//! What holds for any stream and any history: no panic, and blocks in order.

use proptest::prelude::*;
use serde_json::json;

use super::captures::{Capture, all};
use super::*;
use crate::{Block, Message, ModelRequest, ToolResult};

/// Blocks start, grow and end one after the other, and nothing follows `Finish`.
fn assert_in_order(parts: &[Part], end: &Result<(), ProviderError>) {
    let mut open: Option<(u32, &str)> = None;
    let mut blocks = 0;
    for (at, part) in parts.iter().enumerate() {
        let mut start = |block: u32, kind: &'static str| {
            assert_eq!((open, block), (None, blocks), "{part:?}");
            blocks += 1;
            open = Some((block, kind));
        };
        match part {
            Part::TextStart { block } => start(*block, "text"),
            Part::ReasoningStart { block, .. } => start(*block, "reasoning"),
            Part::ToolInputStart { block, .. } => start(*block, "call"),
            Part::TextDelta { block, text } => {
                assert!(open == Some((*block, "text")) && !text.is_empty());
            }
            Part::ReasoningDelta { block, text } => {
                assert!(open == Some((*block, "reasoning")) && !text.is_empty());
            }
            Part::ReasoningPart { block } => assert_eq!(open, Some((*block, "reasoning"))),
            Part::ToolInputDelta { block, json } => {
                assert!(open == Some((*block, "call")) && !json.is_empty());
            }
            Part::TextEnd { block, .. } => assert_eq!(open.take(), Some((*block, "text"))),
            Part::ReasoningEnd { block, .. } => {
                assert_eq!(open.take(), Some((*block, "reasoning")));
            }
            Part::ToolCall { block, input, .. } => {
                assert_eq!(open.take(), Some((*block, "call")));
                assert!(input.is_object());
            }
            Part::Raw(_) | Part::Source { .. } | Part::File { .. } => assert_eq!(open, None),
            Part::Retrying { .. } => panic!("a decoder does not retry"),
            Part::Finish { .. } => assert_eq!((open, at), (None, parts.len() - 1)),
        }
    }
    let finished = matches!(parts.last(), Some(Part::Finish { .. }));
    assert_eq!(finished, end.is_ok(), "{end:?}");
}

fn run(wire: Wire, events: &[(Option<String>, String)]) {
    let (parts, end) = decode(wire, events);
    assert_in_order(&parts, &end);
}

fn wires() -> impl Strategy<Value = Wire> {
    proptest::sample::select(&Wire::ALL[..])
}

/// JSON made of the words the formats use, in any places.
fn likely_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0u64..3).prop_map(Value::from),
        "[a-z{}\":ä]{0,6}".prop_map(Value::from),
        proptest::sample::select(WORDS).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((proptest::sample::select(FIELDS), inner), 0..5).prop_map(
                |fields| fields
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect()
            ),
        ]
    })
}

const WORDS: &[&str] = &[
    "message",
    "reasoning",
    "function_call",
    "text",
    "thinking",
    "redacted_thinking",
    "tool_use",
    "text_delta",
    "thinking_delta",
    "signature_delta",
    "input_json_delta",
    "output_text",
    "summary_text",
    "refusal",
    "stop",
    "STOP",
    "tool_calls",
    "length",
    "MAX_TOKENS",
    "completed",
    "incomplete",
    "failed",
    "response",
    "end_turn",
];
const FIELDS: &[&str] = &[
    "type",
    "index",
    "delta",
    "item",
    "item_id",
    "output_index",
    "content",
    "content_block",
    "text",
    "thinking",
    "id",
    "call_id",
    "name",
    "arguments",
    "function",
    "tool_calls",
    "choices",
    "candidates",
    "parts",
    "functionCall",
    "args",
    "thought",
    "thoughtSignature",
    "finishReason",
    "finish_reason",
    "response",
    "output",
    "summary",
    "usage",
    "status",
    "partial_json",
    "signature",
    "reasoning_content",
    "object",
    "usageMetadata",
    "input",
];

/// Events of the right shape, in any order and with any indexes.
fn likely_events() -> impl Strategy<Value = Value> {
    let index = || 0u64..3;
    let piece = || "[{}\"a:1]{0,3}";
    prop_oneof![
        (index(), proptest::sample::select(&["text", "thinking", "tool_use", "redacted_thinking", "odd"][..]))
            .prop_map(|(index, kind)| json!({ "type": "content_block_start", "index": index,
                "content_block": { "type": kind, "id": "x", "name": "n" } })),
        (index(), piece(), proptest::sample::select(&["text", "thinking", "input_json", "signature"][..]))
            .prop_map(|(index, piece, kind)| json!({ "type": "content_block_delta", "index": index, "delta": {
                "type": format!("{kind}_delta"), "text": piece, "thinking": piece, "partial_json": piece, "signature": piece } })),
        index().prop_map(|index| json!({ "type": "content_block_stop", "index": index })),
        (index(), proptest::sample::select(&["message", "reasoning", "function_call", "odd"][..]),
            proptest::sample::select(&["added", "done"][..]), piece())
            .prop_map(|(index, kind, when, piece)| json!({ "type": format!("response.output_item.{when}"), "output_index": index,
                "item": { "type": kind, "name": "n", "call_id": "c", "arguments": piece,
                    "content": [{ "type": "output_text", "text": piece }] } })),
        (index(), piece(), proptest::sample::select(&["output_text", "reasoning_text", "reasoning_summary_text", "function_call_arguments"][..]))
            .prop_map(|(index, piece, kind)| json!({ "type": format!("response.{kind}.delta"), "output_index": index, "delta": piece })),
        (index(), piece(), any::<bool>()).prop_map(|(index, piece, named)| {
            let name = if named { "n" } else { "" };
            json!({ "choices": [{ "delta": { "tool_calls": [{ "index": index, "function": { "name": name, "arguments": piece } }] } }] })
        }),
        (piece(), piece()).prop_map(|(text, thought)| json!({ "choices": [{ "delta": { "content": text, "reasoning": thought } }] })),
        (index(), piece(), proptest::sample::select(&["text", "summary", "encrypted"][..]))
            .prop_map(|(index, piece, kind)| json!({ "choices": [{ "delta": { "reasoning_details": [{
                "type": format!("reasoning.{kind}"), "index": index, "text": piece, "summary": piece, "data": piece }] } }] })),
        proptest::sample::select(&["<think>", "</think>", "<th", "ink>", " "][..])
            .prop_map(|tag| json!({ "choices": [{ "delta": { "content": tag } }] })),
        (piece(), any::<bool>()).prop_map(|(text, thought)| json!({ "candidates": [{ "content": { "parts": [
            { "text": text, "thought": thought }, { "functionCall": { "name": "n", "args": [text] } }] } }] })),
        Just(json!({ "type": "message_stop" })),
        Just(json!({ "type": "response.completed", "response": {} })),
        Just(json!({ "choices": [{ "finish_reason": "stop" }], "candidates": [{ "finishReason": "STOP" }] })),
    ]
}

fn blocks() -> impl Strategy<Value = Block> {
    let origin = proptest::sample::select(
        &[
            "messages//claude-sonnet-4-5",
            "gemini//gemini-2.5-pro",
            "elsewhere",
        ][..],
    );
    let native = (any::<bool>(), origin).prop_map(|(some, origin)| {
        some.then(|| {
            crate::format::native(
                origin,
                json!({ "type": "thinking", "thoughtSignature": "s" }),
            )
        })
    });
    (0..3, "[a ]{0,2}", "[ab]?", native).prop_map(|(kind, text, id, native)| match kind {
        0 => Block::Text { text, native },
        1 => Block::Reasoning { text, native },
        _ => Block::ToolCall {
            call_id: id,
            name: "n".to_owned(),
            input: json!({}),
            native,
        },
    })
}

fn histories() -> impl Strategy<Value = Vec<Message>> {
    let result = "[ab]?".prop_map(|call_id| ToolResult {
        call_id,
        name: "n".to_owned(),
        content: Vec::new(),
        is_error: false,
    });
    let message = prop_oneof![
        "[a ]{0,2}".prop_map(Message::user),
        proptest::collection::vec(blocks(), 0..4).prop_map(Message::Assistant),
        proptest::collection::vec(result, 0..3).prop_map(Message::ToolResults),
    ];
    proptest::collection::vec(message, 0..7)
}

proptest! {
    #[test]
    fn any_text_is_an_error_or_in_order(wire in wires(), data in proptest::collection::vec("\\PC{0,30}", 0..4)) {
        let events: Vec<_> = data.into_iter().map(|data| (Some("error".to_owned()), data)).collect();
        run(wire, &events);
    }

    #[test]
    fn any_json_is_an_error_or_in_order(wire in wires(), data in proptest::collection::vec(likely_json(), 0..6)) {
        let events: Vec<_> = data.iter().map(|data| (None, data.to_string())).collect();
        run(wire, &events);
    }

    #[test]
    fn any_order_of_likely_events_is_in_order(wire in wires(), data in proptest::collection::vec(likely_events(), 0..30)) {
        let events: Vec<_> = data.iter().map(|data| (None, data.to_string())).collect();
        run(wire, &events);
    }

    #[test]
    fn any_body_is_a_failure_of_some_kind(status in 100u16..600, body in proptest::collection::vec(any::<u8>(), 0..60)) {
        for wire in Wire::ALL {
            let message = wire.failure(status, &body).message;
            prop_assert!(!message.is_empty());
            let _ = wire.read_models(&body);
        }
    }

    #[test]
    fn any_history_alternates(messages in histories()) {
        let request = ModelRequest { model: "claude-sonnet-4-5".to_owned(), messages: messages.iter().cloned().map(std::sync::Arc::new).collect(), ..ModelRequest::default() };
        let body = encoded(Wire::Messages, &request).body;
        let mut user = true;
        for message in body["messages"].as_array().unwrap() {
            prop_assert_eq!(&message["role"], if user { "user" } else { "assistant" });
            prop_assert!(!message["content"].as_array().unwrap().is_empty());
            user = !user;
        }
        prop_assert!(!user, "the user speaks last");
        prop_assert!(body.to_string().matches("cache_control").count() <= 4);
        for wire in Wire::ALL {
            let model = model(wire).to_owned();
            encoded(wire, &ModelRequest { model, messages: messages.iter().cloned().map(std::sync::Arc::new).collect(), ..ModelRequest::default() });
        }
    }

    #[test]
    fn every_call_has_its_result(messages in histories()) {
        let request = ModelRequest { model: "m".to_owned(), messages: messages.into_iter().map(std::sync::Arc::new).collect(), ..ModelRequest::default() };
        let body = encoded(Wire::Chat, &request).body;
        let mut waiting: Vec<Value> = Vec::new();
        for message in body["messages"].as_array().unwrap() {
            if message["role"] == "tool" {
                prop_assert_eq!(waiting.remove(0), message["tool_call_id"].clone());
                continue;
            }
            prop_assert!(waiting.is_empty());
            let calls = message["tool_calls"].as_array().into_iter().flatten();
            waiting = calls.map(|call| call["id"].clone()).collect();
        }
        prop_assert!(waiting.is_empty());
    }
}

/// Real streams with their events in another order, some left out, some twice, and cut anywhere.
#[test]
fn shuffled_captures_never_panic() {
    let captures: Vec<Capture> = all().into_iter().map(|(_, capture)| capture).collect();
    let config = ProptestConfig::with_cases(300);
    let picks = proptest::collection::vec(any::<proptest::sample::Index>(), 0..40);
    proptest!(config, |(at in 0..captures.len(), wire in wires(), own in any::<bool>(), picks in picks)| {
        let events = captures[at].events();
        let wire = if own { captures[at].wire } else { wire };
        let shuffled: Vec<_> = picks
            .iter()
            .filter(|_| !events.is_empty())
            .map(|pick| events[pick.index(events.len())].clone())
            .collect();
        run(wire, &shuffled);
    });
    for capture in &captures {
        let events = capture.events();
        for length in 0..events.len() {
            run(capture.wire, &events[..length]);
        }
    }
}
