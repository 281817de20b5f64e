//! What our own requests carry.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::item::CommandAction;

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
