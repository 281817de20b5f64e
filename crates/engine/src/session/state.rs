//! What a session knows of its thread: the fold of the log, small enough to be written with every append.

mod fold;
mod list_row;
mod past;

pub use fold::{Folded, Folding, created, fold};
pub use list_row::changes_list_row;
pub use past::{HiddenSpan, Untold};

use serde::{Deserialize, Serialize};
use store::{EntryRow, LoadedThread, RevertedRows};
use vocabulary::{
    AskFact, CallRef, Cause, EndedTurn, Event, Fact, FilesFact, Grant, IndexedTurn, ItemFact,
    ItemId, OpenAsk, PlanStep, Refusal, Seq, Status, StepFact, StreamTag, Thread, ThreadFact,
    Timestamp, ToolCall, ToolEvent, ToolFact, TurnFact, TurnId, TurnOutcome, Usage, UserInput, Why,
};

use super::resent::LastMessage;
use crate::limits::PREVIEW_CHARS_MAX;

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
    /// What a person allowed for longer than once while older versions kept that here. It is carried
    /// along until the store's own grants have taken it over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub granted: Vec<Grant>,
    /// The place of the next transcript entry.
    pub next_ordinal: u64,
    /// The transcript starts here; what stands before was reset away.
    pub history_from: u64,
    /// Where the log was when that happened: what stands before is told to nobody.
    #[serde(default)]
    pub reset_at: Seq,
    /// Turns that were taken back since then: they are told to nobody, either.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<HiddenSpan>,
    /// How many turns the index has. Nothing: an older version wrote this and had no index.
    #[serde(default)]
    pub turn_count: Option<u64>,
    /// What was spent so far, on everything.
    #[serde(default)]
    pub usage: Usage,
    /// Tokens the model's context held after its last answer; 0 when that is not known.
    #[serde(default)]
    pub context_tokens: u64,
    /// Where the model's context starts to be read: at the turn that was summarised last.
    #[serde(default)]
    pub compacted: Option<u64>,
    /// What was said last, for a client that says it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_message: Option<Box<LastMessage>>,
    /// The message that the next entry may still belong to.
    open_message: Option<(MessageRole, TurnId, u32)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnState {
    pub turn: TurnId,
    /// Its number among the thread's turns.
    #[serde(default)]
    pub number: u64,
    pub started_at: Timestamp,
    pub started_seq: Seq,
    /// Where it starts in the transcript.
    #[serde(default)]
    pub ordinal: u64,
    pub input: UserInput,
    #[serde(default)]
    pub cause: Cause,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<std::sync::Arc<vocabulary::ModelRef>>,
    /// The last step that finished.
    pub step: u32,
    /// The calls of that step.
    pub calls: Vec<CallState>,
    /// How many numbered parts it has made. Not of the log: most of them are not in it.
    #[serde(default)]
    pub parts: u32,
    pub usage: Option<Usage>,
}

impl TurnState {
    /// Its row in the index, as long as it runs.
    fn indexed(&self) -> IndexedTurn {
        IndexedTurn {
            number: self.number,
            turn: self.turn.clone(),
            first_seq: self.started_seq,
            first_ordinal: self.ordinal,
            started_at: self.started_at,
            ended: None,
        }
    }
}

/// The rows that an event makes beside the state.
#[derive(Default)]
pub struct Projected {
    pub entry: Option<EntryRow>,
    pub turn: Option<IndexedTurn>,
    /// The rows that go instead.
    pub reverted: Option<RevertedRows>,
}

/// A planned call: where the log has it, and how far it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallState {
    #[serde(flatten)]
    pub call: CallRef,
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
            reset_at: Seq::ZERO,
            hidden: Vec::new(),
            turn_count: Some(0),
            usage: Usage::default(),
            context_tokens: 0,
            compacted: None,
            last_message: None,
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

    /// Takes one event in; gives the rows that it makes.
    /// Ephemeral events change nothing: the fold of the log alone gives the state.
    pub fn apply(&mut self, event: &Event) -> Projected {
        let at = event.at;
        // Once it has ended, the state knows it no more.
        let ending = match &event.fact {
            Fact::Turn(TurnFact::Finished { outcome, .. }) => {
                self.turn.as_ref().map(|turn| (turn.indexed(), outcome))
            }
            // tidy: wildcard, because only this ends a turn.
            _ => None,
        };
        match &event.fact {
            Fact::Thread(what) => self.apply_thread(event.seq, at, what),
            Fact::Turn(what) => self.apply_turn(event.seq, at, what),
            Fact::Step { tag, what } => self.apply_step(tag, what),
            Fact::Tool(tool) => self.apply_tool(event.seq, tool),
            Fact::Ask { tag, what } => self.apply_ask(event.seq, at, tag, what),
            Fact::Item { .. } | Fact::Files(_) | Fact::Note(_) => {}
        }
        let entry = self.enter(event);
        let turn = match (&event.fact, entry, ending) {
            (Fact::Turn(TurnFact::Started { .. }), ..) => {
                self.turn.as_ref().map(TurnState::indexed)
            }
            (_, Some(entry), Some((turn, outcome))) => Some(IndexedTurn {
                ended: Some(EndedTurn {
                    last_seq: event.seq,
                    last_ordinal: entry.ordinal,
                    at,
                    outcome: outcome.clone(),
                }),
                ..turn
            }),
            (..) => None,
        };
        let reverted = match &event.fact {
            Fact::Thread(ThreadFact::Reverted { point }) => Some(RevertedRows {
                entry: point.entry,
                turn: point.number,
            }),
            // tidy: wildcard, because only this takes rows back.
            _ => None,
        };
        Projected {
            entry,
            turn,
            reverted,
        }
    }

    fn apply_thread(&mut self, seq: Seq, at: Timestamp, what: &ThreadFact) {
        match what {
            ThreadFact::Created { thread } => *self = Self::new((**thread).clone()),
            ThreadFact::Titled { title, .. } => {
                self.thread.title = title.clone();
                self.thread.updated_at = at;
            }
            ThreadFact::SettingsChanged { settings, .. } => {
                self.thread.settings = settings.clone();
                self.thread.updated_at = at;
            }
            ThreadFact::Archived { archived } => {
                self.thread.archived = *archived;
                self.thread.updated_at = at;
            }
            ThreadFact::Labelled { labels } => {
                self.thread.labels.clone_from(labels);
                self.thread.updated_at = at;
            }
            ThreadFact::Reset => self.reset(seq, at),
            ThreadFact::Reverted { point } => self.revert(seq, at, point),
            ThreadFact::StatusChanged { .. } | ThreadFact::Closed => {}
        }
    }

    fn apply_turn(&mut self, seq: Seq, at: Timestamp, what: &TurnFact) {
        match what {
            TurnFact::Started {
                turn,
                cause,
                input,
                model,
            } => {
                // An order is nothing that a client would say again.
                if cause.is_said() {
                    self.last_message = LastMessage::of((seq, at), turn, *cause, input);
                }
                self.start_turn((seq, at), turn, (*cause, input), model);
            }
            TurnFact::Steered { turn, input, .. } => {
                self.last_message = LastMessage::of((seq, at), turn, Cause::UserMessage, input);
                self.thread.updated_at = at;
            }
            TurnFact::Finished { outcome, .. } => self.finish_turn(at, outcome),
            TurnFact::PlanChanged { turn, steps } => {
                self.plan = steps.clone();
                self.plan_turn = turn.clone();
            }
            TurnFact::UsageAdded { turn, usage, .. } => self.spend(turn.as_ref(), *usage),
            TurnFact::SteerPlaced { .. } => {}
        }
    }

    fn apply_step(&mut self, tag: &StreamTag, what: &StepFact) {
        match what {
            StepFact::Finished { usage, .. } => {
                self.context_tokens = usage.total_tokens();
                self.finish_step(tag, *usage);
            }
            StepFact::Failed { .. } => self.finish_step(tag, Usage::default()),
            StepFact::Compacted { kept, .. } => {
                // The input of the running turn is read on: it is kept with its pictures. So are
                // the steps that were kept.
                let turn = self.turn.as_ref().map(|turn| turn.ordinal);
                let turn = turn.unwrap_or(self.next_ordinal);
                let steps = kept.as_ref().and_then(|kept| kept.steps);
                self.compacted = Some(steps.map_or(turn, |steps| steps.turn_entry.min(turn)));
                self.context_tokens = 0;
            }
            StepFact::Pruned { .. } => self.context_tokens = 0,
            StepFact::Started
            | StepFact::Delayed { .. }
            | StepFact::Retried { .. }
            | StepFact::LimitReached { .. }
            | StepFact::CompactionStarted
            | StepFact::Informed { .. }
            | StepFact::Cited { .. }
            | StepFact::RawReceived { .. } => {}
        }
    }

    fn apply_tool(&mut self, seq: Seq, tool: &ToolEvent) {
        match &tool.what {
            ToolFact::Planned { .. } => self.plan_call(seq, &tool.tag, &tool.call),
            ToolFact::Started => {
                if let Some(call) = self.call_mut(&tool.call.item) {
                    call.started = true;
                }
            }
            ToolFact::Finished { .. } => {
                if let Some(call) = self.call_mut(&tool.call.item) {
                    call.finished = true;
                }
            }
            ToolFact::Reached
            | ToolFact::Wrote { .. }
            | ToolFact::Interacted { .. }
            | ToolFact::JobEnded { .. }
            | ToolFact::Progressed { .. }
            | ToolFact::TimedOut { .. }
            | ToolFact::Exited { .. } => {}
        }
    }

    fn apply_ask(&mut self, seq: Seq, at: Timestamp, tag: &StreamTag, what: &AskFact) {
        match what {
            AskFact::Opened { ask } => {
                self.thread.status = Status::Waiting;
                self.asks.push(OpenAsk {
                    ask: ask.clone(),
                    seq,
                    at,
                    tag: tag.clone(),
                    answers: Default::default(),
                });
            }
            AskFact::Progressed { ask, answers, .. } => {
                if let Some(open) = self.asks.iter_mut().find(|open| open.ask.id == *ask) {
                    open.answers = answers.clone();
                }
            }
            AskFact::Closed { ask, .. } => {
                self.asks.retain(|open| open.ask.id != ask.id);
                if self.asks.is_empty() && self.thread.status == Status::Waiting {
                    self.thread.status = Status::Running;
                }
            }
        }
    }

    /// Where an event stands in the transcript, if it is an entry of it.
    fn enter(&mut self, event: &Event) -> Option<EntryRow> {
        let role = match &event.fact {
            Fact::Turn(TurnFact::Started { .. } | TurnFact::Steered { .. }) => None,
            // The end of a turn belongs to its last message.
            Fact::Turn(TurnFact::Finished { .. })
            | Fact::Step {
                what:
                    StepFact::Compacted { .. }
                    | StepFact::Pruned { .. }
                    | StepFact::Informed { .. }
                    | StepFact::Delayed { discards: true, .. },
                ..
            }
            // The model reads of it in its place, before what is said next.
            | Fact::Files(FilesFact::Uploaded { .. }) => {
                return Some(self.next_entry(event.seq));
            }
            Fact::Item {
                tag,
                what: ItemFact::Finished { .. },
                ..
            } => Some((MessageRole::Assistant, tag.turn.clone(), tag.step)),
            Fact::Tool(tool) => {
                let role = match &tool.what {
                    // What a sub-agent does is its own conversation: it stands beside the message
                    // that it works for, and begins none. So does what the user does meanwhile.
                    ToolFact::Planned { .. } | ToolFact::Finished { .. }
                        if tool.call.agent.is_some() || self.is_beside(&tool.call) =>
                    {
                        return Some(self.next_entry(event.seq));
                    }
                    ToolFact::Planned { .. } => MessageRole::Assistant,
                    ToolFact::Finished { .. } => MessageRole::Tool,
                    ToolFact::Reached
                    | ToolFact::Started
                    | ToolFact::Wrote { .. }
                    | ToolFact::Interacted { .. }
| ToolFact::JobEnded { .. }
                    | ToolFact::Progressed { .. }
                    | ToolFact::TimedOut { .. }
                    | ToolFact::Exited { .. } => return None,
                };
                Some((role, tool.tag.turn.clone(), tool.tag.step))
            }
            Fact::Turn(
                TurnFact::SteerPlaced { .. }
                | TurnFact::PlanChanged { .. }
                | TurnFact::UsageAdded { .. },
            )
            | Fact::Item { .. }
            | Fact::Step { .. }
            | Fact::Thread(_)
            | Fact::Ask { .. }
            | Fact::Files(_)
            | Fact::Note(_) => return None,
        };
        if role.is_none() || role != self.open_message {
            self.thread.message_count += 1;
            self.open_message = role;
        }
        Some(self.next_entry(event.seq))
    }

    /// Whether a call is the user's own, in a turn that is not.
    fn is_beside(&self, call: &ToolCall) -> bool {
        let cause = self.turn.as_ref().map(|turn| turn.cause);
        call.by_user && cause.is_some_and(Cause::is_said)
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
        (seq, at): (Seq, Timestamp),
        turn: &TurnId,
        (cause, input): (Cause, &UserInput),
        model: &Option<std::sync::Arc<vocabulary::ModelRef>>,
    ) {
        self.thread.status = Status::Running;
        self.thread.updated_at = at;
        self.thread.active_at = Some(at);
        if self.thread.preview.is_empty() && cause.is_said() {
            self.thread.preview = input
                .shown()
                .trim()
                .chars()
                .take(PREVIEW_CHARS_MAX)
                .collect();
        }
        let number = self.turn_count.unwrap_or_default() + 1;
        self.turn_count = Some(number);
        self.turn = Some(TurnState {
            turn: turn.clone(),
            number,
            started_at: at,
            started_seq: seq,
            ordinal: self.next_ordinal,
            // Pictures stay in the log: this row is written with every append.
            input: UserInput {
                images: Vec::new(),
                ..input.clone()
            },
            cause,
            model: model.clone(),
            step: 0,
            calls: Vec::new(),
            parts: 0,
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
        // A step of which nobody says what it used has not used nothing.
        if let Some(turn) = &mut self.turn
            && whose == Some(&turn.turn)
            && usage != Usage::default()
        {
            turn.usage.get_or_insert_default().add(usage);
        }
    }

    fn plan_call(&mut self, seq: Seq, tag: &StreamTag, call: &ToolCall) {
        let Some(turn) = &mut self.turn else { return };
        // Only the calls of the newest step matter: all earlier ones have ended. So have those of
        // a sub-agent's earlier steps, which are all made within one step of the turn. What the user
        // does runs beside the steps.
        let over = |known: &CallState| known.finished && known.call.agent.is_some();
        let beside = |known: &CallState| known.call.by_user && !known.finished;
        turn.calls
            .retain(|known| beside(known) || known.step == tag.step && !over(known));
        turn.calls.push(CallState {
            call: call.into(),
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
            .find(|known| known.call.item == *item)
    }
}
