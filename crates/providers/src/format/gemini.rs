//! Google's `streamGenerateContent`: how a request is written.

mod decode;

use serde_json::{Map, Value, json};
use vocabulary::SummaryDetail;

use super::history::{AssistantPart, HistoryCall, HistoryResult, HistoryTurn, UserPart, turns};
use super::{Outgoing, RequestTarget, Wire, arguments, family};
use crate::{MessageImage, ModelRequest, ToolSpec};

pub(super) use decode::GeminiDecoder;

/// Since this version the first call of a step is not taken without its signature.
const SIGNED_SINCE: (u32, u32) = (3, 0);
/// Since this version models think, and can be asked for a summary of it.
const THINKS_SINCE: (u32, u32) = (2, 5);
/// Before this version all but the largest models take the smallest level, since then only the
/// lightest do.
const MINIMAL_UNTIL: (u32, u32) = (3, 7);
/// What the provider takes for the signature of a call that another model made.
const UNSIGNED: &str = "skip_thought_signature_validator";

pub(super) fn encode(request: &ModelRequest, target: &RequestTarget) -> Outgoing {
    let version = family::version_or_newest(&request.model, "gemini");
    let mut body = json!({ "contents": contents(request, target, version) });
    if !request.system.trim().is_empty() {
        body["systemInstruction"] = json!({ "parts": [{ "text": request.system }] });
    }
    if !request.tools.is_empty() {
        let declarations: Vec<_> = request.tools.iter().map(declaration).collect();
        body["tools"] = json!([{ "functionDeclarations": declarations }]);
        if request.no_calls {
            body["toolConfig"] = json!({ "functionCallingConfig": { "mode": "NONE" } });
        }
    }
    let mut config = Map::new();
    if let Some(tokens) = request.max_output_tokens {
        config.insert("maxOutputTokens".to_owned(), json!(tokens));
    }
    if let Some(thinking) = thinking(request, version) {
        config.insert("thinkingConfig".to_owned(), thinking);
    }
    if !config.is_empty() {
        body["generationConfig"] = Value::Object(config);
    }
    let model = percent_encoded(request.model.trim_start_matches("models/"));
    Outgoing {
        path: format!("models/{model}:streamGenerateContent?alt=sse"),
        headers: Wire::Gemini.headers(),
        body,
    }
}

/// `parametersJsonSchema` takes JSON Schema as it is; `parameters` knows a part of OpenAPI only and
/// refuses `additionalProperties`, `$ref` and the like.
fn declaration(spec: &ToolSpec) -> Value {
    json!({
        "name": spec.name,
        "description": spec.description,
        "parametersJsonSchema": spec.parameters,
    })
}

/// A model that does not think refuses to be told how to.
fn thinking(request: &ModelRequest, version: Option<(u32, u32)>) -> Option<Value> {
    let thinks = version.is_some_and(|version| version >= THINKS_SINCE);
    let effort = request.effort.as_deref();
    if !thinks && effort.is_none() {
        return None;
    }
    let shown = request.summary != Some(SummaryDetail::None);
    let mut config = json!({ "includeThoughts": shown });
    let Some(effort) = effort else {
        return Some(config);
    };
    match version.is_none_or(|version| version >= SIGNED_SINCE) {
        true => config["thinkingLevel"] = json!(level(effort, takes_minimal(request, version))),
        false => config["thinkingBudget"] = json!(budget(effort, request.model.contains("pro"))),
    }
    Some(config)
}

/// The larger models cannot do without thinking.
fn takes_minimal(request: &ModelRequest, version: Option<(u32, u32)>) -> bool {
    let named = |name| request.model.contains(name);
    let early = version.is_none_or(|version| version < MINIMAL_UNTIL);
    named("flash-lite") || (early && !named("pro"))
}

fn level(effort: &str, takes_minimal: bool) -> &'static str {
    match effort {
        "none" | "off" | "minimal" if takes_minimal => "minimal",
        "none" | "off" | "minimal" | "low" => "low",
        "medium" => "medium",
        _ => "high",
    }
}

fn budget(effort: &str, large: bool) -> u32 {
    match effort {
        "none" | "off" if !large => 0,
        "none" | "off" | "minimal" => 512,
        "low" => 2_048,
        "medium" => 8_192,
        _ => 24_576,
    }
}

fn contents(
    request: &ModelRequest,
    target: &RequestTarget,
    version: Option<(u32, u32)>,
) -> Vec<Value> {
    let signed = version.is_some_and(|version| version >= SIGNED_SINCE);
    let mut contents = Vec::new();
    for turn in turns(request, Wire::Gemini, target) {
        match turn {
            HistoryTurn::User(pieces) => {
                let parts: Vec<_> = pieces.iter().map(piece).collect();
                contents.push(json!({ "role": "user", "parts": parts }));
            }
            HistoryTurn::Assistant { said, results } => {
                contents.push(json!({ "role": "model", "parts": model_parts(&said, signed) }));
                if !results.is_empty() {
                    let images = results.iter().flat_map(HistoryResult::images);
                    let images: Vec<_> = images.map(|image| piece(&image)).collect();
                    let parts: Vec<_> = results.iter().map(result).chain(images).collect();
                    contents.push(json!({ "role": "user", "parts": parts }));
                }
            }
        }
    }
    contents
}

fn piece(piece: &UserPart<'_>) -> Value {
    match piece {
        UserPart::Text(text) => json!({ "text": text }),
        UserPart::Image(MessageImage::Data { media_type, base64 }) => {
            json!({ "inlineData": { "mimeType": media_type, "data": base64 } })
        }
        UserPart::Document(document) => {
            let (media_type, data) = (&document.media_type, &document.base64);
            json!({ "inlineData": { "mimeType": media_type, "data": data } })
        }
        UserPart::Image(MessageImage::Url(url)) => {
            json!({ "fileData": { "mimeType": media_type(url), "fileUri": url } })
        }
    }
}

/// The format wants to know, and a URL says so by its ending only.
fn media_type(url: &str) -> &'static str {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let ending = path.rsplit('.').next().unwrap_or("");
    match ending.to_ascii_lowercase().as_str() {
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "gif" => "image/gif",
        "heic" => "image/heic",
        _ => "image/png",
    }
}

fn model_parts(said: &[AssistantPart<'_>], signed: bool) -> Vec<Value> {
    let mut unsigned = signed;
    said.iter()
        .map(|each| match each {
            AssistantPart::Text { text, native } => with_native(json!({ "text": text }), *native),
            AssistantPart::Reasoning { text, native } => {
                with_native(json!({ "text": text }), Some(native))
            }
            AssistantPart::File {
                media_type,
                base64,
                native,
            } => {
                let data = json!({ "mimeType": media_type, "data": base64 });
                with_native(json!({ "inlineData": data }), *native)
            }
            AssistantPart::Call(each) => {
                let mut part = call(each);
                if std::mem::take(&mut unsigned) && part["thoughtSignature"].is_null() {
                    part["thoughtSignature"] = json!(UNSIGNED);
                }
                part
            }
        })
        .collect()
}

/// The native value of a part is the part without what it says.
fn with_native(mut part: Value, native: Option<&Value>) -> Value {
    for field in ["thought", "thoughtSignature"] {
        if let Some(value) = native.and_then(|native| native.get(field)) {
            part[field] = value.clone();
        }
    }
    part
}

fn call(call: &HistoryCall<'_>) -> Value {
    let mut function = json!({ "name": call.name, "args": arguments::object(call.input) });
    set_id(&mut function, call.native);
    with_native(json!({ "functionCall": function }), call.native)
}

fn result(outcome: &HistoryResult<'_>) -> Value {
    let field = if outcome.is_error { "error" } else { "output" };
    let mut function = json!({ "name": outcome.name, "response": { field: outcome.text } });
    set_id(&mut function, outcome.native);
    json!({ "functionResponse": function })
}

/// Ids are sent only where the provider gave them: not all who speak the format know the field.
fn set_id(function: &mut Value, native: Option<&Value>) {
    if let Some(id) = native.and_then(|native| native.get("id")) {
        function["id"] = id.clone();
    }
}

fn percent_encoded(model: &str) -> String {
    let mut encoded = String::new();
    for byte in model.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}
