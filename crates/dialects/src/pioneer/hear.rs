//! Reads requests: the envelope, the method, its params.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::admin::{self, AdminRequest};
use super::wire::params::{
    PermissionRespondParams, ProviderParams, ProviderSetApiKeyParams, ThreadFolderCreateParams,
    ThreadFolderDeleteParams, ThreadFolderMoveParams, ThreadGetParams, ThreadHistoryParams,
    ThreadMoveParams, ThreadStartParams, ThreadTreeParams, ThreadUnsubscribeParams, TurnParams,
    TurnStartParams, WorkspaceCreateParams, WorkspaceSelectParams, WorkspaceUpdateParams,
};
use super::wire::search::ThreadSearchParams;
use super::wire::timeline::TurnTimelineParams;
use crate::jsonrpc::{
    self, INVALID_PARAMS, INVALID_REQUEST, Id, Incoming, METHOD_NOT_FOUND, Malformed, PARSE_ERROR,
};

/// An error message repeats what a client sent, but not all of it.
const MESSAGE_CHARS_MAX: usize = 400;

#[derive(Debug)]
pub enum PioneerRequest {
    WorkspaceList,
    WorkspaceDefault,
    WorkspaceCreate(WorkspaceCreateParams),
    WorkspaceSelect(WorkspaceSelectParams),
    WorkspaceUpdate(WorkspaceUpdateParams),
    ThreadStart(Box<ThreadStartParams>),
    ThreadGet(ThreadGetParams),
    ThreadTree(ThreadTreeParams),
    ThreadSearch(Box<ThreadSearchParams>),
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
    TurnTimeline(TurnTimelineParams),
    PermissionRespond(PermissionRespondParams),
    ProviderList,
    ProviderModelsList(ProviderParams),
    ProviderSetApiKey(ProviderSetApiKeyParams),
    ProviderDeleteApiKey(ProviderParams),
    /// Skills, uploads and MCP servers.
    Admin(AdminRequest),
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
pub struct PioneerError {
    pub code: i32,
    pub message: String,
}

impl PioneerError {
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

    /// Of the protocol these are the tasks: a server without them knows no such method
    /// (docs/protocols/pioneer.md, decision 10).
    fn unknown_method() -> Self {
        Self {
            code: METHOD_NOT_FOUND,
            message: "method not found".to_owned(),
        }
    }
}

#[derive(Deserialize)]
struct Versioned<'a> {
    #[serde(borrow)]
    jsonrpc: Option<Cow<'a, str>>,
}

/// Ids of the original: as its clients make them up.
const STRICT_ID_CHARS: usize = 21;

/// Whether an id is one that the original would take.
pub fn is_strict(id: &Id) -> bool {
    match id {
        Id::Text(text) => {
            text.len() == STRICT_ID_CHARS && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
        }
        Id::Number(_) => false,
    }
}

/// The envelope. What is wrong with it is told without an id.
pub fn read(frame: &str) -> Result<RawRequest, PioneerError> {
    let incoming = jsonrpc::read(frame).map_err(|malformed| match malformed {
        Malformed::NotJson => PioneerError {
            code: PARSE_ERROR,
            message: "failed to parse JSON-RPC payload".to_owned(),
        },
        Malformed::NotAnObject => PioneerError::request("a request is one JSON object"),
    })?;
    let Incoming::Request { id, method, params } = incoming else {
        return Err(PioneerError::request(
            "a request has an `id` and a `method`",
        ));
    };
    let versioned: Option<Versioned<'_>> = serde_json::from_str(frame).ok();
    if versioned.and_then(|each| each.jsonrpc).as_deref() != Some("2.0") {
        return Err(PioneerError::request("`jsonrpc` must be \"2.0\""));
    }
    Ok(RawRequest { id, method, params })
}

/// The method and its params.
pub fn request(method: &str, params: Value) -> Result<PioneerRequest, PioneerError> {
    Ok(match method {
        "workspace/list" => PioneerRequest::WorkspaceList,
        "workspace/default" => PioneerRequest::WorkspaceDefault,
        "workspace/create" => PioneerRequest::WorkspaceCreate(parse(method, params)?),
        "workspace/select" => PioneerRequest::WorkspaceSelect(parse(method, params)?),
        "workspace/update" => PioneerRequest::WorkspaceUpdate(parse(method, params)?),
        "thread/start" => PioneerRequest::ThreadStart(Box::new(parse(method, params)?)),
        "thread/get" => PioneerRequest::ThreadGet(parse(method, params)?),
        "thread/tree" => PioneerRequest::ThreadTree(parse(method, params)?),
        "thread/search" => PioneerRequest::ThreadSearch(Box::new(parse(method, params)?)),
        "thread/history" => PioneerRequest::ThreadHistory(parse(method, params)?),
        "thread/move" => PioneerRequest::ThreadMove(parse(method, params)?),
        "thread/folder/create" => PioneerRequest::ThreadFolderCreate(parse(method, params)?),
        "thread/folder/move" => PioneerRequest::ThreadFolderMove(parse(method, params)?),
        "thread/folder/delete" => PioneerRequest::ThreadFolderDelete(parse(method, params)?),
        "thread/unsubscribe" => PioneerRequest::ThreadUnsubscribe(parse(method, params)?),
        "turn/start" => PioneerRequest::TurnStart(parse(method, params)?),
        "turn/cancel" => PioneerRequest::TurnCancel(parse(method, params)?),
        "turn/get" => PioneerRequest::TurnGet(parse(method, params)?),
        "turn/items" => PioneerRequest::TurnItems(parse(method, params)?),
        "turn/timeline" => PioneerRequest::TurnTimeline(parse(method, params)?),
        "turn/permission/request/respond" => {
            PioneerRequest::PermissionRespond(parse(method, params)?)
        }
        "provider/list" => PioneerRequest::ProviderList,
        "provider/models/list" => PioneerRequest::ProviderModelsList(parse(method, params)?),
        "provider/set_api_key" => {
            let expected = "`provider` and `api_key` are required, both strings";
            PioneerRequest::ProviderSetApiKey(parse_secret(method, params, expected)?)
        }
        "provider/delete_api_key" => PioneerRequest::ProviderDeleteApiKey(parse(method, params)?),
        _ => match admin::request(method, params) {
            Some(request) => PioneerRequest::Admin(request?),
            None => return Err(PioneerError::unknown_method()),
        },
    })
}

pub fn parse<T: DeserializeOwned>(method: &str, params: Value) -> Result<T, PioneerError> {
    if !params.is_object() {
        return Err(PioneerError::params(method, "params must be an object"));
    }
    serde_json::from_value(params).map_err(|error| PioneerError::params(method, error))
}

/// What is wrong with a secret is not said in the reader's words: they may repeat it.
pub fn parse_secret<T: DeserializeOwned>(
    method: &str,
    params: Value,
    expected: &str,
) -> Result<T, PioneerError> {
    serde_json::from_value(params).map_err(|_| PioneerError::params(method, expected))
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
    "thread/search",
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
    "turn/timeline",
    "turn/permission/request/respond",
    "provider/list",
    "provider/models/list",
    "provider/set_api_key",
    "provider/delete_api_key",
];
