//! The MCP servers of a thread, as clients list them.

use std::collections::BTreeMap;

use vocabulary::{
    Call, McpAuthMode, McpCall, McpRunning, McpServerState, McpSnapshot, McpToolInfo,
};

use super::act::parse;
use super::calls::CodexPurpose;
use super::refuse::CodexError;
use super::wire::mcp::{
    McpAuthStatus, McpServerConnectionStatus, McpServerInfo, McpServerStatus, McpTool,
};
use super::wire::params::ListMcpServerStatusParams;
use super::wire::results::Page;
use super::{Codex, respond, send};
use crate::Action;
use crate::jsonrpc::Id;

const PAGE_MAX: usize = 100;

impl Codex {
    /// Servers are a workspace's, so a thread says whose are meant.
    pub(super) fn server_list(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        params: ListMcpServerStatusParams,
    ) -> Result<(), CodexError> {
        let named = params.thread_id.as_deref().map(parse).transpose()?;
        let Some(thread) = named.or_else(|| self.listening.newest()) else {
            let page = Page::<McpServerStatus<'_>> {
                data: Vec::new(),
                next_cursor: None,
            };
            send(out, respond(&id, &page));
            return Ok(());
        };
        let call = McpCall::Get;
        let purpose = CodexPurpose::ServerList(id, params);
        self.calls.make(out, purpose, Call::Mcp { thread, call });
        Ok(())
    }
}

/// A cursor is the place of the next server in the list.
pub fn page<'a>(
    snapshot: &'a McpSnapshot,
    params: &ListMcpServerStatusParams,
) -> Page<McpServerStatus<'a>> {
    let cursor = params.cursor.as_deref();
    let start: usize = cursor.and_then(|text| text.parse().ok()).unwrap_or(0);
    let limit = params.limit.map_or(PAGE_MAX, |limit| limit as usize);
    let wanted = |state: &&McpServerState| {
        let name = params.server_name.as_ref();
        name.is_none_or(|name| state.server.name == *name)
    };
    let mut rest = snapshot.servers.iter().filter(wanted).skip(start);
    let data: Vec<_> = rest
        .by_ref()
        .take(limit.clamp(1, PAGE_MAX))
        .map(status)
        .collect();
    let next_cursor = rest.next().map(|_| (start + data.len()).to_string());
    Page { data, next_cursor }
}

fn status(state: &McpServerState) -> McpServerStatus<'_> {
    let name = state.server.name.as_str();
    let (runtime_status, tools_error) = match &state.running {
        McpRunning::NotStarted => (McpServerConnectionStatus::NotStarted, None),
        McpRunning::WaitsForTrust => (McpServerConnectionStatus::Disabled, None),
        McpRunning::Starting => (McpServerConnectionStatus::Starting, None),
        McpRunning::Ready { .. } => (McpServerConnectionStatus::Connected, None),
        McpRunning::Failed { message } => {
            (McpServerConnectionStatus::Failed, Some(message.as_str()))
        }
    };
    let (server_info, tools) = match &state.running {
        McpRunning::Ready {
            title,
            version,
            tools,
            ..
        } => (
            Some(McpServerInfo {
                name,
                title: title.as_deref(),
                version: version.as_deref().unwrap_or_default(),
            }),
            tools.as_slice(),
        ),
        McpRunning::NotStarted
        | McpRunning::WaitsForTrust
        | McpRunning::Starting
        | McpRunning::Failed { .. } => (None, &[][..]),
    };
    McpServerStatus {
        name,
        server_info,
        tools: tools.iter().map(tool).collect::<BTreeMap<_, _>>(),
        tools_error,
        resources: [],
        resource_templates: [],
        auth_status: match state.auth.mode {
            McpAuthMode::None => McpAuthStatus::Unsupported,
            McpAuthMode::ApiKey => McpAuthStatus::BearerToken,
            McpAuthMode::OAuth => McpAuthStatus::OAuth,
            McpAuthMode::Missing | McpAuthMode::OAuthPending | McpAuthMode::Error => {
                McpAuthStatus::NotLoggedIn
            }
        },
        runtime_status,
    }
}

fn tool(tool: &McpToolInfo) -> (&str, McpTool<'_>) {
    let shown = McpTool {
        name: &tool.name,
        title: tool.title.as_deref(),
        description: &tool.description,
        input_schema: &tool.parameters,
    };
    (tool.name.as_str(), shown)
}
