//! Events about MCP servers, and what one of them is configured by.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::providers::OauthMode;

/// Server -> Client Events: mcp_servers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServers<'a> {
    pub session_id: &'a str,
    pub servers: Vec<McpServerEntry<'a>>,
    pub legacy: McpLegacy<'a>,
    pub files: Vec<McpFileEntry<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<&'a str>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerEntry<'a> {
    #[serde(flatten)]
    pub config: &'a McpServerConfig,
    pub source: McpSource,
    pub inherited: bool,
    pub auth_mode: McpAuthMode,
    pub auth_scope: McpScope,
    pub auth_message: &'a str,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct McpLegacy<'a> {
    pub workspace: McpLegacyFile<'a>,
    pub user: McpLegacyFile<'a>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct McpLegacyFile<'a> {
    pub path: Cow<'a, str>,
    pub exists: bool,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpFileEntry<'a> {
    pub source: McpSource,
    pub path: Cow<'a, str>,
    pub exists: bool,
    pub editable: bool,
    pub legacy: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parse_error: Option<&'a str>,
    pub server_count: u32,
}

/// From the strongest to the weakest, which is also the order of `files`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpSource {
    Workspace,
    User,
    System,
    WorkspaceLegacy,
    UserLegacy,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpAuthMode {
    None,
    Missing,
    ApiKey,
    Oauth,
    OauthPending,
    Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpScope {
    Workspace,
    User,
}

/// MCPServerConfig, as `mcp_server_upsert` sends it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerConfig {
    pub name: String,
    pub transport: McpTransport,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<McpAuth>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum McpTransport {
    Stdio {
        command: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        args: Vec<String>,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        env: BTreeMap<String, String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
    },
    Http {
        url: String,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        headers: BTreeMap<String, String>,
    },
    Sse {
        url: String,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        headers: BTreeMap<String, String>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum McpAuth {
    None,
    ApiKey {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        header_name: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefix: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key_id: Option<String>,
    },
    Oauth {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scope: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resource: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        oauth_mode: Option<String>,
    },
}

/// Server -> Client Events: mcp_server_validation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerValidation<'a> {
    pub session_id: &'a str,
    pub name: &'a str,
    pub ok: bool,
    pub mode: McpAuthMode,
    pub message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_count: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
}

/// Server -> Client Events: mcp_server_auth_challenge.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerAuthChallenge<'a> {
    pub session_id: &'a str,
    pub name: &'a str,
    pub challenge: McpChallenge<'a>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpChallenge<'a> {
    pub method: OauthMode,
    pub instructions: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

/// Server -> Client Events: mcp_server_auth_result.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerAuthResult<'a> {
    pub session_id: &'a str,
    pub name: &'a str,
    pub ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<McpAuthMode>,
    pub message: &'a str,
}
