//! What our own requests carry.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::item::CommandAction;
use super::results::Empty;

/// item/commandExecution/requestApproval, item/fileChange/requestApproval,
/// item/mcpToolCall/requestApproval: Approval Requests.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestApproval<'a> {
    pub thread_id: &'a str,
    pub turn_id: &'a str,
    pub item_id: &'a str,
    pub started_at_ms: i64,
    pub reason: Cow<'a, str>,
    /// Absent where files are to change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_actions: Option<Vec<CommandAction<'a>>>,
    pub available_decisions: [&'static str; 4],
}

/// mcpServer/elicitation/request: how codex asks for a call of an MCP server's tool. The form has no
/// fields; what counts is the action.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerElicitationRequest<'a> {
    pub thread_id: &'a str,
    pub turn_id: &'a str,
    pub server_name: &'a str,
    pub mode: &'static str,
    #[serde(rename = "_meta")]
    pub meta: ElicitationMeta<'a>,
    pub message: String,
    pub requested_schema: ElicitationSchema,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ElicitationMeta<'a> {
    pub codex_approval_kind: &'static str,
    /// For how long a yes may be given beside once.
    pub persist: [&'static str; 2],
    pub tool_title: &'a str,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ElicitationSchema {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub properties: Empty,
}

/// item/tool/requestUserInput: User Input Requests.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestUserInput<'a> {
    pub thread_id: &'a str,
    pub turn_id: &'a str,
    pub item_id: &'a str,
    pub questions: Vec<UserInputQuestion<'a>>,
    pub is_blocking: bool,
    pub auto_resolution_ms: Option<u64>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserInputQuestion<'a> {
    pub id: &'a str,
    pub header: &'a str,
    pub question: &'a str,
    pub is_other: bool,
    pub is_secret: bool,
    pub options: Option<Vec<UserInputOption<'a>>>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UserInputOption<'a> {
    pub label: &'a str,
    pub description: &'a str,
}
