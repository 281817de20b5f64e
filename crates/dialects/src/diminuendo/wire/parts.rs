//! What frames are made of: sessions, turns, history, questions.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// SessionStatus, the seven states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    Inactive,
    Activating,
    Ready,
    Running,
    Waiting,
    Deactivating,
    Error,
}

/// SessionMeta Schema.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionMeta<'a> {
    pub id: String,
    pub tenant_id: &'a str,
    pub name: Option<&'a str>,
    pub agent_type: &'a str,
    pub status: SessionStatus,
    pub archived: bool,
    pub created_at: i64,
    pub updated_at: i64,
    pub last_activity_at: Option<i64>,
}

/// authenticated: who this connection is.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Identity<'a> {
    pub user_id: &'a str,
    pub email: &'a str,
    pub tenant_id: &'a str,
}

/// state_snapshot: the turn in progress.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CurrentTurn<'a> {
    pub turn_id: &'a str,
    pub started_at: i64,
    pub status: SessionStatus,
}

/// state_snapshot: what fences commands in.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SandboxState {
    pub status: &'static str,
    pub provider: &'static str,
}

/// One message of `history` and of `recentHistory`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryItem<'a> {
    pub id: &'a str,
    pub role: Role,
    pub content: &'a str,
    pub turn_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<&'a str>,
    pub created_at: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
}

/// stream_snapshot: a call that is not over.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActiveToolCall<'a> {
    pub tool_call_id: &'a str,
    pub tool_name: &'a str,
    pub status: ActiveStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Cow<'a, Value>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActiveStatus {
    /// Its arguments are still being written.
    Streaming,
    /// It waits for its turn, or for a person.
    Pending,
    Running,
}

/// tool_result: Execution status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    Success,
    Error,
}

/// question_requested: one question.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Question<'a> {
    pub id: &'a str,
    /// A word or two for it: an addition of ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<&'a str>,
    pub question: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<QuestionOption<'a>>,
    pub multi_select: bool,
    pub required: bool,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuestionOption<'a> {
    pub label: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'a str>,
}

/// events: one entry of the log.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoggedEvent {
    pub seq: u64,
    #[serde(rename = "type")]
    pub kind: String,
    pub data: Map<String, Value>,
    pub created_at: i64,
}

/// file_content: how the content is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Encoding {
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "base64")]
    Base64,
}

/// file_history_result: one version of the file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IterationMeta<'a> {
    pub iteration: u64,
    pub timestamp: i64,
    pub size: u64,
    pub hash: &'a str,
}

/// error: what went wrong, in a machine's words. Transport codes are screamed, the others are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum ErrorCode {
    #[serde(rename = "INVALID_JSON")]
    InvalidJson,
    #[serde(rename = "INVALID_MESSAGE")]
    InvalidMessage,
    #[serde(rename = "MESSAGE_TOO_LARGE")]
    MessageTooLarge,
    #[serde(rename = "RATE_LIMITED")]
    RateLimited,
    #[serde(rename = "AUTH_FAILED")]
    AuthFailed,
    #[serde(rename = "AUTH_RATE_LIMITED")]
    AuthRateLimited,
    SessionBusy,
    NoActiveTurn,
    Forbidden,
    Unauthenticated,
    SessionNotFound,
    FileNotFound,
    FileTooLarge,
    RequestAlreadyResolved,
    InvalidCursor,
    InsufficientCredits,
    /// A value that is of the right type and still cannot be.
    InvalidRequest,
    /// The same client id came with another body.
    Conflict,
    TooManySessions,
    NotAvailable,
    SessionUnavailable,
    ServerShuttingDown,
    InternalError,
}
