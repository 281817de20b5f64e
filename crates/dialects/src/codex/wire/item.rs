//! The items of a turn.

use crate::content::McpContent;
use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::params::TextElement;

/// Item Types on `item/completed`; the app-server's ThreadItem.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ThreadItem<'a> {
    UserMessage {
        id: &'a str,
        client_id: Option<&'a str>,
        content: Vec<UserContent<'a>>,
    },
    AgentMessage {
        id: &'a str,
        text: &'a str,
    },
    /// What the agent proposes in plan mode, for a person to approve.
    Plan {
        id: &'a str,
        text: &'a str,
    },
    Reasoning {
        id: &'a str,
        summary: Vec<&'a str>,
        content: Vec<&'a str>,
    },
    CommandExecution {
        id: &'a str,
        command: Cow<'a, str>,
        cwd: Cow<'a, str>,
        source: &'static str,
        status: ItemStatus,
        command_actions: Vec<CommandAction<'a>>,
        aggregated_output: Option<Cow<'a, str>>,
        exit_code: Option<i32>,
        duration_ms: Option<u64>,
    },
    FileChange {
        id: &'a str,
        changes: Vec<FileUpdateChange<'a>>,
        status: ItemStatus,
    },
    /// A tool of an MCP server; on zane any other tool, too, because its client shows nothing else.
    McpToolCall {
        id: &'a str,
        server: &'a str,
        tool: &'a str,
        status: ItemStatus,
        arguments: &'a Value,
        result: Option<McpToolCallResult<'a>>,
        error: Option<McpToolCallError<'a>>,
        duration_ms: Option<u64>,
    },
    /// Any other tool, for codex.
    DynamicToolCall {
        id: &'a str,
        namespace: Option<&'a str>,
        tool: &'a str,
        arguments: &'a Value,
        status: ItemStatus,
        content_items: Option<Vec<DynamicToolCallOutputContentItem<'a>>>,
        success: Option<bool>,
        duration_ms: Option<u64>,
    },
    /// A search of the web, or a page of it that is read.
    WebSearch {
        id: &'a str,
        query: &'a str,
        action: WebSearchAction<'a>,
    },
    /// A picture that the agent looks at.
    ImageView {
        id: &'a str,
        path: Cow<'a, str>,
    },
    /// A sub-agent, by the call that it works for.
    CollabAgentToolCall {
        id: &'a str,
        tool: CollabAgentTool,
        status: CollabAgentToolCallStatus,
        sender_thread_id: String,
        /// The sub-agent itself, by the id of its call: it is no thread.
        receiver_thread_ids: [&'a str; 1],
        prompt: &'a str,
        agents_states: BTreeMap<&'a str, CollabAgentState<'a>>,
    },
    ContextCompaction {
        id: &'a str,
    },
    /// A review begins: what is reviewed.
    EnteredReviewMode {
        id: &'a str,
        review: &'a str,
    },
    /// It is over: what was found.
    ExitedReviewMode {
        id: &'a str,
        review: &'a str,
    },
}

impl<'a> ThreadItem<'a> {
    pub fn id(&self) -> &'a str {
        match self {
            ThreadItem::UserMessage { id, .. }
            | ThreadItem::AgentMessage { id, .. }
            | ThreadItem::Plan { id, .. }
            | ThreadItem::Reasoning { id, .. }
            | ThreadItem::CommandExecution { id, .. }
            | ThreadItem::FileChange { id, .. }
            | ThreadItem::McpToolCall { id, .. }
            | ThreadItem::DynamicToolCall { id, .. }
            | ThreadItem::WebSearch { id, .. }
            | ThreadItem::ImageView { id, .. }
            | ThreadItem::CollabAgentToolCall { id, .. }
            | ThreadItem::ContextCompaction { id }
            | ThreadItem::EnteredReviewMode { id, .. }
            | ThreadItem::ExitedReviewMode { id, .. } => id,
        }
    }
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum WebSearchAction<'a> {
    Search { query: &'a str },
    OpenPage { url: &'a str },
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CollabAgentTool {
    SpawnAgent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CollabAgentToolCallStatus {
    InProgress,
    Completed,
    Failed,
    Interrupted,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CollabAgentState<'a> {
    pub status: CollabAgentStatus,
    /// What it reports, once it has ended.
    pub message: Option<Cow<'a, str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CollabAgentStatus {
    Running,
    Interrupted,
    Completed,
    Errored,
    /// It never began.
    NotFound,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ItemStatus {
    InProgress,
    Completed,
    Failed,
    Declined,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum UserContent<'a> {
    Text {
        text: &'a str,
        text_elements: Vec<TextElement>,
    },
    Image {
        url: Cow<'a, str>,
    },
    LocalImage {
        path: Cow<'a, str>,
    },
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum CommandAction<'a> {
    Unknown { command: &'a str },
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FileUpdateChange<'a> {
    /// Absolute on codex; on zane relative to the workspace where it lies inside.
    pub path: Cow<'a, str>,
    pub kind: PatchChangeKind,
    pub diff: Cow<'a, str>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum PatchChangeKind {
    Add,
    Delete,
    Update { move_path: Option<String> },
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpToolCallResult<'a> {
    pub content: Vec<McpContent<'a>>,
    pub structured_content: Option<&'a Value>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum DynamicToolCallOutputContentItem<'a> {
    InputText { text: Cow<'a, str> },
    InputImage { image_url: String },
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct McpToolCallError<'a> {
    pub message: &'a str,
}
