//! MCP servers, as they are listed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// mcpServerStatus/list: one server.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerStatus<'a> {
    pub name: &'a str,
    pub server_info: Option<McpServerInfo<'a>>,
    /// By their names.
    pub tools: BTreeMap<&'a str, McpTool<'a>>,
    pub tools_error: Option<&'a str>,
    pub resources: [(); 0],
    pub resource_templates: [(); 0],
    pub auth_status: McpAuthStatus,
    pub runtime_status: McpServerConnectionStatus,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct McpServerInfo<'a> {
    pub name: &'a str,
    pub title: Option<&'a str>,
    pub version: &'a str,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpTool<'a> {
    pub name: &'a str,
    pub title: Option<&'a str>,
    pub description: &'a str,
    pub input_schema: &'a Value,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpAuthStatus {
    Unsupported,
    NotLoggedIn,
    BearerToken,
    OAuth,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpServerConnectionStatus {
    NotStarted,
    Starting,
    Connected,
    Failed,
    /// Nobody has trusted it.
    Disabled,
}

/// mcpServer/oauth/login
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerOauthLoginParams {
    pub name: String,
    #[serde(default)]
    pub thread_id: Option<String>,
}

/// mcpServer/oauth/login
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerOauthLoginResponse {
    pub authorization_url: String,
}

/// mcpServer/oauthLogin/completed
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerOauthLoginCompleted<'a> {
    pub name: &'a str,
    pub thread_id: String,
    pub success: bool,
    pub error: Option<&'a str>,
}
