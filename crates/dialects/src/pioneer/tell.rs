//! Events as notifications: stateless, the same for everyone, at any time.
//!
//! What needs more than the event (the end of a tool call, permission requests, the thread as a
//! whole) is told by each connection on its own. Reasoning has no delta in this protocol: it is
//! told when it is finished.

use serde::Serialize;
use vocabulary::{
    Event, Fact, Growth, ItemId, Opening, OutputStream, ThreadCard, ToolCall, ToolCallRef,
    ToolOutcome, TurnId, TurnOutcome,
};

use super::items;
use super::show::wire_id;
use super::wire::item::TurnItem;
use super::wire::turn::{
    ContextCompressedNotification, ItemDeltaNotification, ItemDeltaStream, ItemNotification, Turn,
    TurnNotification,
};
use crate::Frame;
use crate::jsonrpc::Version;

/// Spells the notifications of one thread.
struct Teller<'a> {
    workspace_id: &'a str,
    thread_id: &'a str,
}

pub fn notification(method: &str, params: &impl Serialize) -> Frame {
    Version::Written.notification(method, params)
}

pub fn tell(card: &ThreadCard, event: &Event) -> Vec<Frame> {
    let id = wire_id(card);
    let teller = Teller {
        workspace_id: card.workspace.as_str(),
        thread_id: &id,
    };
    match &event.fact {
        Fact::ItemGrew {
            tag,
            item,
            growth,
            delta,
            ..
        } => match growth {
            Growth::Text => {
                let stream = ItemDeltaStream::AgentMessage;
                let method = "item/agent_message/delta";
                vec![teller.delta(method, &tag.turn, item.as_str(), delta, stream)]
            }
            Growth::Output(stream) => {
                let stream = match stream {
                    OutputStream::Stdout => ItemDeltaStream::Stdout,
                    OutputStream::Stderr => ItemDeltaStream::Stderr,
                };
                let method = "item/command_execution/output_delta";
                vec![teller.delta(method, &tag.turn, item.as_str(), delta, stream)]
            }
            Growth::Reasoning(_) | Growth::ToolInput { .. } => Vec::new(),
        },
        Fact::TurnStarted { turn, input, .. } => {
            let said = items::user_message(input);
            let begun = teller.turn("turn/started", items::running(turn));
            [vec![begun], teller.whole(turn, said)].concat()
        }
        Fact::TurnSteered { turn, input, .. } => teller.whole(turn, items::user_message(input)),
        Fact::Compacted {
            tag,
            item,
            summary,
            tokens_before,
        } => {
            let item = items::compacted(item, summary, *tokens_before);
            let params = ContextCompressedNotification {
                thread_id: teller.thread_id,
                turn_id: tag.turn.as_str(),
                compressed_tokens: *tokens_before,
            };
            let mut frames = teller.whole(&tag.turn, item);
            frames.push(notification("context/compressed", &params));
            frames
        }
        Fact::StepDelayed {
            tag,
            attempt,
            delay_ms,
            error,
            ..
        } => {
            let item = items::delayed(tag, *attempt, *delay_ms, error);
            teller.whole(&tag.turn, item)
        }
        Fact::TurnFinished { turn, outcome, .. } => {
            let method = match outcome {
                TurnOutcome::Completed | TurnOutcome::Cancelled => "turn/completed",
                TurnOutcome::Failed(_) => "turn/failed",
            };
            vec![teller.turn(method, items::ended(turn, outcome))]
        }
        Fact::ItemStarted {
            tag, item, opening, ..
        } => {
            let started = match opening {
                Opening::Text => items::agent_message(item, ""),
                Opening::Reasoning(kind) => items::reasoning(item, *kind, None),
                Opening::ToolInput { .. } => return Vec::new(),
            };
            vec![teller.item("item/started", &tag.turn, started)]
        }
        Fact::ItemFinished {
            tag, item, body, ..
        } => {
            let (written, _, _) = items::written(item, body);
            vec![teller.item("item/completed", &tag.turn, written)]
        }
        Fact::ToolPlanned { tag, call, .. } => {
            let started = items::call_started(card, call);
            vec![teller.item("item/started", &tag.turn, started)]
        }
        Fact::ThreadCreated { .. }
        | Fact::TitleChanged { .. }
        | Fact::SettingsChanged { .. }
        | Fact::ArchivedChanged { .. }
        | Fact::ThreadReset
        | Fact::StatusChanged { .. }
        | Fact::ThreadClosed
        | Fact::StepStarted { .. }
        | Fact::StepFinished { .. }
        | Fact::StepFailed { .. }
        | Fact::ToolReached { .. }
        | Fact::UsageAdded { .. }
        | Fact::GrantRevoked { .. }
        | Fact::ToolStarted { .. }
        | Fact::CommandExited { .. }
        | Fact::ToolFinished { .. }
        | Fact::AskOpened { .. }
        | Fact::AskProgressed { .. }
        | Fact::AskClosed { .. }
        | Fact::PlanChanged { .. }
        | Fact::CheckpointsChanged { .. }
        | Fact::FilesChanged { .. }
        | Fact::TurnDiffed { .. }
        | Fact::Logged { .. }
        | Fact::RawReceived { .. } => Vec::new(),
    }
}

/// The end of a call, by a connection that remembers what it was called with.
pub fn call_ended(
    card: &ThreadCard,
    turn: &TurnId,
    planned: Option<&ToolCall>,
    call: &ToolCallRef,
    outcome: &ToolOutcome,
) -> Frame {
    let id = wire_id(card);
    let teller = Teller {
        workspace_id: card.workspace.as_str(),
        thread_id: &id,
    };
    let item = items::call_ended(card, planned, call, outcome);
    teller.item("item/completed", turn, item)
}

/// What a tool writes that is no command, by a connection that remembers which it is.
pub fn progress(card: &ThreadCard, turn: &TurnId, item: &ItemId, delta: &str) -> Frame {
    let id = wire_id(card);
    let teller = Teller {
        workspace_id: card.workspace.as_str(),
        thread_id: &id,
    };
    let stream = ItemDeltaStream::ToolProgress;
    teller.delta("item/tool/progress", turn, item.as_str(), delta, stream)
}

impl Teller<'_> {
    fn turn(&self, method: &str, turn: Turn<'_>) -> Frame {
        let params = TurnNotification {
            workspace_id: self.workspace_id,
            thread_id: self.thread_id,
            turn,
        };
        notification(method, &params)
    }

    fn item(&self, method: &str, turn: &TurnId, item: TurnItem<'_>) -> Frame {
        let params = ItemNotification {
            workspace_id: self.workspace_id,
            thread_id: self.thread_id,
            turn_id: turn.as_str(),
            item,
        };
        notification(method, &params)
    }

    /// An item that is told as a whole.
    fn whole(&self, turn: &TurnId, item: TurnItem<'_>) -> Vec<Frame> {
        vec![
            self.item("item/started", turn, item.clone()),
            self.item("item/completed", turn, item),
        ]
    }

    fn delta(
        &self,
        method: &str,
        turn: &TurnId,
        item_id: &str,
        delta: &str,
        stream: ItemDeltaStream,
    ) -> Frame {
        let params = ItemDeltaNotification {
            workspace_id: self.workspace_id,
            thread_id: self.thread_id,
            turn_id: turn.as_str(),
            item_id,
            delta,
            stream,
        };
        notification(method, &params)
    }
}
