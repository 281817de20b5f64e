//! Turns: from one user input to rest.

use serde::{Deserialize, Serialize};

use crate::{ItemId, Seq, Timestamp, TurnId};

/// Which model of which provider. Provider ids are the catalog's own (`openai`, `rehearsal`).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModelRef {
    pub provider: String,
    pub model: String,
}

/// What the user said, as the transcript keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserInput {
    pub item: ItemId,
    /// What the model reads.
    pub text: String,
    /// What people read, where it differs (a slash command's own line).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<String>,
    /// The id by which the client knows this input, told back to everyone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// In which order it was said; empty where it is one text, and then pictures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pieces: Vec<InputPiece>,
}

/// A piece of what the user said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputPiece {
    /// So many bytes of what people read; a line break parts it from the next one.
    Text {
        bytes: usize,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        marks: Vec<TextMark>,
    },
    /// The next of the pictures.
    Image,
}

/// A place in a text that its client draws in a way of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextMark {
    /// In bytes of the piece.
    pub start: usize,
    pub end: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
}

/// A picture that came with what the user said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Image {
    Data {
        /// `image/png` and the like.
        media_type: String,
        base64: std::sync::Arc<str>,
    },
    /// The provider fetches it.
    Url(String),
    /// A file of the user's own machine. The engine reads it when it takes the input, and keeps it
    /// as `Data`: no event has one.
    Path(std::path::PathBuf),
}

impl UserInput {
    pub fn shown(&self) -> &str {
        self.display.as_deref().unwrap_or(&self.text)
    }
}

/// What made the turn start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    #[default]
    UserMessage,
    SlashCommand,
    /// The conversation is to be summarised.
    Compaction,
    /// Changes are to be reviewed.
    Review,
    /// A command line of the user's own.
    Shell,
}

impl Cause {
    /// Whether its input was said to the agent. What starts another turn is an order; its words are for
    /// people who see only what was said.
    pub fn is_said(self) -> bool {
        match self {
            Cause::UserMessage | Cause::SlashCommand => true,
            Cause::Compaction | Cause::Review | Cause::Shell => false,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    #[serde(default)]
    pub cached_tokens: u64,
    /// Of the output: reasoning.
    #[serde(default)]
    pub reasoning_tokens: u64,
    /// Absent when the price of the model is not known: that is not zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro_dollars: Option<u64>,
}

impl Usage {
    pub fn total_tokens(&self) -> u64 {
        self.input_tokens + self.output_tokens
    }

    pub fn add(&mut self, other: Usage) {
        let nothing_yet = *self == Usage::default();
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cached_tokens += other.cached_tokens;
        self.reasoning_tokens += other.reasoning_tokens;
        self.cost_micro_dollars = match (self.cost_micro_dollars, other.cost_micro_dollars) {
            (Some(cost), Some(more)) => Some(cost + more),
            (None, more) if nothing_yet => more,
            // A sum with an unknown part is unknown, unless nothing was added.
            (cost, None) if other == Usage::default() => cost,
            (None, _) | (_, None) => None,
        };
    }
}

/// What tokens beside a turn's own steps were spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    SubAgent,
    Compaction,
    Title,
}

/// What may be spent. Absent: without a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budgets {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_micro_dollars: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_micro_dollars: Option<u64>,
}

/// Why the model stopped writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It had said what it wanted to say.
    Stop,
    /// It wants tools to run.
    ToolUse,
    /// It ran into a length limit.
    Length,
    /// The turn was cancelled while it wrote.
    Aborted,
    /// The provider failed.
    Error,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnOutcome {
    Completed,
    Cancelled,
    Failed(TurnError),
}

/// A turn as the index of its thread has it: enough to list it, and to read what happened in it
/// without looking for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexedTurn {
    /// From 1, in the order in which they started; a reset does not count anew.
    pub number: u64,
    pub turn: TurnId,
    pub first_seq: Seq,
    /// The place of its first entry in the transcript.
    pub first_ordinal: u64,
    pub started_at: Timestamp,
    /// `None` while it has not come to rest.
    pub ended: Option<EndedTurn>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedTurn {
    pub last_seq: Seq,
    pub last_ordinal: u64,
    pub at: Timestamp,
    pub outcome: TurnOutcome,
}

/// Which turns of a thread are read, and in which order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TurnSelection {
    /// From the end backwards.
    Newest,
    /// From the beginning onwards.
    Oldest,
    /// Those before this number, backwards.
    Before(u64),
    /// Those after this number, onwards.
    After(u64),
    /// The one of this id.
    One(TurnId),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnError {
    pub kind: TurnErrorKind,
    /// For people; never a path, a key or a stack.
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnErrorKind {
    /// The model's service said no or went away.
    Provider,
    /// What may be spent is spent.
    Budget,
    /// The tenant's balance does not cover the next step.
    InsufficientCredits,
    /// It may take no more steps.
    StepLimit,
    /// The same calls gave the same results again and again.
    Loop,
    /// The model's answers were cut at its output limit.
    OutputLimit,
    /// The model said nothing, however often it was asked.
    EmptyAnswer,
    /// The conversation does not fit the model, however it is summarised.
    ContextFull,
    /// The process died or was stopped while the turn ran.
    ServerRestart,
    /// The agent's process was lost.
    AgentLost,
    Internal,
}

impl TurnErrorKind {
    /// Whether the agent itself came to its end, so that what it said last is an answer.
    pub fn ends_with_an_answer(self) -> bool {
        match self {
            TurnErrorKind::StepLimit
            | TurnErrorKind::Loop
            | TurnErrorKind::OutputLimit
            | TurnErrorKind::EmptyAnswer => true,
            TurnErrorKind::Provider
            | TurnErrorKind::Budget
            | TurnErrorKind::InsufficientCredits
            | TurnErrorKind::ContextFull
            | TurnErrorKind::ServerRestart
            | TurnErrorKind::AgentLost
            | TurnErrorKind::Internal => false,
        }
    }
}
