//! What client requests carry. Fields that mean nothing to us are not read.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::thread::ItemsView;

/// initialize
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    pub client_info: ClientInfo,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct ClientInfo {
    pub name: String,
    #[serde(default)]
    pub version: Option<String>,
}

/// thread/start
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadStartParams {
    #[serde(default)]
    pub cwd: Option<String>,
    #[serde(default)]
    pub model: Option<String>,
    /// A word, or an object for finer rules.
    #[serde(default)]
    pub approval_policy: Option<Value>,
    /// A word.
    #[serde(default)]
    pub sandbox: Option<Value>,
    /// The id of a profile, in place of a sandbox.
    #[serde(default)]
    pub permissions: Option<String>,
    #[serde(default)]
    pub config: Option<ThreadConfig>,
    /// How the client wants work done in the thread.
    #[serde(default)]
    pub developer_instructions: Option<String>,
    /// In no list, and gone with its last listener.
    #[serde(default)]
    pub ephemeral: Option<bool>,
}

/// Of the configuration a thread may start with, what has a meaning here.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct ThreadConfig {
    #[serde(default)]
    pub model_reasoning_effort: Option<String>,
    #[serde(default)]
    pub model_reasoning_summary: Option<String>,
    #[serde(default)]
    pub model_verbosity: Option<String>,
}

/// dragoman/grants/revoke: one entry of `dragoman/grants/list`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantParams {
    pub thread_id: String,
    pub what: String,
    pub scope: GrantScope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum GrantScope {
    Turn,
    Session,
    Workspace,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

/// thread/turns/list
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadTurnsListParams {
    pub thread_id: String,
    #[serde(default)]
    pub cursor: Option<String>,
    #[serde(default)]
    pub limit: Option<u32>,
    #[serde(default)]
    pub sort_direction: Option<SortDirection>,
    #[serde(default)]
    pub items_view: Option<ItemsView>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SortDirection {
    Asc,
    Desc,
}

/// thread/archive, thread/unsubscribe
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadParams {
    pub thread_id: String,
}

/// thread/resume
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadResumeParams {
    pub thread_id: String,
    #[serde(default)]
    pub exclude_turns: Option<bool>,
    /// With a first page of its turns, as `thread/turns/list` gives them.
    #[serde(default)]
    pub initial_turns_page: Option<InitialTurnsPage>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitialTurnsPage {
    #[serde(default)]
    pub limit: Option<u32>,
    #[serde(default)]
    pub sort_direction: Option<SortDirection>,
    #[serde(default)]
    pub items_view: Option<ItemsView>,
}

/// thread/read
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadReadParams {
    pub thread_id: String,
    #[serde(default)]
    pub include_turns: Option<bool>,
}

/// thread/name/set
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSetNameParams {
    pub thread_id: String,
    pub name: String,
}

/// turn/start
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnStartParams {
    pub thread_id: String,
    pub input: Vec<UserInput>,
    #[serde(default)]
    pub client_user_message_id: Option<String>,
    #[serde(default)]
    pub model: Option<String>,
    #[serde(default)]
    pub effort: Option<String>,
    /// What is shown of the thoughts: `auto`, `concise`, `detailed`, `none`.
    #[serde(default)]
    pub summary: Option<String>,
    #[serde(default)]
    pub approval_policy: Option<Value>,
    /// An object, by its `type`.
    #[serde(default)]
    pub sandbox_policy: Option<Value>,
    /// The id of a profile, in place of a sandbox.
    #[serde(default)]
    pub permissions: Option<String>,
    #[serde(default)]
    pub collaboration_mode: Option<CollaborationMode>,
}

/// Its settings stand for a turn's own.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct CollaborationMode {
    #[serde(default)]
    pub mode: Option<String>,
    #[serde(default)]
    pub settings: Option<CollaborationSettings>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct CollaborationSettings {
    #[serde(default)]
    pub model: Option<String>,
    #[serde(default)]
    pub reasoning_effort: Option<String>,
    /// How the client wants work done; kept for the thread.
    #[serde(default)]
    pub developer_instructions: Option<String>,
}

impl TurnStartParams {
    /// What a client chose for this turn and the next ones, wherever it said so.
    pub fn model(&self) -> Option<&str> {
        let settings = self
            .settings()
            .and_then(|settings| settings.model.as_deref());
        given(settings).or(given(self.model.as_deref()))
    }

    pub fn effort(&self) -> Option<&str> {
        let settings = self.settings();
        let settings = settings.and_then(|settings| settings.reasoning_effort.as_deref());
        given(settings).or(given(self.effort.as_deref()))
    }

    fn settings(&self) -> Option<&CollaborationSettings> {
        self.collaboration_mode.as_ref()?.settings.as_ref()
    }
}

fn given(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

/// One piece of what a user says: a text, a picture, a mention.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct UserInput {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub text: Option<String>,
    /// Of a text: what its client draws in a way of its own.
    #[serde(default, deserialize_with = "or_none")]
    pub text_elements: Vec<TextElement>,
    /// Of an `image`.
    #[serde(default)]
    pub url: Option<String>,
    /// Of a `localImage` or a `mention`.
    #[serde(default)]
    pub path: Option<String>,
    /// Of a `skill`.
    #[serde(default)]
    pub name: Option<String>,
}

/// Null is as good as an empty list.
fn or_none<'de, D: serde::Deserializer<'de>>(input: D) -> Result<Vec<TextElement>, D::Error> {
    Option::deserialize(input).map(Option::unwrap_or_default)
}

/// A place in a text.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TextElement {
    #[serde(rename = "byteRange")]
    pub byte_range: ByteRange,
    #[serde(default)]
    pub placeholder: Option<String>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ByteRange {
    pub start: usize,
    pub end: usize,
}

/// turn/steer
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnSteerParams {
    pub thread_id: String,
    pub input: Vec<UserInput>,
    pub expected_turn_id: String,
    #[serde(default)]
    pub client_user_message_id: Option<String>,
}

/// turn/interrupt
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnInterruptParams {
    pub thread_id: String,
    pub turn_id: String,
}

/// model/list
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelListParams {
    #[serde(default)]
    pub cursor: Option<String>,
    #[serde(default)]
    pub limit: Option<u32>,
    #[serde(default)]
    pub include_hidden: Option<bool>,
}

/// The result a client gives to a requestApproval.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct ApprovalResponse {
    /// A word, or an object that accepts with an amendment.
    pub decision: Value,
}

/// The result a client gives to mcpServer/elicitation/request.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct McpServerElicitationResponse {
    /// `accept`, `decline` or `cancel`.
    pub action: String,
    #[serde(default, rename = "_meta")]
    pub meta: Option<ElicitationAnswerMeta>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct ElicitationAnswerMeta {
    /// For how long a yes holds: `session` or `always`; once when absent.
    #[serde(default)]
    pub persist: Option<String>,
}

/// mcpServerStatus/list
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListMcpServerStatusParams {
    #[serde(default)]
    pub cursor: Option<String>,
    #[serde(default)]
    pub limit: Option<u32>,
    /// Only this one.
    #[serde(default)]
    pub server_name: Option<String>,
    /// Whose servers; those of the newest thread that the connection hears when absent.
    #[serde(default)]
    pub thread_id: Option<String>,
}

/// The result a client gives to item/tool/requestUserInput.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct ToolRequestUserInputResponse {
    pub answers: BTreeMap<String, ToolRequestUserInputAnswer>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct ToolRequestUserInputAnswer {
    pub answers: Vec<String>,
}
