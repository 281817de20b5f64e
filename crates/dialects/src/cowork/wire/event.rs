//! Server -> Client Events: the table of all of them.

use schemars::JsonSchema;
use serde::Serialize;

use super::backup::{ObservabilityStatus, SessionBackupState};
use super::conversation::{
    Approval, Ask, AssistantMessage, Log, ModelStreamChunk, Reasoning, ResetDone, Todos, TurnUsage,
    UserMessage,
};
use super::extras::{Commands, FileUploaded, HarnessContext, SkillContent, SkillsList, Tools};
use super::mcp::{McpServerAuthChallenge, McpServerAuthResult, McpServerValidation, McpServers};
use super::providers::{
    ProviderAuthChallengeEvent, ProviderAuthMethods, ProviderAuthResult, ProviderCatalog,
    ProviderStatusEvent,
};
use super::session::{
    ConfigUpdated, Error, Messages, Pong, ServerHello, SessionBusy, SessionConfig, SessionDeleted,
    SessionInfo, SessionSettings, Sessions,
};
use crate::Frame;

/// Server -> Client Events.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ServerEvent<'a> {
    ServerHello(ServerHello<'a>),
    SessionSettings(SessionSettings<'a>),
    SessionInfo(SessionInfo<'a>),
    SessionBusy(SessionBusy<'a>),
    SessionConfig(SessionConfig<'a>),
    ConfigUpdated(ConfigUpdated<'a>),

    UserMessage(UserMessage<'a>),
    ModelStreamChunk(ModelStreamChunk<'a>),
    AssistantMessage(AssistantMessage<'a>),
    Reasoning(Reasoning<'a>),
    Log(Log<'a>),
    Todos(Todos<'a>),
    ResetDone(ResetDone<'a>),
    Ask(Ask<'a>),
    Approval(Approval<'a>),
    TurnUsage(TurnUsage<'a>),

    ProviderCatalog(ProviderCatalog<'a>),
    ProviderAuthMethods(ProviderAuthMethods<'a>),
    ProviderAuthChallenge(ProviderAuthChallengeEvent<'a>),
    ProviderAuthResult(ProviderAuthResult<'a>),
    ProviderStatus(ProviderStatusEvent<'a>),

    Tools(Tools<'a>),
    Commands(Commands<'a>),
    SkillsList(SkillsList<'a>),
    SkillContent(SkillContent<'a>),

    McpServers(McpServers<'a>),
    McpServerValidation(McpServerValidation<'a>),
    McpServerAuthChallenge(McpServerAuthChallenge<'a>),
    McpServerAuthResult(McpServerAuthResult<'a>),

    Messages(Messages<'a>),
    Sessions(Sessions<'a>),
    SessionDeleted(SessionDeleted<'a>),
    FileUploaded(FileUploaded<'a>),
    SessionBackupState(SessionBackupState<'a>),
    ObservabilityStatus(ObservabilityStatus<'a>),
    HarnessContext(HarnessContext<'a>),

    Error(Error<'a>),
    Pong(Pong<'a>),
}

impl ServerEvent<'_> {
    pub fn frame(&self) -> Frame {
        crate::frame::frame(self, 0)
    }
}
