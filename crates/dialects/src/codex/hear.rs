//! What a client requests: a method this build knows, with params that are as they should be.

use serde::de::DeserializeOwned;
use serde_json::Value;
use vocabulary::DirectoryCall;

use super::Endpoint;
use super::anchor;
use super::file_search::{self, FileSearchRequest};
use super::refuse::CodexError;
use super::wire::account::{CancelLoginAccountParams, LoginAccountParams};
use super::wire::params::{
    GrantParams, InitializeParams, ListMcpServerStatusParams, ModelListParams, ThreadListParams,
    ThreadParams, ThreadReadParams, ThreadResumeParams, ThreadSetNameParams, ThreadStartParams,
    ThreadTurnsListParams, TurnInterruptParams, TurnStartParams, TurnSteerParams,
};
use super::zane::{self, ZaneRequest};

/// How much of a client's own text an answer repeats.
const REPEATED_CHARS_MAX: usize = 200;

#[derive(Debug)]
pub enum CodexRequest {
    Initialize(InitializeParams),
    AccountRead,
    AccountLoginStart(LoginAccountParams),
    AccountLoginCancel(CancelLoginAccountParams),
    AccountLogout,
    ModelList(ModelListParams),
    ConfigRead,
    ConfigRequirementsRead,
    CollaborationModeList,
    ThreadStart(ThreadStartParams),
    ThreadList(ThreadListParams),
    ThreadLoadedList,
    ThreadRead(ThreadReadParams),
    ThreadResume(ThreadResumeParams),
    ThreadTurnsList(ThreadTurnsListParams),
    ThreadNameSet(ThreadSetNameParams),
    ThreadArchive(ThreadParams),
    ThreadUnarchive(ThreadParams),
    ServerStatusList(ListMcpServerStatusParams),
    GrantsList(ThreadParams),
    GrantsRevoke(GrantParams),
    ThreadUnsubscribe(ThreadParams),
    TurnStart(TurnStartParams),
    TurnSteer(TurnSteerParams),
    TurnInterrupt(TurnInterruptParams),
    Directories(DirectoryCall),
    FileSearch(FileSearchRequest),
    Zane(ZaneRequest),
}

pub fn request(
    endpoint: Endpoint,
    method: &str,
    params: Value,
) -> Result<CodexRequest, CodexError> {
    Ok(match (method, endpoint) {
        ("initialize", Endpoint::Codex) => CodexRequest::Initialize(read(method, params)?),
        ("account/read", _) => CodexRequest::AccountRead,
        ("account/login/start", Endpoint::Codex) => CodexRequest::AccountLoginStart(login(params)?),
        ("account/login/cancel", Endpoint::Codex) => {
            CodexRequest::AccountLoginCancel(read(method, params)?)
        }
        ("account/logout", Endpoint::Codex) => CodexRequest::AccountLogout,
        ("model/list", _) => CodexRequest::ModelList(read(method, params)?),
        ("config/read", Endpoint::Codex) => CodexRequest::ConfigRead,
        ("configRequirements/read", Endpoint::Codex) => CodexRequest::ConfigRequirementsRead,
        ("collaborationMode/list", _) => CodexRequest::CollaborationModeList,
        ("thread/start", _) => CodexRequest::ThreadStart(read(method, params)?),
        ("thread/list", _) => CodexRequest::ThreadList(read(method, params)?),
        ("thread/loaded/list", _) => CodexRequest::ThreadLoadedList,
        ("thread/read", _) => CodexRequest::ThreadRead(read(method, params)?),
        ("thread/resume", _) => CodexRequest::ThreadResume(read(method, params)?),
        ("thread/turns/list", Endpoint::Codex) => {
            CodexRequest::ThreadTurnsList(read(method, params)?)
        }
        ("thread/name/set", _) => CodexRequest::ThreadNameSet(read(method, params)?),
        ("thread/archive", _) => CodexRequest::ThreadArchive(read(method, params)?),
        ("thread/unarchive", _) => CodexRequest::ThreadUnarchive(read(method, params)?),
        ("dragoman/grants/list", Endpoint::Codex) => {
            CodexRequest::GrantsList(read(method, params)?)
        }
        ("dragoman/grants/revoke", Endpoint::Codex) => {
            CodexRequest::GrantsRevoke(read(method, params)?)
        }
        ("mcpServerStatus/list", _) => CodexRequest::ServerStatusList(read(method, params)?),
        ("thread/unsubscribe", _) => CodexRequest::ThreadUnsubscribe(read(method, params)?),
        ("turn/start", _) => CodexRequest::TurnStart(read(method, params)?),
        ("turn/steer", _) => CodexRequest::TurnSteer(read(method, params)?),
        ("turn/interrupt", _) => CodexRequest::TurnInterrupt(read(method, params)?),
        (_, _) if method.starts_with("fuzzyFileSearch") => {
            CodexRequest::FileSearch(file_search::request(method, params)?)
        }
        (_, Endpoint::Zane) => return zanes_own(method, params),
        _ => return Err(CodexError::not_available(repeated(method))),
    })
}

/// What only the one endpoint has.
fn zanes_own(method: &str, params: Value) -> Result<CodexRequest, CodexError> {
    if method.starts_with(anchor::PREFIX) {
        return anchor::request(method, params).map(CodexRequest::Directories);
    }
    match zane::request(method, params) {
        Some(known) => known.map(CodexRequest::Zane),
        None => Err(CodexError::not_available(repeated(method))),
    }
}

pub fn read<T: DeserializeOwned>(method: &str, params: Value) -> Result<T, CodexError> {
    serde_json::from_value(params.clone()).map_err(|error| {
        let error = error.to_string();
        let wrong = match lacks::<T>(&params, &error) {
            true => None,
            false => culprit::<T>(&params),
        };
        let error = repeated(&error);
        CodexError::params(match wrong {
            Some(field) => format!("{method}: {}: {error}", repeated(&field)),
            None => format!("{method}: {error}"),
        })
    })
}

/// What is wrong with a sign-in is not said in the reader's words: they may repeat a key.
fn login(params: Value) -> Result<LoginAccountParams, CodexError> {
    serde_json::from_value(params).map_err(|_| {
        let message = "account/login/start: expected a type, and for apiKey the apiKey as a string";
        CodexError::params(message)
    })
}

/// Whether the error says what the params themselves lack, rather than a value in them: there, a
/// field of that name would make a difference.
fn lacks<T: DeserializeOwned>(params: &Value, error: &str) -> bool {
    let missing = error.strip_prefix("missing field `");
    let Some(name) = missing.and_then(|rest| rest.strip_suffix('`')) else {
        return false;
    };
    let Some(mut with) = params.as_object().cloned() else {
        return false;
    };
    with.insert(name.to_owned(), Value::Null);
    match serde_json::from_value::<T>(Value::Object(with)) {
        Ok(_) => true,
        Err(other) => other.to_string() != error,
    }
}

/// The field whose value is wrong: the one without which the params are right, or miss only it.
fn culprit<T: DeserializeOwned>(params: &Value) -> Option<String> {
    let fields = params.as_object()?;
    let wrong = fields.keys().find(|name| {
        let mut without = fields.clone();
        without.remove(*name);
        match serde_json::from_value::<T>(Value::Object(without)) {
            Ok(_) => true,
            Err(error) => error.to_string() == format!("missing field `{name}`"),
        }
    });
    wrong.cloned()
}

/// A client's own text, cut where it is too long to send back.
pub fn repeated(text: &str) -> &str {
    match text.char_indices().nth(REPEATED_CHARS_MAX) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}
