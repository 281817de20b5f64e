//! The methods of this dialect, with the types of their params and results.

use serde_json::Value;

use super::wire::history::ThreadHistoryResponse;
use super::wire::params::{
    PermissionRespondParams, ProviderParams, ProviderSetApiKeyParams, ThreadFolderCreateParams,
    ThreadFolderDeleteParams, ThreadFolderMoveParams, ThreadGetParams, ThreadHistoryParams,
    ThreadMoveParams, ThreadStartParams, ThreadTreeParams, ThreadUnsubscribeParams, TurnParams,
    TurnStartParams, WorkspaceCreateParams, WorkspaceSelectParams, WorkspaceUpdateParams,
};
use super::wire::permission::{
    PermissionRequestOpened, PermissionRequestResolved, PermissionRespondResponse,
};
use super::wire::provider::{
    ProviderDeleteApiKeyResponse, ProviderListResponse, ProviderModelsListResponse,
    ProviderSetApiKeyResponse,
};
use super::wire::recovery::{
    ContextCompressingNotification, ItemRecoveryExhaustedNotification,
    ItemRecoveryOpenedNotification, ItemRetryNotification, ItemRetryScheduledNotification,
    ItemTimeoutDetectedNotification, ToolLoopBudgetExceededNotification,
};
use super::wire::servers::{
    McpChangedNotification, McpInstallParams, McpInstallResponse, McpListParams, McpListResponse,
    McpPolicySetParams, McpPolicySetResponse, McpServerCatalogChangedNotification,
    McpServerDetailsParams, McpServerDetailsResponse, McpServerParams, McpServerRestartResponse,
    McpServerStatusChangedNotification, McpUninstallResponse,
};
use super::wire::skills::{
    SkillListResponse, SkillsChangedNotification, SkillsHealthParams, SkillsHealthResponse,
    SkillsInstallParams, SkillsInstallResponse, SkillsListParams, SkillsPolicyListParams,
    SkillsPolicyListResponse, SkillsPolicySetParams, SkillsPolicySetResponse,
    SkillsUninstallParams, SkillsUninstallResponse, SkillsUpdateParams,
};
use super::wire::thread::{
    MovedResponse, ThreadClosedNotification, ThreadFolderCreateResponse,
    ThreadFolderDeleteResponse, ThreadResponse, ThreadStartResponse, ThreadTreeChangedNotification,
    ThreadTreeResponse, ThreadUnsubscribeResponse,
};
use super::wire::timeline::{
    TurnTimelineChangedNotification, TurnTimelineParams, TurnTimelineResponse,
};
use super::wire::turn::{
    ContextCompressedNotification, ItemDeltaNotification, ItemNotification, TurnItemsResponse,
    TurnNotification, TurnResponse, TurnStartResponse,
};
use super::wire::upload::{
    SkillsUploadAbortResponse, SkillsUploadChunkAckNotification, SkillsUploadFinishResponse,
    SkillsUploadParams, SkillsUploadStartParams, SkillsUploadStartResponse,
};
use super::wire::workspace::{
    WorkspaceChangedNotification, WorkspaceListResponse, WorkspaceResponse,
};
use crate::schemas::rpc::Table;

pub fn client() -> Value {
    Table::client(true)
        .request::<Value>("workspace/list")
        .request::<Value>("workspace/default")
        .request::<WorkspaceCreateParams>("workspace/create")
        .request::<WorkspaceSelectParams>("workspace/select")
        .request::<WorkspaceUpdateParams>("workspace/update")
        .request::<ThreadStartParams>("thread/start")
        .request::<ThreadGetParams>("thread/get")
        .request::<ThreadTreeParams>("thread/tree")
        .request::<ThreadHistoryParams>("thread/history")
        .request::<ThreadMoveParams>("thread/move")
        .request::<ThreadFolderCreateParams>("thread/folder/create")
        .request::<ThreadFolderMoveParams>("thread/folder/move")
        .request::<ThreadFolderDeleteParams>("thread/folder/delete")
        .request::<ThreadUnsubscribeParams>("thread/unsubscribe")
        .request::<TurnStartParams>("turn/start")
        .request::<TurnParams>("turn/cancel")
        .request::<TurnParams>("turn/get")
        .request::<TurnParams>("turn/items")
        .request::<TurnTimelineParams>("turn/timeline")
        .request::<PermissionRespondParams>("turn/permission/request/respond")
        .request::<Value>("provider/list")
        .request::<ProviderParams>("provider/models/list")
        .request::<ProviderSetApiKeyParams>("provider/set_api_key")
        .request::<ProviderParams>("provider/delete_api_key")
        .request::<SkillsListParams>("skills/list")
        .request::<SkillsHealthParams>("skills/health")
        .request::<SkillsPolicyListParams>("skills/policy/list")
        .request::<SkillsPolicySetParams>("skills/policy/set")
        .request::<SkillsInstallParams>("skills/install")
        .request::<SkillsUpdateParams>("skills/update")
        .request::<SkillsUninstallParams>("skills/uninstall")
        .request::<SkillsUploadStartParams>("skills/upload/start")
        .request::<SkillsUploadParams>("skills/upload/finish")
        .request::<SkillsUploadParams>("skills/upload/abort")
        .request::<McpListParams>("mcp/list")
        .request::<McpInstallParams>("mcp/install")
        .request::<McpPolicySetParams>("mcp/policy/set")
        .request::<McpServerParams>("mcp/server/restart")
        .request::<McpServerParams>("mcp/uninstall")
        .request::<McpServerDetailsParams>("mcp/server/details")
        .schema()
}

pub fn server() -> Value {
    Table::server(true)
        .notification::<WorkspaceChangedNotification<'static>>("workspace/changed")
        .notification::<ThreadResponse<'static>>("thread/started")
        .notification::<ThreadResponse<'static>>("thread/updated")
        .notification::<ThreadClosedNotification<'static>>("thread/closed")
        .notification::<ThreadTreeChangedNotification<'static>>("thread/tree/changed")
        .notification::<TurnNotification<'static>>("turn/started")
        .notification::<TurnNotification<'static>>("turn/completed")
        .notification::<TurnNotification<'static>>("turn/failed")
        .notification::<ItemNotification<'static>>("item/started")
        .notification::<ItemNotification<'static>>("item/completed")
        .notification::<ItemDeltaNotification<'static>>("item/agent_message/delta")
        .notification::<ItemDeltaNotification<'static>>("item/command_execution/output_delta")
        .notification::<ItemDeltaNotification<'static>>("item/file_change/output_delta")
        .notification::<ItemDeltaNotification<'static>>("item/tool/progress")
        .notification::<ItemNotification<'static>>("item/updated")
        .notification::<ItemTimeoutDetectedNotification<'static>>("item/timeout_detected")
        .notification::<ItemRecoveryOpenedNotification<'static>>("item/recovery_opened")
        .notification::<ItemRetryScheduledNotification<'static>>("item/retry_scheduled")
        .notification::<ItemRetryNotification<'static>>("item/retry_attempt_started")
        .notification::<ItemRetryNotification<'static>>("item/recovery_succeeded")
        .notification::<ItemRecoveryExhaustedNotification<'static>>("item/recovery_exhausted")
        .notification::<ToolLoopBudgetExceededNotification<'static>>(
            "turn/tool_loop/budget_exceeded",
        )
        .notification::<TurnTimelineChangedNotification<'static>>("turn/timeline/changed")
        .notification::<ContextCompressingNotification<'static>>("context/compressing")
        .notification::<ContextCompressedNotification<'static>>("context/compressed")
        .notification::<PermissionRequestOpened<'static>>("turn/permission/request/opened")
        .notification::<PermissionRequestResolved<'static>>("turn/permission/request/resolved")
        .notification::<SkillsChangedNotification<'static>>("skills/changed")
        .notification::<SkillsUploadChunkAckNotification<'static>>("skills/upload/chunk_ack")
        .notification::<McpChangedNotification<'static>>("mcp/changed")
        .notification::<McpServerStatusChangedNotification<'static>>("mcp/server/status_changed")
        .notification::<McpServerCatalogChangedNotification<'static>>("mcp/server/catalog_changed")
        .result::<WorkspaceListResponse<'static>>()
        .result::<WorkspaceResponse<'static>>()
        .result::<ThreadStartResponse<'static>>()
        .result::<ThreadResponse<'static>>()
        .result::<ThreadTreeResponse<'static>>()
        .result::<ThreadHistoryResponse<'static>>()
        .result::<ThreadFolderCreateResponse<'static>>()
        .result::<ThreadFolderDeleteResponse>()
        .result::<MovedResponse>()
        .result::<ThreadUnsubscribeResponse>()
        .result::<TurnStartResponse<'static>>()
        .result::<TurnResponse<'static>>()
        .result::<TurnItemsResponse<'static>>()
        .result::<TurnTimelineResponse<'static>>()
        .result::<PermissionRespondResponse<'static>>()
        .result::<ProviderListResponse>()
        .result::<ProviderModelsListResponse<'static>>()
        .result::<ProviderSetApiKeyResponse<'static>>()
        .result::<ProviderDeleteApiKeyResponse<'static>>()
        .result::<SkillListResponse<'static>>()
        .result::<SkillsHealthResponse<'static>>()
        .result::<SkillsPolicyListResponse<'static>>()
        .result::<SkillsPolicySetResponse<'static>>()
        .result::<SkillsInstallResponse<'static>>()
        .result::<SkillsUninstallResponse<'static>>()
        .result::<SkillsUploadStartResponse<'static>>()
        .result::<SkillsUploadFinishResponse<'static>>()
        .result::<SkillsUploadAbortResponse<'static>>()
        .result::<McpListResponse<'static>>()
        .result::<McpInstallResponse<'static>>()
        .result::<McpPolicySetResponse<'static>>()
        .result::<McpServerRestartResponse<'static>>()
        .result::<McpUninstallResponse<'static>>()
        .result::<McpServerDetailsResponse<'static>>()
        .schema()
}
