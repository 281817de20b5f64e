//! What notifications carry.

use schemars::JsonSchema;
use serde::Serialize;

use super::item::ThreadItem;
use super::thread::{Thread, ThreadStatus, Turn, TurnError};

/// thread/started
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadStarted<'a> {
    /// Zane's client drops what has none.
    pub thread_id: String,
    pub thread: Thread<'a>,
}

/// thread/archived, thread/unarchived, thread/deleted, thread/reverted
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadNamed<'a> {
    pub thread_id: &'a str,
}

/// thread/status/changed
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadStatusChanged<'a> {
    pub thread_id: &'a str,
    pub status: ThreadStatus,
}

/// thread/name/updated: `threadName` for codex, `name` for Zane.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadNameUpdated<'a> {
    pub thread_id: &'a str,
    pub thread_name: &'a str,
    pub name: &'a str,
}

/// turn/started, turn/completed
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnChanged<'a> {
    pub thread_id: &'a str,
    pub turn: Turn<'a>,
}

/// turn/diff/updated
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnDiffUpdated<'a> {
    pub thread_id: &'a str,
    pub turn_id: &'a str,
    pub diff: &'a str,
}

/// turn/plan/updated
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnPlanUpdated<'a> {
    pub thread_id: &'a str,
    pub turn_id: &'a str,
    pub explanation: Option<&'a str>,
    pub plan: Vec<TurnPlanStep<'a>>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TurnPlanStep<'a> {
    pub step: &'a str,
    pub status: PlanStatus,
}

/// Zane's client compares the capitalised words exactly.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PlanStatus {
    Zane(ZanePlanStatus),
    Codex(CodexPlanStatus),
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub enum ZanePlanStatus {
    Pending,
    InProgress,
    Completed,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CodexPlanStatus {
    Pending,
    InProgress,
    Completed,
}

/// item/started
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ItemStarted<'a> {
    pub thread_id: &'a str,
    pub turn_id: &'a str,
    pub started_at_ms: i64,
    pub item: ThreadItem<'a>,
}

/// item/completed
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ItemCompleted<'a> {
    pub thread_id: &'a str,
    pub turn_id: &'a str,
    pub completed_at_ms: i64,
    pub item: ThreadItem<'a>,
}

/// item/agentMessage/delta, item/plan/delta, item/commandExecution/outputDelta, item/fileChange/outputDelta,
/// item/reasoning/*Delta
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Delta<'a> {
    pub thread_id: &'a str,
    pub turn_id: &'a str,
    pub item_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_index: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_index: Option<u32>,
    pub delta: &'a str,
}

/// item/reasoning/summaryPartAdded
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReasoningSummaryPartAdded<'a> {
    pub thread_id: &'a str,
    pub turn_id: &'a str,
    pub item_id: &'a str,
    pub summary_index: u32,
}

/// item/mcpToolCall/progress
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpToolCallProgress<'a> {
    pub thread_id: &'a str,
    pub turn_id: &'a str,
    pub item_id: &'a str,
    pub message: &'a str,
}

/// thread/tokenUsage/updated: nested for codex, flat for Zane.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadTokenUsageUpdated<'a> {
    pub thread_id: &'a str,
    pub turn_id: &'a str,
    pub token_usage: ThreadTokenUsage,
    #[serde(flatten)]
    pub flat: TokenUsageBreakdown,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadTokenUsage {
    pub total: TokenUsageBreakdown,
    pub last: TokenUsageBreakdown,
    pub model_context_window: Option<u64>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsageBreakdown {
    pub total_tokens: u64,
    pub input_tokens: u64,
    pub cached_input_tokens: u64,
    pub output_tokens: u64,
    pub reasoning_output_tokens: u64,
}

/// error: `message` for Zane, `error` for codex.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorNotice<'a> {
    pub thread_id: &'a str,
    pub turn_id: &'a str,
    pub message: &'a str,
    pub error: TurnError<'a>,
    pub will_retry: bool,
}

/// serverRequest/resolved
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerRequestResolved<'a> {
    pub thread_id: &'a str,
    pub request_id: u64,
}
