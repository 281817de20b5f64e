//! Items of a turn (type `TurnItem`): camelCase, with snake_case payloads inside.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum TurnItem<'a> {
    UserMessage {
        id: &'a str,
        text: &'a str,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment<'a>>,
    },
    AgentMessage {
        id: &'a str,
        text: &'a str,
    },
    Reasoning {
        id: &'a str,
        summary: Vec<&'a str>,
        content: Vec<&'a str>,
    },
    SystemEvent {
        id: Cow<'a, str>,
        level: SystemEventLevel,
        message: Cow<'a, str>,
        code: &'static str,
        details: Value,
    },
    CommandExecution {
        #[serde(flatten)]
        tool: Tool<'a>,
        command: Vec<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cwd: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        success: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        outcome: Option<ToolOutcomeView<'a>>,
    },
    FileChange {
        #[serde(flatten)]
        tool: Tool<'a>,
        changed_files: Vec<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        success: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        outcome: Option<ToolOutcomeView<'a>>,
    },
    WebSearch {
        #[serde(flatten)]
        tool: Tool<'a>,
        query: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        took_ms: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        result_count: Option<usize>,
        results: Vec<SearchResult<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        success: Option<bool>,
    },
    WebFetch {
        #[serde(flatten)]
        tool: Tool<'a>,
        url: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        final_url: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        elapsed_ms: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        word_count: Option<usize>,
        /// Of what was read of it.
        links: Vec<WebLink<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        success: Option<bool>,
    },
    DynamicToolCall {
        #[serde(flatten)]
        tool: Tool<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        success: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        outcome: Option<ToolOutcomeView<'a>>,
    },
}

/// One thing that a search found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchResult<'a> {
    pub rank: u32,
    pub title: &'a str,
    pub url: &'a str,
    pub snippet: &'a str,
    /// The host that has it.
    pub source: &'a str,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WebLink<'a> {
    pub text: &'a str,
    pub url: &'a str,
}

/// How a call ended (the protocol's `ToolOutcome`).
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutcomeView<'a> {
    pub status: OutcomeStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_class: Option<&'static str>,
    /// Always false: no call is made again by the server itself.
    pub should_retry: bool,
    pub incomplete: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incomplete_reason: Option<&'a str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeStatus {
    Ok,
    RecoverableError,
    FatalError,
    PartialSuccess,
}

/// A picture that came with a message.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Attachment<'a> {
    Image { url: Cow<'a, str> },
    LocalImage { path: Cow<'a, str> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SystemEventLevel {
    Info,
    Warning,
    Error,
}

/// What all tool items have.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tool<'a> {
    pub id: &'a str,
    pub tool_name: &'a str,
    pub arguments: Cow<'a, Value>,
    pub status: ToolCallStatus,
    pub output_policy: ToolOutputPolicySnapshot,
    pub display: ToolDisplayPayload<'a>,
    pub storage: ToolStoragePayload<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallStatus {
    InProgress,
    Completed,
    Failed,
}

/// Always the same here: the model and the timeline get all that a tool keeps, deltas are shown
/// and not stored.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutputPolicySnapshot {
    pub llm: OutputPolicy,
    pub llm_retention: OutputPolicy,
    pub timeline: OutputPolicy,
    pub storage: OutputPolicy,
    pub recovery: OutputPolicy,
    pub deltas: OutputPolicy,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum OutputPolicy {
    Full { max_bytes: u64 },
    UntilTurnTerminal { max_bytes: u64 },
    ProgressOnly,
    None,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ToolDisplayPayload<'a> {
    Shell {
        stdout: &'a str,
        stderr: &'a str,
        exit_code: i32,
        duration_ms: u64,
        truncated: bool,
    },
    Summary {
        title: &'a str,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        lines: Vec<Cow<'a, str>>,
        metadata: Value,
        truncated: bool,
    },
    Progress {
        stage: &'static str,
        metadata: Value,
    },
}

/// What is kept, in short: the whole of it is in `display`, and in history again.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ToolStoragePayload<'a> {
    Summary {
        title: &'a str,
        metadata: Value,
        truncated: bool,
    },
    /// Of a call that has not ended.
    None,
}
