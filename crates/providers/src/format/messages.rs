//! Anthropic's Messages: how a request is written.

mod decode;
mod limit;
mod thinking;

use serde_json::{Value, json};

use super::history::{AssistantPart, FILE_MADE, HistoryResult, HistoryTurn, UserPart, turns};
use super::{Outgoing, RequestTarget, Wire, arguments};
use crate::{MessageImage, ModelRequest};

pub(super) use decode::MessagesDecoder;

pub(super) const VERSION: &str = "2023-06-01";
/// Names what a request uses that is not yet for everyone.
const BETA_HEADER: &str = "anthropic-beta";

pub(super) fn encode(request: &ModelRequest, target: &RequestTarget) -> Outgoing {
    let turns = turns(request, Wire::Messages, target);
    let mut body = json!({
        "model": request.model,
        "messages": messages(&turns),
        "stream": true,
    });
    if !request.system.trim().is_empty() {
        let mut system = json!({ "type": "text", "text": request.system });
        keep(&mut system);
        body["system"] = json!([system]);
    }
    tools(request, &turns, &mut body);
    let max_tokens = limit::max_tokens(request, target, &body);
    body["max_tokens"] = json!(max_tokens);
    let plan = thinking::plan(request, &turns, max_tokens);
    if let Some(thinking) = plan.thinking {
        body["thinking"] = thinking;
    }
    if let Some(effort) = plan.effort {
        body["output_config"] = json!({ "effort": effort });
    }
    let mut headers = Wire::Messages.headers();
    if !plan.betas.is_empty() {
        headers.push((BETA_HEADER, plan.betas.join(",")));
    }
    Outgoing {
        path: "messages".to_owned(),
        headers,
        body,
    }
}

/// Marks the end of a prefix that the provider is to keep. There may be four such marks: on the
/// system prompt, the tools, the last message, and the last message of the request before. That one
/// is found again however many blocks were added since; the service itself looks back over twenty.
fn keep(block: &mut Value) {
    block["cache_control"] = json!({ "type": "ephemeral" });
}

fn tools(request: &ModelRequest, turns: &[HistoryTurn<'_>], body: &mut Value) {
    let mut list: Vec<_> = request
        .tools
        .iter()
        .map(|spec| {
            json!({
                "name": spec.name,
                "description": spec.description,
                "input_schema": spec.parameters,
            })
        })
        .collect();
    if list.is_empty() {
        // A history with calls is not taken without tools: those it names, and none to be used.
        list = called(turns)
            .into_iter()
            .map(|name| json!({ "name": name, "input_schema": { "type": "object" } }))
            .collect();
        if !list.is_empty() {
            body["tool_choice"] = json!({ "type": "none" });
        }
    }
    if let Some(last) = list.last_mut() {
        keep(last);
        if request.no_calls {
            body["tool_choice"] = json!({ "type": "none" });
        }
        body["tools"] = json!(list);
    }
}

fn called<'a>(turns: &[HistoryTurn<'a>]) -> Vec<&'a str> {
    let mut names = Vec::new();
    for turn in turns {
        if let HistoryTurn::Assistant { results, .. } = turn {
            for result in results {
                if !names.contains(&result.name) {
                    names.push(result.name);
                }
            }
        }
    }
    names
}

fn messages(turns: &[HistoryTurn<'_>]) -> Vec<Value> {
    let mut messages: Vec<Value> = Vec::new();
    // What the user side says next: results first, as the format demands, then the user's words.
    let mut heard = Vec::new();
    for turn in turns {
        match turn {
            HistoryTurn::User(pieces) => heard.extend(pieces.iter().map(piece)),
            HistoryTurn::Assistant { said, results } => {
                if !heard.is_empty() {
                    messages.push(json!({ "role": "user", "content": heard }));
                }
                let content: Vec<_> = said.iter().map(block).collect();
                messages.push(json!({ "role": "assistant", "content": content }));
                heard = results.iter().map(result).collect();
            }
        }
    }
    if !heard.is_empty() {
        messages.push(json!({ "role": "user", "content": heard }));
    }
    let of_user = messages.iter_mut().filter(|each| each["role"] == "user");
    for message in of_user.rev().take(2) {
        let blocks = message["content"].as_array_mut();
        if let Some(last) = blocks.and_then(|blocks| blocks.last_mut()) {
            keep(last);
        }
    }
    messages
}

fn piece(piece: &UserPart<'_>) -> Value {
    let source = match piece {
        UserPart::Text(text) => return json!({ "type": "text", "text": text }),
        UserPart::Image(MessageImage::Data { media_type, base64 }) => json!({
            "type": "base64",
            "media_type": media_type,
            "data": base64,
        }),
        UserPart::Image(MessageImage::Url(url)) => json!({ "type": "url", "url": url }),
        UserPart::Document(document) => {
            let (media_type, data) = (&document.media_type, &document.base64);
            let source = json!({ "type": "base64", "media_type": media_type, "data": data });
            return json!({ "type": "document", "source": source, "title": document.name });
        }
    };
    json!({ "type": "image", "source": source })
}

fn block(said: &AssistantPart<'_>) -> Value {
    match said {
        AssistantPart::Text { text, .. } => json!({ "type": "text", "text": text }),
        AssistantPart::File { .. } => json!({ "type": "text", "text": FILE_MADE }),
        AssistantPart::Reasoning { native, .. } => (*native).clone(),
        AssistantPart::Call(call) => json!({
            "type": "tool_use",
            "id": call.id,
            "name": call.name,
            "input": arguments::object(call.input),
        }),
    }
}

fn result(outcome: &HistoryResult<'_>) -> Value {
    let content = match outcome.shown.is_empty() {
        true => json!(outcome.text),
        false => outcome.shown.iter().map(piece).collect(),
    };
    let mut result = json!({
        "type": "tool_result",
        "tool_use_id": outcome.id,
        "content": content,
    });
    if outcome.is_error {
        result["is_error"] = json!(true);
    }
    result
}
