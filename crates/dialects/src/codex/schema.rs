//! The methods of both endpoints, with the types of their params and results.

use serde_json::Value;

use super::Endpoint;
use super::orbit::{ClientControl, ServerControl};
use super::wire::account::{
    AccountLoginCompleted, AccountUpdated, CancelLoginAccountParams, CancelLoginAccountResponse,
    GetAccountResponse, LoginAccountParams, LoginAccountResponse,
};
use super::wire::anchor::{
    GitInspectParams, GitInspectResult, GitRepoParams, GitWorktreeCreateParams,
    GitWorktreeCreateResult, GitWorktreeListResult, GitWorktreePruneResult,
    GitWorktreeRemoveParams, GitWorktreeRemoveResult, ListDirsParams, ListDirsResult,
};
use super::wire::config::{
    ConfigBatchWriteParams, ConfigReadResponse, ConfigValueWriteParams, ConfigWriteResponse,
};
use super::wire::exec::{CommandExecParams, CommandExecResponse};
use super::wire::file_search::{
    FuzzyFileSearchParams, FuzzyFileSearchResponse, FuzzyFileSearchSessionCompleted,
    FuzzyFileSearchSessionStartParams, FuzzyFileSearchSessionStopParams,
    FuzzyFileSearchSessionUpdateParams, FuzzyFileSearchSessionUpdated,
};
use super::wire::forks::{ThreadForkParams, ThreadRevertParams, ThreadRollbackParams};
use super::wire::inventory::{
    AccountRateLimitsResponse, AccountTokenUsageResponse, AppsInstalledResponse,
    BedrockCheckGovCloudRequirementsResponse, HooksListEntry, HooksListParams,
    MemoryStatusResponse, ModelProviderCapabilitiesReadResponse, PluginListResponse,
    SkillsConfigWriteParams, SkillsConfigWriteResponse, SkillsListEntry, SkillsListParams,
    ThreadGoalClearResponse, ThreadGoalGetResponse,
};
use super::wire::items_list::{
    ThreadItemsListParams, ThreadItemsListResponse, ThreadItemsReadParams, ThreadItemsReadResponse,
    ThreadSearchOccurrence, ThreadSearchOccurrencesParams,
};
use super::wire::mcp::{
    McpServerOauthLoginCompleted, McpServerOauthLoginParams, McpServerOauthLoginResponse,
    McpServerStatus,
};
use super::wire::metadata::ThreadMetadataUpdateParams;
use super::wire::notice::{
    Delta, ErrorNotice, ItemCompleted, ItemStarted, McpToolCallProgress, ReasoningSummaryPartAdded,
    ServerRequestResolved, ThreadNameUpdated, ThreadNamed, ThreadStarted, ThreadStatusChanged,
    ThreadTokenUsageUpdated, TurnChanged, TurnDiffUpdated, TurnPlanUpdated,
};
use super::wire::orders::{ReviewStartParams, ReviewStartResponse, ThreadShellCommandParams};
use super::wire::params::{
    ApprovalResponse, GrantParams, InitializeParams, ListMcpServerStatusParams,
    McpServerElicitationResponse, ModelListParams, ThreadParams, ThreadReadParams,
    ThreadResumeParams, ThreadSetNameParams, ThreadStartParams, ThreadTurnsListParams,
    ToolRequestUserInputResponse, TurnInterruptParams, TurnStartParams, TurnSteerParams,
};
use super::wire::request::{McpServerElicitationRequest, RequestApproval, RequestUserInput};
use super::wire::results::{
    CollaborationModeMask, ConfigRequirementsReadResponse, Empty, Grant, InitializeResponse, Model,
    Page, ThreadOpened, ThreadReadResponse, ThreadTurnsListResponse, ThreadUnsubscribeResponse,
    TurnStartResponse, TurnSteerResponse,
};
use super::wire::search::{DragomanSearchParams, DragomanSearchResponse};
use super::wire::sections::{
    ThreadSection, ThreadSectionCreateParams, ThreadSectionDeleteParams, ThreadSectionListParams,
    ThreadSectionMoveParams, ThreadSectionResponse, ThreadSectionUpdateParams,
};
use super::wire::settings::{
    PermissionProfileListParams, PermissionProfileSummary, ThreadSettingsUpdateParams,
    ThreadSettingsUpdated,
};
use super::wire::terminals::{
    TerminalInteraction, TerminalListParams, TerminalParams, TerminalWriteParams,
    ThreadBackgroundTerminal, ThreadBackgroundTerminalsTerminateResponse,
};
use super::wire::thread_list::{
    ThreadListParams, ThreadListResponse, ThreadLoadedListParams, ThreadSearchParams,
    ThreadSearchResponse,
};
use super::wire::zane::{ResetCreditParams, ResetCreditResponse, ZaneRateLimits, ZaneSkill};
use crate::schemas::rpc::Table;

pub fn client(endpoint: Endpoint) -> Value {
    let table = Table::client(false)
        .request::<Value>("account/read")
        .request::<ModelListParams>("model/list")
        .request::<Value>("collaborationMode/list")
        .request::<ThreadStartParams>("thread/start")
        .request::<ThreadListParams>("thread/list")
        .request::<ThreadLoadedListParams>("thread/loaded/list")
        .request::<ThreadForkParams>("thread/fork")
        .request::<ThreadRollbackParams>("thread/rollback")
        .request::<ThreadReadParams>("thread/read")
        .request::<ThreadResumeParams>("thread/resume")
        .request::<ThreadSetNameParams>("thread/name/set")
        .request::<ThreadParams>("thread/archive")
        .request::<ThreadParams>("thread/unarchive")
        .request::<ThreadParams>("thread/unsubscribe")
        .request::<ListMcpServerStatusParams>("mcpServerStatus/list")
        .request::<TurnStartParams>("turn/start")
        .request::<TurnSteerParams>("turn/steer")
        .request::<TurnInterruptParams>("turn/interrupt")
        .request::<ThreadParams>("thread/compact/start")
        .request::<ThreadShellCommandParams>("thread/shellCommand")
        .request::<ReviewStartParams>("review/start")
        .request::<TerminalListParams>("thread/backgroundTerminals/list")
        .request::<ThreadParams>("thread/backgroundTerminals/clean")
        .request::<TerminalParams>("thread/backgroundTerminals/terminate")
        .request::<TerminalWriteParams>("dragoman/terminals/write")
        .request::<FuzzyFileSearchParams>("fuzzyFileSearch")
        .request::<FuzzyFileSearchSessionStartParams>("fuzzyFileSearch/sessionStart")
        .request::<FuzzyFileSearchSessionUpdateParams>("fuzzyFileSearch/sessionUpdate")
        .request::<FuzzyFileSearchSessionStopParams>("fuzzyFileSearch/sessionStop")
        .result::<ApprovalResponse>()
        .result::<ToolRequestUserInputResponse>();
    match endpoint {
        Endpoint::Zane => table
            .request::<Value>("skills/list")
            .request::<Value>("account/rateLimits/read")
            .request::<ResetCreditParams>("account/rateLimitResetCredit/consume")
            .request::<ListDirsParams>("anchor.listDirs")
            .request::<GitInspectParams>("anchor.git.inspect")
            .request::<GitRepoParams>("anchor.git.worktree.list")
            .request::<GitWorktreeCreateParams>("anchor.git.worktree.create")
            .request::<GitWorktreeRemoveParams>("anchor.git.worktree.remove")
            .request::<GitRepoParams>("anchor.git.worktree.prune")
            .other::<ClientControl>(),
        Endpoint::Codex => section_requests(inventory_requests(table))
            .request::<InitializeParams>("initialize")
            .notification::<Value>("initialized")
            .request::<LoginAccountParams>("account/login/start")
            .request::<CancelLoginAccountParams>("account/login/cancel")
            .request::<Value>("account/logout")
            .result::<McpServerElicitationResponse>()
            .request::<ThreadTurnsListParams>("thread/turns/list")
            .request::<CommandExecParams>("command/exec")
            .request::<ThreadSettingsUpdateParams>("thread/settings/update")
            .request::<PermissionProfileListParams>("permissionProfile/list")
            .request::<ThreadRevertParams>("thread/revert")
            .request::<ThreadParams>("thread/delete")
            .request::<ThreadSearchParams>("thread/search")
            .request::<DragomanSearchParams>("dragoman/search")
            .request::<ThreadParams>("dragoman/grants/list")
            .request::<GrantParams>("dragoman/grants/revoke")
            .request::<Value>("config/read")
            .request::<ConfigValueWriteParams>("config/value/write")
            .request::<ConfigBatchWriteParams>("config/batchWrite")
            .request::<Value>("configRequirements/read"),
    }
    .schema()
}

pub fn server(endpoint: Endpoint) -> Value {
    let table = Table::server(false)
        .notification::<ThreadStarted<'static>>("thread/started")
        .notification::<ThreadNamed<'static>>("thread/archived")
        .notification::<ThreadNamed<'static>>("thread/unarchived")
        .notification::<ThreadNamed<'static>>("thread/closed")
        .notification::<ThreadNamed<'static>>("thread/deleted")
        .notification::<ThreadNamed<'static>>("thread/reverted")
        .notification::<ThreadStatusChanged<'static>>("thread/status/changed")
        .notification::<ThreadNameUpdated<'static>>("thread/name/updated")
        .notification::<ThreadTokenUsageUpdated<'static>>("thread/tokenUsage/updated")
        .notification::<TurnChanged<'static>>("turn/started")
        .notification::<TurnChanged<'static>>("turn/completed")
        .notification::<TurnPlanUpdated<'static>>("turn/plan/updated")
        .notification::<TurnDiffUpdated<'static>>("turn/diff/updated")
        .notification::<ItemStarted<'static>>("item/started")
        .notification::<ItemCompleted<'static>>("item/completed")
        .notification::<Delta<'static>>("item/agentMessage/delta")
        .notification::<Delta<'static>>("item/plan/delta")
        .notification::<Delta<'static>>("item/reasoning/summaryTextDelta")
        .notification::<ReasoningSummaryPartAdded<'static>>("item/reasoning/summaryPartAdded")
        .notification::<Delta<'static>>("item/commandExecution/outputDelta")
        .notification::<TerminalInteraction<'static>>("item/commandExecution/terminalInteraction")
        .notification::<McpToolCallProgress<'static>>("item/mcpToolCall/progress")
        .notification::<FuzzyFileSearchSessionUpdated<'static>>("fuzzyFileSearch/sessionUpdated")
        .notification::<FuzzyFileSearchSessionCompleted<'static>>(
            "fuzzyFileSearch/sessionCompleted",
        )
        .notification::<ErrorNotice<'static>>("error")
        .notification::<ServerRequestResolved<'static>>("serverRequest/resolved")
        .request::<RequestApproval<'static>>("item/commandExecution/requestApproval")
        .request::<RequestApproval<'static>>("item/fileChange/requestApproval")
        .request::<RequestUserInput<'static>>("item/tool/requestUserInput")
        .answer::<GetAccountResponse<'static>>("account/read")
        .answer::<Page<Model<'static>>>("model/list")
        .answer::<Page<CollaborationModeMask>>("collaborationMode/list")
        .answer::<Page<McpServerStatus<'static>>>("mcpServerStatus/list")
        .answer::<ThreadListResponse<'static>>("thread/list")
        .answer::<Page<String>>("thread/loaded/list")
        .answer::<ThreadOpened<'static>>("thread/start")
        .answer::<ThreadOpened<'static>>("thread/resume")
        .answer::<ThreadOpened<'static>>("thread/fork")
        .answer::<ThreadReadResponse<'static>>("thread/read")
        .answer::<ThreadReadResponse<'static>>("thread/rollback")
        .answer::<ThreadReadResponse<'static>>("thread/unarchive")
        .answer::<ThreadUnsubscribeResponse>("thread/unsubscribe")
        .answer::<TurnStartResponse<'static>>("turn/start")
        .answer::<TurnSteerResponse<'static>>("turn/steer")
        .answer::<ReviewStartResponse<'static>>("review/start")
        .answer::<Page<ThreadBackgroundTerminal<'static>>>("thread/backgroundTerminals/list")
        .answer::<ThreadBackgroundTerminalsTerminateResponse>(
            "thread/backgroundTerminals/terminate",
        )
        .answer::<FuzzyFileSearchResponse<'static>>("fuzzyFileSearch")
        .answer::<Empty>("thread/name/set")
        .answer::<Empty>("thread/archive")
        .answer::<Empty>("thread/compact/start")
        .answer::<Empty>("thread/shellCommand")
        .answer::<Empty>("turn/interrupt")
        .answer::<Empty>("thread/backgroundTerminals/clean")
        .answer::<Empty>("dragoman/terminals/write")
        .answer::<Empty>("fuzzyFileSearch/sessionStart")
        .answer::<Empty>("fuzzyFileSearch/sessionUpdate")
        .answer::<Empty>("fuzzyFileSearch/sessionStop");
    match endpoint {
        Endpoint::Zane => table
            .notification::<Delta<'static>>("item/reasoning/textDelta")
            .notification::<Delta<'static>>("item/fileChange/outputDelta")
            .answer::<Page<ZaneSkill<'static>>>("skills/list")
            .answer::<ZaneRateLimits>("account/rateLimits/read")
            .answer::<ResetCreditResponse>("account/rateLimitResetCredit/consume")
            .answer::<ListDirsResult<'static>>("anchor.listDirs")
            .answer::<GitInspectResult<'static>>("anchor.git.inspect")
            .answer::<GitWorktreeListResult<'static>>("anchor.git.worktree.list")
            .answer::<GitWorktreeCreateResult<'static>>("anchor.git.worktree.create")
            .answer::<GitWorktreeRemoveResult>("anchor.git.worktree.remove")
            .answer::<GitWorktreePruneResult>("anchor.git.worktree.prune")
            .request::<RequestApproval<'static>>("item/mcpToolCall/requestApproval")
            .never("ThreadItem", "dynamicToolCall")
            .other::<ServerControl<'static>>(),
        Endpoint::Codex => inventory_results(table)
            .notification::<AccountLoginCompleted<'static>>("account/login/completed")
            .notification::<AccountUpdated>("account/updated")
            .notification::<ThreadSettingsUpdated<'static>>("thread/settings/updated")
            .answer::<Page<PermissionProfileSummary>>("permissionProfile/list")
            .request::<McpServerElicitationRequest<'static>>("mcpServer/elicitation/request")
            .answer::<ThreadTurnsListResponse<'static>>("thread/turns/list")
            .answer::<CommandExecResponse<'static>>("command/exec")
            .answer::<ThreadSearchResponse<'static>>("thread/search")
            .answer::<Page<ThreadSection<'static>>>("threadSection/list")
            .answer::<ThreadSectionResponse<'static>>("threadSection/create")
            .answer::<ThreadSectionResponse<'static>>("threadSection/update")
            .answer::<Empty>("threadSection/delete")
            .answer::<Empty>("thread/section/move")
            .answer::<ThreadItemsListResponse<'static>>("thread/items/list")
            .answer::<ThreadItemsReadResponse<'static>>("thread/items/read")
            .answer::<Page<ThreadSearchOccurrence>>("thread/searchOccurrences")
            .answer::<ThreadReadResponse<'static>>("thread/metadata/update")
            .answer::<LoginAccountResponse>("account/login/start")
            .answer::<CancelLoginAccountResponse>("account/login/cancel")
            .answer::<Empty>("account/logout")
            .answer::<ThreadReadResponse<'static>>("thread/revert")
            .answer::<Empty>("thread/delete")
            .answer::<Empty>("thread/settings/update")
            .answer::<DragomanSearchResponse<'static>>("dragoman/search")
            .answer::<Page<Grant<'static>>>("dragoman/grants/list")
            .answer::<Empty>("dragoman/grants/revoke")
            .answer::<Empty>("config/mcpServer/reload")
            .answer::<InitializeResponse<'static>>("initialize")
            .answer::<ConfigReadResponse>("config/read")
            .answer::<ConfigWriteResponse>("config/value/write")
            .answer::<ConfigWriteResponse>("config/batchWrite")
            .answer::<ConfigRequirementsReadResponse>("configRequirements/read"),
    }
    .schema()
}

fn section_requests(table: Table) -> Table {
    table
        .request::<ThreadSectionListParams>("threadSection/list")
        .request::<ThreadSectionCreateParams>("threadSection/create")
        .request::<ThreadSectionUpdateParams>("threadSection/update")
        .request::<ThreadSectionDeleteParams>("threadSection/delete")
        .request::<ThreadSectionMoveParams>("thread/section/move")
        .request::<ThreadMetadataUpdateParams>("thread/metadata/update")
        .request::<ThreadItemsListParams>("thread/items/list")
        .request::<ThreadItemsReadParams>("thread/items/read")
        .request::<ThreadSearchOccurrencesParams>("thread/searchOccurrences")
}

fn inventory_requests(table: Table) -> Table {
    table
        .request::<SkillsListParams>("skills/list")
        .request::<SkillsConfigWriteParams>("skills/config/write")
        .request::<HooksListParams>("hooks/list")
        .request::<Value>("plugin/list")
        .request::<Value>("plugin/installed")
        .request::<Value>("plugin/search")
        .request::<Value>("app/list")
        .request::<Value>("config/mcpServer/reload")
        .request::<McpServerOauthLoginParams>("mcpServer/oauth/login")
        .request::<Value>("app/installed")
        .request::<Value>("experimentalFeature/list")
        .request::<Value>("project/list")
        .request::<Value>("memory/status")
        .request::<Value>("modelProvider/capabilities/read")
        .request::<Value>("account/bedrock/checkGovCloudRequirements")
        .request::<Value>("account/rateLimits/read")
        .request::<Value>("account/usage/read")
        .request::<ThreadParams>("thread/goal/get")
        .request::<ThreadParams>("thread/goal/clear")
        .request::<ThreadParams>("thread/queue/list")
        .request::<ThreadParams>("thread/attachment/list")
}

fn inventory_results(table: Table) -> Table {
    table
        .answer::<Page<SkillsListEntry>>("skills/list")
        .notification::<McpServerOauthLoginCompleted<'static>>("mcpServer/oauthLogin/completed")
        .answer::<McpServerOauthLoginResponse>("mcpServer/oauth/login")
        .answer::<SkillsConfigWriteResponse>("skills/config/write")
        .answer::<Page<HooksListEntry<'static>>>("hooks/list")
        .answer::<PluginListResponse>("plugin/list")
        .answer::<PluginListResponse>("plugin/installed")
        .answer::<Page<Empty>>("plugin/search")
        .answer::<Page<Empty>>("app/list")
        .answer::<Page<Empty>>("experimentalFeature/list")
        .answer::<Page<Empty>>("project/list")
        .answer::<Page<Empty>>("thread/queue/list")
        .answer::<Page<Empty>>("thread/attachment/list")
        .answer::<AppsInstalledResponse>("app/installed")
        .answer::<MemoryStatusResponse>("memory/status")
        .answer::<ModelProviderCapabilitiesReadResponse>("modelProvider/capabilities/read")
        .answer::<BedrockCheckGovCloudRequirementsResponse>(
            "account/bedrock/checkGovCloudRequirements",
        )
        .answer::<AccountRateLimitsResponse>("account/rateLimits/read")
        .answer::<AccountTokenUsageResponse>("account/usage/read")
        .answer::<ThreadGoalGetResponse>("thread/goal/get")
        .answer::<ThreadGoalClearResponse>("thread/goal/clear")
}
