//! Turns and the notifications of their items.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::history::TurnItemEvent;
use super::item::TurnItem;

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Turn<'a> {
    pub id: Cow<'a, str>,
    pub status: TurnStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Cow<'a, str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum TurnStatus {
    InProgress,
    Completed,
    Failed,
    Interrupted,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct TurnStartResponse<'a> {
    pub turn: Turn<'a>,
}

/// The result of `turn/cancel` and `turn/get`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TurnResponse<'a> {
    pub thread_id: &'a str,
    pub workspace_id: &'a str,
    pub turn: Turn<'a>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct TurnItemsResponse<'a> {
    pub thread_id: &'a str,
    pub workspace_id: &'a str,
    pub turn_id: &'a str,
    pub events: Vec<TurnItemEvent<'a>>,
    pub last_sequence: i64,
}

/// The params of `turn/started`, `turn/completed` and `turn/failed`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TurnNotification<'a> {
    pub workspace_id: &'a str,
    pub thread_id: &'a str,
    pub turn: Turn<'a>,
}

/// The params of `item/started` and `item/completed`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ItemNotification<'a> {
    pub workspace_id: &'a str,
    pub thread_id: &'a str,
    pub turn_id: &'a str,
    pub item: TurnItem<'a>,
}

/// The params of `context/compressed`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ContextCompressedNotification<'a> {
    pub thread_id: &'a str,
    pub turn_id: &'a str,
    pub compressed_tokens: u64,
}

/// One shape under four method names.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ItemDeltaNotification<'a> {
    pub workspace_id: &'a str,
    pub thread_id: &'a str,
    pub turn_id: &'a str,
    pub item_id: &'a str,
    pub delta: &'a str,
    pub stream: ItemDeltaStream,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ItemDeltaStream {
    AgentMessage,
    Stdout,
    Stderr,
    ToolProgress,
    FileChange,
    Generic,
}
