//! Chat Completions as four services speak it, each with what only it demands.

use serde_json::{Value, json};

use super::{RequestRefused, ScriptedAnswer, Vendor, data, halves, list};

pub(super) fn check(vendor: Vendor, body: &Value) -> Result<(), RequestRefused> {
    let messages = list(&body["messages"]);
    for (at, message) in messages.iter().enumerate() {
        let calls = list(&message["tool_calls"]);
        let answers = messages[at + 1..]
            .iter()
            .take_while(|next| next["role"] == "tool")
            .map(|next| &next["tool_call_id"]);
        if !calls.is_empty() && !calls.iter().map(|call| &call["id"]).eq(answers) {
            return Err(refused(
                "An assistant message with 'tool_calls' must be followed by tool messages responding \
                 to each 'tool_call_id'.",
            ));
        }
        let before = at.checked_sub(1).map(|before| &messages[before]);
        match vendor {
            Vendor::OpenRouter => openrouter(message, calls)?,
            Vendor::Mistral => mistral(message, calls, before)?,
            Vendor::DeepSeek => deepseek(message, calls, at)?,
            Vendor::Moonshot => moonshot(message, calls, at)?,
            Vendor::OpenAi | Vendor::Anthropic | Vendor::Google | Vendor::LlamaCpp => {}
        }
    }
    if vendor == Vendor::Mistral && !body["stream_options"].is_null() {
        return Err(mistral_extra("stream_options"));
    }
    Ok(())
}

/// As it is in front of Gemini: its own calls come back with what it told of the thought.
fn openrouter(message: &Value, calls: &[Value]) -> Result<(), RequestRefused> {
    let details = list(&message["reasoning_details"]).iter();
    let seals: Vec<_> = details.filter_map(|each| each.get("data")).collect();
    if !seals.iter().all(|seal| Vendor::OpenRouter.sealed(seal)) {
        return Err(refused("Thought signature is not valid."));
    }
    let own = format!("tool_{}", Vendor::OpenRouter.id());
    let own = |call: &Value| call["id"].as_str().is_some_and(|id| id.starts_with(&own));
    if seals.is_empty() && calls.iter().any(own) {
        return Err(refused(
            "Gemini models require OpenRouter reasoning details to be preserved in each request. \
             Function call is missing a thought_signature.",
        ));
    }
    Ok(())
}

fn mistral(message: &Value, calls: &[Value], before: Option<&Value>) -> Result<(), RequestRefused> {
    for call in calls {
        let id = call["id"].as_str().unwrap_or_default();
        if id.len() != 9 || !id.chars().all(|letter| letter.is_ascii_alphanumeric()) {
            let what =
                format!("Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9.");
            return Err(mistral_refused(&what, "invalid_function_call", "3280"));
        }
    }
    if message["role"] == "user" && before.is_some_and(|before| before["role"] == "tool") {
        let what = "Unexpected role 'user' after role 'tool'";
        return Err(mistral_refused(
            what,
            "invalid_request_message_order",
            "3230",
        ));
    }
    for field in ["reasoning_content", "reasoning_details"] {
        if !message[field].is_null() {
            return Err(mistral_extra(field));
        }
    }
    Ok(())
}

fn mistral_refused(message: &str, kind: &str, code: &str) -> RequestRefused {
    RequestRefused {
        status: 400,
        body: json!({
            "object": "error", "message": message, "type": kind, "param": null, "code": code,
        }),
    }
}

fn mistral_extra(field: &str) -> RequestRefused {
    let detail = json!([{
        "type": "extra_forbidden", "loc": ["body", field], "msg": "Extra inputs are not permitted",
    }]);
    RequestRefused {
        status: 422,
        body: json!({ "object": "error", "message": { "detail": detail }, "type": "invalid_request_error" }),
    }
}

fn deepseek(message: &Value, calls: &[Value], at: usize) -> Result<(), RequestRefused> {
    if list(&message["content"])
        .iter()
        .any(|part| part["type"] != "text")
    {
        return Err(refused(&format!(
            "Failed to deserialize the JSON body into the target type: messages[{at}]: unknown variant \
             `image_url`, expected `text`"
        )));
    }
    if !calls.is_empty() && !message["reasoning_content"].is_string() {
        return Err(refused(
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
        ));
    }
    Ok(())
}

/// An empty thought is none here, a blank is one.
fn moonshot(message: &Value, calls: &[Value], at: usize) -> Result<(), RequestRefused> {
    let thought = message["reasoning_content"].as_str().unwrap_or_default();
    if !calls.is_empty() && thought.is_empty() {
        return Err(refused(&format!(
            "thinking is enabled but reasoning_content is missing in assistant tool call message at \
             index {at}"
        )));
    }
    Ok(())
}

fn refused(message: &str) -> RequestRefused {
    RequestRefused {
        status: 400,
        body: json!({ "error": { "message": message, "type": "invalid_request_error", "code": null } }),
    }
}

pub(super) fn write(vendor: Vendor, answer: &ScriptedAnswer) -> String {
    let mut deltas = vec![json!({ "role": "assistant", "content": "" })];
    if let Some(thought) = &answer.thought {
        for half in halves(&thought.text) {
            deltas.push(match vendor {
                Vendor::OpenRouter => json!({ "reasoning": half, "reasoning_details": [
                    { "type": "reasoning.text", "text": half, "index": 0, "format": "google-gemini-v1" },
                ] }),
                Vendor::Mistral => json!({ "content": [
                    { "type": "thinking", "thinking": [{ "type": "text", "text": half }] },
                ] }),
                Vendor::DeepSeek | Vendor::Moonshot | Vendor::LlamaCpp => {
                    json!({ "reasoning_content": half })
                }
                Vendor::OpenAi | Vendor::Anthropic | Vendor::Google => continue,
            });
        }
        if vendor == Vendor::OpenRouter {
            deltas.push(json!({ "reasoning_details": [
                { "type": "reasoning.encrypted", "data": thought.seal, "index": 1, "format": "google-gemini-v1" },
            ] }));
        }
    }
    deltas.extend(halves(&answer.text).map(|half| json!({ "content": half })));
    for (at, call) in answer.calls.iter().enumerate() {
        let input = call.input.to_string();
        let [left, right] = halves(&input);
        let begun = json!({ "name": call.name, "arguments": left });
        deltas.push(json!({ "tool_calls": [
            { "index": at, "id": call.id, "type": "function", "function": begun },
        ] }));
        let rest = json!({ "arguments": right });
        deltas.push(json!({ "tool_calls": [{ "index": at, "function": rest }] }));
    }
    let chunk = |delta: Value, reason: Option<&str>| {
        json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }],
        })
    };
    let mut events: Vec<_> = deltas.into_iter().map(|delta| chunk(delta, None)).collect();
    let reason = match answer.calls.is_empty() {
        true => "stop",
        false => "tool_calls",
    };
    let mut last = chunk(json!({}), Some(reason));
    last["usage"] = json!({ "prompt_tokens": answer.input_tokens, "completion_tokens": 20, "total_tokens": answer.input_tokens + 20 });
    events.push(last);
    format!("{}data: [DONE]\n\n", data(events))
}
