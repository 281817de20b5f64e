//! Events about the session itself: handshake, settings, lists, errors.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::content::McpContent;
use crate::cowork::names::{ModelName, ProviderName};
use crate::frame::AsText;

/// Server -> Client Events: server_hello. The optional fields are there on resume only.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerHello<'a> {
    pub session_id: &'a str,
    pub protocol_version: &'static str,
    pub capabilities: Capabilities,
    pub config: PublicConfig<'a>,
    #[serde(flatten)]
    pub resume: Option<Resume>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    pub model_stream_chunk: &'static str,
}

/// What `server_hello` adds when a session is resumed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resume {
    pub is_resume: bool,
    /// Present and true only when the session was woken from the store.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub resumed_from_storage: bool,
    pub busy: bool,
    pub message_count: u64,
    pub has_pending_ask: bool,
    pub has_pending_approval: bool,
}

/// Shared Types: PublicConfig.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublicConfig<'a> {
    pub provider: ProviderName,
    pub model: AsText<ModelName<'a>>,
    pub working_directory: Cow<'a, str>,
    /// Only where one is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_directory: Option<Cow<'a, str>>,
}

/// Server -> Client Events: session_settings.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSettings<'a> {
    pub session_id: &'a str,
    pub enable_mcp: bool,
}

/// Server -> Client Events: session_info.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo<'a> {
    pub session_id: &'a str,
    pub title: &'a str,
    pub title_source: TitleSource,
    pub title_model: Option<&'a str>,
    pub created_at: String,
    pub updated_at: String,
    pub provider: ProviderName,
    pub model: AsText<ModelName<'a>>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TitleSource {
    Default,
    Model,
    Heuristic,
    Manual,
}

/// Server -> Client Events: session_busy.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionBusy<'a> {
    pub session_id: &'a str,
    pub busy: bool,
    pub turn_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<BusyCause>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<BusyOutcome>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BusyCause {
    UserMessage,
    Command,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BusyOutcome {
    Completed,
    Cancelled,
    Error,
}

/// Server -> Client Events: session_config.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionConfig<'a> {
    pub session_id: &'a str,
    pub config: RuntimeConfig<'a>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeConfig<'a> {
    pub yolo: bool,
    pub observability_enabled: bool,
    pub sub_agent_model: AsText<ModelName<'a>>,
    pub max_steps: u32,
}

/// Server -> Client Events: config_updated.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigUpdated<'a> {
    pub session_id: &'a str,
    pub config: PublicConfig<'a>,
}

/// Server -> Client Events: messages.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Messages<'a> {
    pub session_id: &'a str,
    pub messages: Vec<ModelMessage<'a>>,
    pub total: u64,
    pub offset: u64,
    pub limit: u64,
}

/// One message of the history, as the observed servers write it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "role", content = "content", rename_all = "snake_case")]
pub enum ModelMessage<'a> {
    User(UserContent<'a>),
    Assistant(Vec<AssistantContent<'a>>),
    Tool(Vec<ToolContent<'a>>),
}

/// What a user said: a text, or, where pictures came with it, a list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum UserContent<'a> {
    Text(&'a str),
    Pieces(Vec<UserPiece<'a>>),
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum UserPiece<'a> {
    Text {
        text: &'a str,
    },
    /// `image` is base64, or an address.
    Image {
        image: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        media_type: Option<&'a str>,
    },
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum AssistantContent<'a> {
    Text {
        text: &'a str,
    },
    Reasoning {
        text: &'a str,
    },
    ToolCall {
        tool_call_id: &'a str,
        tool_name: &'a str,
        input: &'a Value,
    },
    /// A file that the model made; `data` is base64.
    File {
        data: &'a str,
        media_type: &'a str,
    },
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum ToolContent<'a> {
    ToolResult {
        tool_call_id: &'a str,
        tool_name: &'a str,
        output: ToolResultOutput<'a>,
        is_error: bool,
    },
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum ToolResultOutput<'a> {
    Text { value: Cow<'a, str> },
    Content { value: Vec<McpContent<'a>> },
}

/// Server -> Client Events: sessions.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sessions<'a> {
    pub session_id: &'a str,
    pub sessions: Vec<PersistedSessionSummary<'a>>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersistedSessionSummary<'a> {
    pub session_id: String,
    pub title: &'a str,
    pub provider: ProviderName,
    pub model: AsText<ModelName<'a>>,
    pub created_at: String,
    pub updated_at: String,
    pub message_count: u64,
}

/// Server -> Client Events: session_deleted.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDeleted<'a> {
    pub session_id: &'a str,
    pub target_session_id: &'a str,
}

/// Server -> Client Events: error.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Error<'a> {
    pub session_id: &'a str,
    pub message: &'a str,
    pub code: ServerErrorCode,
    pub source: ServerErrorSource,
}

/// Shared Types: ServerErrorCode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerErrorCode {
    InvalidJson,
    InvalidPayload,
    MissingType,
    UnknownType,
    UnknownSession,
    Busy,
    ValidationFailed,
    PermissionDenied,
    ProviderError,
    BackupError,
    ObservabilityError,
    InternalError,
}

/// Shared Types: ServerErrorSource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerErrorSource {
    Protocol,
    Session,
    Tool,
    Provider,
    Backup,
    Observability,
    Permissions,
}

/// Server -> Client Events: pong.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pong<'a> {
    pub session_id: &'a str,
}
