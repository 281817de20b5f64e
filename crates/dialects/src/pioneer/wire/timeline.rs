//! A turn as one list, with what its sub-agents did in it (`turn/timeline`): camelCase throughout.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::history::TurnItemEvent;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnTimelineParams {
    #[serde(alias = "thread_id")]
    pub thread_id: String,
    #[serde(alias = "turn_id")]
    pub turn_id: String,
    /// `false` leaves out what sub-agents did.
    pub compose_tasks: Option<bool>,
    /// Of tasks, which there are none of.
    pub include_collapsed_task_events: Option<bool>,
    /// The first so many of each sub-agent.
    pub max_child_items_per_task: Option<u32>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnTimelineResponse<'a> {
    pub thread_id: &'a str,
    pub workspace_id: &'a str,
    pub turn_id: &'a str,
    pub items: Vec<TimelineItem<'a>>,
    pub last_sequence: i64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct TimelineItem<'a> {
    /// Of the turn and the sequence: the same for who reads again.
    pub id: String,
    pub origin: TimelineOrigin<'a>,
    pub payload: TimelinePayload<'a>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimelineOrigin<'a> {
    pub kind: TimelineOriginKind,
    /// The call for which a sub-agent works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin_turn_item_id: Option<&'a str>,
    pub origin_sequence: i64,
    /// Unix seconds.
    pub occurred_at: i64,
    pub lane: TimelineLane,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimelineOriginKind {
    ParentTurn,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimelineLane {
    #[default]
    Parent,
    ChildAgent,
    ChildTool,
    ChildResult,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TimelinePayload<'a> {
    TurnItemEvent { event: TurnItemEvent<'a> },
}

/// The params of `turn/timeline/changed`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnTimelineChangedNotification<'a> {
    pub workspace_id: &'a str,
    pub thread_id: &'a str,
    pub turn_id: &'a str,
    pub reason: TimelineChangeReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimelineChangeReason {
    ParentTurnChanged,
}
