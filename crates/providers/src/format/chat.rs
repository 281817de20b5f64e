//! OpenAI's Chat Completions: how a request is written, so that compatible servers take it too.

mod decode;

use serde_json::{Value, json};

use super::history::{
    AssistantPart, HistoryCall, HistoryResult, HistoryTurn, PICTURES_OF, UserPart, turns,
};
use super::{Outgoing, RequestTarget, Wire, family};
use crate::{MessageImage, ModelRequest, ToolSpec};

pub(super) use decode::ChatDecoder;

pub(super) fn encode(request: &ModelRequest, target: &RequestTarget) -> Outgoing {
    let mut body = json!({
        "model": request.model,
        "messages": messages(request, target),
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    if let Some(tokens) = request.max_output_tokens {
        body[limit_field(&request.model)] = json!(tokens);
    }
    if let Some(effort) = &request.effort {
        body["reasoning_effort"] = json!(effort);
    }
    if let Some(verbosity) = family::openai_verbosity(request) {
        body["verbosity"] = json!(verbosity);
    }
    Outgoing {
        path: "chat/completions".to_owned(),
        headers: Wire::Chat.headers(),
        body,
    }
}

/// Every compatible server knows `max_tokens` and not all know the newer name; OpenAI's thinking
/// models refuse the old one.
fn limit_field(model: &str) -> &'static str {
    match family::openai_reasons(model) {
        true => "max_completion_tokens",
        false => "max_tokens",
    }
}

fn tool(spec: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": spec.name,
            "description": spec.description,
            "parameters": spec.parameters,
        },
    })
}

fn messages(request: &ModelRequest, target: &RequestTarget) -> Vec<Value> {
    let mut messages = Vec::new();
    if !request.system.trim().is_empty() {
        messages.push(json!({ "role": "system", "content": request.system }));
    }
    for turn in turns(request, Wire::Chat, target) {
        match turn {
            HistoryTurn::User(pieces) => {
                messages.push(json!({ "role": "user", "content": content(&pieces) }));
            }
            HistoryTurn::Assistant { said, results } => {
                let message = assistant(&said).map(|mut message| {
                    if family::wants_thoughts_back(&request.model) {
                        message["reasoning_content"] = json!(thoughts(&said));
                    }
                    message
                });
                messages.extend(message);
                messages.extend(results.iter().map(|result| {
                    json!({
                        "role": "tool",
                        "tool_call_id": result.id,
                        "content": result.marked(),
                    })
                }));
                messages.extend(pictures(&results));
            }
        }
    }
    messages
}

/// A result has no place for pictures here: a user shows them behind all results.
fn pictures(results: &[HistoryResult<'_>]) -> Option<Value> {
    let images: Vec<_> = results.iter().flat_map(HistoryResult::images).collect();
    if images.is_empty() {
        return None;
    }
    let pieces: Vec<_> = std::iter::once(UserPart::Text(PICTURES_OF))
        .chain(images)
        .collect();
    Some(json!({ "role": "user", "content": content(&pieces) }))
}

/// Texts alone are one string: some servers know no other form.
fn content(pieces: &[UserPart<'_>]) -> Value {
    let texts: Option<Vec<_>> = pieces
        .iter()
        .map(|piece| match piece {
            UserPart::Text(text) => Some(*text),
            UserPart::Image(_) => None,
        })
        .collect();
    match texts {
        Some(texts) => json!(texts.join("\n\n")),
        None => pieces.iter().map(piece).collect(),
    }
}

fn piece(piece: &UserPart<'_>) -> Value {
    let url = match piece {
        UserPart::Text(text) => return json!({ "type": "text", "text": text }),
        UserPart::Image(MessageImage::Data { media_type, base64 }) => {
            format!("data:{media_type};base64,{base64}")
        }
        UserPart::Image(MessageImage::Url(url)) => url.clone(),
    };
    json!({ "type": "image_url", "image_url": { "url": url } })
}

/// What the model thought before it spoke, for the one server that asks for it: empty where another
/// model did the thinking.
fn thoughts(said: &[AssistantPart<'_>]) -> String {
    said.iter()
        .filter_map(|each| match each {
            AssistantPart::Reasoning { text, .. } => Some(*text),
            AssistantPart::Text { .. } | AssistantPart::Call(_) => None,
        })
        .collect()
}

/// Thoughts stay behind: the format has no place for them, and most servers that show them refuse
/// them.
fn assistant(said: &[AssistantPart<'_>]) -> Option<Value> {
    let mut texts = Vec::new();
    let mut calls = Vec::new();
    for each in said {
        match each {
            AssistantPart::Text { text, .. } => texts.push(*text),
            AssistantPart::Reasoning { .. } => {}
            AssistantPart::Call(each) => calls.push(call(each)),
        }
    }
    let content = match texts.is_empty() {
        true => Value::Null,
        false => json!(texts.join("\n\n")),
    };
    let mut message = json!({ "role": "assistant", "content": content });
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    (!texts.is_empty() || !calls.is_empty()).then_some(message)
}

fn call(call: &HistoryCall<'_>) -> Value {
    json!({
        "id": call.id,
        "type": "function",
        "function": { "name": call.name, "arguments": call.input.to_string() },
    })
}
