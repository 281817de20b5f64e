//! Items: the entries of a transcript, and what tools leave behind.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ItemId;

/// What a provider wants back as it was when the conversation goes on. It means nothing to anyone
/// else and is never shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Native {
    pub origin: String,
    pub value: Value,
}

/// An entry that the model wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Item {
    AgentMessage {
        text: String,
        /// Cut short by a cancel, a failure or the end of the process.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        partial: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        native: Option<Box<Native>>,
    },
    Reasoning {
        kind: ReasoningKind,
        text: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        partial: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        native: Option<Box<Native>>,
    },
}

/// Whether a provider shows the reasoning itself or only a summary of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningKind {
    Reasoning,
    Summary,
}

/// A call that the model wants made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    pub item: ItemId,
    /// The provider's id of the call.
    pub call_id: String,
    pub name: String,
    pub input: Value,
    pub class: ToolClass,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Box<Native>>,
    /// Why it must not run: the model wrote arguments that cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The sub-agent that makes it; the thread's own agent when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<SubAgent>>,
}

/// An agent that works for a call of another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubAgent {
    /// The call it works for.
    pub parent: ItemId,
    /// What kind it is: `explore`, `research`, `general`.
    pub kind: String,
    /// 1 for one that the thread's own agent started.
    pub depth: u32,
}

/// What kind of work a tool does, for the dialects that show kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolClass {
    Command,
    FileRead,
    FileChange,
    Question,
    Plan,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputStream {
    Stdout,
    Stderr,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    Succeeded(ToolOutput),
    /// The tool itself failed; the model reads why.
    Failed {
        error: String,
    },
    /// A person said no.
    Denied(ToolOutput),
    /// It was running when the turn was cancelled or the process died.
    Interrupted(ToolOutput),
    /// It never started.
    NotRun {
        why: String,
    },
}

/// What a tool gives back: one copy, typed, so that each dialect can show it in its own way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutput {
    Text(String),
    Command {
        stdout: String,
        stderr: String,
        exit_code: i32,
        #[serde(default)]
        duration_ms: u64,
    },
    Files {
        summary: String,
        changes: Vec<FileChange>,
    },
    Json(Value),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Relative to the workspace where it lies inside it.
    pub path: String,
    pub kind: FileChangeKind,
    /// Unified diff; for a new file its content.
    pub diff: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChangeKind {
    Add,
    Update,
    Delete,
}

/// One line of the to-do list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    pub content: String,
    pub status: PlanStepStatus,
    /// The same in the present continuous, shown while it is being done.
    pub active_form: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStepStatus {
    Pending,
    InProgress,
    Completed,
}
