//! The log lines of a call, `tool> name {…}` and `tool< name {…}`: for people who watch, so that they say how
//! much there was rather than all of it. A call that failed has no second line, its `tool_error` says why (but
//! for a sub-agent's, which has none); one of a tool that there is not has no line at all.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value, json};
use vocabulary::{Effects, SubAgent, Subject, ToolCall, ToolOutcome, ToolOutput};

use super::tools::{log, output};
use crate::Frame;
use crate::cowork::sanitize::shortened;
use crate::frame::frame;

/// How much of a call's input or output, or of an error, a log line shows.
pub const LOGGED_CHARS_MAX: usize = 4000;

pub fn reached(session: &str, call: &ToolCall) -> Option<Frame> {
    // What every tool that there is says of its calls is more than this.
    if call.subject == Subject::Other && call.effects == Effects::NONE {
        return None;
    }
    let input = match call.changes_files() {
        true => Cow::Owned(without_contents(call)),
        false => Cow::Borrowed(&call.input),
    };
    Some(line(session, call, "tool>", &input))
}

/// The line of a call that has ended well, or was denied or interrupted.
pub fn finished(session: &str, call: &ToolCall, outcome: &ToolOutcome) -> Option<Frame> {
    match outcome {
        ToolOutcome::Succeeded(given)
        | ToolOutcome::Denied(given)
        | ToolOutcome::Interrupted(given) => Some(line(session, call, "tool<", &said(call, given))),
        // Nothing else is told of it.
        ToolOutcome::Failed { error } if call.agent.is_some() => {
            Some(line(session, call, "tool<", &json!({ "error": error })))
        }
        ToolOutcome::Failed { .. } | ToolOutcome::NotRun { .. } => None,
    }
}

/// What came of a call, in a few words.
fn said(call: &ToolCall, given: &ToolOutput) -> Value {
    match (given, &call.subject) {
        (ToolOutput::Text(text), Subject::Question) => json!({ "answer": text }),
        (_, Subject::Plan) => {
            let steps = call.input.get("todos").and_then(Value::as_array);
            json!({ "count": steps.map_or(0, Vec::len) })
        }
        (ToolOutput::Files { .. }, _) => json!({ "ok": true }),
        (ToolOutput::Text(text), _) => json!({ "chars": text.chars().count() }),
        (ToolOutput::Content(_), _) => json!({ "chars": given.words().chars().count() }),
        (ToolOutput::Command { .. } | ToolOutput::Json(_), _) => {
            serde_json::to_value(output(given)).unwrap_or_default()
        }
    }
}

/// The call of a file's change: which files they are, and of each other text how long it is.
fn without_contents(call: &ToolCall) -> Value {
    let files = call.subject.files();
    let is_path = |text: &str| files.iter().any(|file| file.path == text);
    let Value::Object(fields) = &call.input else {
        return json!({});
    };
    let mut shown = Map::new();
    let mut names_file = false;
    for (name, value) in fields {
        let value = match value {
            Value::String(text) if is_path(text) => {
                names_file = true;
                value.clone()
            }
            Value::String(text) => json!({ "chars": text.chars().count() }),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
            Value::Array(items) => json!({ "count": items.len() }),
            Value::Object(fields) => json!({ "count": fields.len() }),
        };
        shown.insert(name.clone(), value);
    }
    // A patch has its paths within its text.
    if !names_file {
        let paths = files.iter().map(|file| Value::from(file.path.as_str()));
        shown.insert("files".to_owned(), paths.collect());
    }
    Value::Object(shown)
}

/// One of a sub-agent says whose it is.
fn line(session: &str, call: &ToolCall, arrow: &str, value: &impl Serialize) -> Frame {
    let (tool, json) = (&call.name, frame(value, 0));
    let json = shortened(Cow::Owned(json), LOGGED_CHARS_MAX);
    let line = match call.agent.as_deref() {
        Some(SubAgent { kind, .. }) => format!("[sub:{kind}] {arrow} {tool} {json}"),
        None => format!("{arrow} {tool} {json}"),
    };
    log(session, &line)
}
