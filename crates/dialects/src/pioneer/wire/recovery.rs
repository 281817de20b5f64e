//! What goes wrong in a turn and is tried again, as notifications (headings `item/timeout_detected`,
//! `item/recovery_opened` and those that follow them).

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use vocabulary::TimeLimit;

/// In which turn it happened.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct InTurn<'a> {
    pub workspace_id: &'a str,
    pub thread_id: &'a str,
    pub turn_id: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnItemType {
    SystemEvent,
    CommandExecution,
    FileChange,
    WebSearch,
    WebFetch,
    DynamicToolCall,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimeoutReason {
    IdleDeadlineExceeded,
    HardDeadlineExceeded,
}

impl From<TimeLimit> for TimeoutReason {
    fn from(limit: TimeLimit) -> Self {
        match limit {
            TimeLimit::Whole => TimeoutReason::HardDeadlineExceeded,
            TimeLimit::Silence => TimeoutReason::IdleDeadlineExceeded,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryTrigger {
    ProviderError,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryAction {
    RetryWithBackoff,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryJobStatus {
    Exhausted,
    Cancelled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoopLimitKind {
    AgentRounds,
    ProviderReturnedToolsAfterToolsDisabled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoopLimitAction {
    RequestFinalNoToolsRound,
    FailTurn,
}

/// The params of `item/timeout_detected`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ItemTimeoutDetectedNotification<'a> {
    #[serde(flatten)]
    pub within: InTurn<'a>,
    pub item_id: &'a str,
    pub item_type: TurnItemType,
    pub attempt_number: u32,
    pub reason: TimeoutReason,
}

/// The params of `item/recovery_opened`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ItemRecoveryOpenedNotification<'a> {
    #[serde(flatten)]
    pub within: InTurn<'a>,
    pub item_id: Cow<'a, str>,
    pub item_type: TurnItemType,
    pub recovery_job_id: Cow<'a, str>,
    pub trigger: RecoveryTrigger,
    pub action: RecoveryAction,
    pub attempt_number: u32,
}

/// The params of `item/retry_scheduled`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ItemRetryScheduledNotification<'a> {
    #[serde(flatten)]
    pub within: InTurn<'a>,
    pub item_id: Cow<'a, str>,
    pub item_type: TurnItemType,
    pub recovery_job_id: Cow<'a, str>,
    pub attempt_number: u32,
    pub next_run_at_unix: i64,
    pub reason: &'a str,
}

/// The params of `item/retry_attempt_started` and `item/recovery_succeeded`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ItemRetryNotification<'a> {
    #[serde(flatten)]
    pub within: InTurn<'a>,
    pub item_id: Cow<'a, str>,
    pub item_type: TurnItemType,
    pub recovery_job_id: Cow<'a, str>,
    pub attempt_number: u32,
}

/// The params of `item/recovery_exhausted`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ItemRecoveryExhaustedNotification<'a> {
    #[serde(flatten)]
    pub within: InTurn<'a>,
    pub item_id: Cow<'a, str>,
    pub item_type: TurnItemType,
    pub recovery_job_id: Cow<'a, str>,
    pub attempt_number: u32,
    pub status: RecoveryJobStatus,
    pub error_message: &'a str,
}

/// The params of `turn/tool_loop/budget_exceeded`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ToolLoopBudgetExceededNotification<'a> {
    #[serde(flatten)]
    pub within: InTurn<'a>,
    pub limit_kind: LoopLimitKind,
    pub limit: u32,
    pub observed: u32,
    pub action: LoopLimitAction,
    pub reason: &'static str,
}

/// The params of `context/compressing`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ContextCompressingNotification<'a> {
    pub thread_id: &'a str,
    pub turn_id: &'a str,
    pub message: &'static str,
}
