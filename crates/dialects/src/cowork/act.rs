//! Client messages as calls.

use std::collections::BTreeMap;

use vocabulary::{
    Answer, ApprovalAnswer, Call, Cause, Changed, Changes, CheckpointCall, FileUpload, McpCall,
    SkillCall, StartTurn, ThreadId, ThreadQuery,
};

use super::asks::ask_frame;
use super::backup::Backup;
use super::calls::{CoworkCalls, CoworkPurpose};
use super::connect::GreetingSlot;
use super::harness;
use super::hear::{CheckedMessage, repeated};
use super::names::{parse, spell};
use super::refuse::error_frame;
use super::session::{CoworkSession, send};
use super::show;
use super::tell::tools::log;
use super::wire::ServerEvent;
use super::wire::client::{
    ApprovalResponse, AskResponse, ClientMessage, ConfigPatch, DeleteSession, GetMessages,
    SetModel, UserMessage,
};
use super::wire::session::{Pong, ServerErrorCode, ServerErrorSource, SessionDeleted};
use crate::request_id::RequestId;
use crate::{Action, Variant};

/// What a client sends when the user passes over a question.
pub const SKIPPED: &str = "[skipped]";
const BLANK_ANSWER: &str = "Ask response cannot be empty. Reply with text or [skipped] to skip.";
const MESSAGES_DEFAULT: f64 = 100.0;
/// What a project keeps for its next sessions.
const DEFAULTS: [Changed; 4] = [
    Changed::Model,
    Changed::Mcp,
    Changed::SubAgentModel,
    Changed::Observability,
];

impl CoworkSession {
    pub fn act(&mut self, out: &mut Vec<Action>, calls: &mut CoworkCalls, hearing: CheckedMessage) {
        let thread = self.thread();
        let mut make = |waiting, call| calls.make(out, waiting, call);
        match hearing.message {
            ClientMessage::ClientHello(_) => {}
            ClientMessage::UserMessage(said) => self.user_message(out, calls, said),
            ClientMessage::AskResponse(said) => self.ask_response(out, calls, &said),
            ClientMessage::ApprovalResponse(said) => self.approval_response(out, calls, &said),
            ClientMessage::Cancel(_) => {
                make(
                    CoworkPurpose::Cancel,
                    Call::CancelTurn { thread, turn: None },
                );
            }
            ClientMessage::Reset(_) => make(CoworkPurpose::Told, Call::ResetThread { thread }),
            ClientMessage::SetModel(set) => self.set_model(out, calls, &set),
            ClientMessage::SetEnableMcp(set) => self.change_with_defaults(
                out,
                calls,
                Changes {
                    mcp: Some(set.enable_mcp),
                    ..Changes::default()
                },
            ),
            ClientMessage::SetSessionTitle(set) => self.change(
                out,
                calls,
                Changes {
                    title: Some(set.title.trim().to_owned()),
                    ..Changes::default()
                },
            ),
            ClientMessage::SetConfig(set) => self.set_config(out, calls, set.config),
            ClientMessage::GetMessages(get) => {
                make(CoworkPurpose::Messages, read_messages(thread, &get))
            }
            ClientMessage::ListSessions(_) => {
                make(
                    CoworkPurpose::Sessions,
                    Call::ListThreads(ThreadQuery::default()),
                );
            }
            ClientMessage::DeleteSession(delete) => self.delete_session(out, calls, delete),
            ClientMessage::SessionClose(_) => {
                self.closing = true;
                make(
                    CoworkPurpose::Close,
                    Call::CloseThread {
                        thread,
                        audience: Variant::Cowork.audience(),
                    },
                );
            }
            ClientMessage::Ping(_) => {
                let session_id = &self.id;
                send(out, ServerEvent::Pong(Pong { session_id }).frame());
            }
            ClientMessage::ListTools(_) => make(CoworkPurpose::Tools, Call::ListTools { thread }),
            ClientMessage::ProviderCatalogGet(_) => {
                make(
                    CoworkPurpose::Asked(GreetingSlot::ProviderCatalog),
                    Call::GetCatalog,
                );
            }
            ClientMessage::ProviderAuthMethodsGet(_) => {
                make(
                    CoworkPurpose::Asked(GreetingSlot::ProviderAuthMethods),
                    Call::GetCatalog,
                );
            }
            ClientMessage::RefreshProviderStatus(_) => make(
                CoworkPurpose::Asked(GreetingSlot::ProviderStatus),
                Call::GetProviderStatus { verify: true },
            ),
            ClientMessage::McpServersGet(_) => make(
                CoworkPurpose::Asked(GreetingSlot::McpServers),
                Call::Mcp {
                    thread,
                    call: McpCall::Get,
                },
            ),
            ClientMessage::SessionBackupGet(_) => make(
                CoworkPurpose::Asked(GreetingSlot::SessionBackupState),
                Call::Checkpoints {
                    thread,
                    call: CheckpointCall::Get,
                },
            ),
            ClientMessage::SessionBackupCheckpoint(_) => {
                self.backup(out, calls, Backup::Checkpoint);
            }
            ClientMessage::SessionBackupRestore(restore) => {
                self.backup(out, calls, Backup::Restore(restore.checkpoint_id));
            }
            ClientMessage::SessionBackupDeleteCheckpoint(delete) => {
                self.backup(out, calls, Backup::Delete(delete.checkpoint_id));
            }
            ClientMessage::ProviderAuthAuthorize(_)
            | ClientMessage::ProviderAuthCallback(_)
            | ClientMessage::ProviderAuthSetApiKey(_)
                if self.busy =>
            {
                self.refuse_busy(out);
            }
            ClientMessage::ProviderAuthAuthorize(said) => self.authorize(out, calls, said),
            ClientMessage::ProviderAuthCallback(said) => self.callback(out, calls, said),
            ClientMessage::ProviderAuthSetApiKey(said) => self.set_api_key(out, calls, said),
            ClientMessage::McpServerUpsert(said) => self.mcp_upsert(out, calls, said),
            ClientMessage::McpServerDelete(said) => self.mcp_delete(out, calls, &said),
            ClientMessage::McpServerValidate(said) => self.mcp_validate(out, calls, &said),
            ClientMessage::McpServerAuthAuthorize(said) => self.mcp_authorize(out, calls, &said),
            ClientMessage::McpServerAuthCallback(said) => self.mcp_callback(out, calls, said),
            ClientMessage::McpServerAuthSetApiKey(said) => {
                self.mcp_set_api_key(out, calls, said);
            }
            ClientMessage::McpServersMigrateLegacy(said) => self.mcp_migrate(out, calls, &said),
            ClientMessage::ListCommands(_) => self.list_commands(out, calls),
            ClientMessage::ExecuteCommand(said) => self.execute_command(out, calls, said),
            ClientMessage::ListSkills(_) => self.skills(out, calls, SkillCall::List),
            ClientMessage::ReadSkill(said) => {
                let name = said.skill_name;
                self.skills(out, calls, SkillCall::Read { name });
            }
            ClientMessage::DisableSkill(said) => {
                let (name, enabled) = (said.skill_name, false);
                self.skills(out, calls, SkillCall::SetEnabled { name, enabled });
            }
            ClientMessage::EnableSkill(said) => {
                let (name, enabled) = (said.skill_name, true);
                self.skills(out, calls, SkillCall::SetEnabled { name, enabled });
            }
            ClientMessage::DeleteSkill(said) => {
                let name = said.skill_name;
                self.skills(out, calls, SkillCall::Delete { name });
            }
            ClientMessage::UploadFile(said) => make(
                CoworkPurpose::Told,
                Call::UploadFile(FileUpload {
                    thread,
                    name: said.filename,
                    base64: said.content_base64.into(),
                }),
            ),
            ClientMessage::HarnessContextGet(_) => {
                send(out, harness::context(&self.id, &self.settings));
            }
            ClientMessage::HarnessContextSet(said) => {
                self.change(out, calls, harness::changes(said.context));
            }
        }
    }

    fn user_message(&self, out: &mut Vec<Action>, calls: &mut CoworkCalls, said: UserMessage) {
        // An empty id names no message, and would make the next one look like this one again.
        let client_message_id = said.client_message_id.filter(|id| !id.is_empty());
        let waiting = CoworkPurpose::Turn {
            text: said.text.clone(),
            client_message_id: client_message_id.clone(),
        };
        let turn = StartTurn {
            files: Vec::new(),
            changes: Box::default(),
            listen: None,
            images: Vec::new(),
            thread: self.thread(),
            text: said.text,
            display: None,
            cause: Cause::UserMessage,
            client_message_id,
            idempotency: self.idempotency(),
            client_turn_id: None,
            pieces: Vec::new(),
        };
        calls.make(out, waiting, Call::StartTurn(turn));
    }

    fn ask_response(&self, out: &mut Vec<Action>, calls: &mut CoworkCalls, said: &AskResponse) {
        let request = RequestId::parse(&said.request_id);
        let question = request.and_then(|id| Some((id, self.asks.question(id)?)));
        let Some((id, question)) = question else {
            return send(out, self.unknown_request("ask_response", &said.request_id));
        };
        if said.answer.trim().is_empty() {
            return self.blank_answer(out, id);
        }
        let answers = match said.answer.trim() {
            SKIPPED => Vec::new(),
            _ => vec![said.answer.clone()],
        };
        let call = Call::AnswerAsk {
            thread: self.thread(),
            ask: id.ask,
            answer: Answer::Questions(BTreeMap::from([(question.id.clone(), answers)])),
        };
        calls.make(out, CoworkPurpose::AskResponse(id), call);
    }

    /// Says so, and asks the same again.
    pub fn blank_answer(&self, out: &mut Vec<Action>, id: RequestId) {
        let told_as = (
            ServerErrorCode::ValidationFailed,
            ServerErrorSource::Session,
        );
        send(out, error_frame(&self.id, BLANK_ANSWER, told_as));
        if let Some(question) = self.asks.question(id) {
            send(out, ask_frame(&self.id, id, question));
        }
    }

    fn approval_response(
        &self,
        out: &mut Vec<Action>,
        calls: &mut CoworkCalls,
        said: &ApprovalResponse,
    ) {
        let id = RequestId::parse(&said.request_id)
            .filter(|id| id.position == 0 && !self.asks.asks_questions(id.ask));
        let Some(id) = id else {
            return send(
                out,
                self.unknown_request("approval_response", &said.request_id),
            );
        };
        let answer = match said.approved {
            true => ApprovalAnswer::Once,
            false => ApprovalAnswer::Deny,
        };
        let call = Call::AnswerAsk {
            thread: self.thread(),
            ask: id.ask,
            answer: Answer::Approval(answer),
        };
        calls.make(out, CoworkPurpose::ApprovalResponse(id), call);
    }

    /// Answers to nothing get a log line and no more.
    pub fn unknown_request(&self, name: &str, request: &str) -> crate::Frame {
        let request = repeated(request);
        let line = format!("[warn] {name} for unknown requestId: {request}");
        log(&self.id, &line)
    }

    fn set_model(&self, out: &mut Vec<Action>, calls: &mut CoworkCalls, set: &SetModel) {
        let provider = set.provider.unwrap_or(spell(&self.settings.model).0);
        let changes = Changes {
            model: Some(parse(provider, set.model.trim(), &self.providers)),
            ..Changes::default()
        };
        self.change_with_defaults(out, calls, changes);
    }

    fn set_config(&self, out: &mut Vec<Action>, calls: &mut CoworkCalls, patch: ConfigPatch) {
        let changes = Changes {
            auto_approve: patch.yolo,
            observability: patch.observability_enabled,
            sub_agent_model: patch.sub_agent_model.map(|model| model.trim().to_owned()),
            max_steps: patch.max_steps.map(|steps| steps.floor() as u32),
            ..Changes::default()
        };
        if changes == Changes::default() {
            // Nothing to change is no event, but still a question.
            return send(out, show::session_config(&self.id, &self.settings));
        }
        self.change_with_defaults(out, calls, changes);
    }

    /// A change that the next session of the project shall begin with, as far as it is of that kind
    /// (docs/protocols/cowork.md, decision 13). The change counts whether or not that can be written.
    fn change_with_defaults(
        &self,
        out: &mut Vec<Action>,
        calls: &mut CoworkCalls,
        changes: Changes,
    ) {
        let mut settings = changes.settings_named();
        settings.retain(|setting| DEFAULTS.contains(setting));
        let purpose = match settings.is_empty() {
            true => CoworkPurpose::Told,
            false => CoworkPurpose::Defaults(settings),
        };
        let thread = self.thread();
        calls.make(out, purpose, Call::ChangeThread { thread, changes });
    }

    fn change(&self, out: &mut Vec<Action>, calls: &mut CoworkCalls, changes: Changes) {
        let thread = self.thread();
        let call = Call::ChangeThread { thread, changes };
        calls.make(out, CoworkPurpose::Told, call);
    }

    fn delete_session(
        &self,
        out: &mut Vec<Action>,
        calls: &mut CoworkCalls,
        delete: DeleteSession,
    ) {
        let target = delete.target_session_id;
        let Some(thread) = ThreadId::parse(&target) else {
            return send(out, self.session_deleted(&target));
        };
        if thread == self.thread() {
            let told_as = (
                ServerErrorCode::ValidationFailed,
                ServerErrorSource::Session,
            );
            let message = "Cannot delete the active session";
            return send(out, error_frame(&self.id, message, told_as));
        }
        let call = Call::DeleteThread { thread };
        calls.make(out, CoworkPurpose::Deletion { target }, call);
    }

    pub fn session_deleted(&self, target: &str) -> crate::Frame {
        ServerEvent::SessionDeleted(SessionDeleted {
            session_id: &self.id,
            target_session_id: repeated(target),
        })
        .frame()
    }
}

fn read_messages(thread: ThreadId, get: &GetMessages) -> Call {
    Call::ReadMessages {
        thread,
        offset: get.offset.unwrap_or(0.0).floor() as u64,
        limit: get.limit.unwrap_or(MESSAGES_DEFAULT).floor() as u64,
    }
}
