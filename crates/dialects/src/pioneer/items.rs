//! Facts as items of a turn.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use vocabulary::{
    Image, IndexedTurn, Item, ItemId, ReasoningKind, StreamTag, Subject, ThreadCard, ToolCall,
    ToolOutcome, ToolOutput, TurnId, TurnOutcome, UserInput,
};

use super::wire::item::{
    Attachment, OutputPolicy, SystemEventLevel, Tool, ToolCallStatus, ToolDisplayPayload,
    ToolOutputPolicySnapshot, ToolStoragePayload, TurnItem,
};
use super::wire::turn::{ItemDeltaStream, Turn, TurnStatus};
use crate::images;

/// What a tool keeps of its output at most.
const OUTPUT_BYTES_MAX: u64 = 400_000;

pub fn running(turn: &TurnId) -> Turn<'_> {
    Turn {
        id: Cow::Borrowed(turn.as_str()),
        status: TurnStatus::InProgress,
        error: None,
    }
}

pub fn ended<'a>(turn: &'a TurnId, outcome: &'a TurnOutcome) -> Turn<'a> {
    let (status, error) = match outcome {
        TurnOutcome::Completed => (TurnStatus::Completed, None),
        TurnOutcome::Cancelled => (TurnStatus::Interrupted, None),
        TurnOutcome::Failed(error) => (TurnStatus::Failed, Some(Cow::from(&error.message))),
    };
    Turn {
        id: Cow::Borrowed(turn.as_str()),
        status,
        error,
    }
}

pub fn indexed(turn: &IndexedTurn) -> Turn<'_> {
    match &turn.ended {
        Some(end) => ended(&turn.turn, &end.outcome),
        None => running(&turn.turn),
    }
}

pub fn user_message(input: &UserInput) -> TurnItem<'_> {
    TurnItem::UserMessage {
        id: input.item.as_str(),
        text: input.shown(),
        attachments: input.images.iter().map(attachment).collect(),
    }
}

fn attachment(image: &Image) -> Attachment<'_> {
    match images::show(image) {
        images::ImageLink::Url(url) => Attachment::Image { url },
        images::ImageLink::Path(path) => Attachment::LocalImage { path },
    }
}

pub fn compacted<'a>(item: &'a ItemId, summary: &str, tokens_before: u64) -> TurnItem<'a> {
    TurnItem::SystemEvent {
        id: Cow::Borrowed(item.as_str()),
        level: SystemEventLevel::Info,
        message: Cow::Borrowed("What was said before is now a summary for the model."),
        code: "context_compressed",
        details: json!({ "summary": summary, "tokensBefore": tokens_before }),
    }
}

/// A request that is made again. It has no item of its own, so its place is its id.
pub fn delayed(tag: &StreamTag, attempt: u32, delay_ms: u64, error: &str) -> TurnItem<'static> {
    let (turn, step) = (&tag.turn, tag.step);
    let seconds = delay_ms.div_ceil(1000);
    TurnItem::SystemEvent {
        id: Cow::Owned(format!("{turn}-retry-{step}-{attempt}")),
        level: SystemEventLevel::Warning,
        message: Cow::Owned(format!("{error}; trying again in {seconds} s")),
        code: "retry_scheduled",
        details: json!({ "attemptNumber": attempt, "delayMs": delay_ms }),
    }
}

pub fn agent_message<'a>(item: &'a ItemId, text: &'a str) -> TurnItem<'a> {
    let id = item.as_str();
    TurnItem::AgentMessage { id, text }
}

/// With no text yet, or with all of it.
pub fn reasoning<'a>(item: &'a ItemId, kind: ReasoningKind, text: Option<&'a str>) -> TurnItem<'a> {
    let text: Vec<&str> = text.into_iter().filter(|text| !text.is_empty()).collect();
    let (summary, content) = match kind {
        ReasoningKind::Summary => (text, Vec::new()),
        ReasoningKind::Reasoning => (Vec::new(), text),
    };
    TurnItem::Reasoning {
        id: item.as_str(),
        summary,
        content,
    }
}

/// A finished item, its text, and the stream that text belongs to. A file that the model made has no
/// place in this protocol, and neither have the ends of a review: what was found is said in words, too.
pub fn written<'a>(
    item: &'a ItemId,
    body: &'a Item,
) -> Option<(TurnItem<'a>, &'a str, ItemDeltaStream)> {
    match body {
        Item::AgentMessage { text, .. } | Item::Plan { text, .. } => Some((
            agent_message(item, text),
            text,
            ItemDeltaStream::AgentMessage,
        )),
        Item::Reasoning { kind, text, .. } => Some((
            reasoning(item, *kind, Some(text)),
            text,
            ItemDeltaStream::Generic,
        )),
        Item::File { .. } | Item::ReviewEntered { .. } | Item::ReviewExited { .. } => None,
    }
}

/// The same item before anything was written.
pub fn unwritten<'a>(item: &'a ItemId, body: &'a Item) -> Option<TurnItem<'a>> {
    match body {
        Item::AgentMessage { .. } | Item::Plan { .. } => Some(agent_message(item, "")),
        Item::Reasoning { kind, .. } => Some(reasoning(item, *kind, None)),
        Item::File { .. } | Item::ReviewEntered { .. } | Item::ReviewExited { .. } => None,
    }
}

pub fn call_started<'a>(card: &'a ThreadCard, call: &'a ToolCall) -> TurnItem<'a> {
    let display = ToolDisplayPayload::Progress {
        stage: "started",
        metadata: empty(),
    };
    let tool = tool(call, ToolCallStatus::InProgress, display);
    item(tool, card, call, None)
}

pub fn call_ended<'a>(
    card: &'a ThreadCard,
    call: &'a ToolCall,
    outcome: &'a ToolOutcome,
) -> TurnItem<'a> {
    let status = match succeeded(outcome) {
        true => ToolCallStatus::Completed,
        false => ToolCallStatus::Failed,
    };
    let tool = tool(call, status, display(call.title(), outcome));
    item(tool, card, call, Some(outcome))
}

fn tool<'a>(
    call: &'a ToolCall,
    status: ToolCallStatus,
    display: ToolDisplayPayload<'a>,
) -> Tool<'a> {
    Tool {
        id: call.item.as_str(),
        tool_name: &call.name,
        arguments: Cow::Borrowed(&call.input),
        status,
        output_policy: policy(call),
        display,
        storage: ToolStoragePayload::None,
    }
}

/// What a command wrote, for its one delta in history.
pub fn output(outcome: &ToolOutcome) -> Option<(&str, ItemDeltaStream)> {
    match given(outcome)? {
        ToolOutput::Command { stdout, stderr, .. } => match (stdout.as_str(), stderr.as_str()) {
            ("", "") => None,
            ("", stderr) => Some((stderr, ItemDeltaStream::Stderr)),
            (stdout, _) => Some((stdout, ItemDeltaStream::Stdout)),
        },
        ToolOutput::Files { summary, .. } => Some((summary, ItemDeltaStream::FileChange)),
        ToolOutput::Text(text) => Some((text, ItemDeltaStream::ToolProgress)),
        ToolOutput::Json(_) | ToolOutput::Content(_) => None,
    }
}

fn item<'a>(
    tool: Tool<'a>,
    card: &'a ThreadCard,
    call: &'a ToolCall,
    outcome: Option<&'a ToolOutcome>,
) -> TurnItem<'a> {
    let success = outcome.map(succeeded);
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
        },
        Subject::Files(_) if call.effects.writes => TurnItem::FileChange {
            tool,
            changed_files: outcome.map(changed_files).unwrap_or_default(),
            success,
        },
        Subject::Files(_)
        | Subject::Web { .. }
        | Subject::Search { .. }
        | Subject::Agent { .. }
        | Subject::Mcp { .. }
        | Subject::Question
        | Subject::Plan
        | Subject::Other => TurnItem::DynamicToolCall { tool, success },
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

fn display<'a>(title: &'a str, outcome: &'a ToolOutcome) -> ToolDisplayPayload<'a> {
    let line = match outcome {
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
        metadata: empty(),
        truncated: false,
    }
}

fn policy(call: &ToolCall) -> ToolOutputPolicySnapshot {
    let max_bytes = OUTPUT_BYTES_MAX;
    let full = OutputPolicy::Full { max_bytes };
    ToolOutputPolicySnapshot {
        llm: full,
        llm_retention: OutputPolicy::UntilTurnTerminal { max_bytes },
        timeline: full,
        storage: full,
        recovery: OutputPolicy::None,
        deltas: match call.is_command() {
            true => OutputPolicy::ProgressOnly,
            false => OutputPolicy::Disabled,
        },
    }
}

fn empty() -> Value {
    Value::Object(Map::new())
}
