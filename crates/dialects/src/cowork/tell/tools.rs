//! Tool calls: planned, reached, finished; and log lines.

use serde::Serialize;
use vocabulary::{SubAgent, ToolCall, ToolOutcome, ToolOutput};

use super::chunks::Chunks;
use crate::Frame;
use crate::content::mcp_content;
use crate::cowork::wire::ServerEvent;
use crate::cowork::wire::conversation::Log;
use crate::cowork::wire::part::{Output, Part};
use crate::frame::frame;

/// How much of a call's input or output, or of an error, a log line shows.
const LOGGED_CHARS_MAX: usize = 4000;

pub fn planned(chunks: Chunks<'_>, call: &ToolCall) -> Vec<Frame> {
    let tool_call = Part::ToolCall {
        tool_call_id: &call.call_id,
        tool_name: &call.name,
        input: &call.input,
    };
    vec![
        chunks.first(Part::ToolInputEnd { id: &call.call_id }),
        chunks.second(tool_call),
    ]
}

pub fn reached(session: &str, call: &ToolCall) -> Frame {
    log_json(
        session,
        call.agent.as_deref(),
        ("tool>", &call.name),
        &call.input,
    )
}

pub fn finished(chunks: Chunks<'_>, call: &ToolCall, outcome: &ToolOutcome) -> Vec<Frame> {
    let (tool_call_id, tool_name) = (call.call_id.as_str(), call.name.as_str());
    let part = match outcome {
        ToolOutcome::Succeeded(given)
        | ToolOutcome::Denied(given)
        | ToolOutcome::Interrupted(given) => Part::ToolResult {
            tool_call_id,
            tool_name,
            output: output(given),
        },
        ToolOutcome::Failed { error } => Part::ToolError {
            tool_call_id,
            tool_name,
            error,
        },
        ToolOutcome::NotRun { .. } => return Vec::new(),
    };
    let log = finished_log(chunks.session, call, outcome);
    log.into_iter().chain([chunks.first(part)]).collect()
}

/// The log line of a call that has ended; one that never began has none.
pub fn finished_log(session: &str, call: &ToolCall, outcome: &ToolOutcome) -> Option<Frame> {
    let shown = match outcome {
        ToolOutcome::Succeeded(given)
        | ToolOutcome::Denied(given)
        | ToolOutcome::Interrupted(given) => logged(given),
        ToolOutcome::Failed { error } => Output::Failure { error },
        ToolOutcome::NotRun { .. } => return None,
    };
    Some(log_json(
        session,
        call.agent.as_deref(),
        ("tool<", &call.name),
        &shown,
    ))
}

/// As a line for people has it: pictures by their names only.
fn logged(given: &ToolOutput) -> Output<'_> {
    match given {
        ToolOutput::Content(_) => Output::Text(given.words()),
        ToolOutput::Text(_)
        | ToolOutput::Command { .. }
        | ToolOutput::Files { .. }
        | ToolOutput::Json(_) => output(given),
    }
}

/// What a tool gave back, in the shape this protocol's clients know.
pub fn output(given: &ToolOutput) -> Output<'_> {
    match given {
        ToolOutput::Text(_) | ToolOutput::Files { .. } => Output::Text(given.words()),
        ToolOutput::Command {
            stdout,
            stderr,
            exit_code,
            ..
        } => Output::Command {
            stdout,
            stderr,
            exit_code: *exit_code,
        },
        ToolOutput::Json(value) => Output::Json(value),
        ToolOutput::Content(_) => Output::Content(mcp_content(given)),
    }
}

pub fn log(session: &str, line: &str) -> Frame {
    ServerEvent::Log(Log {
        session_id: session,
        line,
    })
    .frame()
}

/// What the agent was told before it began.
pub fn instructed(session: &str, files: &[String], skills: usize, trusted: bool) -> Frame {
    let mut what = files.to_vec();
    match skills {
        0 => {}
        1 => what.push("1 skill".to_owned()),
        _ => what.push(format!("{skills} skills")),
    }
    let note = match trusted || files.is_empty() {
        true => "",
        false => " (nobody has trusted this workspace: taken as data)",
    };
    log(session, &format!("[context] {}{note}", what.join(", ")))
}

/// A call and its input or output; one of a sub-agent says whose it is.
fn log_json(
    session: &str,
    agent: Option<&SubAgent>,
    (arrow, tool): (&str, &str),
    value: &impl Serialize,
) -> Frame {
    let json = shortened(frame(value, 0));
    let line = match agent {
        Some(SubAgent { kind, .. }) => format!("[sub:{kind}] {arrow} {tool} {json}"),
        None => format!("{arrow} {tool} {json}"),
    };
    log(session, &line)
}

/// Cut where a log line would be too long, with a word on how much is missing.
pub fn shortened(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(LOGGED_CHARS_MAX) {
        let cut = text[end..].chars().count();
        text.truncate(end);
        text.push_str(&format!("...[truncated {cut} chars]"));
    }
    text
}
