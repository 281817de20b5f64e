//! Client -> Server Messages: the table of all of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub mod admin;
pub mod settings;
pub mod talk;

pub use admin::*;
pub use settings::*;
pub use talk::*;

/// Client -> Server Messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ClientMessage {
    ClientHello(ClientHello),

    UserMessage(UserMessage),
    AskResponse(AskResponse),
    ApprovalResponse(ApprovalResponse),
    Cancel(Cancel),
    Reset(Reset),

    SetModel(SetModel),
    RefreshProviderStatus(RefreshProviderStatus),
    ProviderCatalogGet(ProviderCatalogGet),
    ProviderAuthMethodsGet(ProviderAuthMethodsGet),
    ProviderAuthAuthorize(ProviderAuthAuthorize),
    ProviderAuthCallback(ProviderAuthCallback),
    ProviderAuthSetApiKey(ProviderAuthSetApiKey),

    ListTools(ListTools),
    ListCommands(ListCommands),
    ExecuteCommand(ExecuteCommand),

    ListSkills(ListSkills),
    ReadSkill(ReadSkill),
    DisableSkill(DisableSkill),
    EnableSkill(EnableSkill),
    DeleteSkill(DeleteSkill),

    SetEnableMcp(SetEnableMcp),
    McpServersGet(McpServersGet),
    McpServerUpsert(McpServerUpsert),
    McpServerDelete(McpServerDelete),
    McpServerValidate(McpServerValidate),
    McpServerAuthAuthorize(McpServerAuthAuthorize),
    McpServerAuthCallback(McpServerAuthCallback),
    McpServerAuthSetApiKey(McpServerAuthSetApiKey),
    McpServersMigrateLegacy(McpServersMigrateLegacy),

    SessionClose(SessionClose),
    GetMessages(GetMessages),
    SetSessionTitle(SetSessionTitle),
    ListSessions(ListSessions),
    DeleteSession(DeleteSession),
    SetConfig(SetConfig),
    UploadFile(UploadFile),

    SessionBackupGet(SessionBackupGet),
    SessionBackupCheckpoint(SessionBackupCheckpoint),
    SessionBackupRestore(SessionBackupRestore),
    SessionBackupDeleteCheckpoint(SessionBackupDeleteCheckpoint),

    HarnessContextGet(HarnessContextGet),
    HarnessContextSet(HarnessContextSet),

    Ping(Ping),
}

/// The many messages that say nothing but which session they are for.
macro_rules! session_only {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            pub session_id: String,
        }
    )*};
}

session_only! {
    /// Client -> Server Messages: cancel.
    Cancel;
    /// Client -> Server Messages: reset.
    Reset;
    /// Client -> Server Messages: refresh_provider_status.
    RefreshProviderStatus;
    /// Client -> Server Messages: provider_catalog_get.
    ProviderCatalogGet;
    /// Client -> Server Messages: provider_auth_methods_get.
    ProviderAuthMethodsGet;
    /// Client -> Server Messages: list_tools.
    ListTools;
    /// Client -> Server Messages: list_commands.
    ListCommands;
    /// Client -> Server Messages: list_skills.
    ListSkills;
    /// Client -> Server Messages: mcp_servers_get.
    McpServersGet;
    /// Client -> Server Messages: session_close.
    SessionClose;
    /// Client -> Server Messages: list_sessions.
    ListSessions;
    /// Client -> Server Messages: session_backup_get.
    SessionBackupGet;
    /// Client -> Server Messages: session_backup_checkpoint.
    SessionBackupCheckpoint;
    /// Client -> Server Messages: harness_context_get.
    HarnessContextGet;
    /// Client -> Server Messages: ping.
    Ping;
}
