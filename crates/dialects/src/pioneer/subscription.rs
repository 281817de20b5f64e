//! A thread this connection is subscribed to: what it has to remember of it.

use std::collections::BTreeMap;

use vocabulary::{
    Answer, Approval, ApprovalAnswer, Ask, AskId, AskKind, Closing, Event, Fact, Growth, ItemId,
    Question, Status, Thread, ThreadView, ToolCall, ToolClass,
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
    /// The calls of the running turn, to tell their end with what they were called with.
    calls: BTreeMap<ItemId, ToolCall>,
    pub asks: BTreeMap<AskId, Ask>,
}

impl Subscription {
    pub fn new(view: &ThreadView) -> Self {
        let asks = view.asks.iter();
        let mut new = Self {
            thread: view.thread.clone(),
            calls: BTreeMap::new(),
            asks: asks.map(|open| (open.ask.id, open.ask.clone())).collect(),
        };
        for event in view.turn.iter().flat_map(|turn| &turn.events) {
            new.remember(&event.fact);
        }
        new
    }

    /// What is under way right now: each call that has not ended, and what is being written, as
    /// far as it has come. What is over is in the history.
    pub fn so_far(&self, view: &ThreadView) -> Vec<Frame> {
        let Some(turn) = &view.turn else {
            return Vec::new();
        };
        let open = |call: &ToolCall| {
            let known = turn.calls.iter().find(|known| known.item == call.item);
            known.is_some_and(|known| !known.finished)
        };
        let calls = turn.events.iter().filter_map(|event| match &event.fact {
            Fact::ToolPlanned { call, .. } if open(call) => Some(event.fact.clone()),
            // tidy: wildcard, because only planned calls are looked for.
            _ => None,
        });
        let facts = calls.chain(turn.so_far());
        facts.flat_map(|fact| self.retold(view, fact)).collect()
    }

    fn retold(&self, view: &ThreadView, fact: Fact) -> Vec<Frame> {
        let card = &self.thread.card;
        if let Fact::ItemGrew {
            tag,
            item,
            growth: Growth::Output(_),
            delta,
            ..
        } = &fact
            && self.is_no_command(item)
        {
            return vec![tell::progress(card, &tag.turn, item, delta)];
        }
        let (seq, at) = (view.head, view.thread.updated_at);
        tell::tell(card, &Event { seq, at, fact })
    }

    fn remember(&mut self, fact: &Fact) {
        if let Fact::ToolPlanned { call, .. } = fact {
            self.calls.insert(call.item.clone(), call.clone());
        } else if let Fact::TurnFinished { .. } = fact {
            self.calls.clear();
        }
    }

    /// Tells one event, in shared words where they are enough.
    pub fn told(&mut self, out: &mut Vec<Action>, event: &Event, permissions: bool) {
        let changed = self.follow(event);
        match &event.fact {
            Fact::ToolFinished { tag, call, outcome } => {
                let planned = self.calls.get(&call.item);
                let card = &self.thread.card;
                let frame = tell::call_ended(card, &tag.turn, planned, call, outcome);
                out.push(Action::Send(frame));
            }
            Fact::ItemGrew {
                tag,
                item,
                growth: Growth::Output(_),
                delta,
                ..
            } if self.is_no_command(item) => {
                let card = &self.thread.card;
                let frame = tell::progress(card, &tag.turn, item, delta);
                out.push(Action::Send(frame));
            }
            Fact::AskOpened { ask, .. } => {
                if permissions {
                    out.push(Action::Send(self.opened(ask)));
                }
                self.asks.insert(ask.id, ask.clone());
            }
            Fact::AskClosed { ask, closing, .. } => {
                self.asks.remove(&ask.id);
                if permissions {
                    out.push(Action::Send(self.resolved(ask, closing)));
                }
            }
            Fact::ThreadCreated { .. }
            | Fact::TitleChanged { .. }
            | Fact::SettingsChanged { .. }
            | Fact::ArchivedChanged { .. }
            | Fact::ThreadReset
            | Fact::StatusChanged { .. }
            | Fact::ThreadClosed
            | Fact::TurnStarted { .. }
            | Fact::TurnFinished { .. }
            | Fact::StepStarted { .. }
            | Fact::StepFinished { .. }
            | Fact::StepFailed { .. }
            | Fact::ItemStarted { .. }
            | Fact::ItemGrew { .. }
            | Fact::ItemFinished { .. }
            | Fact::ToolPlanned { .. }
            | Fact::ToolReached { .. }
            | Fact::TurnSteered { .. }
            | Fact::Compacted { .. }
            | Fact::UsageAdded { .. }
            | Fact::StepDelayed { .. }
            | Fact::GrantRevoked { .. }
            | Fact::ToolStarted { .. }
            | Fact::CommandExited { .. }
            | Fact::AskProgressed { .. }
            | Fact::PlanChanged { .. }
            | Fact::CheckpointsChanged { .. }
            | Fact::FilesChanged { .. }
            | Fact::TurnDiffed { .. }
            | Fact::Logged { .. }
            | Fact::RawReceived { .. } => out.push(Action::Shared),
        }
        self.remember(&event.fact);
        if changed {
            out.push(Action::Send(self.updated()));
        }
    }

    /// A tool that writes without being a command.
    fn is_no_command(&self, item: &ItemId) -> bool {
        let class = self.calls.get(item).map(|call| call.class);
        class.is_some_and(|class| class != ToolClass::Command)
    }

    /// Takes in what an event changes of the thread; whether that is to be told.
    fn follow(&mut self, event: &Event) -> bool {
        let thread = &mut self.thread;
        let active = |status: Status| show::thread_status(status);
        let was = active(thread.status);
        if let Fact::TitleChanged { title, .. } = &event.fact {
            thread.title = title.clone();
        } else if let Fact::SettingsChanged { settings, .. } = &event.fact {
            thread.settings = settings.clone();
        } else if let Fact::ArchivedChanged { archived } = event.fact {
            thread.archived = archived;
        } else if let Fact::ThreadReset = event.fact {
            thread.preview.clear();
        } else if let Fact::StatusChanged { status, .. } = event.fact {
            thread.status = status;
            // That it became active is told with its turn, not before.
            if active(status) == was || active(status) == ThreadStatus::Active {
                return false;
            }
        } else if let Fact::TurnStarted { input, .. } = &event.fact {
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
            item_id: ask.item.as_str(),
            tool_name: &ask.tool,
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
