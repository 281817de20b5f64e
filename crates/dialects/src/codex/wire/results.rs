//! What client requests get.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::params::GrantScope;
use super::settings::ActivePermissionProfile;
use super::thread::{Thread, Turn};

/// `{}`
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Empty {}

/// initialize
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResponse<'a> {
    pub user_agent: String,
    pub codex_home: Cow<'a, str>,
    pub platform_family: &'static str,
    pub platform_os: &'static str,
}

/// A page of a list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    pub data: Vec<T>,
    pub next_cursor: Option<String>,
}

/// thread/turns/list
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadTurnsListResponse<'a> {
    pub data: Vec<Turn<'a>>,
    pub next_cursor: Option<String>,
    /// For the other direction: that page begins with the first turn of this one.
    pub backwards_cursor: Option<String>,
}

/// dragoman/grants/list
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Grant<'a> {
    pub id: &'a str,
    /// What is allowed without asking, in words for people.
    pub what: &'a str,
    /// The same for programs: the tool and its exact input.
    pub key: &'a str,
    pub scope: GrantScope,
    pub granted_at: i64,
    /// The member and the dialect they spoke; not known of older ones.
    pub granted_by: Option<String>,
}

/// model/list
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Model<'a> {
    pub id: Cow<'a, str>,
    pub model: Cow<'a, str>,
    pub display_name: Cow<'a, str>,
    pub description: String,
    pub hidden: bool,
    pub is_default: bool,
    pub supported_reasoning_efforts: Vec<ReasoningEffortOption<'a>>,
    pub default_reasoning_effort: &'a str,
    pub input_modalities: &'static [&'static str],
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReasoningEffortOption<'a> {
    pub reasoning_effort: &'a str,
    pub description: &'static str,
}

/// configRequirements/read
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct ConfigRequirementsReadResponse {
    pub requirements: ConfigRequirements,
}

/// What clients need not offer, as it would be refused.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigRequirements {
    pub allowed_approvals_reviewers: [&'static str; 1],
}

/// collaborationMode/list
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct CollaborationModeMask {
    pub name: &'static str,
    pub mode: &'static str,
    pub model: Option<&'static str>,
    pub reasoning_effort: Option<&'static str>,
    /// Read by Zane's client.
    pub developer_instructions: Option<&'static str>,
}

/// thread/start, thread/resume
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadOpened<'a> {
    pub thread: Thread<'a>,
    pub model: &'a str,
    pub model_provider: &'a str,
    pub cwd: Cow<'a, str>,
    pub approval_policy: &'static str,
    pub approvals_reviewer: &'static str,
    pub sandbox: SandboxPolicy,
    pub active_permission_profile: Option<ActivePermissionProfile>,
    pub reasoning_effort: Option<&'a str>,
    /// Where `thread/resume` asked for one; absent where the thread changed while it was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_turns_page: Option<ThreadTurnsListResponse<'a>>,
}

/// What holds the commands of a thread, as it really is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum SandboxPolicy {
    DangerFullAccess,
    ReadOnly {
        network_access: bool,
    },
    WorkspaceWrite {
        /// Beside the thread's own directory: none.
        writable_roots: [&'static str; 0],
        network_access: bool,
        exclude_tmpdir_env_var: bool,
        exclude_slash_tmp: bool,
    },
}

/// thread/read
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ThreadReadResponse<'a> {
    pub thread: Thread<'a>,
}

/// thread/unsubscribe
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct ThreadUnsubscribeResponse {
    pub status: UnsubscribeStatus,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum UnsubscribeStatus {
    NotSubscribed,
    Unsubscribed,
}

/// turn/start
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TurnStartResponse<'a> {
    pub turn: Turn<'a>,
}

/// turn/steer
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnSteerResponse<'a> {
    pub turn_id: &'a str,
}
