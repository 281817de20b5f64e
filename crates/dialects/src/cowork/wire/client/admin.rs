//! Client messages that look after providers, skills, MCP servers, checkpoints and the harness.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cowork::names::ProviderName;
use crate::cowork::wire::extras::HarnessContextPayload;
use crate::cowork::wire::mcp::{McpScope, McpServerConfig};

/// A key as the client sent it. It shows itself to nobody.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Client -> Server Messages: provider_auth_authorize.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderAuthAuthorize {
    pub session_id: String,
    pub provider: ProviderName,
    pub method_id: String,
}

/// Client -> Server Messages: provider_auth_callback.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderAuthCallback {
    pub session_id: String,
    pub provider: ProviderName,
    pub method_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Secret>,
}

/// Client -> Server Messages: provider_auth_set_api_key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderAuthSetApiKey {
    pub session_id: String,
    pub provider: ProviderName,
    pub method_id: String,
    pub api_key: Secret,
}

/// Messages about one skill.
macro_rules! skill_messages {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            pub session_id: String,
            pub skill_name: String,
        }
    )*};
}

skill_messages! {
    /// Client -> Server Messages: read_skill.
    ReadSkill;
    /// Client -> Server Messages: disable_skill.
    DisableSkill;
    /// Client -> Server Messages: enable_skill.
    EnableSkill;
    /// Client -> Server Messages: delete_skill.
    DeleteSkill;
}

/// Client -> Server Messages: mcp_server_upsert.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerUpsert {
    pub session_id: String,
    pub server: McpServerConfig,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_name: Option<String>,
}

/// Messages about one MCP server, by name.
macro_rules! mcp_name_messages {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            pub session_id: String,
            pub name: String,
        }
    )*};
}

mcp_name_messages! {
    /// Client -> Server Messages: mcp_server_delete.
    McpServerDelete;
    /// Client -> Server Messages: mcp_server_validate.
    McpServerValidate;
    /// Client -> Server Messages: mcp_server_auth_authorize.
    McpServerAuthAuthorize;
}

/// Client -> Server Messages: mcp_server_auth_callback.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerAuthCallback {
    pub session_id: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Secret>,
}

/// Client -> Server Messages: mcp_server_auth_set_api_key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerAuthSetApiKey {
    pub session_id: String,
    pub name: String,
    pub api_key: Secret,
}

/// Client -> Server Messages: mcp_servers_migrate_legacy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServersMigrateLegacy {
    pub session_id: String,
    pub scope: McpScope,
}

/// Client -> Server Messages: session_backup_restore. Without an id: the original state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionBackupRestore {
    pub session_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<String>,
}

/// Client -> Server Messages: session_backup_delete_checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionBackupDeleteCheckpoint {
    pub session_id: String,
    pub checkpoint_id: String,
}

/// Client -> Server Messages: harness_context_set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HarnessContextSet {
    pub session_id: String,
    pub context: HarnessContextPayload,
}
