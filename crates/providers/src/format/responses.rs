//! OpenAI's Responses: how a request is written.

mod decode;
mod items;

use std::borrow::Cow;

use ring::digest::{SHA256, digest};
use serde_json::{Map, Value, json};
use vocabulary::{SummaryDetail, Verbosity};

use super::history::{AssistantPart, FILE_MADE, HistoryResult, HistoryTurn, UserPart, turns};
use super::{Outgoing, RequestTarget, Wire, family};
use crate::{FREE_TEXT_FIELD, MessageImage, ModelRequest, ToolSpec};

pub(super) use decode::ResponsesDecoder;

pub(super) fn encode(request: &ModelRequest, target: &RequestTarget) -> Outgoing {
    let mut body = json!({
        "model": request.model,
        "input": input(request, target),
        "stream": true,
        // Nothing is kept at the provider: thoughts come back to it encrypted.
        "store": false,
    });
    if !request.system.trim().is_empty() {
        body["instructions"] = json!(request.system);
    }
    // At work these models say too much rather than too little. The same for every purpose: it is part
    // of what a service keeps of the beginning of a conversation.
    if let Some(verbosity) = family::openai_verbosity(request, Some(Verbosity::Low)) {
        body["text"] = json!({ "verbosity": verbosity });
    }
    if thinks(request, target) {
        if let Some(reasoning) = reasoning(request, target) {
            body["reasoning"] = reasoning;
        }
        body["include"] = json!(["reasoning.encrypted_content"]);
    }
    if !request.tools.is_empty() {
        let custom = CustomTools::of(request, target);
        body["tools"] = request
            .tools
            .iter()
            .map(|spec| tool(spec, custom))
            .collect();
        if request.no_calls {
            body["tool_choice"] = json!("none");
        }
    }
    if let Some(tokens) = request.max_output_tokens {
        body["max_output_tokens"] = json!(tokens);
    }
    let mut headers = Wire::Responses.headers();
    if let Some(key) = request.cache_key.as_deref().map(cache_key) {
        if target.quirks.session_headers == Some(true) {
            headers.push(("session-id", key.to_string()));
            headers.push(("x-client-request-id", key.to_string()));
        }
        body["prompt_cache_key"] = json!(key);
    }
    Outgoing {
        path: "responses".to_owned(),
        headers,
        body,
    }
}

/// A model that does not think refuses to be asked for its thoughts.
fn thinks(request: &ModelRequest, target: &RequestTarget) -> bool {
    request.effort.is_some()
        || !target.model.efforts.is_empty()
        || family::openai_reasons(&request.model)
}

/// How hard to think, and that a summary of it is wanted: without one nobody sees a thought.
fn reasoning(request: &ModelRequest, target: &RequestTarget) -> Option<Value> {
    let mut reasoning = Map::new();
    if let Some(effort) = &request.effort {
        reasoning.insert("effort".to_owned(), json!(effort));
    }
    let detail = request.summary.unwrap_or(SummaryDetail::Auto);
    if detail != SummaryDetail::None && !target.omitted.summaries {
        reasoning.insert("summary".to_owned(), json!(detail.word()));
    }
    (!reasoning.is_empty()).then_some(Value::Object(reasoning))
}

/// The most characters a key may have; a sub-agent's is made of two ids.
const CACHE_KEY_CHARS_MAX: usize = 64;

fn cache_key(key: &str) -> Cow<'_, str> {
    if key.chars().count() <= CACHE_KEY_CHARS_MAX {
        return Cow::Borrowed(key);
    }
    let hash = digest(&SHA256, key.as_bytes());
    let letters = hash.as_ref().iter().map(|byte| format!("{byte:02x}"));
    Cow::Owned(letters.collect())
}

/// The tools whose input is a free text, where the service has such.
#[derive(Clone, Copy)]
struct CustomTools<'a> {
    specs: &'a [ToolSpec],
}

impl<'a> CustomTools<'a> {
    fn of(request: &'a ModelRequest, target: &RequestTarget) -> Self {
        let specs = match target.quirks.custom_tools {
            Some(true) => &request.tools[..],
            Some(false) | None => &[],
        };
        Self { specs }
    }

    fn grammar(self, name: &str) -> Option<&'static str> {
        let spec = self.specs.iter().find(|spec| spec.name == name)?;
        spec.grammar
    }
}

fn tool(spec: &ToolSpec, custom: CustomTools<'_>) -> Value {
    if let Some(grammar) = custom.grammar(&spec.name) {
        return json!({
            "type": "custom",
            "name": spec.name,
            "description": spec.description,
            "format": { "type": "grammar", "syntax": "lark", "definition": grammar },
        });
    }
    json!({
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.parameters,
        "strict": false,
    })
}

fn input(request: &ModelRequest, target: &RequestTarget) -> Vec<Value> {
    let custom = CustomTools::of(request, target);
    let mut items = Vec::new();
    for turn in turns(request, Wire::Responses, target) {
        match turn {
            HistoryTurn::User(pieces) => items.push(json!({
                "type": "message",
                "role": "user",
                "content": pieces.into_iter().map(piece).collect::<Vec<_>>(),
            })),
            HistoryTurn::Assistant { said, results } => {
                items.extend(said.iter().filter_map(|said| item(said, custom)));
                items.extend(results.iter().map(|result| {
                    let output = match result.shown.is_empty() {
                        true => json!(result.marked()),
                        false => marked(result).map(piece).collect(),
                    };
                    let kind = match custom.grammar(result.name) {
                        Some(_) => "custom_tool_call_output",
                        None => "function_call_output",
                    };
                    json!({
                        "type": kind,
                        "call_id": result.id,
                        "output": output,
                    })
                }));
            }
        }
    }
    items
}

/// What a result shows, with a word in front where the call failed: there is no other place for that.
fn marked<'a>(result: &'a HistoryResult<'_>) -> impl Iterator<Item = UserPart<'a>> {
    let failed = result.is_error.then_some(UserPart::Text("Error:"));
    failed.into_iter().chain(result.shown.iter().copied())
}

fn piece(piece: UserPart<'_>) -> Value {
    let url = match piece {
        UserPart::Text(text) => return json!({ "type": "input_text", "text": text }),
        UserPart::Image(MessageImage::Data { media_type, base64 }) => {
            format!("data:{media_type};base64,{base64}")
        }
        UserPart::Image(MessageImage::Url(url)) => url.clone(),
        UserPart::Document(document) => {
            let data = format!("data:{};base64,{}", document.media_type, document.base64);
            let name = &document.name;
            return json!({ "type": "input_file", "filename": name, "file_data": data });
        }
    };
    json!({ "type": "input_image", "image_url": url, "detail": "auto" })
}

/// Items go without their ids: the provider would look for them among what it has kept.
fn item(said: &AssistantPart<'_>, custom: CustomTools<'_>) -> Option<Value> {
    Some(match said {
        AssistantPart::Text { text, native } => {
            // As a plain string: a list of `output_text` would want ids and annotations.
            let mut item = json!({ "type": "message", "role": "assistant", "content": text });
            if let Some(phase) = native.and_then(|native| native.get("phase")) {
                item["phase"] = phase.clone();
            }
            item
        }
        AssistantPart::File { .. } => {
            json!({ "type": "message", "role": "assistant", "content": FILE_MADE })
        }
        AssistantPart::Reasoning { native, .. } => {
            // Without its content the provider would look for it among what it has kept.
            let whole = native["encrypted_content"].is_string()
                || native["content"]
                    .as_array()
                    .is_some_and(|list| !list.is_empty());
            return whole.then(|| (*native).clone());
        }
        AssistantPart::Call(call) if custom.grammar(call.name).is_some() => json!({
            "type": "custom_tool_call",
            "call_id": call.id,
            "name": call.name,
            "input": free_text(call.input),
        }),
        AssistantPart::Call(call) => json!({
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": call.input.to_string(),
        }),
    })
}

/// The text that is a call's input; of one that has none, all of it.
fn free_text(input: &Value) -> Cow<'_, str> {
    match input[FREE_TEXT_FIELD].as_str() {
        Some(text) => Cow::Borrowed(text),
        None => Cow::Owned(input.to_string()),
    }
}
