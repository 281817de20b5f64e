//! Streams as servers might send them, where implementations differ.

use serde_json::json;

use super::*;
use crate::ErrorKind;

pub fn answer(wire: Wire, data: &[Value]) -> Vec<Part> {
    let (parts, end) = decode_data(wire, data);
    assert_eq!(end, Ok(()), "{parts:?}");
    parts
}

pub fn error(wire: Wire, data: &[Value]) -> (ErrorKind, String) {
    let (_, end) = decode_data(wire, data);
    let error = end.expect_err("an error");
    (error.kind, error.message)
}

pub fn chat(delta: Value) -> Value {
    json!({ "id": "c1", "choices": [{ "index": 0, "delta": delta }] })
}

pub fn chat_end(reason: &str) -> Value {
    json!({ "id": "c1", "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

pub fn gemini(parts: Value) -> Value {
    json!({ "candidates": [{ "content": { "role": "model", "parts": parts } }] })
}

pub fn gemini_end(reason: &str) -> Value {
    json!({ "candidates": [{ "finishReason": reason }] })
}

#[test]
fn interleaved_calls_are_told_one_after_the_other() {
    let piece = |index: u64, arguments: &str| {
        chat(json!({ "tool_calls": [{ "index": index, "function": { "arguments": arguments } }] }))
    };
    let start = |index: u64, id: &str| {
        chat(
            json!({ "tool_calls": [{ "index": index, "id": id, "function": { "name": "read" } }] }),
        )
    };
    let data = [
        start(0, "a"),
        start(1, "b"),
        piece(1, "{\"n\":"),
        piece(0, "{\"n\":"),
        piece(1, "2"),
        piece(0, "1}"),
        piece(1, "}"),
        chat_end("tool_calls"),
    ];
    let expected = [
        call(0, "a", "read", &["{\"n\":", "1}"], None),
        call(1, "b", "read", &["{\"n\":2", "}"], None),
        finish(StopCause::ToolUse, 0, 0),
    ];
    assert_eq!(answer(Wire::Chat, &data), expected.concat());
}

#[test]
fn interleaved_blocks_of_messages_are_told_one_after_the_other() {
    let data = [
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "one" } }),
        json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "text" } }),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "text_delta", "text": "th" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "two" } }),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "text_delta", "text": "ree" } }),
        json!({ "type": "content_block_stop", "index": 1 }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_stop" }),
    ];
    let expected = [
        text(0, &["one", "two"]),
        text(1, &["three"]),
        finish(StopCause::Stop, 0, 0),
    ];
    assert_eq!(answer(Wire::Messages, &data), expected.concat());
}

#[test]
fn calls_that_share_a_number_are_told_apart_by_their_ids() {
    let whole = |id: &str| {
        chat(
            json!({ "tool_calls": [{ "index": 0, "id": id, "function": { "name": "ls", "arguments": "{}" } }] }),
        )
    };
    let expected = [
        call(0, "a", "ls", &["{}"], None),
        call(1, "b", "ls", &["{}"], None),
        finish(StopCause::ToolUse, 0, 0),
    ];
    let data = [whole("a"), whole("b"), chat_end("stop")];
    assert_eq!(answer(Wire::Chat, &data), expected.concat());
}

#[test]
fn calls_without_an_id_get_one() {
    let whole = json!([{ "index": 0, "id": "", "function": { "name": "ls", "arguments": {} } }]);
    let parts = answer(
        Wire::Chat,
        &[chat(json!({ "tool_calls": whole })), chat_end("stop")],
    );
    assert_eq!(parts[0], open_call(0, "seed_0", "ls", &[])[0]);

    let mut chunk =
        gemini(json!([{ "functionCall": { "name": "ls" } }, { "functionCall": { "name": "ls" } }]));
    chunk["responseId"] = json!("r7");
    let parts = answer(Wire::Gemini, &[chunk, gemini_end("STOP")]);
    let empty = |block, id: &str| Part::ToolCall {
        block,
        call_id: id.to_owned(),
        name: "ls".to_owned(),
        input: json!({}),
        native: None,
        problem: None,
    };
    let expected = [
        open_call(0, "r7_0", "ls", &[]),
        vec![empty(0, "r7_0")],
        open_call(1, "r7_1", "ls", &[]),
        vec![empty(1, "r7_1")],
        finish(StopCause::ToolUse, 0, 0),
    ];
    assert_eq!(parts, expected.concat());
}

#[test]
fn a_chat_answer_ends_with_its_reason_though_nothing_follows() {
    let said = chat(json!({ "content": "hi" }));
    let mut decoder = Wire::Chat.decoder(&RequestTarget::unknown("m"), SEED);
    let mut parts = Vec::new();
    for data in [&said, &chat_end("stop")] {
        let data = data.to_string();
        decoder
            .push(
                SseEvent {
                    event: None,
                    data: &data,
                },
                &mut parts,
            )
            .unwrap();
    }
    // The text is told whole at once; the usage may still come.
    assert_eq!(parts, text(0, &["hi"]));
    assert!(!decoder.finished());
    decoder.end(&mut parts).unwrap();
    assert_eq!(
        parts,
        [text(0, &["hi"]), finish(StopCause::Stop, 0, 0)].concat()
    );
    assert_eq!(error(Wire::Chat, &[said]).0, ErrorKind::CutOff);
}

#[test]
fn what_comes_after_the_end_is_not_heard() {
    let usage = json!({ "choices": [], "usage": { "prompt_tokens": 1, "completion_tokens": 2 } });
    let data = [chat_end("stop"), usage, chat(json!({ "content": "late" }))];
    assert_eq!(answer(Wire::Chat, &data), finish(StopCause::Stop, 1, 2));
}

#[test]
fn thoughts_of_chat_have_many_names() {
    let data = [
        chat(json!({ "reasoning": "a", "content": null })),
        chat(
            json!({ "content": [{ "type": "thinking", "thinking": [{ "type": "text", "text": "b" }] }] }),
        ),
        chat(json!({ "content": [{ "type": "text", "text": "c" }] })),
        chat_end("length"),
    ];
    let expected = [
        thought(0, false, &["a", "b"], None),
        text(1, &["c"]),
        finish(StopCause::Length, 0, 0),
    ];
    assert_eq!(answer(Wire::Chat, &data), expected.concat());
}

#[test]
fn items_told_only_at_the_end_are_told() {
    let output = json!([
        { "type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x" },
        { "type": "message", "id": "m", "phase": "commentary", "content": [{ "type": "output_text", "text": "hi" }] },
        { "type": "function_call", "id": "f", "call_id": "c", "name": "ls", "arguments": "{}" },
        { "type": "web_search_call", "id": "w" },
    ]);
    let mut expected = [
        thought(0, true, &[], native(Wire::Responses, output[0].clone())),
        text(1, &["hi"]),
        call(2, "c", "ls", &["{}"], None),
        vec![Part::Raw(output[3].clone())],
        finish(StopCause::ToolUse, 5, 3),
    ]
    .concat();
    expected[4] = Part::TextEnd {
        block: 1,
        native: native(Wire::Responses, json!({ "phase": "commentary" })),
    };
    let usage = json!({ "input_tokens": 5, "output_tokens": 3 });
    let completed =
        json!({ "type": "response.completed", "response": { "output": output, "usage": usage } });
    assert_eq!(
        answer(Wire::Responses, std::slice::from_ref(&completed)),
        expected
    );

    // The same with each item told whole before, and with nothing to tell items apart by.
    let mut bare = output.clone();
    for item in bare.as_array_mut().unwrap() {
        item.as_object_mut().unwrap().remove("id");
    }
    let done = bare.as_array().unwrap().iter();
    let mut data: Vec<_> = done
        .map(|item| json!({ "type": "response.output_item.done", "item": item }))
        .collect();
    data.push(
        json!({ "type": "response.completed", "response": { "output": bare, "usage": usage } }),
    );
    expected[1] = Part::ReasoningEnd {
        block: 0,
        native: native(Wire::Responses, bare[0].clone()),
    };
    expected[8] = Part::Raw(bare[3].clone());
    assert_eq!(answer(Wire::Responses, &data), expected);
}

#[test]
fn deltas_without_an_announced_item_grow_one() {
    let data = [
        json!({ "type": "response.output_text.delta", "delta": "a" }),
        json!({ "type": "response.output_text.delta", "delta": "b" }),
        json!({ "type": "response.output_text.done", "text": "ab" }),
        json!({ "type": "response.completed", "response": {} }),
    ];
    let expected = [text(0, &["a", "b"]), finish(StopCause::Stop, 0, 0)].concat();
    assert_eq!(answer(Wire::Responses, &data), expected);
    assert_eq!(
        answer(Wire::Responses, &data[2..]),
        [text(0, &["ab"]), finish(StopCause::Stop, 0, 0)].concat()
    );
}

#[test]
fn items_whose_ids_change_are_found_by_their_number() {
    let data = [
        json!({ "type": "response.output_item.added", "output_index": 0, "item": { "type": "message", "id": "x1" } }),
        json!({ "type": "response.output_text.delta", "output_index": 0, "item_id": "x2", "delta": "a" }),
        json!({ "type": "response.output_item.done", "output_index": 0,
            "item": { "type": "message", "id": "x3", "content": [{ "type": "output_text", "text": "a" }] } }),
        json!({ "type": "response.completed", "response": {
            "output": [{ "type": "message", "id": "x4", "content": [{ "type": "output_text", "text": "a" }] }] } }),
    ];
    assert_eq!(
        answer(Wire::Responses, &data),
        [text(0, &["a"]), finish(StopCause::Stop, 0, 0)].concat()
    );
}

#[test]
fn paragraphs_of_a_summary_are_kept_apart() {
    let added = json!({ "type": "response.reasoning_summary_part.added", "output_index": 0 });
    let delta = |text| json!({ "type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": text });
    let item = json!({ "type": "reasoning", "summary": [
        { "type": "summary_text", "text": "a" }, { "type": "summary_text", "text": "b" }] });
    let data = [
        added.clone(),
        delta("a"),
        added,
        delta("b"),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({ "type": "response.completed", "response": {} }),
    ];
    let native = native(Wire::Responses, item);
    let expected = [
        thought(0, true, &["a", "\n\n", "b"], native),
        finish(StopCause::Stop, 0, 0),
    ];
    assert_eq!(answer(Wire::Responses, &data), expected.concat());
}

#[test]
fn parts_of_a_summary_that_comes_as_a_whole_are_kept_apart_too() {
    let item = json!({ "type": "reasoning", "summary": [
        { "type": "summary_text", "text": "a" }, { "type": "summary_text", "text": "b" }] });
    let data = [
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({ "type": "response.completed", "response": {} }),
    ];
    let native = native(Wire::Responses, item);
    let expected = [
        thought(0, true, &["a", "\n\n", "b"], native),
        finish(StopCause::Stop, 0, 0),
    ];
    assert_eq!(answer(Wire::Responses, &data), expected.concat());
}

#[test]
fn full_reasoning_is_not_called_a_summary() {
    let data = [
        json!({ "type": "response.reasoning_text.delta", "output_index": 0, "delta": "hm" }),
        json!({ "type": "response.completed", "response": {} }),
    ];
    assert_eq!(
        answer(Wire::Responses, &data)[0],
        Part::ReasoningStart {
            block: 0,
            summary: false
        }
    );
}

#[test]
fn what_messages_hides_comes_back_as_it_was() {
    let block = json!({ "type": "redacted_thinking", "data": "zzz" });
    let data = [
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_stop" }),
    ];
    let expected = [
        thought(0, false, &[], native(Wire::Messages, block)),
        finish(StopCause::Stop, 0, 0),
    ];
    assert_eq!(answer(Wire::Messages, &data), expected.concat());
}

#[test]
fn signatures_of_gemini_end_their_part() {
    let signed = native(Wire::Gemini, json!({ "thoughtSignature": "s" }));
    let data = [
        gemini(json!([{ "text": "hm", "thought": true }])),
        // Alone: no text to belong to.
        gemini(json!([{ "text": "", "thoughtSignature": "s" }])),
        gemini(json!([{ "text": "a" }])),
        gemini(json!([{ "text": "", "thoughtSignature": "s" }])),
        gemini(json!([{ "text": "b" }])),
        gemini(json!([{ "functionCall": { "name": "ls", "args": {} }, "thoughtSignature": "s" }])),
        gemini_end("STOP"),
    ];
    let mut signed_text = text(2, &["a"]);
    signed_text[2] = Part::TextEnd {
        block: 2,
        native: signed.clone(),
    };
    let expected = [
        thought(0, true, &["hm"], None),
        thought(1, true, &[], signed.clone()),
        signed_text,
        text(3, &["b"]),
        call(4, "seed_0", "ls", &["{}"], signed),
        finish(StopCause::ToolUse, 0, 0),
    ];
    assert_eq!(answer(Wire::Gemini, &data), expected.concat());
}

#[test]
fn usage_is_counted_the_same_everywhere() {
    let usage = |parts: Vec<Part>| match parts.last() {
        Some(Part::Finish { usage, .. }) => *usage,
        other => panic!("{other:?}"),
    };
    let expected = ModelUsage {
        input_tokens: 100,
        output_tokens: 20,
        cached_tokens: 60,
        cache_write_tokens: 0,
        reasoning_tokens: 5,
        cost_micro_dollars: None,
    };
    let responses = json!({ "type": "response.completed", "response": { "usage": {
        "input_tokens": 100, "input_tokens_details": { "cached_tokens": 60 },
        "output_tokens": 20, "output_tokens_details": { "reasoning_tokens": 5 } } } });
    assert_eq!(usage(answer(Wire::Responses, &[responses])), expected);

    let chat = |usage: Value| [chat_end("stop"), json!({ "choices": [], "usage": usage })];
    let openai = chat(
        json!({ "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
        "prompt_tokens_details": { "cached_tokens": 60 }, "completion_tokens_details": { "reasoning_tokens": 5 } }),
    );
    assert_eq!(usage(answer(Wire::Chat, &openai)), expected);
    let deepseek = chat(
        json!({ "prompt_tokens": 100, "completion_tokens": 20, "prompt_cache_hit_tokens": 60,
        "completion_tokens_details": { "reasoning_tokens": 5 } }),
    );
    assert_eq!(usage(answer(Wire::Chat, &deepseek)), expected);
    let thoughts_apart = chat(
        json!({ "prompt_tokens": 100, "completion_tokens": 15, "total_tokens": 120,
        "prompt_tokens_details": { "cached_tokens": 60 }, "completion_tokens_details": { "reasoning_tokens": 5 } }),
    );
    assert_eq!(usage(answer(Wire::Chat, &thoughts_apart)), expected);

    let mut gemini = gemini_end("STOP");
    gemini["usageMetadata"] = json!({ "promptTokenCount": 100, "candidatesTokenCount": 15,
        "thoughtsTokenCount": 5, "cachedContentTokenCount": 60, "totalTokenCount": 120 });
    assert_eq!(usage(answer(Wire::Gemini, &[gemini])), expected);

    let messages = [
        json!({ "type": "message_start", "message": { "usage": { "input_tokens": 30,
            "cache_read_input_tokens": 60, "cache_creation_input_tokens": 10, "output_tokens": 1 } } }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 20 } }),
        json!({ "type": "message_stop" }),
    ];
    let expected = ModelUsage {
        cache_write_tokens: 10,
        reasoning_tokens: 0,
        ..expected
    };
    assert_eq!(usage(answer(Wire::Messages, &messages)), expected);
}

#[test]
fn what_is_unknown_is_told_raw_and_between_blocks() {
    let unknown = json!({ "type": "content_block_sparkle", "index": 0 });
    let data = [
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "a" } }),
        unknown.clone(),
        json!({ "type": "message_stop" }),
    ];
    let expected = [
        text(0, &["a"]),
        vec![Part::Raw(unknown)],
        finish(StopCause::Stop, 0, 0),
    ];
    assert_eq!(answer(Wire::Messages, &data), expected.concat());
    for wire in Wire::ALL {
        let value = json!({ "type": "news", "n": 1 });
        let (parts, end) = decode_data(wire, std::slice::from_ref(&value));
        assert_eq!(parts, [Part::Raw(value)]);
        assert_eq!(end.map_err(|error| error.kind), Err(ErrorKind::CutOff));
    }
}

#[test]
fn only_deltas_that_grow_are_told() {
    let empty = json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "" } });
    let data = [
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        empty,
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_stop" }),
    ];
    assert_eq!(answer(Wire::Messages, &data), finish(StopCause::Stop, 0, 0));
}
