//! Threads, folders and the tree (docs/protocols/pioneer.md).

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use vocabulary::AgentMode;

use super::turn::Turn;

#[derive(Debug, Serialize, JsonSchema)]
pub struct Thread<'a> {
    pub workspace_id: &'a str,
    /// The id a client made up for it, where one did.
    pub id: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
    /// The first words of the first turn.
    pub preview: &'a str,
    pub mode: ThreadMode,
    pub model: &'a str,
    pub model_provider: &'a str,
    /// Unix seconds.
    pub created_at: i64,
    pub updated_at: i64,
    pub status: ThreadStatus,
    pub origin_kind: ThreadOriginKind,
    pub sidebar_visibility: ThreadSidebarVisibility,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_nickname: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_role: Option<&'a str>,
    /// Filled by `thread/get` only.
    pub turns: Vec<Turn<'a>>,
}

/// `Chat` disables tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ThreadMode {
    #[default]
    Chat,
    Agent,
}

impl ThreadMode {
    pub fn meant(self) -> AgentMode {
        match self {
            ThreadMode::Chat => AgentMode::Chat,
            ThreadMode::Agent => AgentMode::Code,
        }
    }
}

impl From<AgentMode> for ThreadMode {
    fn from(mode: AgentMode) -> Self {
        match mode {
            AgentMode::Chat => ThreadMode::Chat,
            AgentMode::Plan | AgentMode::Code => ThreadMode::Agent,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum ThreadStatus {
    Active,
    Idle,
    Closed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThreadOriginKind {
    #[default]
    User,
    TaskRun,
    System,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThreadSidebarVisibility {
    #[default]
    Visible,
    Hidden,
}

/// There is only one: what clients may ask for is full access, and nothing narrower is promised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub enum SandboxMode {
    #[default]
    FullAccess,
}

impl<'de> Deserialize<'de> for SandboxMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Value::deserialize(deserializer)?;
        match given.as_str() {
            Some("FullAccess") => Ok(SandboxMode::FullAccess),
            Some(_) | None => Err(D::Error::custom(format!(
                "sandbox: expected \"FullAccess\", which is the only mode, not {given}"
            ))),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
pub struct SandboxPolicy {
    pub mode: SandboxMode,
}

/// The sandbox of a thread, as `thread/start` answers.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct ThreadSandbox {
    pub mode: SandboxMode,
    /// Ours: whether this server's own sandbox holds what runs; if not, it can do what the server can.
    pub held: bool,
    /// Ours: whether what runs reaches the network.
    pub network: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ThreadStartResponse<'a> {
    pub thread: Thread<'a>,
    pub sandbox: ThreadSandbox,
}

/// The result of `thread/get`, and the params of `thread/started` and `thread/updated`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ThreadResponse<'a> {
    pub thread: Thread<'a>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ThreadFolder<'a> {
    pub id: &'a str,
    pub workspace_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_folder_id: Option<&'a str>,
    pub name: &'a str,
    pub created_at: i64,
    pub updated_at: i64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ThreadPlacement<'a> {
    pub thread_id: Cow<'a, str>,
    pub workspace_id: &'a str,
    /// Absent: at the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<&'a str>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ThreadTreeResponse<'a> {
    pub workspace_id: &'a str,
    pub threads: Vec<Thread<'a>>,
    pub folders: Vec<ThreadFolder<'a>>,
    pub placements: Vec<ThreadPlacement<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ThreadFolderCreateResponse<'a> {
    pub folder: ThreadFolder<'a>,
}

/// The result of `thread/move` and `thread/folder/move`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MovedResponse {
    pub moved: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ThreadFolderDeleteResponse {
    pub deleted: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ThreadUnsubscribeResponse {
    pub status: ThreadUnsubscribeStatus,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ThreadUnsubscribeStatus {
    NotLoaded,
    NotSubscribed,
    Unsubscribed,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadClosedNotification<'a> {
    pub workspace_id: &'a str,
    pub thread_id: &'a str,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ThreadTreeChangedNotification<'a> {
    pub workspace_id: &'a str,
}
