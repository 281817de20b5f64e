//! The frames in which protocol 1 differs from 7; the rest are those of 7.

use std::borrow::Cow;

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocabulary::{Ask, AskKind, ModelRef, ThreadCard};

use super::super::names::{ModelName, spell};
use super::super::wire::client::Secret;
use super::super::wire::{backup, conversation};
use crate::Frame;
use crate::frame::{AsText, frame};
use crate::request_id::RequestId;

/// Type Definitions: ProviderName. The two that protocol 7 has no name for.
pub const CLI_PROVIDERS: [&str; 2] = ["gemini-cli", "claude-code"];

/// Client -> Server Messages. Checked before it is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum ClientMessage {
    ClientHello {},
    UserMessage {
        text: String,
        client_message_id: Option<String>,
    },
    AskResponse {
        request_id: String,
        answer: String,
    },
    ApprovalResponse {
        request_id: String,
        approved: bool,
    },
    SetModel {
        model: String,
        provider: Option<String>,
    },
    ConnectProvider {
        provider: String,
        api_key: Option<Secret>,
    },
    ListTools {},
    Reset {},
    SessionBackupGet {},
    SessionBackupCheckpoint {},
    SessionBackupRestore {
        checkpoint_id: Option<String>,
    },
    SessionBackupDeleteCheckpoint {
        checkpoint_id: String,
    },
}

/// Server -> Client Events.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum ServerEvent<'a> {
    ServerHello {
        session_id: &'a str,
        config: ConfigSubset<'a>,
    },
    SessionBusy {
        session_id: &'a str,
        busy: bool,
    },
    Approval {
        session_id: &'a str,
        request_id: AsText<RequestId>,
        command: Cow<'a, str>,
        dangerous: bool,
        /// Why it is asked: an addition of ours.
        #[serde(skip_serializing_if = "str::is_empty")]
        reason: &'a str,
    },
    ConfigUpdated {
        session_id: &'a str,
        config: ConfigSubset<'a>,
    },
    Tools {
        session_id: &'a str,
        tools: Vec<&'a str>,
    },
    Error {
        session_id: &'a str,
        message: &'a str,
    },
}

/// Everything a client of this protocol may be told: its own frames, and those it shares with 7.
#[derive(JsonSchema)]
#[serde(untagged)]
pub enum Told<'a> {
    Own(ServerEvent<'a>),
    Shared(SharedEvent<'a>),
}

/// The frames that are the same in protocol 7.
#[derive(JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SharedEvent<'a> {
    UserMessage(conversation::UserMessage<'a>),
    AssistantMessage(conversation::AssistantMessage<'a>),
    Reasoning(conversation::Reasoning<'a>),
    Log(conversation::Log<'a>),
    Todos(conversation::Todos<'a>),
    Ask(conversation::Ask<'a>),
    ResetDone(conversation::ResetDone<'a>),
    SessionBackupState(backup::SessionBackupState<'a>),
}

impl ServerEvent<'_> {
    pub fn frame(&self) -> Frame {
        frame(self, 0)
    }
}

/// Type Definitions: ConfigSubset.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigSubset<'a> {
    pub provider: &'a str,
    pub model: AsText<ModelName<'a>>,
    pub working_directory: String,
    pub output_directory: String,
}

pub fn config<'a>(card: &ThreadCard, model: &'a ModelRef) -> ConfigSubset<'a> {
    let (provider, model) = match CLI_PROVIDERS.contains(&model.provider.as_str()) {
        true => (model.provider.as_str(), ModelName::Plain(&model.model)),
        false => {
            let (provider, model) = spell(model);
            (provider.as_str(), model)
        }
    };
    let output = card.output_folder().map(Path::to_owned);
    let output = output.unwrap_or_else(|| card.usual_output_folder());
    ConfigSubset {
        provider,
        model: AsText(model),
        working_directory: card.directory.to_string_lossy().into_owned(),
        output_directory: output.to_string_lossy().into_owned(),
    }
}

pub fn busy(session_id: &str, busy: bool) -> Frame {
    ServerEvent::SessionBusy { session_id, busy }.frame()
}

pub fn error(session_id: &str, message: &str) -> Frame {
    let error = ServerEvent::Error {
        session_id,
        message,
    };
    error.frame()
}

/// `None` for an ask that is not an approval.
pub fn approval(session_id: &str, ask: &Ask) -> Option<Frame> {
    let AskKind::Approval(approval) = &ask.kind else {
        return None;
    };
    let event = ServerEvent::Approval {
        session_id,
        request_id: AsText(RequestId::first(ask.id)),
        command: approval.command_in_full(),
        dangerous: approval.dangerous,
        reason: &approval.reason,
    };
    Some(event.frame())
}
