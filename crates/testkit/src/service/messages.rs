//! Anthropic's Messages.

use serde_json::{Value, json};

use super::{RequestRefused, ScriptedAnswer, Vendor, halves, list, named};

const CACHE_MARKS_MAX: usize = 4;
/// About as many as text has.
const BYTES_PER_TOKEN: usize = 4;

pub(super) fn check(body: &Value) -> Result<(), RequestRefused> {
    if !body["max_tokens"].is_u64() {
        return Err(refused("max_tokens: Field required"));
    }
    let marks = body.to_string().matches("\"cache_control\"").count();
    if marks > CACHE_MARKS_MAX {
        return Err(refused(&format!(
            "A maximum of 4 blocks with cache_control may be provided. Found {marks}."
        )));
    }
    let messages = list(&body["messages"]);
    for (at, message) in messages.iter().enumerate() {
        let expected = if at % 2 == 0 { "user" } else { "assistant" };
        if message["role"] != expected {
            return Err(refused(
                "messages: roles must alternate, beginning with \"user\"",
            ));
        }
        let next = messages.get(at + 1);
        for (place, block) in list(&message["content"]).iter().enumerate() {
            check_block(block, next)
                .map_err(|what| refused(&format!("messages.{at}.content.{place}: {what}")))?;
        }
        // Results come before anything else that the user says.
        let results = list(&message["content"]).iter();
        let results: Vec<_> = results
            .map(|block| block["type"] == "tool_result")
            .collect();
        if !results.is_sorted_by(|before, after| before >= after) {
            return Err(refused(&format!(
                "messages.{at}: `tool_result` blocks must come first"
            )));
        }
    }
    Ok(())
}

fn check_block(block: &Value, next: Option<&Value>) -> Result<(), String> {
    match block["type"].as_str() {
        Some("text") if block["text"] == "" => Err("text content blocks must be non-empty".into()),
        Some("thinking") if !Vendor::Anthropic.sealed(&block["signature"]) => {
            Err("Invalid `signature` in `thinking` block".into())
        }
        Some("tool_use") => {
            let id = block["id"].as_str().unwrap_or_default();
            let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
            if id.is_empty() || !id.chars().all(plain) {
                return Err("tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'".into());
            }
            let results = next.map_or(&[][..], |next| list(&next["content"]));
            let answers = results.iter().filter(|result| result["tool_use_id"] == id);
            match answers.count() {
                1 => Ok(()),
                _ => Err(format!(
                    "`tool_use` ids were found without `tool_result` blocks immediately after: {id}"
                )),
            }
        }
        _ => Ok(()),
    }
}

fn refused(message: &str) -> RequestRefused {
    RequestRefused {
        status: 400,
        body: json!({
            "type": "error",
            "error": { "type": "invalid_request_error", "message": message },
            "request_id": "req_011",
        }),
    }
}

/// What is written beyond the request's limit is cut, in the midst of a call, too.
pub(super) fn write(answer: &ScriptedAnswer, body: &Value) -> String {
    let mut room = body["max_tokens"].as_u64().unwrap_or_default() as usize * BYTES_PER_TOKEN;
    let mut cut = false;
    let mut events = vec![json!({ "type": "message_start", "message": {
        "id": "msg_01", "type": "message", "role": "assistant", "content": [],
        "usage": { "input_tokens": answer.input_tokens, "output_tokens": 1 },
    } })];
    let mut at = 0;
    let mut block = |start: Value, deltas: Vec<Value>| {
        events.push(json!({ "type": "content_block_start", "index": at, "content_block": start }));
        events.extend(
            deltas
                .into_iter()
                .map(|delta| json!({ "type": "content_block_delta", "index": at, "delta": delta })),
        );
        events.push(json!({ "type": "content_block_stop", "index": at }));
        at += 1;
    };
    if let Some(thought) = &answer.thought {
        let halves = halves(&thought.text);
        let mut deltas: Vec<_> = halves
            .map(|half| json!({ "type": "thinking_delta", "thinking": half }))
            .into();
        deltas.push(json!({ "type": "signature_delta", "signature": thought.seal }));
        let start = json!({ "type": "thinking", "thinking": "", "signature": "" });
        block(start, deltas);
    }
    let deltas = halves(&answer.text).map(|half| json!({ "type": "text_delta", "text": half }));
    block(json!({ "type": "text", "text": "" }), deltas.into());
    for call in &answer.calls {
        let mut input = call.input.to_string();
        cut |= input.len() > room;
        input.truncate(input.floor_char_boundary(room));
        room -= input.len();
        let deltas =
            halves(&input).map(|half| json!({ "type": "input_json_delta", "partial_json": half }));
        let start = json!({
            "type": "tool_use", "id": call.id, "name": call.name, "input": {},
        });
        block(start, deltas.into());
    }
    let reason = match answer.calls.is_empty() {
        _ if cut => "max_tokens",
        true => "end_turn",
        false => "tool_use",
    };
    events.push(json!({
        "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": 20 },
    }));
    events.push(json!({ "type": "message_stop" }));
    named(events)
}
