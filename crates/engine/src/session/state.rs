//! What a session knows of its thread: the fold of the log, small enough to be written with every append.

use serde::{Deserialize, Serialize};
use store::{EntryRow, LoadedThread, StoredEvent};
use vocabulary::{
    Answer, AskKind, Closing, Event, Fact, Grant, GrantScope, ItemId, OpenAsk, PlanStep, Refusal,
    Seq, Status, StreamTag, SubAgent, Thread, Timestamp, ToolClass, TurnId, TurnOutcome, Usage,
    UserInput, Why,
};

use crate::codec;
use crate::limits::{GRANTS_MAX, PREVIEW_CHARS_MAX};

/// The state row. Its size does not grow with the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadState {
    pub thread: Thread,
    pub turn: Option<TurnState>,
    pub asks: Vec<OpenAsk>,
    pub plan: Vec<PlanStep>,
    /// The turn that made it what it is.
    #[serde(default)]
    pub plan_turn: Option<TurnId>,
    /// What a person allowed for longer than once while older versions kept that here; now it is in
    /// the store's own grants, and this is not looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub granted: Vec<Grant>,
    /// The place of the next transcript entry.
    pub next_ordinal: u64,
    /// The transcript starts here; what stands before was reset away.
    pub history_from: u64,
    /// What was spent so far, on everything.
    #[serde(default)]
    pub usage: Usage,
    /// Tokens the model's context held after its last answer; 0 when that is not known.
    #[serde(default)]
    pub context_tokens: u64,
    /// Where the model's context starts to be read: at the turn that was summarised last.
    #[serde(default)]
    pub compacted: Option<u64>,
    /// The message that the next entry may still belong to.
    open_message: Option<(MessageRole, TurnId, u32)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnState {
    pub turn: TurnId,
    pub started_at: Timestamp,
    pub started_seq: Seq,
    /// Where it starts in the transcript.
    #[serde(default)]
    pub ordinal: u64,
    pub input: UserInput,
    pub model: std::sync::Arc<vocabulary::ModelRef>,
    /// The last step that finished.
    pub step: u32,
    /// The calls of that step.
    pub calls: Vec<CallState>,
    pub usage: Option<Usage>,
}

/// A planned call: where the log has it, and how far it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallState {
    pub item: ItemId,
    pub call_id: String,
    pub name: String,
    pub class: ToolClass,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<SubAgent>>,
    pub step: u32,
    pub seq: Seq,
    pub started: bool,
    pub finished: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum MessageRole {
    Assistant,
    Tool,
}

impl ThreadState {
    /// A thread about which nothing has happened yet but its creation.
    pub fn new(thread: Thread) -> Self {
        Self {
            thread,
            turn: None,
            asks: Vec::new(),
            plan: Vec::new(),
            plan_turn: None,
            granted: Vec::new(),
            next_ordinal: 0,
            history_from: 0,
            usage: Usage::default(),
            context_tokens: 0,
            compacted: None,
            open_message: None,
        }
    }

    /// The state row of a thread from the store.
    pub fn read(loaded: &LoadedThread) -> Result<Self, Refusal> {
        serde_json::from_slice(&loaded.state).map_err(|error| {
            let message = format!("the thread's state cannot be read: {error}");
            Refusal::new(Why::Storage, message)
        })
    }

    /// Takes one event in; gives its transcript entry where it makes one.
    /// Ephemeral events change nothing: the fold of the log alone gives the state.
    pub fn apply(&mut self, event: &Event) -> Option<EntryRow> {
        let at = event.at;
        match &event.fact {
            Fact::ThreadCreated { thread } => *self = Self::new((**thread).clone()),
            Fact::TitleChanged { title, .. } => {
                self.thread.title = title.clone();
                self.thread.updated_at = at;
            }
            Fact::SettingsChanged { settings, .. } => {
                self.thread.settings = settings.clone();
                self.thread.updated_at = at;
            }
            Fact::ArchivedChanged { archived } => {
                self.thread.archived = *archived;
                self.thread.updated_at = at;
            }
            Fact::ThreadReset => self.reset(at),
            Fact::TurnStarted {
                turn, input, model, ..
            } => {
                self.start_turn(event.seq, at, turn, input, model);
            }
            Fact::TurnFinished { outcome, .. } => self.finish_turn(at, outcome),
            Fact::StepFinished { tag, usage, .. } => {
                self.context_tokens = usage.total_tokens();
                self.finish_step(tag, *usage);
            }
            Fact::StepFailed { tag, .. } => self.finish_step(tag, Usage::default()),
            Fact::UsageAdded { turn, usage, .. } => self.spend(turn.as_ref(), *usage),
            Fact::Compacted { .. } => {
                // The input of the running turn is read on: it is kept with its pictures.
                let turn = self.turn.as_ref().map(|turn| turn.ordinal);
                self.compacted = Some(turn.unwrap_or(self.next_ordinal));
                self.context_tokens = 0;
            }
            Fact::TurnSteered { .. } => self.thread.updated_at = at,
            Fact::ToolPlanned { tag, call, .. } => self.plan_call(event.seq, tag, call),
            Fact::ToolStarted { item, .. } => {
                if let Some(call) = self.call_mut(item) {
                    call.started = true;
                }
            }
            Fact::ToolFinished { call, .. } => {
                if let Some(call) = self.call_mut(&call.item) {
                    call.finished = true;
                }
            }
            Fact::AskOpened { tag, ask } => {
                self.thread.status = Status::Waiting;
                self.asks.push(OpenAsk {
                    ask: ask.clone(),
                    seq: event.seq,
                    at,
                    tag: tag.clone(),
                    answers: Default::default(),
                });
            }
            Fact::AskProgressed { ask, answers, .. } => {
                if let Some(open) = self.asks.iter_mut().find(|open| open.ask.id == *ask) {
                    open.answers = answers.clone();
                }
            }
            Fact::AskClosed { ask, closing, .. } => self.close_ask(at, ask, closing),
            Fact::GrantRevoked { what, scope } => {
                self.granted
                    .retain(|known| known.what != *what || known.scope != *scope);
            }
            Fact::PlanChanged { turn, steps } => {
                self.plan = steps.clone();
                self.plan_turn = turn.clone();
            }
            Fact::ItemFinished { .. } => {}
            Fact::StatusChanged { .. }
            | Fact::ThreadClosed
            | Fact::StepStarted { .. }
            | Fact::StepDelayed { .. }
            | Fact::ItemStarted { .. }
            | Fact::ItemGrew { .. }
            | Fact::ToolReached { .. }
            | Fact::CommandExited { .. }
            | Fact::CheckpointsChanged { .. }
            | Fact::FilesChanged { .. }
            | Fact::TurnDiffed { .. }
            | Fact::Logged { .. }
            | Fact::RawReceived { .. } => {}
        }
        self.enter(event)
    }

    /// Where an event stands in the transcript, if it is an entry of it.
    fn enter(&mut self, event: &Event) -> Option<EntryRow> {
        let role = match &event.fact {
            Fact::TurnStarted { .. } => None,
            Fact::TurnSteered { .. } => None,
            // The end of a turn belongs to its last message.
            Fact::TurnFinished { .. }
            | Fact::Compacted { .. }
            | Fact::StepDelayed { discards: true, .. } => {
                return Some(self.next_entry(event.seq));
            }
            Fact::ToolPlanned { call, .. } if call.agent.is_some() => return None,
            Fact::ToolFinished { call, .. } if call.agent.is_some() => return None,
            Fact::ItemFinished { tag, .. } | Fact::ToolPlanned { tag, .. } => {
                Some((MessageRole::Assistant, tag.turn.clone(), tag.step))
            }
            Fact::ToolFinished { tag, .. } => Some((MessageRole::Tool, tag.turn.clone(), tag.step)),
            Fact::ThreadCreated { .. }
            | Fact::TitleChanged { .. }
            | Fact::SettingsChanged { .. }
            | Fact::ArchivedChanged { .. }
            | Fact::ThreadReset
            | Fact::StatusChanged { .. }
            | Fact::ThreadClosed
            | Fact::StepStarted { .. }
            | Fact::StepDelayed { .. }
            | Fact::StepFinished { .. }
            | Fact::StepFailed { .. }
            | Fact::ItemStarted { .. }
            | Fact::ItemGrew { .. }
            | Fact::ToolReached { .. }
            | Fact::CommandExited { .. }
            | Fact::ToolStarted { .. }
            | Fact::AskOpened { .. }
            | Fact::AskProgressed { .. }
            | Fact::AskClosed { .. }
            | Fact::PlanChanged { .. }
            | Fact::GrantRevoked { .. }
            | Fact::UsageAdded { .. }
            | Fact::CheckpointsChanged { .. }
            | Fact::FilesChanged { .. }
            | Fact::TurnDiffed { .. }
            | Fact::Logged { .. }
            | Fact::RawReceived { .. } => return None,
        };
        if role.is_none() || role != self.open_message {
            self.thread.message_count += 1;
            self.open_message = role;
        }
        Some(self.next_entry(event.seq))
    }

    fn next_entry(&mut self, seq: Seq) -> EntryRow {
        let (ordinal, message) = (self.next_ordinal, self.thread.message_count.max(1) - 1);
        self.next_ordinal += 1;
        EntryRow {
            ordinal,
            message,
            seq,
        }
    }

    fn start_turn(
        &mut self,
        seq: Seq,
        at: Timestamp,
        turn: &TurnId,
        input: &UserInput,
        model: &std::sync::Arc<vocabulary::ModelRef>,
    ) {
        self.thread.status = Status::Running;
        self.thread.updated_at = at;
        self.thread.active_at = Some(at);
        if self.thread.preview.is_empty() {
            self.thread.preview = input
                .shown()
                .trim()
                .chars()
                .take(PREVIEW_CHARS_MAX)
                .collect();
        }
        self.turn = Some(TurnState {
            turn: turn.clone(),
            started_at: at,
            started_seq: seq,
            ordinal: self.next_ordinal,
            // Pictures stay in the log: this row is written with every append.
            input: UserInput {
                images: Vec::new(),
                ..input.clone()
            },
            model: model.clone(),
            step: 0,
            calls: Vec::new(),
            usage: None,
        });
    }

    fn finish_turn(&mut self, at: Timestamp, outcome: &TurnOutcome) {
        self.thread.status = match outcome {
            TurnOutcome::Completed | TurnOutcome::Cancelled => Status::Ready,
            TurnOutcome::Failed(_) => Status::Error,
        };
        self.thread.updated_at = at;
        self.thread.active_at = Some(at);
        self.turn = None;
        self.granted.retain(|grant| grant.scope != GrantScope::Turn);
        self.asks.clear();
        self.open_message = None;
    }

    fn finish_step(&mut self, tag: &StreamTag, usage: Usage) {
        if let Some(turn) = &mut self.turn {
            turn.step = tag.step;
        }
        self.spend(Some(&tag.turn), usage);
    }

    /// Counts what was spent, for a turn or beside it.
    fn spend(&mut self, whose: Option<&TurnId>, usage: Usage) {
        self.usage.add(usage);
        if let Some(turn) = &mut self.turn
            && whose == Some(&turn.turn)
        {
            turn.usage.get_or_insert_default().add(usage);
        }
    }

    fn plan_call(&mut self, seq: Seq, tag: &StreamTag, call: &vocabulary::ToolCall) {
        let Some(turn) = &mut self.turn else { return };
        // Only the calls of the newest step matter: all earlier ones have ended. So have those of
        // a sub-agent's earlier steps, which are all made within one step of the turn.
        let over = |known: &CallState| known.finished && known.agent.is_some();
        turn.calls
            .retain(|known| known.step == tag.step && !over(known));
        turn.calls.push(CallState {
            item: call.item.clone(),
            call_id: call.call_id.clone(),
            name: call.name.clone(),
            class: call.class,
            agent: call.agent.clone(),
            step: tag.step,
            seq,
            started: false,
            finished: false,
        });
    }

    fn call_mut(&mut self, item: &ItemId) -> Option<&mut CallState> {
        self.turn
            .as_mut()?
            .calls
            .iter_mut()
            .find(|call| call.item == *item)
    }

    fn close_ask(&mut self, at: Timestamp, ask: &vocabulary::Ask, closing: &Closing) {
        self.asks.retain(|open| open.ask.id != ask.id);
        if self.asks.is_empty() && self.thread.status == Status::Waiting {
            self.thread.status = Status::Running;
        }
        let granted = match closing {
            Closing::Answered(Answer::Approval(answer)) => answer.grants(),
            Closing::Answered(Answer::Questions(_) | Answer::Dismissed)
            | Closing::Cancelled
            | Closing::Lost { .. } => None,
        };
        // Without a key, an answer for longer than once is one that an older version took.
        if let (Some(scope), AskKind::Approval(approval)) = (granted, &ask.kind)
            && approval.key.is_none()
        {
            self.grant_by_line(at, scope, approval.command.clone());
        }
    }

    fn grant_by_line(&mut self, at: Timestamp, scope: GrantScope, what: String) {
        self.granted.retain(|known| known.what != what);
        self.granted.push(Grant {
            id: String::new(),
            what,
            key: String::new(),
            scope,
            thread: None,
            turn: None,
            directory: Default::default(),
            by: None,
            at,
        });
        if self.granted.len() > GRANTS_MAX {
            self.granted.remove(0);
        }
    }

    fn reset(&mut self, at: Timestamp) {
        self.plan.clear();
        self.plan_turn = None;
        self.history_from = self.next_ordinal;
        self.compacted = None;
        self.context_tokens = 0;
        self.open_message = None;
        self.thread.message_count = 0;
        self.thread.preview.clear();
        self.thread.updated_at = at;
    }
}

/// The state that a whole log folds to, and the entries it makes: what the rows must say.
pub fn fold(log: &[StoredEvent]) -> Result<(ThreadState, Vec<EntryRow>), Refusal> {
    let mut events = log.iter().map(codec::decode);
    let first = events.next().transpose()?;
    let Some(Fact::ThreadCreated { thread }) = first.map(|event| event.fact) else {
        return Err(Refusal::new(
            Why::Storage,
            "a log begins with the thread's creation",
        ));
    };
    let (mut state, mut entries) = (ThreadState::new(*thread), Vec::new());
    for event in events {
        entries.extend(state.apply(&event?));
    }
    Ok((state, entries))
}

/// Whether a fact changes the thread's row in the list. Counts alone do not: the row follows at
/// the next turn boundary, and the state row has the exact number.
pub fn changes_list_row(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::ThreadCreated { .. }
            | Fact::TitleChanged { .. }
            | Fact::SettingsChanged { .. }
            | Fact::ArchivedChanged { .. }
            | Fact::ThreadReset
            | Fact::TurnStarted { .. }
            | Fact::TurnFinished { .. }
            | Fact::AskOpened { .. }
            | Fact::AskClosed { .. }
    )
}
