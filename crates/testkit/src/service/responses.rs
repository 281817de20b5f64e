//! OpenAI's Responses.

use serde_json::{Value, json};

use super::{RequestRefused, ScriptedAnswer, ScriptedCall, Vendor, halves, list, named};

const CACHE_KEY_CHARS_MAX: usize = 64;
const CALL_ID_CHARS_MAX: usize = 64;

pub(super) fn check(body: &Value) -> Result<(), RequestRefused> {
    let key = body["prompt_cache_key"].as_str().unwrap_or_default();
    if key.len() > CACHE_KEY_CHARS_MAX {
        let what = format!(
            "Invalid 'prompt_cache_key': string too long. Expected a string with maximum length \
             {CACHE_KEY_CHARS_MAX}, but got a string with length {} instead.",
            key.len()
        );
        return Err(refused(
            &what,
            Some("prompt_cache_key"),
            "string_above_max_length",
        ));
    }
    let items = list(&body["input"]);
    for (at, item) in items.iter().enumerate() {
        match item["type"].as_str() {
            Some("reasoning") => reasoning(item, items.get(at + 1))?,
            Some("function_call") => paired(item, &items[at + 1..], "function_call_output")?,
            Some("function_call_output") => paired(item, &items[..at], "function_call")?,
            Some("custom_tool_call") => {
                paired(item, &items[at + 1..], "custom_tool_call_output")?;
            }
            Some("custom_tool_call_output") => paired(item, &items[..at], "custom_tool_call")?,
            _ => {}
        }
    }
    Ok(())
}

fn reasoning(item: &Value, next: Option<&Value>) -> Result<(), RequestRefused> {
    if !Vendor::OpenAi.sealed(&item["encrypted_content"]) {
        let what = "The encrypted content for item could not be verified. Reason: Encrypted content \
                    could not be decrypted or parsed.";
        return Err(refused(what, None, "invalid_encrypted_content"));
    }
    let followed = next.is_some_and(|next| next["role"] != "user");
    if !followed {
        let what = "Item of type 'reasoning' was provided without its required following item.";
        return Err(refused(what, Some("input"), "invalid_value"));
    }
    Ok(())
}

fn paired(item: &Value, among: &[Value], kind: &str) -> Result<(), RequestRefused> {
    let id = item["call_id"].as_str().unwrap_or_default();
    if id.is_empty() || id.len() > CALL_ID_CHARS_MAX {
        let what = format!("Invalid 'input.call_id': {id:?} is not 1 to 64 characters long.");
        return Err(refused(
            &what,
            Some("input.call_id"),
            "string_above_max_length",
        ));
    }
    let others = among
        .iter()
        .filter(|other| other["type"] == kind && other["call_id"] == id);
    match others.count() {
        1 => Ok(()),
        _ => {
            let what = format!("No {kind} found for call_id {id}.");
            Err(refused(&what, Some("input"), "invalid_value"))
        }
    }
}

fn refused(message: &str, param: Option<&str>, code: &str) -> RequestRefused {
    RequestRefused {
        status: 400,
        body: json!({ "error": {
            "message": message, "type": "invalid_request_error", "param": param, "code": code,
        } }),
    }
}

pub(super) fn write(answer: &ScriptedAnswer) -> String {
    let mut events = vec![json!({
        "type": "response.created",
        "response": { "id": "resp_1", "status": "in_progress", "output": [] },
    })];
    let mut output = Vec::new();
    if let Some(thought) = &answer.thought {
        let summary = json!([{ "type": "summary_text", "text": thought.text }]);
        let mut item = json!({ "type": "reasoning", "id": "rs_1", "summary": [] });
        let deltas = halves(&thought.text).map(|delta| {
            json!({ "type": "response.reasoning_summary_text.delta", "item_id": "rs_1",
                "output_index": 0, "summary_index": 0, "delta": delta })
        });
        events.push(added(0, &item));
        events.extend(deltas);
        item["summary"] = summary;
        item["encrypted_content"] = json!(thought.seal);
        events.push(done(0, &item));
        output.push(item);
    }
    let at = output.len();
    let mut message = json!({
        "type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": [],
    });
    events.push(added(at, &message));
    events.extend(halves(&answer.text).map(|delta| {
        json!({ "type": "response.output_text.delta", "item_id": "msg_1", "output_index": at,
            "content_index": 0, "delta": delta })
    }));
    message["status"] = json!("completed");
    message["content"] = json!([{ "type": "output_text", "text": answer.text, "annotations": [] }]);
    events.push(done(at, &message));
    output.push(message);
    for call in &answer.calls {
        write_call(call, &mut output, &mut events);
    }
    events.push(json!({ "type": "response.completed", "response": {
        "id": "resp_1", "status": "completed", "output": output,
        "usage": { "input_tokens": answer.input_tokens, "output_tokens": 20,
            "total_tokens": answer.input_tokens + 20 },
    } }));
    named(events)
}

/// A call whose input is a text is one of a tool that takes free text.
fn write_call(call: &ScriptedCall, output: &mut Vec<Value>, events: &mut Vec<Value>) {
    let at = output.len();
    let id = format!("fc_{at}");
    let (kind, field, delta_kind, input) = match call.input.as_str() {
        Some(text) => (
            "custom_tool_call",
            "input",
            "custom_tool_call_input",
            text.to_owned(),
        ),
        None => {
            let arguments = call.input.to_string();
            (
                "function_call",
                "arguments",
                "function_call_arguments",
                arguments,
            )
        }
    };
    let mut item = json!({
        "type": kind, "id": id, "call_id": call.id, "name": call.name, field: "", "status": "in_progress",
    });
    events.push(added(at, &item));
    events.extend(halves(&input).map(|delta| {
        json!({ "type": format!("response.{delta_kind}.delta"), "item_id": id,
            "output_index": at, "delta": delta })
    }));
    item[field] = json!(input);
    item["status"] = json!("completed");
    events.push(done(at, &item));
    output.push(item);
}

fn added(at: usize, item: &Value) -> Value {
    json!({ "type": "response.output_item.added", "output_index": at, "item": item })
}

fn done(at: usize, item: &Value) -> Value {
    json!({ "type": "response.output_item.done", "output_index": at, "item": item })
}
