//! Calls of tools as items: what they are about, how they ended, what they gave.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use vocabulary::{Subject, ThreadCard, ToolCall, ToolOutcome, ToolOutput};

use super::web;
use crate::pioneer::wire::item::{
    OutcomeStatus, OutputPolicy, Tool, ToolCallStatus, ToolDisplayPayload, ToolOutcomeView,
    ToolOutputPolicySnapshot, ToolStoragePayload, TurnItem,
};
use crate::pioneer::wire::recovery::TurnItemType;
use crate::pioneer::wire::turn::ItemDeltaStream;

/// What a tool keeps of its output at most.
const OUTPUT_BYTES_MAX: u64 = 400_000;

/// How a call ended, and how long it ran if it did.
#[derive(Clone, Copy)]
pub struct CallEnd<'a> {
    pub outcome: &'a ToolOutcome,
    pub duration_ms: Option<u64>,
}

/// What kind of item a call is.
pub fn item_type(call: &ToolCall) -> TurnItemType {
    match &call.subject {
        Subject::Command { .. } => TurnItemType::CommandExecution,
        Subject::Files(_) if call.effects.writes => TurnItemType::FileChange,
        Subject::Search { .. } => TurnItemType::WebSearch,
        Subject::Web { .. } => TurnItemType::WebFetch,
        Subject::Files(_)
        | Subject::Agent { .. }
        | Subject::Mcp { .. }
        | Subject::Question
        | Subject::Plan
        | Subject::Other => TurnItemType::DynamicToolCall,
    }
}

pub fn call_started<'a>(card: &'a ThreadCard, call: &'a ToolCall) -> TurnItem<'a> {
    let display = ToolDisplayPayload::Progress {
        stage: "started",
        metadata: empty(),
    };
    let tool = Tool {
        id: call.item.as_str(),
        tool_name: &call.name,
        arguments: Cow::Borrowed(&call.input),
        status: ToolCallStatus::InProgress,
        output_policy: policy(),
        display,
        storage: ToolStoragePayload::None,
    };
    item(tool, card, call, None)
}

pub fn call_ended<'a>(
    card: &'a ThreadCard,
    call: &'a ToolCall,
    outcome: &'a ToolOutcome,
    duration_ms: Option<u64>,
) -> TurnItem<'a> {
    let end = CallEnd {
        outcome,
        duration_ms,
    };
    let tool = Tool {
        id: call.item.as_str(),
        tool_name: &call.name,
        arguments: Cow::Borrowed(&call.input),
        status: match succeeded(outcome) {
            true => ToolCallStatus::Completed,
            false => ToolCallStatus::Failed,
        },
        output_policy: policy(),
        display: display(call.title(), end),
        storage: ToolStoragePayload::Summary {
            title: call.title(),
            metadata: metadata(end),
            truncated: false,
        },
    };
    item(tool, card, call, Some(end))
}

/// What a call wrote, for its deltas in history.
pub fn outputs(outcome: &ToolOutcome) -> Vec<(&str, ItemDeltaStream)> {
    let all = match given(outcome) {
        Some(ToolOutput::Command { stdout, stderr, .. }) => vec![
            (stdout.as_str(), ItemDeltaStream::Stdout),
            (stderr.as_str(), ItemDeltaStream::Stderr),
        ],
        Some(ToolOutput::Files { summary, .. }) => {
            vec![(summary.as_str(), ItemDeltaStream::FileChange)]
        }
        Some(ToolOutput::Text(text)) => vec![(text.as_str(), ItemDeltaStream::ToolProgress)],
        Some(ToolOutput::Json(_) | ToolOutput::Content(_)) | None => Vec::new(),
    };
    all.into_iter()
        .filter(|(text, _)| !text.is_empty())
        .collect()
}

fn item<'a>(
    tool: Tool<'a>,
    card: &'a ThreadCard,
    call: &'a ToolCall,
    end: Option<CallEnd<'a>>,
) -> TurnItem<'a> {
    let success = end.map(|end| succeeded(end.outcome));
    let outcome = end.map(|end| judged(end.outcome));
    match &call.subject {
        // A command line is run by a shell.
        Subject::Command { line, directory } => TurnItem::CommandExecution {
            tool,
            command: match line.as_str() {
                "" => Vec::new(),
                line => vec!["bash", "-c", line],
            },
            cwd: Some(match directory {
                Some(directory) => Cow::Borrowed(directory.as_str()),
                None => card.directory.to_string_lossy(),
            }),
            success,
            outcome,
        },
        Subject::Files(_) if call.effects.writes => TurnItem::FileChange {
            tool,
            changed_files: end
                .map(|end| changed_files(end.outcome))
                .unwrap_or_default(),
            success,
            outcome,
        },
        Subject::Search { query } => {
            let results = end.map(|end| web::results(words(end.outcome)));
            TurnItem::WebSearch {
                tool,
                query,
                took_ms: end.and_then(|end| end.duration_ms),
                result_count: results
                    .as_ref()
                    .filter(|_| success == Some(true))
                    .map(Vec::len),
                results: results.unwrap_or_default(),
                success,
            }
        }
        Subject::Web { url } => {
            let page = end.map(|end| words(end.outcome)).unwrap_or_default();
            let was_read = success == Some(true);
            TurnItem::WebFetch {
                tool,
                url,
                final_url: was_read.then(|| web::redirected(page).unwrap_or(url)),
                elapsed_ms: end.and_then(|end| end.duration_ms),
                word_count: was_read.then(|| page.split_whitespace().count()),
                links: if was_read {
                    web::links(page)
                } else {
                    Vec::new()
                },
                success,
            }
        }
        Subject::Files(_)
        | Subject::Agent { .. }
        | Subject::Mcp { .. }
        | Subject::Question
        | Subject::Plan
        | Subject::Other => TurnItem::DynamicToolCall {
            tool,
            success,
            outcome,
        },
    }
}

fn changed_files(outcome: &ToolOutcome) -> Vec<&str> {
    match given(outcome) {
        Some(ToolOutput::Files { changes, .. }) => {
            changes.iter().map(|change| change.path.as_str()).collect()
        }
        Some(
            ToolOutput::Text(_)
            | ToolOutput::Command { .. }
            | ToolOutput::Json(_)
            | ToolOutput::Content(_),
        )
        | None => Vec::new(),
    }
}

fn given(outcome: &ToolOutcome) -> Option<&ToolOutput> {
    match outcome {
        ToolOutcome::Succeeded(output)
        | ToolOutcome::Denied(output)
        | ToolOutcome::Interrupted(output) => Some(output),
        ToolOutcome::Failed { .. } | ToolOutcome::NotRun { .. } => None,
    }
}

/// The text that a call gave, where it gave one.
fn words(outcome: &ToolOutcome) -> &str {
    match outcome {
        ToolOutcome::Succeeded(ToolOutput::Text(text)) => text,
        ToolOutcome::Succeeded(_)
        | ToolOutcome::Failed { .. }
        | ToolOutcome::Denied(_)
        | ToolOutcome::Interrupted(_)
        | ToolOutcome::NotRun { .. } => "",
    }
}

/// A command that ran and said no has not succeeded.
fn succeeded(outcome: &ToolOutcome) -> bool {
    match outcome {
        ToolOutcome::Succeeded(ToolOutput::Command { exit_code, .. }) => *exit_code == 0,
        ToolOutcome::Succeeded(_) => true,
        ToolOutcome::Failed { .. }
        | ToolOutcome::Denied(_)
        | ToolOutcome::Interrupted(_)
        | ToolOutcome::NotRun { .. } => false,
    }
}

/// How a call ended in this protocol's words. The server makes no call again by itself.
fn judged(outcome: &ToolOutcome) -> ToolOutcomeView<'_> {
    let (status, error_class) = match outcome {
        _ if succeeded(outcome) => (OutcomeStatus::Ok, None),
        ToolOutcome::Succeeded(_) => (OutcomeStatus::RecoverableError, Some("exit_code")),
        ToolOutcome::Failed { .. } => (OutcomeStatus::RecoverableError, Some("tool_error")),
        ToolOutcome::Denied(_) => (OutcomeStatus::FatalError, Some("denied")),
        ToolOutcome::Interrupted(_) => (OutcomeStatus::PartialSuccess, Some("interrupted")),
        ToolOutcome::NotRun { .. } => (OutcomeStatus::FatalError, Some("not_run")),
    };
    let incomplete_reason = match outcome {
        ToolOutcome::Interrupted(_) => Some("it was interrupted"),
        ToolOutcome::NotRun { why } => Some(why.as_str()),
        ToolOutcome::Succeeded(_) | ToolOutcome::Failed { .. } | ToolOutcome::Denied(_) => None,
    };
    ToolOutcomeView {
        status,
        error_class,
        should_retry: false,
        incomplete: incomplete_reason.is_some(),
        incomplete_reason,
    }
}

fn display<'a>(title: &'a str, end: CallEnd<'a>) -> ToolDisplayPayload<'a> {
    let line = match end.outcome {
        ToolOutcome::Failed { error } => Cow::Borrowed(error.as_str()),
        ToolOutcome::NotRun { why } => Cow::Borrowed(why.as_str()),
        ToolOutcome::Succeeded(output)
        | ToolOutcome::Denied(output)
        | ToolOutcome::Interrupted(output) => match output {
            ToolOutput::Command {
                stdout,
                stderr,
                exit_code,
                duration_ms,
                // For models.
                model_text: _,
            } => {
                return ToolDisplayPayload::Shell {
                    stdout,
                    stderr,
                    exit_code: *exit_code,
                    duration_ms: *duration_ms,
                    truncated: false,
                };
            }
            ToolOutput::Text(_)
            | ToolOutput::Files { .. }
            | ToolOutput::Json(_)
            | ToolOutput::Content(_) => output.words(),
        },
    };
    ToolDisplayPayload::Summary {
        title,
        lines: vec![line],
        metadata: metadata(end),
        truncated: false,
    }
}

fn metadata(end: CallEnd<'_>) -> Value {
    let mut known = Map::new();
    if let Some(ms) = end.duration_ms {
        known.insert("duration_ms".to_owned(), json!(ms));
    }
    if let Some(ToolOutput::Command { exit_code, .. }) = given(end.outcome) {
        known.insert("exit_code".to_owned(), json!(exit_code));
    }
    Value::Object(known)
}

/// The same for all: the model and the timeline get all that a tool keeps, the log keeps it, and deltas are
/// shown and not kept.
fn policy() -> ToolOutputPolicySnapshot {
    let max_bytes = OUTPUT_BYTES_MAX;
    let full = OutputPolicy::Full { max_bytes };
    ToolOutputPolicySnapshot {
        llm: full,
        llm_retention: OutputPolicy::UntilTurnTerminal { max_bytes },
        timeline: full,
        storage: full,
        recovery: OutputPolicy::None,
        deltas: OutputPolicy::ProgressOnly,
    }
}

fn empty() -> Value {
    Value::Object(Map::new())
}
