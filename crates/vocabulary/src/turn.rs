//! Turns: from one user input to rest.

use serde::{Deserialize, Serialize};

use crate::ItemId;

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
}

impl UserInput {
    pub fn shown(&self) -> &str {
        self.display.as_deref().unwrap_or(&self.text)
    }
}

/// What made the turn start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    UserMessage,
    SlashCommand,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    #[serde(default)]
    pub cached_tokens: u64,
    #[serde(default)]
    pub cost_micro_dollars: u64,
}

impl Usage {
    pub fn total_tokens(&self) -> u64 {
        self.input_tokens + self.output_tokens
    }

    pub fn add(&mut self, other: Usage) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cached_tokens += other.cached_tokens;
        self.cost_micro_dollars += other.cost_micro_dollars;
    }
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
    /// The process died or was stopped while the turn ran.
    ServerRestart,
    /// The agent's process was lost.
    AgentLost,
    Internal,
}
