//! History: durable events, their payloads in camelCase
//! (docs/protocols/pioneer.md, "ThreadHistoryEvent").

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::item::TurnItem;
use super::params::TextElement;
use super::recovery::{
    LoopLimitAction, LoopLimitKind, RecoveryAction, RecoveryJobStatus, RecoveryTrigger,
    TimeoutReason, TurnItemType,
};
use super::timeline::TimelineLane;
use super::turn::{ItemDeltaStream, Turn};

#[derive(Debug, Serialize, JsonSchema)]
pub struct ThreadHistoryResponse<'a> {
    pub workspace_id: &'a str,
    pub thread_id: &'a str,
    pub events: Vec<ThreadHistoryEvent<'a>>,
    /// An addition of ours: there is more after this; ask again with it as `after_sequence`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<i64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ThreadHistoryEvent<'a> {
    pub turn_id: &'a str,
    /// Grows along the thread, with gaps.
    pub sequence: i64,
    pub created_at: i64,
    pub payload: ThreadHistoryEventPayload<'a>,
    /// Whose it is within the turn, and for which call it was done: told by `turn/timeline`.
    #[serde(skip)]
    pub lane: TimelineLane,
    #[serde(skip)]
    pub child_of: Option<&'a str>,
}

/// One event of `turn/items`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TurnItemEvent<'a> {
    pub sequence: i64,
    pub created_at: i64,
    pub payload: ThreadHistoryEventPayload<'a>,
}

/// Whose event it is; every payload says so.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Whose<'a> {
    pub workspace_id: &'a str,
    pub thread_id: &'a str,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ThreadHistoryEventPayload<'a> {
    TurnStarted {
        #[serde(flatten)]
        whose: Whose<'a>,
        turn: Turn<'a>,
        input: Vec<Input<'a>>,
    },
    ItemStarted {
        #[serde(flatten)]
        whose: Whose<'a>,
        turn_id: &'a str,
        item: TurnItem<'a>,
    },
    /// All of an item's text at once: the pieces are not stored.
    ItemDelta {
        #[serde(flatten)]
        whose: Whose<'a>,
        turn_id: &'a str,
        item_id: &'a str,
        delta: &'a str,
        stream: ItemDeltaStream,
    },
    ItemCompleted {
        #[serde(flatten)]
        whose: Whose<'a>,
        turn_id: &'a str,
        item: TurnItem<'a>,
    },
    /// A recovery went on: its item is told anew.
    ItemUpdated {
        #[serde(flatten)]
        whose: Whose<'a>,
        turn_id: &'a str,
        item: TurnItem<'a>,
    },
    ItemTimeoutDetected {
        #[serde(flatten)]
        whose: Whose<'a>,
        turn_id: &'a str,
        item_id: &'a str,
        item_type: TurnItemType,
        attempt_number: u32,
        reason: TimeoutReason,
    },
    ItemRecoveryOpened {
        #[serde(flatten)]
        whose: Whose<'a>,
        turn_id: &'a str,
        item_id: Cow<'a, str>,
        item_type: TurnItemType,
        recovery_job_id: Cow<'a, str>,
        trigger: RecoveryTrigger,
        action: RecoveryAction,
        attempt_number: u32,
    },
    ItemRetryScheduled {
        #[serde(flatten)]
        whose: Whose<'a>,
        turn_id: &'a str,
        item_id: Cow<'a, str>,
        item_type: TurnItemType,
        recovery_job_id: Cow<'a, str>,
        attempt_number: u32,
        next_run_at_unix: i64,
        reason: &'a str,
    },
    ItemRetryAttemptStarted {
        #[serde(flatten)]
        whose: Whose<'a>,
        turn_id: &'a str,
        item_id: Cow<'a, str>,
        item_type: TurnItemType,
        recovery_job_id: Cow<'a, str>,
        attempt_number: u32,
    },
    ItemRecoverySucceeded {
        #[serde(flatten)]
        whose: Whose<'a>,
        turn_id: &'a str,
        item_id: Cow<'a, str>,
        item_type: TurnItemType,
        recovery_job_id: Cow<'a, str>,
        attempt_number: u32,
    },
    ItemRecoveryExhausted {
        #[serde(flatten)]
        whose: Whose<'a>,
        turn_id: &'a str,
        item_id: Cow<'a, str>,
        item_type: TurnItemType,
        recovery_job_id: Cow<'a, str>,
        attempt_number: u32,
        status: RecoveryJobStatus,
        error_message: &'a str,
    },
    TurnToolLoopBudgetExceeded {
        #[serde(flatten)]
        whose: Whose<'a>,
        turn_id: &'a str,
        limit_kind: LoopLimitKind,
        limit: u32,
        observed: u32,
        action: LoopLimitAction,
        reason: &'static str,
    },
    TurnCompleted {
        #[serde(flatten)]
        whose: Whose<'a>,
        turn: Turn<'a>,
    },
    TurnFailed {
        #[serde(flatten)]
        whose: Whose<'a>,
        turn: Turn<'a>,
    },
}

/// What a turn was started with, as `turn/start` takes it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Input<'a> {
    Text {
        text: &'a str,
        text_elements: Vec<TextElement>,
    },
    Image {
        url: Cow<'a, str>,
    },
    LocalImage {
        path: Cow<'a, str>,
    },
}
