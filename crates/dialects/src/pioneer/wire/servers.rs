//! MCP servers: how they are configured, how they run, what they have.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::skills::LifecycleAuditSummary;
use crate::secret::SecretText;

/// mcp/list
#[derive(Debug, Deserialize, JsonSchema)]
pub struct McpListParams {
    pub workspace_id: String,
}

/// mcp/install
#[derive(Debug, Deserialize, JsonSchema)]
pub struct McpInstallParams {
    pub workspace_id: String,
    /// `{"mcpServers": {"name": {…}}}` as text; never logged, and no error repeats a value of it.
    pub config_json: SecretText,
    pub scope_kind: Option<McpScopeKind>,
    pub enabled: Option<bool>,
    pub allow_implicit_invocation: Option<bool>,
}

/// mcp/policy/set
#[derive(Debug, Deserialize, JsonSchema)]
pub struct McpPolicySetParams {
    pub workspace_id: String,
    pub name: String,
    pub scope_kind: Option<McpScopeKind>,
    pub enabled: Option<bool>,
    pub allow_implicit_invocation: Option<bool>,
}

/// mcp/server/restart, mcp/uninstall
#[derive(Debug, Deserialize, JsonSchema)]
pub struct McpServerParams {
    pub workspace_id: String,
    pub name: String,
    pub scope_kind: Option<McpScopeKind>,
}

/// mcp/server/details
#[derive(Debug, Deserialize, JsonSchema)]
pub struct McpServerDetailsParams {
    pub workspace_id: String,
    pub server_id: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpScopeKind {
    #[default]
    Workspace,
    User,
}

/// mcp/list
#[derive(Debug, Serialize, JsonSchema)]
pub struct McpListResponse<'a> {
    pub snapshot_version: u64,
    pub generated_at: i64,
    pub servers: Vec<McpListItem<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct McpListItem<'a> {
    /// Its name: no two that count have the same.
    pub id: &'a str,
    pub name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<&'a str>,
    pub scope: McpScopeKind,
    pub policy: McpPolicyState,
    pub required: bool,
    pub runtime: McpRuntimeStatus,
    pub tools_count: usize,
    /// Resources and prompts are not listed here.
    pub resources_count: usize,
    pub resource_templates_count: usize,
    pub prompts_count: usize,
    pub status: McpRuntimeState,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct McpPolicyState {
    pub enabled: bool,
    /// The model is told of the tools of every server that runs.
    pub allow_implicit_invocation: bool,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct McpRuntimeStatus {
    pub state: McpRuntimeState,
    pub live: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpRuntimeState {
    NotStarted,
    /// Switched off, or nobody has trusted it yet.
    Disabled,
    Starting,
    Ready,
    AuthRequired,
    Failed,
}

/// mcp/install
#[derive(Debug, Serialize, JsonSchema)]
pub struct McpInstallResponse<'a> {
    pub status: McpInstallStatus,
    pub servers: Vec<McpInstallResult<'a>>,
    pub audit: LifecycleAuditSummary,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpInstallStatus {
    Ok,
    Partial,
    ValidationError,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct McpInstallResult<'a> {
    pub name: &'a str,
    pub status: McpInstallResultStatus,
    pub diagnostics: Vec<McpValidationDiagnostic<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<McpListItem<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpInstallResultStatus {
    Installed,
    Updated,
    ValidationError,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct McpValidationDiagnostic<'a> {
    pub code: &'static str,
    pub level: &'static str,
    pub message: &'a str,
}

/// mcp/policy/set
#[derive(Debug, Serialize, JsonSchema)]
pub struct McpPolicySetResponse<'a> {
    pub policy: McpServerPolicy<'a>,
    pub server: McpListItem<'a>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct McpServerPolicy<'a> {
    pub workspace_id: &'a str,
    pub name: &'a str,
    pub scope_kind: McpScopeKind,
    pub enabled: bool,
    pub allow_implicit_invocation: bool,
}

/// mcp/server/restart
#[derive(Debug, Serialize, JsonSchema)]
pub struct McpServerRestartResponse<'a> {
    pub accepted: bool,
    pub server: McpListItem<'a>,
}

/// mcp/uninstall
#[derive(Debug, Serialize, JsonSchema)]
pub struct McpUninstallResponse<'a> {
    pub removed: bool,
    pub server_id: &'a str,
    pub name: &'a str,
    pub scope_kind: McpScopeKind,
    pub audit: LifecycleAuditSummary,
}

/// mcp/server/details
#[derive(Debug, Serialize, JsonSchema)]
pub struct McpServerDetailsResponse<'a> {
    pub snapshot_version: u64,
    pub generated_at: i64,
    pub server: McpListItem<'a>,
    pub catalog: McpServerCatalogDetails<'a>,
    pub management: McpManagementDetails<'a>,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct McpServerCatalogDetails<'a> {
    /// What it calls itself, and its version, once it runs.
    pub server_info: McpServerInfo<'a>,
    pub tools: Vec<McpToolCatalogItem<'a>>,
    pub resources: [(); 0],
    pub resource_templates: [(); 0],
    pub prompts: [(); 0],
}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct McpServerInfo<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<&'a str>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct McpToolCatalogItem<'a> {
    pub name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<&'a str>,
    pub description: &'a str,
    pub input_schema_summary: &'a Value,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct McpManagementDetails<'a> {
    pub scope: McpScopeKind,
    pub source_kind: &'static str,
    pub transport: McpTransportSummary<'a>,
    pub health: McpServerHealthDetails<'a>,
}

/// Without arguments, variables and headers: they may be secrets.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum McpTransportSummary<'a> {
    Stdio { command: &'a str },
    StreamableHttp { url: Cow<'a, str> },
    Sse { url: Cow<'a, str> },
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct McpServerHealthDetails<'a> {
    pub runtime: McpRuntimeStatus,
    pub status: McpRuntimeState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<&'a str>,
}

/// mcp/changed
#[derive(Debug, Serialize, JsonSchema)]
pub struct McpChangedNotification<'a> {
    pub workspace_id: &'a str,
    pub snapshot_version: u64,
    pub changed: [McpChangedItem<'a>; 1],
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct McpChangedItem<'a> {
    pub name: &'a str,
    pub source_kind: &'static str,
    pub action: McpChangedAction,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpChangedAction {
    Install,
    Policy,
    Update,
    Uninstall,
}

/// mcp/server/status_changed
#[derive(Debug, Serialize, JsonSchema)]
pub struct McpServerStatusChangedNotification<'a> {
    pub workspace_id: &'a str,
    pub snapshot_version: u64,
    pub server: McpServerStatusItem<'a>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct McpServerStatusItem<'a> {
    pub id: &'a str,
    pub name: &'a str,
    pub scope_kind: McpScopeKind,
    pub runtime: McpRuntimeStatus,
    pub status: McpRuntimeState,
}

/// mcp/server/catalog_changed
#[derive(Debug, Serialize, JsonSchema)]
pub struct McpServerCatalogChangedNotification<'a> {
    pub workspace_id: &'a str,
    pub snapshot_version: u64,
    pub server_id: &'a str,
    pub name: &'a str,
    pub catalog_version: String,
    pub tools_count: usize,
    pub resources_count: usize,
    pub resource_templates_count: usize,
    pub prompts_count: usize,
}
