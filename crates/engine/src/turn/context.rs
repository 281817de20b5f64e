//! The model's context: the conversation so far, read from the log when a turn starts.

use providers::{Block, Message, ToolResult};
use vocabulary::{Event, Fact, Item, Refusal, ToolOutcome, ToolOutput, Why};

use super::Turn;
use crate::codec;
use crate::limits::CONTEXT_MESSAGES_MAX;

/// Reads the conversation as messages, the running turn's input last.
pub async fn load(turn: &Turn) -> Result<Vec<Message>, Refusal> {
    let newest = turn.history.message_count;
    let oldest = newest.saturating_sub(CONTEXT_MESSAGES_MAX);
    let rows = turn
        .shared
        .store
        .entries(
            turn.card.id,
            turn.history.from_ordinal,
            oldest..u64::MAX,
            u32::MAX,
        )
        .await
        .map_err(|error| Refusal::new(Why::Storage, error.to_string()))?;
    let mut messages = Vec::new();
    for (_, stored) in &rows {
        add(&mut messages, codec::decode(stored)?);
    }
    // A window that starts in the middle must not start with results nobody asked for.
    let start = messages
        .iter()
        .position(|message| matches!(message, Message::User(_)));
    messages.drain(..start.unwrap_or(0));
    Ok(messages)
}

/// Adds one entry of the transcript to the conversation.
fn add(messages: &mut Vec<Message>, event: Event) {
    match event.fact {
        Fact::TurnStarted { input, .. } => messages.push(Message::User(input.text)),
        Fact::ItemFinished { body, .. } => add_block(
            messages,
            match body {
                Item::AgentMessage { text, .. } => Block::Text(text),
                Item::Reasoning { text, .. } => Block::Reasoning(text),
            },
        ),
        Fact::ToolPlanned { call, .. } => add_block(
            messages,
            Block::ToolCall {
                call_id: call.call_id,
                name: call.name,
                input: call.input,
            },
        ),
        Fact::ToolFinished { call, outcome, .. } => add_result(
            messages,
            ToolResult {
                call_id: call.call_id,
                name: call.name,
                is_error: is_error(&outcome),
                text: model_text(&outcome),
            },
        ),
        Fact::ThreadCreated { .. }
        | Fact::TitleChanged { .. }
        | Fact::SettingsChanged { .. }
        | Fact::ArchivedChanged { .. }
        | Fact::ThreadReset
        | Fact::StatusChanged { .. }
        | Fact::ThreadClosed
        | Fact::TurnFinished { .. }
        | Fact::StepStarted { .. }
        | Fact::StepFinished { .. }
        | Fact::StepFailed { .. }
        | Fact::ItemStarted { .. }
        | Fact::ItemGrew { .. }
        | Fact::ToolReached { .. }
        | Fact::ToolStarted { .. }
        | Fact::CommandExited { .. }
        | Fact::AskOpened { .. }
        | Fact::AskProgressed { .. }
        | Fact::AskClosed { .. }
        | Fact::PlanChanged { .. }
        | Fact::Logged { .. }
        | Fact::RawReceived { .. } => {}
    }
}

pub fn add_block(messages: &mut Vec<Message>, block: Block) {
    match messages.last_mut() {
        Some(Message::Assistant(blocks)) => blocks.push(block),
        Some(Message::User(_) | Message::ToolResults(_)) | None => {
            messages.push(Message::Assistant(vec![block]));
        }
    }
}

pub fn add_result(messages: &mut Vec<Message>, result: ToolResult) {
    match messages.last_mut() {
        Some(Message::ToolResults(results)) => results.push(result),
        Some(Message::User(_) | Message::Assistant(_)) | None => {
            messages.push(Message::ToolResults(vec![result]));
        }
    }
}

pub fn is_error(outcome: &ToolOutcome) -> bool {
    match outcome {
        ToolOutcome::Succeeded(_) | ToolOutcome::Denied(_) => false,
        ToolOutcome::Failed { .. } | ToolOutcome::Interrupted(_) | ToolOutcome::NotRun { .. } => {
            true
        }
    }
}

/// What the model reads of a result.
pub fn model_text(outcome: &ToolOutcome) -> String {
    match outcome {
        ToolOutcome::Succeeded(output)
        | ToolOutcome::Denied(output)
        | ToolOutcome::Interrupted(output) => output_text(output),
        ToolOutcome::Failed { error } => error.clone(),
        ToolOutcome::NotRun { why } => why.clone(),
    }
}

fn output_text(output: &ToolOutput) -> String {
    match output {
        ToolOutput::Text(text) => text.clone(),
        ToolOutput::Command {
            stdout,
            stderr,
            exit_code,
            ..
        } => serde_json::json!({ "stdout": stdout, "stderr": stderr, "exitCode": exit_code })
            .to_string(),
        ToolOutput::Files { summary, .. } => summary.clone(),
        ToolOutput::Json(value) => value.to_string(),
    }
}
