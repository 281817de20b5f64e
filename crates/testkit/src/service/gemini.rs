//! Google's `streamGenerateContent`, as the third generation of Gemini is served.

use serde_json::{Value, json};

use super::{RequestRefused, ScriptedAnswer, Vendor, data, list};

/// What it takes for the signature of a call that another model made.
const UNSIGNED: &str = "skip_thought_signature_validator";

pub(super) fn check(body: &Value) -> Result<(), RequestRefused> {
    let contents = list(&body["contents"]);
    for (at, content) in contents.iter().enumerate() {
        let parts = list(&content["parts"]);
        if parts.is_empty() {
            return Err(refused("contents.parts must not be empty."));
        }
        for part in parts {
            let signature = &part["thoughtSignature"];
            if !signature.is_null() && signature != UNSIGNED && !Vendor::Google.sealed(signature) {
                return Err(refused("Thought signature is not valid."));
            }
        }
        let calls = named_parts(parts, "functionCall");
        let before = at.checked_sub(1).map(|before| &contents[before]["role"]);
        if !calls.is_empty() && before.is_none_or(|role| role != "user") {
            return Err(refused(
                "Please ensure that function call turn comes immediately after a user turn or after a \
                 function response turn.",
            ));
        }
        let signed = parts.iter().find(|part| part["functionCall"].is_object());
        if signed.is_some_and(|first| first["thoughtSignature"].is_null()) {
            return Err(refused(
                "Function call is missing a thought_signature in functionCall parts. This is required \
                 for tools to work correctly.",
            ));
        }
        let next = contents
            .get(at + 1)
            .map_or(&[][..], |next| list(&next["parts"]));
        if calls != named_parts(next, "functionResponse") {
            return Err(refused(
                "Please ensure that the number of function response parts is equal to the number of \
                 function call parts of the function call turn.",
            ));
        }
    }
    Ok(())
}

/// The names in parts of this kind, in their order.
fn named_parts<'a>(parts: &'a [Value], kind: &str) -> Vec<&'a Value> {
    let of_kind = parts.iter().filter(|part| part[kind].is_object());
    of_kind.map(|part| &part[kind]["name"]).collect()
}

fn refused(message: &str) -> RequestRefused {
    RequestRefused {
        status: 400,
        body: json!({ "error": { "code": 400, "message": message, "status": "INVALID_ARGUMENT" } }),
    }
}

pub(super) fn write(answer: &ScriptedAnswer) -> String {
    let mut parts = Vec::new();
    if let Some(thought) = &answer.thought {
        parts.push(json!({ "text": thought.text, "thought": true }));
    }
    let seal = answer.thought.as_ref().map(|thought| &thought.seal);
    let mut text = json!({ "text": answer.text });
    // The signature is with the first call; in an answer without calls, with its text.
    if let (Some(seal), true) = (seal, answer.calls.is_empty()) {
        text["thoughtSignature"] = json!(seal);
    }
    parts.push(text);
    for (at, call) in answer.calls.iter().enumerate() {
        let function = json!({ "name": call.name, "args": call.input, "id": call.id });
        let mut part = json!({ "functionCall": function });
        if let (Some(seal), 0) = (seal, at) {
            part["thoughtSignature"] = json!(seal);
        }
        parts.push(part);
    }
    let last = parts.len() - 1;
    data(parts.into_iter().enumerate().map(|(at, part)| {
        let content = json!({ "role": "model", "parts": [part] });
        match at == last {
            false => json!({ "candidates": [{ "index": 0, "content": content }] }),
            true => json!({
                "candidates": [{ "index": 0, "content": content, "finishReason": "STOP" }],
                "usageMetadata": {
                    "promptTokenCount": answer.input_tokens, "candidatesTokenCount": 20,
                    "totalTokenCount": answer.input_tokens + 20,
                },
            }),
        }
    }))
}
