//! Sub-agents: a call that another agent works for.

use std::collections::BTreeMap;

use vocabulary::{ThreadCard, ToolCall, ToolOutcome};

use super::items::CallProgress;
use crate::codex::wire::item::{
    CollabAgentState, CollabAgentStatus, CollabAgentTool, CollabAgentToolCallStatus, ThreadItem,
};

/// A sub-agent is no thread: the id under which it is told of is that of its call, and what it does
/// are items of the thread's own turn.
pub fn spawned<'a>(
    card: &ThreadCard,
    call: &'a ToolCall,
    prompt: &'a str,
    shown: CallProgress<'a>,
) -> ThreadItem<'a> {
    let id = call.item.as_str();
    let state = CollabAgentState {
        status: state(shown),
        message: message(shown),
    };
    ThreadItem::CollabAgentToolCall {
        id,
        tool: CollabAgentTool::SpawnAgent,
        status: status(shown),
        sender_thread_id: card.id.to_string(),
        receiver_thread_ids: [id],
        prompt,
        agents_states: BTreeMap::from([(id, state)]),
    }
}

fn status(shown: CallProgress<'_>) -> CollabAgentToolCallStatus {
    match shown {
        CallProgress::Running | CallProgress::Writing(_) => CollabAgentToolCallStatus::InProgress,
        CallProgress::Ended(outcome, _) => match outcome {
            ToolOutcome::Succeeded(_) => CollabAgentToolCallStatus::Completed,
            ToolOutcome::Interrupted(_) => CollabAgentToolCallStatus::Interrupted,
            ToolOutcome::Failed { .. } | ToolOutcome::Denied(_) | ToolOutcome::NotRun { .. } => {
                CollabAgentToolCallStatus::Failed
            }
        },
    }
}

fn state(shown: CallProgress<'_>) -> CollabAgentStatus {
    match shown {
        CallProgress::Running | CallProgress::Writing(_) => CollabAgentStatus::Running,
        CallProgress::Ended(outcome, _) => match outcome {
            ToolOutcome::Succeeded(_) => CollabAgentStatus::Completed,
            ToolOutcome::Interrupted(_) => CollabAgentStatus::Interrupted,
            ToolOutcome::Failed { .. } => CollabAgentStatus::Errored,
            ToolOutcome::Denied(_) | ToolOutcome::NotRun { .. } => CollabAgentStatus::NotFound,
        },
    }
}

/// What it reports, or why it does not.
fn message(shown: CallProgress<'_>) -> Option<std::borrow::Cow<'_, str>> {
    match shown {
        CallProgress::Running | CallProgress::Writing(_) => None,
        CallProgress::Ended(..) => super::items::words(shown),
    }
}
