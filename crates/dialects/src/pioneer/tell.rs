//! Events as notifications: stateless, the same for everyone, at any time.
//!
//! What needs more than the event (permission requests, the thread as a whole) is told by each
//! connection on its own. Reasoning has no delta in this protocol: it is
//! told when it is finished.

use serde::Serialize;
use vocabulary::{
    Event, Fact, Growth, ItemFact, ItemId, Opening, OutputStream, StepFact, StreamTag, ThreadCard,
    Timestamp, ToolEvent, ToolFact, TurnFact, TurnId, TurnOutcome,
};

use super::items;
use super::loop_limit::LoopLimit;
use super::recovery::{self, RecoveredItem, RecoveryNews};
use super::show::wire_id;
use super::wire::item::TurnItem;
use super::wire::recovery::{
    ContextCompressingNotification, InTurn, ItemRecoveryExhaustedNotification,
    ItemRecoveryOpenedNotification, ItemRetryNotification, ItemRetryScheduledNotification,
    ItemTimeoutDetectedNotification, RecoveryAction, RecoveryTrigger,
    ToolLoopBudgetExceededNotification, TurnItemType,
};
use super::wire::timeline::{TimelineChangeReason, TurnTimelineChangedNotification};
use super::wire::turn::{
    ContextCompressedNotification, ItemDeltaNotification, ItemDeltaStream, ItemNotification, Turn,
    TurnNotification,
};
use crate::Frame;
use crate::jsonrpc::VersionField;

const COMMAND_OUTPUT: &str = "item/command_execution/output_delta";
const FILE_OUTPUT: &str = "item/file_change/output_delta";
const TOOL_PROGRESS: &str = "item/tool/progress";
const COMPRESSING: &str = "What was said before is being summarised for the model.";

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
    let mut frames = match &event.fact {
        Fact::Item {
            tag, item, what, ..
        } => teller.written(&tag.turn, item, what),
        Fact::Turn(what) => teller.turn_changed(what),
        Fact::Step { tag, what } => teller.step(tag, event.at, what),
        Fact::Tool(tool) => teller.called(card, tool),
        Fact::Thread(_) | Fact::Ask { .. } | Fact::Files(_) | Fact::Note(_) => Vec::new(),
    };
    if let Some(turn) = timeline_of(&event.fact).filter(|_| !frames.is_empty()) {
        frames.push(teller.timeline_changed(turn));
    }
    frames
}

/// The turn whose timeline a fact makes longer: by what is kept, as it is read again.
fn timeline_of(fact: &Fact) -> Option<&TurnId> {
    match fact {
        Fact::Item {
            tag,
            what: ItemFact::Finished { .. },
            ..
        } => Some(&tag.turn),
        Fact::Turn(TurnFact::Started { turn, .. } | TurnFact::Steered { turn, .. }) => Some(turn),
        Fact::Step { tag, .. } if fact.durable() => Some(&tag.turn),
        Fact::Tool(tool) if fact.durable() => Some(&tool.tag.turn),
        Fact::Item { .. }
        | Fact::Turn(_)
        | Fact::Step { .. }
        | Fact::Tool(_)
        | Fact::Thread(_)
        | Fact::Ask { .. }
        | Fact::Files(_)
        | Fact::Note(_) => None,
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

    fn step(&self, tag: &StreamTag, at: Timestamp, what: &StepFact) -> Vec<Frame> {
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
            StepFact::CompactionStarted => {
                let params = ContextCompressingNotification {
                    thread_id: self.thread_id,
                    turn_id: tag.turn.as_str(),
                    message: COMPRESSING,
                };
                vec![notification("context/compressing", &params)]
            }
            StepFact::Delayed { .. } | StepFact::Retried { .. } => {
                let news = recovery::news(tag, at, what).into_iter();
                news.map(|news| self.recovery(&tag.turn, news)).collect()
            }
            StepFact::LimitReached {
                kind,
                limit,
                observed,
            } => {
                let told = LoopLimit::from(*kind);
                let params = ToolLoopBudgetExceededNotification {
                    within: self.within(&tag.turn),
                    limit_kind: told.kind,
                    limit: *limit,
                    observed: *observed,
                    action: told.action,
                    reason: told.reason,
                };
                vec![notification("turn/tool_loop/budget_exceeded", &params)]
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
            ToolFact::Finished {
                outcome,
                duration_ms,
            } => {
                let ended = items::call_ended(card, call, outcome, *duration_ms);
                let ended = self.item("item/completed", turn, ended);
                // A write is told when it is done, as history has it.
                let written = items::outputs(outcome).into_iter();
                let written = written.filter(|(_, stream)| *stream == ItemDeltaStream::FileChange);
                let written = written
                    .map(|(text, stream)| self.delta(FILE_OUTPUT, turn, &call.item, text, stream));
                return written.chain([ended]).collect();
            }
            // What it left running has ended: its item is told anew.
            ToolFact::JobEnded { outcome } => {
                let ended = items::call_ended(card, call, outcome, None);
                self.item("item/updated", turn, ended)
            }
            ToolFact::TimedOut { by, .. } => {
                let params = ItemTimeoutDetectedNotification {
                    within: self.within(turn),
                    item_id: call.item.as_str(),
                    item_type: items::item_type(call),
                    attempt_number: 1,
                    reason: (*by).into(),
                };
                notification("item/timeout_detected", &params)
            }
            ToolFact::Wrote { stream, delta } => {
                let (method, stream) = match (items::item_type(call), stream) {
                    (TurnItemType::CommandExecution, OutputStream::Stdout) => {
                        (COMMAND_OUTPUT, ItemDeltaStream::Stdout)
                    }
                    (TurnItemType::CommandExecution, OutputStream::Stderr) => {
                        (COMMAND_OUTPUT, ItemDeltaStream::Stderr)
                    }
                    (TurnItemType::FileChange, _) => (FILE_OUTPUT, ItemDeltaStream::FileChange),
                    (_, _) => (TOOL_PROGRESS, ItemDeltaStream::ToolProgress),
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
            | ToolFact::Exited { .. } => return Vec::new(),
        }]
    }

    fn within<'b>(&'b self, turn: &'b TurnId) -> InTurn<'b> {
        InTurn {
            workspace_id: self.workspace_id,
            thread_id: self.thread_id,
            turn_id: turn.as_str(),
        }
    }

    fn timeline_changed(&self, turn: &TurnId) -> Frame {
        let params = TurnTimelineChangedNotification {
            workspace_id: self.workspace_id,
            thread_id: self.thread_id,
            turn_id: turn.as_str(),
            reason: TimelineChangeReason::ParentTurnChanged,
        };
        notification("turn/timeline/changed", &params)
    }

    fn recovery(&self, turn: &TurnId, news: RecoveryNews<'_>) -> Frame {
        let within = self.within(turn);
        match news {
            RecoveryNews::ItemStarted(item) => self.item("item/started", turn, item),
            RecoveryNews::ItemUpdated(item) => self.item("item/updated", turn, item),
            RecoveryNews::ItemCompleted(item) => self.item("item/completed", turn, item),
            RecoveryNews::Opened { of, attempt } => {
                let params = ItemRecoveryOpenedNotification {
                    within,
                    item_id: of.id,
                    item_type: of.kind,
                    recovery_job_id: of.job,
                    trigger: RecoveryTrigger::ProviderError,
                    action: RecoveryAction::RetryWithBackoff,
                    attempt_number: attempt,
                };
                notification("item/recovery_opened", &params)
            }
            RecoveryNews::Scheduled {
                of,
                attempt,
                at,
                reason,
            } => {
                let params = ItemRetryScheduledNotification {
                    within,
                    item_id: of.id,
                    item_type: of.kind,
                    recovery_job_id: of.job,
                    attempt_number: attempt,
                    next_run_at_unix: at,
                    reason,
                };
                notification("item/retry_scheduled", &params)
            }
            RecoveryNews::AttemptStarted { of, attempt } => {
                self.retry("item/retry_attempt_started", turn, of, attempt)
            }
            RecoveryNews::Succeeded { of, attempt } => {
                self.retry("item/recovery_succeeded", turn, of, attempt)
            }
            RecoveryNews::Exhausted {
                of,
                attempt,
                status,
                error,
            } => {
                let params = ItemRecoveryExhaustedNotification {
                    within,
                    item_id: of.id,
                    item_type: of.kind,
                    recovery_job_id: of.job,
                    attempt_number: attempt,
                    status,
                    error_message: error,
                };
                notification("item/recovery_exhausted", &params)
            }
        }
    }

    fn retry(&self, method: &str, turn: &TurnId, of: RecoveredItem<'_>, attempt: u32) -> Frame {
        let params = ItemRetryNotification {
            within: self.within(turn),
            item_id: of.id,
            item_type: of.kind,
            recovery_job_id: of.job,
            attempt_number: attempt,
        };
        notification(method, &params)
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
