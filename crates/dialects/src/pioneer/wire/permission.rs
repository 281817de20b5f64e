//! Permission requests: told only to a connection that asked for them with `?permissions=1`.
//!
//! The fields of a request were never read in the original; all of them are ours, but for the
//! ids. A question of the agent is spelled as a request with `questions`, another addition: it is
//! answered by the same method, with `answers` instead of a resolution.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The params of `turn/permission/request/opened`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PermissionRequestOpened<'a> {
    pub request: TurnPermissionApprovalRequest<'a>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct TurnPermissionApprovalRequest<'a> {
    pub request_id: String,
    pub workspace_id: &'a str,
    pub thread_id: &'a str,
    pub turn_id: &'a str,
    pub item_id: &'a str,
    pub tool_name: &'a str,
    /// The command, or one line that says what would happen; absent where questions are asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Cow<'a, str>>,
    /// Why it is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dangerous: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<PermissionQuestion<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct PermissionQuestion<'a> {
    pub id: &'a str,
    pub question: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<&'a str>,
}

/// The params of `turn/permission/request/resolved`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PermissionRequestResolved<'a> {
    pub request_id: String,
    pub workspace_id: &'a str,
    pub thread_id: &'a str,
    pub turn_id: &'a str,
    pub resolution: Resolution,
}

/// The result of `turn/permission/request/respond`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PermissionRespondResponse<'a> {
    pub request_id: &'a str,
    pub resolution: Resolution,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    AllowOnce,
    AllowForTurn,
    Deny,
    Cancelled,
    Expired,
    /// Ours: questions were answered.
    Answered,
}
