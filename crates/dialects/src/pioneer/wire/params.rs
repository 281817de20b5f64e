//! Params of the methods. Optional ones may be absent or null; unknown ones are left alone.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::permission::Resolution;
use super::thread::{
    SandboxMode, SandboxPolicy, ThreadMode, ThreadOriginKind, ThreadSidebarVisibility,
};
use crate::secret::SecretText;

#[derive(Debug, Deserialize, JsonSchema)]
pub struct WorkspaceCreateParams {
    pub workspace_id: String,
    pub name: Option<String>,
    pub make_current: Option<bool>,
    /// An addition of ours: a directory of the user's own, absolute; without it the server makes one.
    pub path: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct WorkspaceSelectParams {
    pub workspace_id: String,
    pub make_current: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct WorkspaceUpdateParams {
    pub workspace_id: String,
    pub name: Option<String>,
    /// An addition of ours: whether one can work in it.
    pub is_active: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct ThreadStartParams {
    pub thread_id: String,
    pub workspace_id: String,
    pub name: Option<String>,
    pub model: Option<String>,
    pub model_provider: Option<String>,
    /// There is only one.
    pub sandbox: Option<SandboxMode>,
    pub mode: Option<ThreadMode>,
    pub origin_kind: Option<ThreadOriginKind>,
    pub sidebar_visibility: Option<ThreadSidebarVisibility>,
    pub agent_nickname: Option<String>,
    pub agent_role: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct ThreadGetParams {
    pub thread_id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct ThreadTreeParams {
    pub workspace_id: String,
    /// An addition of ours: `false` leaves hidden threads out.
    pub include_hidden: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct ThreadHistoryParams {
    pub thread_id: String,
    /// The last so many; together with `after_sequence` the next so many.
    pub limit: Option<u32>,
    /// An addition of ours: only what comes after.
    pub after_sequence: Option<i64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct ThreadMoveParams {
    pub workspace_id: String,
    pub thread_id: String,
    pub folder_id: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct ThreadFolderCreateParams {
    pub workspace_id: String,
    pub parent_folder_id: Option<String>,
    pub name: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct ThreadFolderMoveParams {
    pub workspace_id: String,
    pub folder_id: String,
    pub parent_folder_id: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct ThreadFolderDeleteParams {
    pub workspace_id: String,
    pub folder_id: String,
}

/// The one method whose params are in camelCase; we take the usual spelling too.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ThreadUnsubscribeParams {
    #[serde(rename = "threadId", alias = "thread_id")]
    pub thread_id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct TurnStartParams {
    pub thread_id: String,
    pub turn_id: String,
    pub input: Vec<UserInput>,
    pub model: Option<String>,
    pub model_provider: Option<String>,
    pub sandbox_policy: Option<SandboxPolicy>,
    pub mode: Option<ThreadMode>,
}

/// A piece of what a user says.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct UserInput {
    #[serde(rename = "type")]
    pub kind: String,
    pub text: Option<String>,
    /// Places in the text that the client draws in its own way.
    #[serde(rename = "textElements", alias = "text_elements", default)]
    pub text_elements: Vec<TextElement>,
    /// Of an `image` or a `file`.
    pub url: Option<String>,
    /// Of a `localImage`, a `localFile`, a `skill` or a `mention`.
    pub path: Option<String>,
    /// Of a `skill` or a `mention`.
    pub name: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TextElement {
    pub byte_range: ByteRange,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ByteRange {
    pub start: usize,
    pub end: usize,
}

/// `turn/cancel`, `turn/get` and `turn/items`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct TurnParams {
    pub thread_id: String,
    pub turn_id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct PermissionRespondParams {
    pub request_id: String,
    pub resolution: Option<Resolution>,
    /// By question id; an empty list passes over the question.
    pub answers: Option<BTreeMap<String, Vec<String>>>,
}

/// `provider/models/list` and `provider/delete_api_key`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ProviderParams {
    pub provider: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct ProviderSetApiKeyParams {
    pub provider: String,
    pub api_key: SecretText,
}
