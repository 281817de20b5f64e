//! Threads and turns, as results and notifications show them.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::item::ThreadItem;
use super::metadata::GitInfo;
use super::sections::ThreadSection;

/// Shared Types: Thread. Zane's client calls it ThreadInfo.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Thread<'a> {
    pub id: String,
    pub session_id: String,
    pub name: Option<&'a str>,
    pub preview: &'a str,
    pub model: &'a str,
    pub model_provider: &'a str,
    pub created_at: i64,
    pub updated_at: i64,
    /// When a turn last started or ended; where there was none, it was created. Not on zane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recency_at: Option<i64>,
    /// The thread that its past came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from_id: Option<String>,
    pub status: ThreadStatus,
    pub cwd: Cow<'a, str>,
    pub cli_version: &'static str,
    pub source: &'static str,
    pub ephemeral: bool,
    /// Left out where it works in no repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_info: Option<GitInfo<'a>>,
    /// Left out for a thread that is in none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<ThreadSection<'a>>,
    /// Since when it is in its section.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section_entered_at: Option<i64>,
    /// Required by the app-server's clients, and always null here.
    pub project_id: Option<&'a str>,
    pub turns: Vec<Turn<'a>>,
}

/// A word on zane, an object on codex.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ThreadStatus {
    Zane(ZaneThreadStatus),
    Codex(CodexThreadStatus),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum ZaneThreadStatus {
    NotLoaded,
    Idle,
    SystemError,
    Active,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum CodexThreadStatus {
    NotLoaded,
    Idle,
    SystemError,
    Active { active_flags: Vec<ActiveFlag> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ActiveFlag {
    WaitingOnApproval,
    WaitingOnUserInput,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Turn<'a> {
    pub id: &'a str,
    pub items: Vec<ThreadItem<'a>>,
    pub items_view: ItemsView,
    pub status: TurnStatus,
    pub error: Option<TurnError<'a>>,
    pub started_at: Option<i64>,
    pub completed_at: Option<i64>,
    pub duration_ms: Option<i64>,
}

/// Whether `items` is all there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ItemsView {
    NotLoaded,
    /// What the user said first, and what the agent said last.
    Summary,
    Full,
}

/// Shared Types: TurnStatus. Capitalised on zane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum TurnStatus {
    Zane(ZaneTurnStatus),
    Codex(CodexTurnStatus),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum ZaneTurnStatus {
    Completed,
    Interrupted,
    Failed,
    InProgress,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CodexTurnStatus {
    Completed,
    Interrupted,
    Failed,
    InProgress,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnError<'a> {
    pub message: &'a str,
    pub codex_error_info: Option<CodexErrorInfo>,
    pub additional_details: Option<&'a str>,
}

/// What kind of trouble it is; the app-server's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum CodexErrorInfo {
    ContextWindowExceeded,
    SessionBudgetExceeded,
    UsageLimitExceeded,
    InternalServerError,
    /// The status is in the words only.
    ResponseStreamDisconnected {
        http_status_code: Option<u16>,
    },
}
