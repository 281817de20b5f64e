//! What a client requests: a method this build knows, with params that are as they should be.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use vocabulary::DirectoryCall;

use super::config::ConfigRequest;
use super::file_search::{self, FileSearchRequest};
use super::forks::ForkRequest;
use super::inventory::InventoryRequest;
use super::items_list::ItemRequest;
use super::orders::OrderRequest;
use super::refuse::CodexError;
use super::sections::{self, SectionRequest};
use super::settings::SettingsRequest;
use super::terminals::TerminalRequest;
use super::thread_list::ThreadListRequest;
use super::wire::account::{CancelLoginAccountParams, LoginAccountParams};
use super::wire::exec::CommandExecParams;
use super::wire::mcp::McpServerOauthLoginParams;
use super::wire::metadata::ThreadMetadataUpdateParams;
use super::wire::params::{
    GrantParams, InitializeParams, ListMcpServerStatusParams, ModelListParams, ThreadParams,
    ThreadReadParams, ThreadResumeParams, ThreadSetNameParams, ThreadStartParams,
    ThreadTurnsListParams, TurnInterruptParams, TurnStartParams, TurnSteerParams,
};
use super::wire::search::DragomanSearchParams;
use super::zane::{self, ZaneRequest};
use super::{Endpoint, anchor, config, declined, inventory, server_login};

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
    Config(ConfigRequest),
    Inventory(InventoryRequest),
    ConfigRequirementsRead,
    Settings(SettingsRequest),
    ThreadStart(ThreadStartParams),
    Threads(ThreadListRequest),
    Search(Box<DragomanSearchParams>),
    Forks(ForkRequest),
    ThreadRead(ThreadReadParams),
    ThreadResume(ThreadResumeParams),
    ThreadTurnsList(ThreadTurnsListParams),
    ThreadNameSet(ThreadSetNameParams),
    ThreadArchive(ThreadParams),
    ThreadUnarchive(ThreadParams),
    ServerLogin(McpServerOauthLoginParams),
    ServerStatusList(ListMcpServerStatusParams),
    GrantsList(ThreadParams),
    GrantsRevoke(GrantParams),
    ThreadUnsubscribe(ThreadParams),
    TurnStart(TurnStartParams),
    TurnSteer(TurnSteerParams),
    TurnInterrupt(TurnInterruptParams),
    Order(OrderRequest),
    Items(ItemRequest),
    Metadata(ThreadMetadataUpdateParams),
    Sections(SectionRequest),
    Terminals(TerminalRequest),
    Exec(Box<CommandExecParams>),
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
        ("configRequirements/read", Endpoint::Codex) => CodexRequest::ConfigRequirementsRead,
        ("collaborationMode/list", _) => CodexRequest::Settings(SettingsRequest::Modes),
        ("permissionProfile/list", Endpoint::Codex) => {
            CodexRequest::Settings(SettingsRequest::Profiles(read(method, params)?))
        }
        ("thread/settings/update", Endpoint::Codex) => {
            CodexRequest::Settings(SettingsRequest::Update(Box::new(read(method, params)?)))
        }
        ("thread/start", _) => CodexRequest::ThreadStart(read(method, params)?),
        ("thread/list", _) => {
            CodexRequest::Threads(ThreadListRequest::List(Box::new(read(method, params)?)))
        }
        ("thread/search", Endpoint::Codex) => {
            CodexRequest::Threads(ThreadListRequest::Search(read(method, params)?))
        }
        ("thread/loaded/list", _) => {
            // It may come without any.
            let params = if params.is_null() { json!({}) } else { params };
            CodexRequest::Threads(ThreadListRequest::Loaded(read(method, params)?))
        }
        ("thread/fork", _) => {
            CodexRequest::Forks(ForkRequest::Fork(Box::new(read(method, params)?)))
        }
        ("thread/rollback", _) => CodexRequest::Forks(ForkRequest::Rollback(read(method, params)?)),
        ("thread/revert", Endpoint::Codex) => {
            CodexRequest::Forks(ForkRequest::Revert(read(method, params)?))
        }
        ("thread/delete", Endpoint::Codex) => {
            CodexRequest::Forks(ForkRequest::Delete(read(method, params)?))
        }
        ("thread/read", _) => CodexRequest::ThreadRead(read(method, params)?),
        ("thread/resume", _) => CodexRequest::ThreadResume(read(method, params)?),
        ("thread/turns/list", Endpoint::Codex) => {
            CodexRequest::ThreadTurnsList(read(method, params)?)
        }
        ("thread/items/list", Endpoint::Codex) => {
            CodexRequest::Items(ItemRequest::List(read(method, params)?))
        }
        ("thread/items/read", Endpoint::Codex) => {
            CodexRequest::Items(ItemRequest::Read(read(method, params)?))
        }
        ("thread/searchOccurrences", Endpoint::Codex) => {
            CodexRequest::Items(ItemRequest::Search(read(method, params)?))
        }
        ("thread/metadata/update", Endpoint::Codex) => {
            CodexRequest::Metadata(read(method, params)?)
        }
        ("thread/name/set", _) => CodexRequest::ThreadNameSet(read(method, params)?),
        ("thread/archive", _) => CodexRequest::ThreadArchive(read(method, params)?),
        ("thread/unarchive", _) => CodexRequest::ThreadUnarchive(read(method, params)?),
        ("dragoman/search", Endpoint::Codex) => {
            CodexRequest::Search(Box::new(read(method, params)?))
        }
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
        ("command/exec", Endpoint::Codex) => CodexRequest::Exec(Box::new(read(method, params)?)),
        ("thread/compact/start", _) => {
            CodexRequest::Order(OrderRequest::Compact(read(method, params)?))
        }
        ("thread/shellCommand", _) => {
            CodexRequest::Order(OrderRequest::Shell(read(method, params)?))
        }
        ("review/start", _) => CodexRequest::Order(OrderRequest::Review(read(method, params)?)),
        ("thread/backgroundTerminals/list", _) => {
            CodexRequest::Terminals(TerminalRequest::List(read(method, params)?))
        }
        ("thread/backgroundTerminals/clean", _) => {
            CodexRequest::Terminals(TerminalRequest::Clean(read(method, params)?))
        }
        ("thread/backgroundTerminals/terminate", _) => {
            CodexRequest::Terminals(TerminalRequest::Terminate(read(method, params)?))
        }
        ("dragoman/terminals/write", _) => {
            CodexRequest::Terminals(TerminalRequest::Write(read(method, params)?))
        }
        (_, _) if method.starts_with("fuzzyFileSearch") => {
            CodexRequest::FileSearch(file_search::request(method, params)?)
        }
        (_, Endpoint::Codex) => return own(method, params),
        (_, Endpoint::Zane) => return zanes_own(method, params),
    })
}

/// Subjects of the app-server that have a module of their own.
fn own(method: &str, params: Value) -> Result<CodexRequest, CodexError> {
    if let Some(known) = inventory::request(method, &params) {
        return known.map(CodexRequest::Inventory);
    }
    if let Some(known) = config::request(method, &params) {
        return known.map(CodexRequest::Config);
    }
    if let Some(known) = server_login::request(method, &params) {
        return known.map(CodexRequest::ServerLogin);
    }
    if let Some(known) = sections::request(method, &params) {
        return known.map(CodexRequest::Sections);
    }
    Err(nobodys(method))
}

/// What only the other endpoint has.
fn zanes_own(method: &str, params: Value) -> Result<CodexRequest, CodexError> {
    if method.starts_with(anchor::PREFIX) {
        return anchor::request(method, params).map(CodexRequest::Directories);
    }
    match zane::request(method, params) {
        Some(known) => known.map(CodexRequest::Zane),
        None => Err(nobodys(method)),
    }
}

/// A method that is not read: one that was declined says why.
fn nobodys(method: &str) -> CodexError {
    match declined::reason(method) {
        Some(why) => CodexError::not_supported(method, why),
        None => CodexError::unknown_method(method),
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
