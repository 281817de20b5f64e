//! Client requests as calls.

use std::path::{Path, PathBuf};

use serde_json::Value;
use vocabulary::{
    Answer, ArchivedThreads, Call, Changes, NamedModel, NewThread, ThreadId, ThreadQuery,
};

use super::calls::{ALL_MESSAGES, CodexPurpose};
use super::hear::{CodexRequest, repeated};
use super::refuse::CodexError;
use super::wire::params::{InitializeParams, OneOrMany, ThreadListParams, ThreadStartParams};
use super::wire::results::{
    ConfigReadResponse, ConfigRequirementsReadResponse, Empty, InitializeResponse,
    ThreadUnsubscribeResponse, UnsubscribeStatus,
};
use super::{Codex, asks, offer, permissions, platform, respond, send, show, thinking};
use crate::Action;
use crate::jsonrpc::Id;

const PAGE_DEFAULT: u32 = 25;
const PAGE_MAX: u32 = 100;

/// What a client may say of how work is to be done in a thread; it is kept with its settings.
const INSTRUCTIONS_BYTES_MAX: usize = 16 * 1024;

impl Codex {
    pub(super) fn act(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        request: CodexRequest,
    ) -> Result<(), CodexError> {
        match request {
            CodexRequest::Initialize(params) => return self.initialize(out, &id, &params),
            CodexRequest::AccountRead => self.account_read(out, id),
            CodexRequest::AccountLoginStart(params) => return self.login(out, id, params),
            CodexRequest::AccountLoginCancel(params) => self.cancel_login(out, &id, &params),
            CodexRequest::AccountLogout => self.logout(out, id),
            CodexRequest::ModelList(params) => {
                let waiting = CodexPurpose::ModelList(id, params);
                self.calls.make(out, waiting, Call::GetCatalog);
            }
            CodexRequest::ConfigRead => {
                let answer = ConfigReadResponse {
                    config: Empty {},
                    origins: Empty {},
                    layers: None,
                };
                send(out, respond(&id, &answer));
            }
            CodexRequest::ConfigRequirementsRead => {
                let requirements = None;
                let answer = ConfigRequirementsReadResponse { requirements };
                send(out, respond(&id, &answer));
            }
            CodexRequest::CollaborationModeList => {
                send(
                    out,
                    respond(&id, &offer::collaboration_modes(self.endpoint)),
                );
            }
            CodexRequest::ThreadStart(params) => return self.thread_start(out, id, params),
            CodexRequest::ThreadList(params) => self.thread_list(out, id, params),
            CodexRequest::ThreadLoadedList => {
                let call = Call::ListThreads(ThreadQuery::default());
                self.calls.make(out, CodexPurpose::LoadedList(id), call);
            }
            CodexRequest::ThreadRead(params) => {
                let thread = parse(&params.thread_id)?;
                match params.include_turns {
                    // At one moment: what is being written now is in no other answer.
                    Some(true) => {
                        let recent = ALL_MESSAGES;
                        let call = Call::ReadThread { thread, recent };
                        self.calls.make(out, CodexPurpose::ReadTurns(id), call);
                    }
                    Some(false) | None => {
                        let call = Call::GetThread { thread };
                        self.calls.make(out, CodexPurpose::Read(id), call);
                    }
                }
            }
            CodexRequest::ThreadResume(params) => {
                let thread = parse(&params.thread_id)?;
                let turns = params.exclude_turns != Some(true);
                let waiting = CodexPurpose::Resume { id, turns };
                self.calls.listen(out, waiting, thread);
            }
            CodexRequest::ThreadTurnsList(params) => return self.turn_list(out, id, &params),
            CodexRequest::ThreadNameSet(params) => {
                let changes = Changes {
                    title: Some(params.name),
                    ..Changes::default()
                };
                self.change(out, id, parse(&params.thread_id)?, changes);
            }
            CodexRequest::ThreadArchive(params) => {
                let changes = Changes {
                    archived: Some(true),
                    ..Changes::default()
                };
                self.change(out, id, parse(&params.thread_id)?, changes);
            }
            CodexRequest::ThreadUnarchive(params) => {
                let thread = parse(&params.thread_id)?;
                let changes = Changes {
                    archived: Some(false),
                    ..Changes::default()
                };
                // It answers with the thread, as a read without turns does.
                let waiting = CodexPurpose::Read(id);
                self.calls
                    .make(out, waiting, Call::ChangeThread { thread, changes });
            }
            CodexRequest::ServerStatusList(params) => return self.server_list(out, id, params),
            CodexRequest::GrantsList(params) => {
                let thread = parse(&params.thread_id)?;
                self.calls
                    .make(out, CodexPurpose::Grants(id), Call::ListGrants { thread });
            }
            CodexRequest::GrantsRevoke(params) => {
                let call = Call::RevokeGrant {
                    thread: parse(&params.thread_id)?,
                    what: params.what,
                    scope: show::grant_scope(params.scope),
                };
                self.calls.make(out, CodexPurpose::Done(id), call);
            }
            CodexRequest::ThreadUnsubscribe(params) => {
                self.unsubscribe(out, &id, parse(&params.thread_id)?);
            }
            CodexRequest::TurnStart(params) => return self.turn_start(out, id, params),
            CodexRequest::TurnSteer(params) => return self.turn_steer(out, id, params),
            CodexRequest::TurnInterrupt(params) => {
                let call = Call::CancelTurn {
                    thread: parse(&params.thread_id)?,
                    turn: Some(vocabulary::TurnId::new(params.turn_id)),
                };
                self.calls.make(out, CodexPurpose::Done(id), call);
            }
            CodexRequest::Directories(call) => self.directories(out, id, call),
            CodexRequest::FileSearch(request) => return self.file_search(out, id, request),
            CodexRequest::Zane(request) => self.zane(out, id, request),
        }
        Ok(())
    }

    fn initialize(
        &mut self,
        out: &mut Vec<Action>,
        id: &Id,
        params: &InitializeParams,
    ) -> Result<(), CodexError> {
        if std::mem::replace(&mut self.initialized, true) {
            return Err(CodexError::request("Already initialized"));
        }
        let client = repeated(&params.client_info.name);
        let answer = InitializeResponse {
            user_agent: format!("dragoman/{} ({client})", env!("CARGO_PKG_VERSION")),
            codex_home: self.home.to_string_lossy(),
            platform_family: platform::FAMILY,
            platform_os: platform::OS,
        };
        send(out, respond(id, &answer));
        out.push(Action::Watch);
        Ok(())
    }

    fn thread_start(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        params: ThreadStartParams,
    ) -> Result<(), CodexError> {
        if let Some(cwd) = &params.cwd
            && !Path::new(cwd).is_absolute()
        {
            let message = "thread/start: cwd: expected an absolute path";
            return Err(CodexError::params(message));
        }
        let instructions = params.developer_instructions.as_deref().map(str::trim);
        let instructions = instructions.filter(|text| !text.is_empty());
        if instructions.is_some_and(|text| text.len() > INSTRUCTIONS_BYTES_MAX) {
            let message = format!(
                "thread/start: developerInstructions: at most {INSTRUCTIONS_BYTES_MAX} bytes"
            );
            return Err(CodexError::params(message));
        }
        let permissions =
            permissions::of_thread(params.approval_policy.as_ref(), params.sandbox.as_ref())?;
        let config = params.config.unwrap_or_default();
        let summary = config.model_reasoning_summary.as_deref();
        let summary = thinking::summary("thread/start: config.model_reasoning_summary", summary)?;
        let verbosity = config.model_verbosity.as_deref();
        let verbosity = thinking::verbosity("thread/start: config.model_verbosity", verbosity)?;
        let new = NewThread {
            directory: params.cwd.map(PathBuf::from),
            changes: Changes {
                named_model: params.model.map(NamedModel::Listed),
                effort: config.model_reasoning_effort,
                summary,
                verbosity,
                ..permissions.of_new()
            },
            instructions: instructions.map(Into::into),
            keep: true,
            ..NewThread::default()
        };
        self.starting += 1;
        let call = Call::CreateThread(Box::new(new));
        self.calls.make(out, CodexPurpose::StartCreate(id), call);
        Ok(())
    }

    fn thread_list(&mut self, out: &mut Vec<Action>, id: Id, params: ThreadListParams) {
        let limit = params.limit.unwrap_or(PAGE_DEFAULT).clamp(1, PAGE_MAX);
        let directories = match params.cwd {
            None => Vec::new(),
            Some(OneOrMany::One(one)) => vec![one],
            Some(OneOrMany::Many(many)) => many,
        };
        let query = ThreadQuery {
            archived: match params.archived {
                Some(true) => ArchivedThreads::Only,
                Some(false) | None => ArchivedThreads::LeftOut,
            },
            directories: directories.into_iter().map(PathBuf::from).collect(),
            text: params.search_term,
            limit: Some(limit),
            cursor: params.cursor,
            ..ThreadQuery::default()
        };
        let call = Call::ListThreads(query);
        self.calls.make(out, CodexPurpose::ThreadList(id), call);
    }

    fn change(&mut self, out: &mut Vec<Action>, id: Id, thread: ThreadId, changes: Changes) {
        let call = Call::ChangeThread { thread, changes };
        self.calls.make(out, CodexPurpose::Done(id), call);
    }

    fn unsubscribe(&mut self, out: &mut Vec<Action>, id: &Id, thread: ThreadId) {
        let status = match self.listening.end(thread) {
            true => {
                out.push(Action::Unlisten(thread));
                UnsubscribeStatus::Unsubscribed
            }
            false => UnsubscribeStatus::NotSubscribed,
        };
        send(out, respond(id, &ThreadUnsubscribeResponse { status }));
    }

    /// A client's response to a request of ours. One that nobody waits for is dropped.
    pub(super) fn response(&mut self, out: &mut Vec<Action>, id: &Id, result: Option<Value>) {
        let ask = match id {
            Id::Number(number) => u64::try_from(*number).ok().map(vocabulary::AskId),
            Id::Text(_) => None,
        };
        let Some((ask, open)) = ask.and_then(|ask| Some((ask, self.listening.ask(ask)?))) else {
            return;
        };
        let call = Call::AnswerAsk {
            thread: open.thread,
            ask,
            answer: match result {
                Some(result) => asks::answer(&open.ask.kind, result),
                None => Answer::Dismissed,
            },
        };
        self.calls.make(out, CodexPurpose::Answer(ask), call);
    }
}

pub fn parse(thread_id: &str) -> Result<ThreadId, CodexError> {
    ThreadId::parse(thread_id).ok_or_else(|| {
        let thread_id = repeated(thread_id);
        CodexError::request(format!("invalid thread id: {thread_id:?}: expected a UUID"))
    })
}
