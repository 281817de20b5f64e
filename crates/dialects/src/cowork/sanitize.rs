//! What of a part a stream chunk shows: long texts, deep nesting and long lists are cut, with a word on how
//! much is missing. Deltas are never cut, because clients put texts together from them; `get_messages` has
//! everything whole.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::wire::part::{Output, Part, ToolCallPart};

/// How much of a value is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartLimits {
    /// How many lists and objects may lie within each other; the part itself is the first.
    pub depth_max: usize,
    /// Items of a list, keys of an object.
    pub entries_max: usize,
    pub chars_max: usize,
}

impl PartLimits {
    /// Of every `part`, and of `rawPart` where nobody asked for more.
    pub const USUAL: Self = Self {
        depth_max: 8,
        entries_max: 128,
        chars_max: 4000,
    };
    /// Of `rawPart` in the mode `full`.
    pub const FULL: Self = Self {
        depth_max: 24,
        entries_max: 1024,
        chars_max: 20_000,
    };

    /// The same where something lies so much deeper.
    fn below(self, levels: usize) -> Self {
        Self {
            depth_max: self.depth_max.saturating_sub(levels),
            ..self
        }
    }
}

/// Stands for a list or an object that lies too deep.
const TOO_DEEP: &str = "[truncated]";

/// The part within its limits. What fits is taken as it is, without a copy.
pub fn sanitized(part: Part<'_>, limits: PartLimits) -> Part<'_> {
    let inside = limits.below(1);
    match part {
        Part::ToolCall(call) => Part::ToolCall(sanitized_call(call, limits)),
        Part::ToolApprovalRequest {
            approval_id,
            tool_call,
            tool_call_id,
            tool_name,
        } => Part::ToolApprovalRequest {
            approval_id,
            tool_call: sanitized_call(tool_call, inside),
            tool_call_id,
            tool_name,
        },
        Part::ToolResult {
            tool_call_id,
            tool_name,
            output,
        } => Part::ToolResult {
            tool_call_id,
            tool_name,
            output: sanitized_output(output, inside),
        },
        Part::ToolError {
            tool_call_id,
            tool_name,
            error,
        } => Part::ToolError {
            tool_call_id,
            tool_name,
            error: shortened(error, limits.chars_max),
        },
        Part::Error { error } => Part::Error {
            error: shortened(error, limits.chars_max),
        },
        Part::Raw { raw } => Part::Raw {
            raw: within(raw, inside),
        },
        Part::Unknown { value } => Part::Unknown {
            value: within(value, inside),
        },
        // A delta is whole, a file that is cut is none, and the others are short.
        Part::Start {}
        | Part::StartStep { .. }
        | Part::Finish { .. }
        | Part::FinishStep { .. }
        | Part::Abort { .. }
        | Part::TextStart { .. }
        | Part::TextDelta { .. }
        | Part::TextEnd { .. }
        | Part::ReasoningStart { .. }
        | Part::ReasoningDelta { .. }
        | Part::ReasoningEnd { .. }
        | Part::ToolInputStart { .. }
        | Part::ToolInputDelta { .. }
        | Part::ToolInputEnd { .. }
        | Part::ToolOutputDenied { .. }
        | Part::Source { .. }
        | Part::File { .. } => part,
    }
}

fn sanitized_call(call: ToolCallPart<'_>, limits: PartLimits) -> ToolCallPart<'_> {
    ToolCallPart {
        input: within(call.input, limits.below(1)),
        ..call
    }
}

fn sanitized_output(output: Output<'_>, limits: PartLimits) -> Output<'_> {
    let cut = |text| shortened(text, limits.chars_max);
    match output {
        Output::Text(text) => Output::Text(cut(text)),
        Output::Command {
            stdout,
            stderr,
            exit_code,
        } => Output::Command {
            stdout: cut(stdout),
            stderr: cut(stderr),
            exit_code,
        },
        Output::Json(value) => Output::Json(within(value, limits)),
        Output::Content(mut pieces) => {
            pieces.truncate(limits.entries_max);
            let pieces = pieces.into_iter();
            Output::Content(pieces.map(|piece| piece.map_text(cut)).collect())
        }
    }
}

fn within<'a>(value: Cow<'a, Value>, limits: PartLimits) -> Cow<'a, Value> {
    match fits(&value, limits) {
        true => value,
        false => Cow::Owned(cut_value(&value, limits)),
    }
}

fn fits(value: &Value, limits: PartLimits) -> bool {
    let inside = limits.below(1);
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => fits_text(text, limits.chars_max),
        Value::Array(items) => {
            let room = limits.depth_max > 0 && items.len() <= limits.entries_max;
            room && items.iter().all(|item| fits(item, inside))
        }
        Value::Object(fields) => {
            let room = limits.depth_max > 0 && fields.len() <= limits.entries_max;
            room && fields
                .iter()
                .all(|(key, value)| fits_text(key, limits.chars_max) && fits(value, inside))
        }
    }
}

fn cut_value(value: &Value, limits: PartLimits) -> Value {
    let inside = limits.below(1);
    let cut = |text: &str| shortened(Cow::Borrowed(text), limits.chars_max).into_owned();
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::String(text) => Value::String(cut(text)),
        Value::Array(_) | Value::Object(_) if limits.depth_max == 0 => TOO_DEEP.into(),
        Value::Array(items) => {
            let kept = items.iter().take(limits.entries_max);
            let mut kept: Vec<Value> = kept.map(|item| cut_value(item, inside)).collect();
            if let Some(missing) = missing(items.len(), limits.entries_max) {
                kept.push(format!("...[truncated {missing} items]").into());
            }
            Value::Array(kept)
        }
        Value::Object(fields) => {
            let kept = fields.iter().take(limits.entries_max);
            let kept = kept.map(|(key, value)| (cut(key), cut_value(value, inside)));
            let mut kept: Map<String, Value> = kept.collect();
            if let Some(missing) = missing(fields.len(), limits.entries_max) {
                let words = format!("[truncated {missing} keys]");
                kept.insert("...".to_owned(), words.into());
            }
            Value::Object(kept)
        }
    }
}

fn missing(entries: usize, entries_max: usize) -> Option<usize> {
    entries.checked_sub(entries_max).filter(|over| *over > 0)
}

fn fits_text(text: &str, chars_max: usize) -> bool {
    text.len() <= chars_max || text.char_indices().nth(chars_max).is_none()
}

/// Cut where a text is too long, with a word on how much is missing.
pub fn shortened(text: Cow<'_, str>, chars_max: usize) -> Cow<'_, str> {
    if text.len() <= chars_max {
        return text;
    }
    let Some((end, _)) = text.char_indices().nth(chars_max) else {
        return text;
    };
    let cut = text[end..].chars().count();
    Cow::Owned(format!("{}...[truncated {cut} chars]", &text[..end]))
}
