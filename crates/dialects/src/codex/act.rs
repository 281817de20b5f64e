//! Client requests as calls.

use serde_json::Value;
use vocabulary::{Answer, Call, Changes, NewThread, ThreadId};

use super::calls::{ALL_MESSAGES, CodexPurpose};
use super::hear::{CodexRequest, repeated};
use super::new_thread::WantedThread;
use super::permissions::REVIEWER;
use super::refuse::CodexError;
use super::settings::INSTRUCTIONS_BYTES_MAX;
use super::wire::params::{InitializeParams, ThreadStartParams};
use super::wire::results::{
    ConfigRequirements, ConfigRequirementsReadResponse, InitializeResponse,
    ThreadUnsubscribeResponse, UnsubscribeStatus,
};
use super::{Codex, asks, platform, respond, send, show};
use crate::Action;
use crate::jsonrpc::Id;

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
            CodexRequest::Config(request) => return self.config(out, id, request),
            CodexRequest::Inventory(request) => return self.inventory(out, id, request),
            CodexRequest::ConfigRequirementsRead => {
                let requirements = ConfigRequirements {
                    allowed_approvals_reviewers: [REVIEWER],
                };
                let answer = ConfigRequirementsReadResponse { requirements };
                send(out, respond(&id, &answer));
            }
            CodexRequest::Settings(request) => return self.settings_request(out, id, request),
            CodexRequest::ThreadStart(params) => return self.thread_start(out, id, params),
            CodexRequest::Threads(request) => return self.thread_list(out, id, request),
            CodexRequest::Search(params) => return self.search(out, id, *params),
            CodexRequest::Forks(request) => return self.fork_request(out, id, request),
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
                return self.thread_resume(out, id, &params);
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
            CodexRequest::ServerLogin(params) => return self.server_login(out, id, params),
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
            CodexRequest::Exec(params) => return self.exec(out, id, *params),
            CodexRequest::Order(request) => return self.order(out, id, request),
            CodexRequest::Items(request) => return self.items(out, id, request),
            CodexRequest::Metadata(params) => return self.metadata_update(out, id, params),
            CodexRequest::Sections(request) => return self.sections(out, id, request),
            CodexRequest::Terminals(request) => return self.terminals(out, id, request),
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
            // The terminal client takes what is behind a slash for a version of Codex.
            user_agent: format!("dragoman {} ({client})", env!("CARGO_PKG_VERSION")),
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
        let wanted = WantedThread::read("thread/start", params)?;
        let new = NewThread {
            directory: wanted.directory,
            changes: wanted.changes,
            instructions: wanted.instructions,
            keep: !wanted.ephemeral,
            ephemeral: wanted.ephemeral,
            ..NewThread::default()
        };
        self.starting += 1;
        let call = Call::CreateThread(Box::new(new));
        self.calls.make(out, CodexPurpose::StartCreate(id), call);
        Ok(())
    }

    pub(super) fn change(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        thread: ThreadId,
        changes: Changes,
    ) {
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

/// How the client wants work done in a thread; nothing where it says nothing.
pub fn instructions<'a>(
    method: &str,
    said: Option<&'a str>,
) -> Result<Option<&'a str>, CodexError> {
    let said = said.map(str::trim).filter(|text| !text.is_empty());
    if said.is_some_and(|text| text.len() > INSTRUCTIONS_BYTES_MAX) {
        let message =
            format!("{method}: developerInstructions: at most {INSTRUCTIONS_BYTES_MAX} bytes");
        return Err(CodexError::params(message));
    }
    Ok(said)
}
