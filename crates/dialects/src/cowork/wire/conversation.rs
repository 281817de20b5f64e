//! Events of a conversation: echo, stream chunks, answers, prompts.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::part::{Part, PartType, RawPart, Usage};
use crate::cowork::names::{ChunkProvider, ModelName};
use crate::frame::AsText;
use crate::request_id::RequestId;

/// Server -> Client Events: user_message.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserMessage<'a> {
    pub session_id: &'a str,
    pub text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_message_id: Option<&'a str>,
}

/// Server -> Client Events: model_stream_chunk.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelStreamChunk<'a> {
    pub session_id: &'a str,
    pub turn_id: &'a str,
    /// -1 where nobody counted it.
    pub index: i64,
    pub provider: ChunkProvider,
    pub model: AsText<ModelName<'a>>,
    pub part_type: PartType,
    pub part: Part<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_part: Option<RawPart<'a>>,
}

/// Server -> Client Events: assistant_message.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessage<'a> {
    pub session_id: &'a str,
    pub text: &'a str,
}

/// Server -> Client Events: reasoning.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reasoning<'a> {
    pub session_id: &'a str,
    pub kind: ReasoningMode,
    pub text: &'a str,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningMode {
    Reasoning,
    Summary,
}

/// Server -> Client Events: log.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Log<'a> {
    pub session_id: &'a str,
    pub line: &'a str,
}

/// Server -> Client Events: todos.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Todos<'a> {
    pub session_id: &'a str,
    pub todos: Vec<TodoItem<'a>>,
}

/// Shared Types: TodoItem.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TodoItem<'a> {
    pub content: &'a str,
    pub status: TodoStatus,
    pub active_form: &'a str,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
}

/// Server -> Client Events: reset_done.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResetDone<'a> {
    pub session_id: &'a str,
}

/// Server -> Client Events: ask.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ask<'a> {
    pub session_id: &'a str,
    pub request_id: AsText<RequestId>,
    pub question: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<&'a str>,
}

/// Server -> Client Events: approval.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Approval<'a> {
    pub session_id: &'a str,
    pub request_id: AsText<RequestId>,
    pub command: Cow<'a, str>,
    pub dangerous: bool,
    pub reason_code: ApprovalRiskCode,
    /// In words: an addition of ours.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub reason: &'a str,
}

/// Shared Types: ApprovalRiskCode.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalRiskCode {
    SafeAutoApproved,
    MatchesDangerousPattern,
    ContainsShellControlOperator,
    RequiresManualReview,
    FileReadCommandRequiresReview,
    OutsideAllowedScope,
}

/// Server -> Client Events: turn_usage.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnUsage<'a> {
    pub session_id: &'a str,
    pub turn_id: &'a str,
    pub usage: Usage,
}
