//! Tool calls: planned, reached, finished; and log lines.

use std::borrow::Cow;

use vocabulary::{ToolCall, ToolOutcome, ToolOutput};

use super::chunks::Chunks;
use super::log_lines;
use crate::Frame;
use crate::content::mcp_content;
use crate::cowork::wire::ServerEvent;
use crate::cowork::wire::conversation::Log;
use crate::cowork::wire::part::{Output, Part, ToolCallPart};

pub fn planned(chunks: Chunks<'_>, call: &ToolCall) -> Vec<Frame> {
    let tool_call = Part::ToolCall(ToolCallPart {
        tool_call_id: &call.call_id,
        tool_name: &call.name,
        input: Cow::Borrowed(&call.input),
    });
    vec![
        chunks.first(Part::ToolInputEnd { id: &call.call_id }),
        chunks.second(tool_call),
    ]
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
            error: Cow::Borrowed(error),
        },
        ToolOutcome::NotRun { .. } => return Vec::new(),
    };
    let log = log_lines::finished(chunks.session, call, outcome);
    log.into_iter().chain([chunks.first(part)]).collect()
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
            stdout: Cow::Borrowed(stdout),
            stderr: Cow::Borrowed(stderr),
            exit_code: *exit_code,
        },
        ToolOutput::Json(value) => Output::Json(Cow::Borrowed(value)),
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
