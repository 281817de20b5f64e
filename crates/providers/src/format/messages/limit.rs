//! How much a model may write in one answer: the format demands a number.

use serde_json::Value;

use crate::ModelRequest;
use crate::format::{RequestTarget, family};

/// Asked for at least, however long the conversation seems: its length is an estimate, and a
/// service that finds it too long says so.
const ANSWER_TOKENS_MIN: u64 = 4_096;
/// Rather too few, so that the estimate is rather too high.
const BYTES_PER_TOKEN: u64 = 3;
/// What a picture of the largest size that is not made smaller counts.
const PICTURE_TOKENS: u64 = 1_600;
/// A document has at most twenty pages, and each is a picture and its text.
const DOCUMENT_PICTURES: u64 = 40;

/// All that the model can write, as far as the conversation leaves room for it. `body`: the request
/// as far as it is written.
pub(super) fn max_tokens(request: &ModelRequest, target: &RequestTarget, body: &Value) -> u64 {
    if let Some(wished) = request.max_output_tokens {
        return wished;
    }
    let output = target.model.output;
    let output = output.unwrap_or_else(|| output_by_name(&request.model));
    let Some(context) = target.model.context else {
        return output;
    };
    let room = context.saturating_sub(tokens(body));
    output.min(room.max(ANSWER_TOKENS_MIN))
}

/// For models that no catalog knows.
fn output_by_name(model: &str) -> u64 {
    match family::version_or_newest(model, "claude") {
        Some(version) if version >= (4, 5) => 64_000,
        Some(version) if version >= (4, 0) && model.contains("opus") => 32_000,
        Some(version) if version >= (4, 0) => 64_000,
        // What every model of the format can write.
        Some(_) | None => 8_192,
    }
}

fn tokens(value: &Value) -> u64 {
    let mut pictures = 0;
    let bytes = bytes(value, &mut pictures);
    bytes / BYTES_PER_TOKEN + pictures * PICTURE_TOKENS
}

fn bytes(value: &Value, pictures: &mut u64) -> u64 {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
        Value::String(text) => text.len() as u64,
        Value::Array(values) => values.iter().map(|each| bytes(each, pictures)).sum(),
        Value::Object(fields) if fields.get("type").is_some_and(|kind| kind == "image") => {
            *pictures += 1;
            0
        }
        Value::Object(fields) if fields.get("type").is_some_and(|kind| kind == "document") => {
            *pictures += DOCUMENT_PICTURES;
            0
        }
        Value::Object(fields) => fields
            .iter()
            .map(|(name, each)| name.len() as u64 + bytes(each, pictures))
            .sum(),
    }
}
