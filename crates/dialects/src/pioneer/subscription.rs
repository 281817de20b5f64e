//! A thread this connection is subscribed to: what it has to remember of it.

use std::collections::BTreeMap;

use vocabulary::{
    Answer, Approval, ApprovalAnswer, Ask, AskFact, AskId, AskKind, Closing, Event, Fact, Question,
    SandboxInForce, Status, Thread, ThreadFact, ThreadView, ToolCall, ToolEvent, ToolFact,
    TurnFact,
};

use super::show;
use super::tell::{self, notification};
use super::wire::permission::{
    PermissionQuestion, PermissionRequestOpened, PermissionRequestResolved, Resolution,
    TurnPermissionApprovalRequest,
};
use super::wire::thread::{ThreadResponse, ThreadStatus};
use crate::{Action, Frame};

pub struct Subscription {
    /// As it was last told.
    pub thread: Thread,
    pub asks: BTreeMap<AskId, Ask>,
    /// What held its commands when it was subscribed to.
    pub sandbox: SandboxInForce,
}

impl Subscription {
    pub fn new(view: &ThreadView) -> Self {
        let asks = view.asks.iter();
        Self {
            thread: view.thread.clone(),
            sandbox: view.sandbox,
            asks: asks.map(|open| (open.ask.id, open.ask.clone())).collect(),
        }
    }

    /// What is under way right now: each call that has not ended, and what is being written, as
    /// far as it has come. What is over is in the history.
    pub fn so_far(&self, view: &ThreadView) -> Vec<Frame> {
        let Some(turn) = &view.turn else {
            return Vec::new();
        };
        let open = |call: &ToolCall| {
            let known = turn.calls.iter().find(|known| known.call.item == call.item);
            known.is_some_and(|known| !known.finished)
        };
        let calls = turn.events.iter().filter_map(|event| match &event.fact {
            Fact::Tool(ToolEvent {
                call,
                what: ToolFact::Planned { .. },
                ..
            }) if open(call) => Some(event.fact.clone()),
            // tidy: wildcard, because only planned calls are looked for.
            _ => None,
        });
        let facts = calls.chain(turn.so_far());
        facts.flat_map(|fact| self.retold(view, fact)).collect()
    }

    fn retold(&self, view: &ThreadView, fact: Fact) -> Vec<Frame> {
        let event = Event {
            seq: view.head,
            at: view.thread.updated_at,
            by: None,
            fact,
        };
        tell::tell(&self.thread.card, &event)
    }

    /// Tells one event, in shared words where they are enough.
    pub fn told(&mut self, out: &mut Vec<Action>, event: &Event, permissions: bool) {
        let changed = self.follow(event);
        match &event.fact {
            Fact::Ask { what, .. } => self.asked(out, what, permissions),
            Fact::Thread(_)
            | Fact::Turn(_)
            | Fact::Step { .. }
            | Fact::Item { .. }
            | Fact::Tool(_)
            | Fact::Files(_)
            | Fact::Note(_) => out.push(Action::Shared),
        }
        if changed {
            out.push(Action::Send(self.updated()));
        }
    }

    fn asked(&mut self, out: &mut Vec<Action>, what: &AskFact, permissions: bool) {
        match what {
            AskFact::Opened { ask } => {
                if permissions {
                    out.push(Action::Send(self.opened(ask)));
                }
                self.asks.insert(ask.id, ask.clone());
            }
            AskFact::Closed { ask, closing } => {
                self.asks.remove(&ask.id);
                if permissions {
                    out.push(Action::Send(self.resolved(ask, closing)));
                }
            }
            AskFact::Progressed { .. } => {}
        }
    }

    /// Takes in what an event changes of the thread; whether that is to be told.
    fn follow(&mut self, event: &Event) -> bool {
        let thread = &mut self.thread;
        let active = |status: Status| show::thread_status(status);
        let was = active(thread.status);
        if let Fact::Thread(ThreadFact::Titled { title, .. }) = &event.fact {
            thread.title = title.clone();
        } else if let Fact::Thread(ThreadFact::SettingsChanged { settings, .. }) = &event.fact {
            thread.settings = settings.clone();
        } else if let Fact::Thread(ThreadFact::Archived { archived }) = event.fact {
            thread.archived = archived;
        } else if let Fact::Thread(ThreadFact::Labelled { labels }) = &event.fact {
            thread.labels.clone_from(labels);
        } else if let Fact::Thread(ThreadFact::Reset) = event.fact {
            thread.preview.clear();
        } else if let Fact::Thread(ThreadFact::Reverted { point }) = &event.fact {
            thread.preview.clone_from(&point.preview);
        } else if let Fact::Thread(ThreadFact::StatusChanged { status, .. }) = event.fact {
            thread.status = status;
            // That it became active is told with its turn, not before.
            if active(status) == was || active(status) == ThreadStatus::Active {
                return false;
            }
        } else if let Fact::Turn(TurnFact::Started { input, .. }) = &event.fact {
            if thread.preview.is_empty() {
                thread.preview = input.shown().trim().chars().take(PREVIEW_CHARS).collect();
            }
        } else {
            return false;
        }
        thread.updated_at = event.at;
        true
    }

    pub fn updated(&self) -> Frame {
        let thread = show::thread(&self.thread);
        notification("thread/updated", &ThreadResponse { thread })
    }

    pub fn opened(&self, ask: &Ask) -> Frame {
        let thread_id = show::wire_id(&self.thread.card);
        let (approval, questions) = match &ask.kind {
            AskKind::Approval(approval) => (Some(approval), Vec::new()),
            AskKind::Questions(questions) => (None, questions.iter().map(question).collect()),
        };
        let request = TurnPermissionApprovalRequest {
            request_id: ask.id.to_string(),
            workspace_id: self.thread.card.workspace.as_str(),
            thread_id: &thread_id,
            turn_id: ask.turn.as_str(),
            item_id: ask.call.item.as_str(),
            tool_name: &ask.call.name,
            command: approval.map(Approval::command_in_full),
            reason: approval.map(|approval| approval.reason.as_str()),
            dangerous: approval.map(|approval| approval.dangerous),
            questions,
        };
        let params = PermissionRequestOpened { request };
        notification("turn/permission/request/opened", &params)
    }

    fn resolved(&self, ask: &Ask, closing: &Closing) -> Frame {
        let params = PermissionRequestResolved {
            request_id: ask.id.to_string(),
            workspace_id: self.thread.card.workspace.as_str(),
            thread_id: &show::wire_id(&self.thread.card),
            turn_id: ask.turn.as_str(),
            resolution: resolution(closing),
        };
        notification("turn/permission/request/resolved", &params)
    }
}

/// As much of the first words as the engine keeps.
const PREVIEW_CHARS: usize = 200;

fn question(question: &Question) -> PermissionQuestion<'_> {
    PermissionQuestion {
        id: &question.id,
        question: &question.question,
        options: question
            .options
            .iter()
            .map(|option| option.label.as_str())
            .collect(),
    }
}

fn resolution(closing: &Closing) -> Resolution {
    match closing {
        Closing::Answered(Answer::Approval(answer)) => match answer {
            ApprovalAnswer::Once => Resolution::AllowOnce,
            ApprovalAnswer::ForTurn | ApprovalAnswer::ForSession | ApprovalAnswer::ForWorkspace => {
                Resolution::AllowForTurn
            }
            ApprovalAnswer::Deny | ApprovalAnswer::DenyAndCancel => Resolution::Deny,
        },
        Closing::Answered(Answer::Questions(_) | Answer::Dismissed) => Resolution::Answered,
        Closing::Cancelled => Resolution::Cancelled,
        Closing::Lost { .. } => Resolution::Expired,
    }
}
