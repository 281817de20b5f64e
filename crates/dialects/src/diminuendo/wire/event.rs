//! The events this build sends, in the order of docs/protocols/diminuendo.md.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Number, Value};

use super::parts::{
    ActiveToolCall, CurrentTurn, Encoding, ErrorCode, HistoryItem, Identity, IterationMeta,
    LoggedEvent, Question, SandboxState, SessionMeta, SessionStatus, ToolStatus,
};
use crate::frame::AsText;
use crate::request_id::RequestId;

/// Server Events. What has a `seq` is numbered; the rest the page lists without one.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum ServerEvent<'a> {
    // Connection Lifecycle
    Welcome {
        protocol_version: u32,
        requires_auth: bool,
    },
    Connected {
        client_id: &'a str,
        heartbeat_interval_ms: i64,
        ts: i64,
    },
    Authenticated {
        identity: Identity<'a>,
    },
    Heartbeat {
        ts: i64,
    },

    // Session Lifecycle
    SessionList {
        sessions: Vec<SessionMeta<'a>>,
    },
    SessionCreated {
        session: SessionMeta<'a>,
    },
    SessionUpdated {
        session: SessionMeta<'a>,
    },
    SessionArchived {
        session: SessionMeta<'a>,
    },
    SessionUnarchived {
        session: SessionMeta<'a>,
    },
    SessionDeleted {
        session_id: &'a str,
    },
    SessionState {
        session_id: &'a str,
        state: SessionStatus,
        reason: &'static str,
    },

    // Turn Lifecycle
    TurnStarted {
        session_id: &'a str,
        turn_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        user_id: Option<&'a str>,
        seq: u64,
        ts: i64,
    },
    TextDelta {
        session_id: &'a str,
        turn_id: &'a str,
        text: &'a str,
        seq: u64,
        ts: i64,
    },
    TurnComplete {
        session_id: &'a str,
        turn_id: &'a str,
        final_text: &'a str,
        seq: u64,
        ts: i64,
    },
    TurnError {
        session_id: &'a str,
        turn_id: &'a str,
        message: &'a str,
        code: &'static str,
        seq: u64,
        ts: i64,
    },

    // Message Streaming
    #[serde(rename = "message.delta")]
    MessageDelta {
        session_id: &'a str,
        turn_id: &'a str,
        text: &'a str,
        seq: u64,
        ts: i64,
    },
    #[serde(rename = "message.complete")]
    MessageComplete {
        session_id: &'a str,
        turn_id: &'a str,
        text: &'a str,
        seq: u64,
        ts: i64,
    },

    // Tool Lifecycle
    ToolCall {
        session_id: &'a str,
        turn_id: &'a str,
        tool_call_id: &'a str,
        tool_name: &'a str,
        args: &'a Value,
        seq: u64,
        ts: i64,
    },
    ToolResult {
        session_id: &'a str,
        turn_id: &'a str,
        tool_call_id: &'a str,
        status: ToolStatus,
        #[serde(skip_serializing_if = "str::is_empty")]
        output: Cow<'a, str>,
        seq: u64,
        ts: i64,
    },
    ToolCallStart {
        session_id: &'a str,
        turn_id: &'a str,
        tool_call_id: &'a str,
        tool_name: &'a str,
        seq: u64,
        ts: i64,
    },
    ToolCallDelta {
        session_id: &'a str,
        turn_id: &'a str,
        tool_call_id: &'a str,
        delta: &'a str,
        seq: u64,
        ts: i64,
    },
    ToolError {
        session_id: &'a str,
        turn_id: &'a str,
        tool_call_id: &'a str,
        error: &'a str,
        seq: u64,
        ts: i64,
    },

    // Interactive
    QuestionRequested {
        session_id: &'a str,
        request_id: AsText<RequestId>,
        questions: Vec<Question<'a>>,
        /// Why it is asked.
        #[serde(skip_serializing_if = "Option::is_none")]
        context: Option<Cow<'a, str>>,
    },
    PermissionRequested {
        session_id: &'a str,
        request_id: AsText<RequestId>,
        tool_name: &'a str,
        description: Cow<'a, str>,
        /// Why it is asked: an addition of ours.
        #[serde(skip_serializing_if = "str::is_empty")]
        reason: &'a str,
        seq: u64,
        ts: i64,
    },
    ApprovalResolved {
        session_id: &'a str,
        request_id: AsText<RequestId>,
        approved: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        user_id: Option<&'a str>,
        seq: u64,
        ts: i64,
    },

    // Thinking
    ThinkingStart {
        session_id: &'a str,
        turn_id: &'a str,
        seq: u64,
        ts: i64,
    },
    ThinkingProgress {
        session_id: &'a str,
        turn_id: &'a str,
        text: &'a str,
        seq: u64,
        ts: i64,
    },
    ThinkingComplete {
        session_id: &'a str,
        turn_id: &'a str,
        seq: u64,
        ts: i64,
    },

    // Terminal
    TerminalStream {
        session_id: &'a str,
        turn_id: &'a str,
        data: &'a str,
        seq: u64,
        ts: i64,
    },
    TerminalComplete {
        session_id: &'a str,
        turn_id: &'a str,
        exit_code: i32,
        seq: u64,
        ts: i64,
    },

    // Sandbox
    SandboxInit {
        session_id: &'a str,
        provider: &'static str,
    },
    SandboxProvisioning {
        session_id: &'a str,
        phase: &'static str,
        message: &'a str,
    },
    SandboxReady {
        session_id: &'a str,
    },
    SandboxRemoved {
        session_id: &'a str,
        reason: &'static str,
    },

    // State & Snapshots
    StateSnapshot {
        session_id: &'a str,
        session: SessionMeta<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        current_turn: Option<CurrentTurn<'a>>,
        recent_history: Vec<HistoryItem<'a>>,
        subscriber_count: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        sandbox: Option<SandboxState>,
    },
    StreamSnapshot {
        session_id: &'a str,
        turn_id: &'a str,
        text: String,
        thinking: String,
        tool_calls: Vec<ActiveToolCall<'a>>,
    },

    // Usage & Billing
    UsageUpdate {
        session_id: &'a str,
        turn_id: &'a str,
        model: &'a str,
        provider: &'a str,
        input_tokens: u64,
        output_tokens: u64,
        cached_tokens: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        cost_micro_dollars: Option<u64>,
    },
    UsageContext {
        session_id: &'a str,
        turn_id: &'a str,
        context_size: u64,
        max_context_size: u64,
    },

    // Reliability: `fromSeq` is not part of the gap, `toSeq` is.
    Gap {
        session_id: &'a str,
        from_seq: u64,
        to_seq: u64,
    },
    ReplayComplete {
        session_id: &'a str,
        last_seq: u64,
    },

    // File System
    FileContent {
        session_id: &'a str,
        path: &'a str,
        content: Cow<'a, str>,
        encoding: Encoding,
        size: u64,
    },
    FileHistoryResult {
        session_id: &'a str,
        path: &'a str,
        iterations: Vec<IterationMeta<'a>>,
    },
    FileChanged {
        session_id: &'a str,
        path: &'a str,
        iteration: u64,
        size: u64,
    },

    // Control
    SteerSent {
        session_id: &'a str,
        steer_id: &'a str,
        content: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        user_id: Option<&'a str>,
    },
    StopAcknowledged {
        session_id: &'a str,
        turn_id: &'a str,
    },
    ServerShutdown {
        reason: &'a str,
        ts: i64,
    },

    // Data Responses
    History {
        session_id: &'a str,
        items: Vec<HistoryItem<'a>>,
    },
    Events {
        session_id: &'a str,
        events: Vec<LoggedEvent>,
    },

    // Errors
    Error {
        code: ErrorCode,
        message: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<i64>,
    },
    Pong {
        client_ts: &'a Number,
        server_ts: i64,
    },
}
