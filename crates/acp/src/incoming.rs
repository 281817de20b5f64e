//! What an agent says: JSON-RPC 2.0, one message per line.

use agent_client_protocol_schema::v1::{
    ReadTextFileRequest, ReadTextFileResponse, RequestPermissionRequest, RequestPermissionResponse,
    SessionNotification, WriteTextFileRequest, WriteTextFileResponse,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The id of a request of the agent's, as it wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcId(pub(crate) Value);

/// Something that the agent said.
#[derive(Debug)]
pub enum AgentMessage {
    Update(Box<SessionNotification>),
    Request {
        id: RpcId,
        request: AgentRequest,
    },
    /// The answer to the request of ours with this number.
    Response {
        id: u64,
        result: Result<Value, AgentRpcError>,
    },
}

/// What the agent wants of us.
#[derive(Debug)]
pub enum AgentRequest {
    Permission(Box<RequestPermissionRequest>),
    ReadFile(ReadTextFileRequest),
    WriteFile(WriteTextFileRequest),
}

/// What it is told.
#[derive(Debug)]
pub enum AgentReply {
    Permission(RequestPermissionResponse),
    ReadFile(ReadTextFileResponse),
    WriteFile(WriteTextFileResponse),
    Refused(AgentRpcError),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentRpcError {
    pub code: i64,
    #[serde(default)]
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const INTERNAL_ERROR: i64 = -32603;
pub(crate) const AUTH_REQUIRED: i64 = -32000;

impl AgentRpcError {
    fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// Refuses something that was asked for in the right way.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(INTERNAL_ERROR, message)
    }

    /// The message, with the details that some agents put beside it.
    pub fn words(&self) -> String {
        let details = self.data.as_ref().and_then(|data| match data {
            Value::String(text) => Some(text.as_str()),
            data => data
                .get("details")
                .or_else(|| data.get("message"))
                .and_then(Value::as_str),
        });
        match details.filter(|details| !details.is_empty()) {
            Some(details) if self.message.is_empty() => details.to_owned(),
            Some(details) => format!("{}: {details}", self.message),
            None => self.message.clone(),
        }
    }
}

/// One line, as far as it means anything.
pub(crate) enum AgentLine {
    Message(AgentMessage),
    /// A request that is refused without a further look.
    Refused {
        id: RpcId,
        error: AgentRpcError,
    },
    /// No message, or one that says nothing to us: programs print there by mistake, and protocols
    /// grow.
    Nothing,
}

#[derive(Deserialize)]
struct RpcEnvelope {
    id: Option<Value>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    #[serde(default)]
    result: Value,
    error: Option<AgentRpcError>,
}

pub(crate) fn read(line: &[u8]) -> AgentLine {
    let Ok(envelope) = serde_json::from_slice::<RpcEnvelope>(line.trim_ascii()) else {
        return AgentLine::Nothing;
    };
    let id = envelope.id.filter(|id| !id.is_null());
    match (envelope.method.as_deref(), id) {
        (Some("session/update"), None) => match serde_json::from_value(envelope.params) {
            Ok(update) => AgentLine::Message(AgentMessage::Update(Box::new(update))),
            Err(_) => AgentLine::Nothing,
        },
        (Some(_), None) => AgentLine::Nothing,
        (Some(method), Some(id)) => request(method, RpcId(id), envelope.params),
        (None, Some(id)) => match (id.as_u64(), envelope.error) {
            (Some(id), Some(error)) => AgentLine::Message(AgentMessage::Response {
                id,
                result: Err(error),
            }),
            (Some(id), None) => AgentLine::Message(AgentMessage::Response {
                id,
                result: Ok(envelope.result),
            }),
            (None, _) => AgentLine::Nothing,
        },
        (None, None) => AgentLine::Nothing,
    }
}

fn request(method: &str, id: RpcId, params: Value) -> AgentLine {
    let request = match method {
        "session/request_permission" => of(params).map(Box::new).map(AgentRequest::Permission),
        "fs/read_text_file" => of(params).map(AgentRequest::ReadFile),
        "fs/write_text_file" => of(params).map(AgentRequest::WriteFile),
        method => Err(AgentRpcError::new(
            METHOD_NOT_FOUND,
            format!("this client has no {method}"),
        )),
    };
    match request {
        Ok(request) => AgentLine::Message(AgentMessage::Request { id, request }),
        Err(error) => AgentLine::Refused { id, error },
    }
}

fn of<T: DeserializeOwned>(params: Value) -> Result<T, AgentRpcError> {
    serde_json::from_value(params)
        .map_err(|error| AgentRpcError::new(INVALID_PARAMS, format!("invalid params: {error}")))
}

impl AgentReply {
    pub(crate) fn line(self, id: RpcId) -> Vec<u8> {
        let id = id.0;
        let result = match self {
            AgentReply::Permission(reply) => serde_json::to_value(reply),
            AgentReply::ReadFile(reply) => serde_json::to_value(reply),
            AgentReply::WriteFile(reply) => serde_json::to_value(reply),
            AgentReply::Refused(error) => return refusal(id, &error),
        };
        match result {
            Ok(result) => line(&json!({"jsonrpc": "2.0", "id": id, "result": result})),
            Err(error) => refusal(id, &AgentRpcError::refused(error.to_string())),
        }
    }
}

fn refusal(id: Value, error: &AgentRpcError) -> Vec<u8> {
    line(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
}

pub(crate) fn line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_message_says_nothing() {
        for text in [
            "",
            "Loading model…",
            "{}",
            "[1, 2]",
            r#"{"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": 7}}"#,
            r#"{"method": "session/update", "params": {"sessionId": "s", "update": {"sessionUpdate": "of_tomorrow"}}}"#,
            r#"{"method": "_vendor/notice", "params": {}}"#,
            r#"{"id": "not ours", "result": {}}"#,
            r#"{"id": null, "result": {}}"#,
        ] {
            assert!(
                matches!(read(text.as_bytes()), AgentLine::Nothing),
                "{text}"
            );
        }
    }

    #[test]
    fn a_request_that_nobody_knows_or_that_is_malformed_is_refused() {
        let code = |text: &str| match read(text.as_bytes()) {
            AgentLine::Refused { error, .. } => error.code,
            AgentLine::Message(_) | AgentLine::Nothing => 0,
        };
        let unknown = r#"{"id": 3, "method": "terminal/create", "params": {}}"#;
        assert_eq!(code(unknown), METHOD_NOT_FOUND);
        let malformed = r#"{"id": "a", "method": "fs/read_text_file", "params": {"path": 1}}"#;
        assert_eq!(code(malformed), INVALID_PARAMS);
    }

    #[test]
    fn an_error_says_the_details_that_came_along() {
        let words = |text: &str| match read(text.as_bytes()) {
            AgentLine::Message(AgentMessage::Response {
                result: Err(error), ..
            }) => error.words(),
            AgentLine::Message(_) | AgentLine::Refused { .. } | AgentLine::Nothing => String::new(),
        };
        assert_eq!(
            words(
                r#"{"id": 1, "error": {"code": -32603, "message": "Internal error", "data": {"details": "no such model"}}}"#
            ),
            "Internal error: no such model"
        );
        assert_eq!(
            words(r#"{"id": 1, "error": {"code": -32603, "data": "out of money"}}"#),
            "out of money"
        );
    }
}
