//! Events as notifications: stateless, the same for everyone, at any time.
//!
//! What needs more than the event (permission requests, the thread as a whole) is told by each
//! connection on its own. Reasoning has no delta in this protocol: it is
//! told when it is finished.

use serde::Serialize;
use vocabulary::{
    Event, Fact, Growth, ItemFact, ItemId, Opening, OutputStream, StepFact, StreamTag, ThreadCard,
    ToolEvent, ToolFact, TurnFact, TurnId, TurnOutcome,
};

use super::items;
use super::show::wire_id;
use super::wire::item::TurnItem;
use super::wire::turn::{
    ContextCompressedNotification, ItemDeltaNotification, ItemDeltaStream, ItemNotification, Turn,
    TurnNotification,
};
use crate::Frame;
use crate::jsonrpc::VersionField;

const COMMAND_OUTPUT: &str = "item/command_execution/output_delta";
const TOOL_PROGRESS: &str = "item/tool/progress";

/// Spells the notifications of one thread.
struct Teller<'a> {
    workspace_id: &'a str,
    thread_id: &'a str,
}

pub fn notification(method: &str, params: &impl Serialize) -> Frame {
    VersionField::Written.notification(method, params)
}

pub fn tell(card: &ThreadCard, event: &Event) -> Vec<Frame> {
    let id = wire_id(card);
    let teller = Teller {
        workspace_id: card.workspace.as_str(),
        thread_id: &id,
    };
    match &event.fact {
        Fact::Item {
            tag, item, what, ..
        } => teller.written(&tag.turn, item, what),
        Fact::Turn(what) => teller.turn_changed(what),
        Fact::Step { tag, what } => teller.step(tag, what),
        Fact::Tool(tool) => teller.called(card, tool),
        Fact::Thread(_) | Fact::Ask { .. } | Fact::Files(_) | Fact::Note(_) => Vec::new(),
    }
}

impl Teller<'_> {
    fn written(&self, turn: &TurnId, item: &ItemId, what: &ItemFact) -> Vec<Frame> {
        match what {
            ItemFact::Grew {
                growth: Growth::Text | Growth::Plan,
                delta,
            } => {
                let stream = ItemDeltaStream::AgentMessage;
                vec![self.delta("item/agent_message/delta", turn, item, delta, stream)]
            }
            ItemFact::Started { opening } => {
                let started = match opening {
                    Opening::Text | Opening::Plan => items::agent_message(item, ""),
                    Opening::Reasoning(kind) => items::reasoning(item, *kind, None),
                    Opening::ToolInput { .. } => return Vec::new(),
                };
                vec![self.item("item/started", turn, started)]
            }
            ItemFact::Finished { body, .. } => {
                let written = items::written(item, body);
                let frame = written.map(|(item, ..)| self.item("item/completed", turn, item));
                frame.into_iter().collect()
            }
            ItemFact::Grew {
                growth:
                    Growth::Reasoning { .. } | Growth::ReasoningPart { .. } | Growth::ToolInput { .. },
                ..
            } => Vec::new(),
        }
    }

    fn turn_changed(&self, what: &TurnFact) -> Vec<Frame> {
        match what {
            TurnFact::Started { turn, input, .. } => {
                let said = items::user_message(input);
                let begun = self.turn("turn/started", items::running(turn));
                [vec![begun], self.whole(turn, said)].concat()
            }
            TurnFact::Steered { turn, input, .. } => self.whole(turn, items::user_message(input)),
            TurnFact::Finished { turn, outcome, .. } => {
                let method = match outcome {
                    TurnOutcome::Completed | TurnOutcome::Cancelled => "turn/completed",
                    TurnOutcome::Failed(_) => "turn/failed",
                };
                vec![self.turn(method, items::ended(turn, outcome))]
            }
            TurnFact::SteerPlaced { .. }
            | TurnFact::PlanChanged { .. }
            | TurnFact::UsageAdded { .. } => Vec::new(),
        }
    }

    fn step(&self, tag: &StreamTag, what: &StepFact) -> Vec<Frame> {
        match what {
            StepFact::Compacted {
                item,
                summary,
                tokens_before,
                kept: _,
            } => {
                let item = items::compacted(item, summary, *tokens_before);
                let params = ContextCompressedNotification {
                    thread_id: self.thread_id,
                    turn_id: tag.turn.as_str(),
                    compressed_tokens: *tokens_before,
                };
                let mut frames = self.whole(&tag.turn, item);
                frames.push(notification("context/compressed", &params));
                frames
            }
            StepFact::Delayed {
                attempt,
                delay_ms,
                error,
                ..
            } => {
                let item = items::delayed(tag, *attempt, *delay_ms, error);
                self.whole(&tag.turn, item)
            }
            StepFact::Started
            | StepFact::Pruned { .. }
            | StepFact::Informed { .. }
            | StepFact::Finished { .. }
            | StepFact::Failed { .. }
            | StepFact::Cited { .. }
            | StepFact::RawReceived { .. } => Vec::new(),
        }
    }

    fn called(&self, card: &ThreadCard, tool: &ToolEvent) -> Vec<Frame> {
        let ToolEvent { tag, call, what } = tool;
        let turn = &tag.turn;
        vec![match what {
            ToolFact::Planned { .. } => {
                self.item("item/started", turn, items::call_started(card, call))
            }
            ToolFact::Finished { outcome, .. } => {
                let ended = items::call_ended(card, call, outcome);
                self.item("item/completed", turn, ended)
            }
            ToolFact::Wrote { stream, delta } => {
                let (method, stream) = match (call.is_command(), stream) {
                    (true, OutputStream::Stdout) => (COMMAND_OUTPUT, ItemDeltaStream::Stdout),
                    (true, OutputStream::Stderr) => (COMMAND_OUTPUT, ItemDeltaStream::Stderr),
                    (false, _) => (TOOL_PROGRESS, ItemDeltaStream::ToolProgress),
                };
                self.delta(method, turn, &call.item, delta, stream)
            }
            // The words of a tool are one text for this protocol's clients.
            ToolFact::Progressed { message } => {
                let stream = ItemDeltaStream::ToolProgress;
                let line = format!("{message}\n");
                self.delta(TOOL_PROGRESS, turn, &call.item, &line, stream)
            }
            ToolFact::Reached
            | ToolFact::Started
            | ToolFact::Interacted { .. }
            | ToolFact::JobEnded { .. }
            | ToolFact::Exited { .. } => return Vec::new(),
        }]
    }

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
        item: &ItemId,
        delta: &str,
        stream: ItemDeltaStream,
    ) -> Frame {
        let params = ItemDeltaNotification {
            workspace_id: self.workspace_id,
            thread_id: self.thread_id,
            turn_id: turn.as_str(),
            item_id: item.as_str(),
            delta,
            stream,
        };
        notification(method, &params)
    }
}
