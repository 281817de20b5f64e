//! Reads requests: the envelope, the method, its params.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::wire::params::{
    PermissionRespondParams, ProviderParams, ProviderSetApiKeyParams, ThreadFolderCreateParams,
    ThreadFolderDeleteParams, ThreadFolderMoveParams, ThreadGetParams, ThreadHistoryParams,
    ThreadMoveParams, ThreadStartParams, ThreadTreeParams, ThreadUnsubscribeParams, TurnParams,
    TurnStartParams, WorkspaceCreateParams, WorkspaceSelectParams, WorkspaceUpdateParams,
};
use crate::jsonrpc::{
    self, INVALID_PARAMS, INVALID_REQUEST, Id, Incoming, METHOD_NOT_FOUND, Malformed, PARSE_ERROR,
};

/// An error message repeats what a client sent, but not all of it.
const MESSAGE_CHARS_MAX: usize = 400;

#[derive(Debug)]
pub enum Request {
    WorkspaceList,
    WorkspaceDefault,
    WorkspaceCreate(WorkspaceCreateParams),
    WorkspaceSelect(WorkspaceSelectParams),
    WorkspaceUpdate(WorkspaceUpdateParams),
    ThreadStart(Box<ThreadStartParams>),
    ThreadGet(ThreadGetParams),
    ThreadTree(ThreadTreeParams),
    ThreadHistory(ThreadHistoryParams),
    ThreadMove(ThreadMoveParams),
    ThreadFolderCreate(ThreadFolderCreateParams),
    ThreadFolderMove(ThreadFolderMoveParams),
    ThreadFolderDelete(ThreadFolderDeleteParams),
    ThreadUnsubscribe(ThreadUnsubscribeParams),
    TurnStart(TurnStartParams),
    TurnCancel(TurnParams),
    TurnGet(TurnParams),
    TurnItems(TurnParams),
    PermissionRespond(PermissionRespondParams),
    ProviderList,
    ProviderModelsList(ProviderParams),
    ProviderSetApiKey(ProviderSetApiKeyParams),
    ProviderDeleteApiKey(ProviderParams),
}

/// A request as it came.
#[derive(Debug)]
pub struct RawRequest {
    pub id: Id,
    pub method: String,
    pub params: Value,
}

/// Why something cannot be done: a code and a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    pub code: i32,
    pub message: String,
}

impl Wrong {
    pub fn request(message: impl Into<String>) -> Self {
        Self {
            code: INVALID_REQUEST,
            message: message.into(),
        }
    }

    pub fn params(method: &str, message: impl std::fmt::Display) -> Self {
        let message = format!("invalid params for `{method}`: {message}");
        Self {
            code: INVALID_PARAMS,
            message: message.chars().take(MESSAGE_CHARS_MAX).collect(),
        }
    }

    fn method(message: String) -> Self {
        Self {
            code: METHOD_NOT_FOUND,
            message,
        }
    }
}

#[derive(Deserialize)]
struct Versioned<'a> {
    #[serde(borrow)]
    jsonrpc: Option<Cow<'a, str>>,
}

/// The envelope. What is wrong with it is told without an id.
pub fn read(frame: &str) -> Result<RawRequest, Wrong> {
    let incoming = jsonrpc::read(frame).map_err(|malformed| match malformed {
        Malformed::NotJson => Wrong {
            code: PARSE_ERROR,
            message: "failed to parse JSON-RPC payload".to_owned(),
        },
        Malformed::NotAnObject => Wrong::request("a request is one JSON object"),
    })?;
    let Incoming::Request { id, method, params } = incoming else {
        return Err(Wrong::request("a request has an `id` and a `method`"));
    };
    let versioned: Option<Versioned<'_>> = serde_json::from_str(frame).ok();
    if versioned.and_then(|each| each.jsonrpc).as_deref() != Some("2.0") {
        return Err(Wrong::request("`jsonrpc` must be \"2.0\""));
    }
    Ok(RawRequest { id, method, params })
}

/// The method and its params.
pub fn request(method: &str, params: Value) -> Result<Request, Wrong> {
    Ok(match method {
        "workspace/list" => Request::WorkspaceList,
        "workspace/default" => Request::WorkspaceDefault,
        "workspace/create" => Request::WorkspaceCreate(parse(method, params)?),
        "workspace/select" => Request::WorkspaceSelect(parse(method, params)?),
        "workspace/update" => Request::WorkspaceUpdate(parse(method, params)?),
        "thread/start" => Request::ThreadStart(Box::new(parse(method, params)?)),
        "thread/get" => Request::ThreadGet(parse(method, params)?),
        "thread/tree" => Request::ThreadTree(parse(method, params)?),
        "thread/history" => Request::ThreadHistory(parse(method, params)?),
        "thread/move" => Request::ThreadMove(parse(method, params)?),
        "thread/folder/create" => Request::ThreadFolderCreate(parse(method, params)?),
        "thread/folder/move" => Request::ThreadFolderMove(parse(method, params)?),
        "thread/folder/delete" => Request::ThreadFolderDelete(parse(method, params)?),
        "thread/unsubscribe" => Request::ThreadUnsubscribe(parse(method, params)?),
        "turn/start" => Request::TurnStart(parse(method, params)?),
        "turn/cancel" => Request::TurnCancel(parse(method, params)?),
        "turn/get" => Request::TurnGet(parse(method, params)?),
        "turn/items" => Request::TurnItems(parse(method, params)?),
        "turn/permission/request/respond" => Request::PermissionRespond(parse(method, params)?),
        "provider/list" => Request::ProviderList,
        "provider/models/list" => Request::ProviderModelsList(parse(method, params)?),
        "provider/set_api_key" => Request::ProviderSetApiKey(parse_key(method, params)?),
        "provider/delete_api_key" => Request::ProviderDeleteApiKey(parse(method, params)?),
        _ if NOT_BUILT.contains(&method) => {
            let message = format!("{method} is not available in this build yet");
            return Err(Wrong::method(message));
        }
        _ => return Err(Wrong::method("method not found".to_owned())),
    })
}

fn parse<T: DeserializeOwned>(method: &str, params: Value) -> Result<T, Wrong> {
    if !params.is_object() {
        return Err(Wrong::params(method, "params must be an object"));
    }
    serde_json::from_value(params).map_err(|error| Wrong::params(method, error))
}

/// What is wrong with a key is not said in the reader's words: they may repeat it.
fn parse_key<T: DeserializeOwned>(method: &str, params: Value) -> Result<T, Wrong> {
    serde_json::from_value(params).map_err(|_| {
        let message = "`provider` and `api_key` are required, both strings";
        Wrong::params(method, message)
    })
}

/// Every method this build answers.
pub const BUILT: &[&str] = &[
    "workspace/list",
    "workspace/default",
    "workspace/create",
    "workspace/select",
    "workspace/update",
    "thread/start",
    "thread/get",
    "thread/tree",
    "thread/history",
    "thread/move",
    "thread/folder/create",
    "thread/folder/move",
    "thread/folder/delete",
    "thread/unsubscribe",
    "turn/start",
    "turn/cancel",
    "turn/get",
    "turn/items",
    "turn/permission/request/respond",
    "provider/list",
    "provider/models/list",
    "provider/set_api_key",
    "provider/delete_api_key",
];

/// Methods of the protocol that this build does not know yet.
pub const NOT_BUILT: &[&str] = &[
    "turn/timeline",
    "task/create",
    "task/get",
    "task/list",
    "task/tree",
    "task/events",
    "task/wait",
    "task/cancel",
    "task/reschedule",
    "task/detach",
    "task/pause",
    "task/resume",
    "task/agenda",
    "task/deliveries",
    "skills/list",
    "skills/install",
    "skills/update",
    "skills/uninstall",
    "skills/health",
    "skills/upload/start",
    "skills/upload/finish",
    "skills/upload/abort",
    "skills/policy/list",
    "skills/policy/set",
    "mcp/list",
    "mcp/install",
    "mcp/policy/set",
    "mcp/server/restart",
    "mcp/uninstall",
    "mcp/server/details",
];
