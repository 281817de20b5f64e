//! MCP servers: requests as calls, snapshots as responses, changes as notifications.

use std::borrow::Cow;

use sha2::{Digest as _, Sha256};
use vocabulary::{
    McpAuthMode, McpCall, McpChangeKind, McpInstallOutcome, McpInstalled, McpLayer, McpReply,
    McpRunning, McpScope, McpServerState, McpSnapshot, McpToolInfo, McpTransport, Notice, Refusal,
    Reply, Why, WorkspaceId,
};

use super::admin::Begun;
use super::hear::PioneerError;
use super::steps::{RequestStep, RunningRequest};
use super::tell::notification;
use super::wire::servers::{
    McpChangedAction, McpChangedItem, McpChangedNotification, McpInstallParams, McpInstallResponse,
    McpInstallResult, McpInstallResultStatus, McpInstallStatus, McpListItem, McpListParams,
    McpListResponse, McpManagementDetails, McpPolicySetParams, McpPolicySetResponse,
    McpPolicyState, McpRuntimeState, McpRuntimeStatus, McpScopeKind,
    McpServerCatalogChangedNotification, McpServerCatalogDetails, McpServerDetailsParams,
    McpServerDetailsResponse, McpServerHealthDetails, McpServerInfo, McpServerParams,
    McpServerPolicy, McpServerRestartResponse, McpServerStatusChangedNotification,
    McpServerStatusItem, McpToolCatalogItem, McpTransportSummary, McpUninstallResponse,
    McpValidationDiagnostic,
};
use super::wire::skills::LifecycleAuditSummary;
use super::{Pioneer, respond};
use crate::jsonrpc::Id;
use crate::{Action, Frame};

/// A request about servers, by what it wants to know of the answer.
pub enum ServersQuery {
    List,
    Install,
    Policy { workspace: String, name: String },
    Restart { name: String },
    Uninstall { name: String, scope: McpScopeKind },
    Details { name: String },
}

const CONFIG: &str = "config";

impl Pioneer {
    pub(super) fn mcp_list(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        params: McpListParams,
    ) -> Begun {
        let step = RequestStep::Servers(ServersQuery::List);
        self.mcp_call(out, running, (step, &params.workspace_id), McpCall::Get);
        Ok(())
    }

    pub(super) fn install_servers(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        params: McpInstallParams,
    ) -> Begun {
        let call = McpCall::Install {
            config: params.config_json.into(),
            scope: scope(params.scope_kind.unwrap_or_default()),
            enabled: params.enabled.unwrap_or(true),
        };
        let step = RequestStep::Servers(ServersQuery::Install);
        self.mcp_call(out, running, (step, &params.workspace_id), call);
        Ok(())
    }

    pub(super) fn set_server_policy(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        params: McpPolicySetParams,
    ) -> Begun {
        let wrong = match (params.enabled, params.allow_implicit_invocation) {
            (_, Some(false)) => {
                "allow_implicit_invocation: expected true; agents are told of the tools of every \
                 server that is enabled"
            }
            (None, _) => "enabled: expected true or false",
            (Some(enabled), _) => {
                let (workspace, name) = (params.workspace_id.clone(), params.name.clone());
                let step = RequestStep::Servers(ServersQuery::Policy { workspace, name });
                let name = params.name;
                let call = McpCall::SetEnabled { name, enabled };
                self.mcp_call(out, running, (step, &params.workspace_id), call);
                return Ok(());
            }
        };
        Err(PioneerError::params(&running.method, wrong))
    }

    pub(super) fn restart_server(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        params: McpServerParams,
    ) -> Begun {
        let name = params.name.clone();
        let step = RequestStep::Servers(ServersQuery::Restart { name });
        let call = McpCall::Restart { name: params.name };
        self.mcp_call(out, running, (step, &params.workspace_id), call);
        Ok(())
    }

    pub(super) fn uninstall_server(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        params: McpServerParams,
    ) -> Begun {
        let kind = params.scope_kind.unwrap_or_default();
        let step = RequestStep::Servers(ServersQuery::Uninstall {
            name: params.name.clone(),
            scope: kind,
        });
        let call = McpCall::Uninstall {
            name: params.name,
            scope: scope(kind),
        };
        self.mcp_call(out, running, (step, &params.workspace_id), call);
        Ok(())
    }

    pub(super) fn server_details(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        params: McpServerDetailsParams,
    ) -> Begun {
        let name = params.server_id;
        let step = RequestStep::Servers(ServersQuery::Details { name });
        self.mcp_call(out, running, (step, &params.workspace_id), McpCall::Get);
        Ok(())
    }
}

impl ServersQuery {
    pub fn answer(&self, out: &mut Vec<Action>, id: &Id, reply: Reply) -> Result<(), Refusal> {
        let reply = *reply.mcp()?;
        if let McpReply::Installed { servers, now } = &reply {
            respond(out, id, &installed(servers, now));
            return Ok(());
        }
        let McpReply::Servers(snapshot) = reply else {
            let message = "this answer is for another question";
            return Err(Refusal::new(Why::Internal, message));
        };
        match self {
            ServersQuery::List | ServersQuery::Install => respond(out, id, &list(&snapshot)),
            ServersQuery::Policy { workspace, name } => {
                let state = find(&snapshot, name)?;
                let server = item(state);
                let policy = McpServerPolicy {
                    workspace_id: workspace,
                    name,
                    scope_kind: server.scope,
                    enabled: server.policy.enabled,
                    allow_implicit_invocation: true,
                };
                respond(out, id, &McpPolicySetResponse { policy, server });
            }
            ServersQuery::Restart { name } => {
                let server = item(find(&snapshot, name)?);
                let accepted = true;
                respond(out, id, &McpServerRestartResponse { accepted, server });
            }
            ServersQuery::Uninstall { name, scope } => {
                let result = McpUninstallResponse {
                    removed: true,
                    server_id: name,
                    name,
                    scope_kind: *scope,
                    audit: LifecycleAuditSummary::default(),
                };
                respond(out, id, &result);
            }
            ServersQuery::Details { name } => respond(out, id, &details(&snapshot, name)?),
        }
        Ok(())
    }
}

fn scope(kind: McpScopeKind) -> McpScope {
    match kind {
        McpScopeKind::Workspace => McpScope::Workspace,
        McpScopeKind::User => McpScope::User,
    }
}

/// What the system configures counts for the user.
fn scope_kind(layer: McpLayer) -> McpScopeKind {
    match layer {
        McpLayer::Workspace | McpLayer::WorkspaceLegacy => McpScopeKind::Workspace,
        McpLayer::User | McpLayer::System | McpLayer::UserLegacy => McpScopeKind::User,
    }
}

fn find<'a>(snapshot: &'a McpSnapshot, name: &str) -> Result<&'a McpServerState, Refusal> {
    let mut servers = snapshot.servers.iter();
    let found = servers.find(|state| state.server.name == name);
    found.ok_or_else(|| {
        let message = format!("MCP server `{name}` was not found");
        Refusal::new(Why::UnknownFile, message)
    })
}

fn list(snapshot: &McpSnapshot) -> McpListResponse<'_> {
    McpListResponse {
        snapshot_version: snapshot.version,
        generated_at: snapshot.at.seconds(),
        servers: snapshot.servers.iter().map(item).collect(),
    }
}

fn runtime(state: &McpServerState) -> McpRuntimeStatus {
    let wants_sign_in = matches!(
        state.auth.mode,
        McpAuthMode::Missing | McpAuthMode::OAuthPending
    );
    let now = match &state.running {
        _ if state.switched_off => McpRuntimeState::Disabled,
        McpRunning::WaitsForTrust => McpRuntimeState::Disabled,
        McpRunning::Ready { .. } => McpRuntimeState::Ready,
        McpRunning::NotStarted | McpRunning::Failed { .. } if wants_sign_in => {
            McpRuntimeState::AuthRequired
        }
        McpRunning::NotStarted => McpRuntimeState::NotStarted,
        McpRunning::Starting => McpRuntimeState::Starting,
        McpRunning::Failed { .. } => McpRuntimeState::Failed,
    };
    let live = now == McpRuntimeState::Ready;
    McpRuntimeStatus { state: now, live }
}

fn tools(state: &McpServerState) -> &[McpToolInfo] {
    match &state.running {
        McpRunning::Ready { tools, .. } => tools,
        McpRunning::NotStarted
        | McpRunning::WaitsForTrust
        | McpRunning::Starting
        | McpRunning::Failed { .. } => &[],
    }
}

fn info(state: &McpServerState) -> McpServerInfo<'_> {
    match &state.running {
        McpRunning::Ready { title, version, .. } => McpServerInfo {
            title: title.as_deref(),
            version: version.as_deref(),
        },
        McpRunning::NotStarted
        | McpRunning::WaitsForTrust
        | McpRunning::Starting
        | McpRunning::Failed { .. } => McpServerInfo::default(),
    }
}

fn item(state: &McpServerState) -> McpListItem<'_> {
    let runtime = runtime(state);
    McpListItem {
        id: &state.server.name,
        name: &state.server.name,
        display_name: info(state).title,
        scope: scope_kind(state.layer),
        policy: McpPolicyState {
            enabled: !state.switched_off && state.running != McpRunning::WaitsForTrust,
            allow_implicit_invocation: true,
        },
        required: state.server.required == Some(true),
        runtime,
        tools_count: tools(state).len(),
        resources_count: 0,
        resource_templates_count: 0,
        prompts_count: 0,
        status: runtime.state,
    }
}

fn installed<'a>(servers: &'a [McpInstalled], now: &'a McpSnapshot) -> McpInstallResponse<'a> {
    let results: Vec<McpInstallResult<'_>> = servers
        .iter()
        .map(|each| {
            let (status, wrong) = match &each.outcome {
                McpInstallOutcome::Installed => (McpInstallResultStatus::Installed, None),
                McpInstallOutcome::Updated => (McpInstallResultStatus::Updated, None),
                McpInstallOutcome::Refused(wrong) => {
                    (McpInstallResultStatus::ValidationError, Some(wrong))
                }
            };
            let diagnostic = wrong.map(|message| McpValidationDiagnostic {
                code: "invalid",
                level: "error",
                message,
            });
            let server = find(now, &each.name).ok().filter(|_| wrong.is_none());
            McpInstallResult {
                name: &each.name,
                status,
                diagnostics: diagnostic.into_iter().collect(),
                server: server.map(item),
            }
        })
        .collect();
    let is_wrong =
        |each: &McpInstallResult<'_>| each.status == McpInstallResultStatus::ValidationError;
    let status = match (results.iter().any(is_wrong), results.iter().all(is_wrong)) {
        (false, _) => McpInstallStatus::Ok,
        (true, false) => McpInstallStatus::Partial,
        (true, true) => McpInstallStatus::ValidationError,
    };
    McpInstallResponse {
        status,
        servers: results,
        audit: LifecycleAuditSummary::default(),
    }
}

fn details<'a>(
    snapshot: &'a McpSnapshot,
    name: &str,
) -> Result<McpServerDetailsResponse<'a>, Refusal> {
    let state = find(snapshot, name)?;
    let tool = |tool: &'a McpToolInfo| McpToolCatalogItem {
        name: &tool.name,
        title: tool.title.as_deref(),
        description: &tool.description,
        input_schema_summary: &tool.parameters,
    };
    let transport = match &state.server.transport {
        McpTransport::Stdio { command, .. } => McpTransportSummary::Stdio { command },
        McpTransport::Http { url, .. } => McpTransportSummary::StreamableHttp { url: shown(url) },
        McpTransport::Sse { url, .. } => McpTransportSummary::Sse { url: shown(url) },
    };
    let runtime = runtime(state);
    let (status_reason, last_error) = match &state.running {
        _ if state.switched_off => (Some("it is switched off"), None),
        McpRunning::WaitsForTrust => (
            Some("it came with this workspace, and nobody has trusted it"),
            None,
        ),
        McpRunning::Failed { message } => (None, Some(message.as_str())),
        McpRunning::NotStarted | McpRunning::Starting | McpRunning::Ready { .. } => (None, None),
    };
    Ok(McpServerDetailsResponse {
        snapshot_version: snapshot.version,
        generated_at: snapshot.at.seconds(),
        server: item(state),
        catalog: McpServerCatalogDetails {
            server_info: info(state),
            tools: tools(state).iter().map(tool).collect(),
            ..McpServerCatalogDetails::default()
        },
        management: McpManagementDetails {
            scope: scope_kind(state.layer),
            source_kind: CONFIG,
            transport,
            health: McpServerHealthDetails {
                runtime,
                status: runtime.state,
                status_reason,
                last_error,
            },
        },
    })
}

/// An address without what may be a secret in it: a name and password, the query.
fn shown(url: &str) -> Cow<'_, str> {
    let url = url.split(['?', '#']).next().unwrap_or(url);
    let Some((scheme, rest)) = url.split_once("://") else {
        return Cow::Borrowed(url);
    };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    match host.rsplit_once('@') {
        Some((_, host)) => Cow::Owned(format!("{scheme}://{host}{path}")),
        None => Cow::Borrowed(url),
    }
}

/// A change as a connection hears it that is bound to this workspace.
pub fn changed(bound: &WorkspaceId, notice: &Notice) -> Vec<Frame> {
    match notice {
        Notice::McpChanged {
            workspaces,
            version,
            name,
            what,
        } if workspaces.contains(bound) => {
            let params = McpChangedNotification {
                workspace_id: bound.as_str(),
                snapshot_version: *version,
                changed: [McpChangedItem {
                    name,
                    source_kind: CONFIG,
                    action: match what {
                        McpChangeKind::Installed => McpChangedAction::Install,
                        McpChangeKind::Updated => McpChangedAction::Update,
                        McpChangeKind::Uninstalled => McpChangedAction::Uninstall,
                        McpChangeKind::Switched => McpChangedAction::Policy,
                    },
                }],
            };
            vec![notification("mcp/changed", &params)]
        }
        Notice::McpServerChanged {
            workspaces,
            version,
            state,
        } if workspaces.contains(bound) => {
            let status = notification("mcp/server/status_changed", &status(bound, *version, state));
            let catalog = catalog(bound, *version, state);
            let catalog = catalog.map(|it| notification("mcp/server/catalog_changed", &it));
            std::iter::once(status).chain(catalog).collect()
        }
        _ => Vec::new(),
    }
}

fn status<'a>(
    bound: &'a WorkspaceId,
    version: u64,
    state: &'a McpServerState,
) -> McpServerStatusChangedNotification<'a> {
    let runtime = runtime(state);
    McpServerStatusChangedNotification {
        workspace_id: bound.as_str(),
        snapshot_version: version,
        server: McpServerStatusItem {
            id: &state.server.name,
            name: &state.server.name,
            scope_kind: scope_kind(state.layer),
            runtime,
            status: runtime.state,
        },
    }
}

/// The same for the same tools.
fn catalog_version(tools: &[McpToolInfo]) -> String {
    let mut hasher = Sha256::new();
    for tool in tools {
        hasher.update(tool.name.as_bytes());
        hasher.update([0]);
        hasher.update(tool.parameters.to_string().as_bytes());
        hasher.update([0]);
    }
    let digest = hasher.finalize();
    digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// What it has, once it runs.
fn catalog<'a>(
    bound: &'a WorkspaceId,
    version: u64,
    state: &'a McpServerState,
) -> Option<McpServerCatalogChangedNotification<'a>> {
    let McpRunning::Ready { tools, .. } = &state.running else {
        return None;
    };
    Some(McpServerCatalogChangedNotification {
        workspace_id: bound.as_str(),
        snapshot_version: version,
        server_id: &state.server.name,
        name: &state.server.name,
        catalog_version: catalog_version(tools),
        tools_count: tools.len(),
        resources_count: 0,
        resource_templates_count: 0,
        prompts_count: 0,
    })
}
