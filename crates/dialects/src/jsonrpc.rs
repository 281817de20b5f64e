//! The JSON-RPC envelope that codex and pioneer share: one object per frame, no batches.
//!
//! The two differ in whether `jsonrpc: "2.0"` is written and demanded; everything else is the same.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::Frame;

pub const PARSE_ERROR: i32 = -32700;
pub const INVALID_REQUEST: i32 = -32600;
pub const METHOD_NOT_FOUND: i32 = -32601;
pub const INVALID_PARAMS: i32 = -32602;
pub const INTERNAL_ERROR: i32 = -32603;
/// Ours: the method is known, and this server chose not to have it, or cannot do it here.
pub const NOT_SUPPORTED: i32 = -32004;

/// What a client sent, by its shape alone.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    Request {
        id: Id,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// The answer to a request of ours.
    Response {
        id: Id,
        result: Value,
    },
    /// The refusal of a request of ours.
    Failure {
        id: Id,
        error: Value,
    },
    /// A JSON object that is none of these.
    Other(Map<String, Value>),
}

/// A request's id: echoed as it came.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub enum Id {
    Number(i64),
    Text(String),
}

/// Why a frame is no JSON-RPC object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    NotJson,
    NotAnObject,
}

/// Reads a frame by its shape.
pub fn read(frame: &str) -> Result<Incoming, Malformed> {
    let value: Value = serde_json::from_str(frame).map_err(|_| Malformed::NotJson)?;
    let Value::Object(mut object) = value else {
        return Err(Malformed::NotAnObject);
    };
    let id = object.get("id").and_then(read_id);
    let method = object
        .get("method")
        .and_then(Value::as_str)
        .map(str::to_owned);
    Ok(match (id, method) {
        (Some(id), Some(method)) => Incoming::Request {
            id,
            method,
            params: take(&mut object, "params"),
        },
        (None, Some(method)) if !object.contains_key("id") => Incoming::Notification {
            method,
            params: take(&mut object, "params"),
        },
        (Some(id), None) if object.contains_key("result") => Incoming::Response {
            id,
            result: take(&mut object, "result"),
        },
        (Some(id), None) if object.contains_key("error") => Incoming::Failure {
            id,
            error: take(&mut object, "error"),
        },
        (Some(_) | None, _) => Incoming::Other(object),
    })
}

fn read_id(value: &Value) -> Option<Id> {
    match value {
        Value::String(text) => Some(Id::Text(text.clone())),
        Value::Number(number) => number.as_i64().map(Id::Number),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Absent params are the same as empty ones.
fn take(object: &mut Map<String, Value>, key: &str) -> Value {
    match object.remove(key) {
        Some(Value::Null) | None => Value::Object(Map::new()),
        Some(value) => value,
    }
}

/// Writes frames, with or without the version field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionField {
    Written,
    Left,
}

#[derive(Serialize)]
struct Envelope<'a, P: Serialize> {
    #[serde(skip_serializing_if = "Option::is_none")]
    jsonrpc: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a P>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a P>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<RpcError<'a>>,
    #[serde(rename = "emittedAtMs", skip_serializing_if = "Option::is_none")]
    emitted_at_ms: Option<i64>,
}

#[derive(Clone, Copy, Serialize)]
struct RpcError<'a> {
    code: i32,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a Value>,
}

impl VersionField {
    fn field(self) -> Option<&'static str> {
        match self {
            VersionField::Written => Some("2.0"),
            VersionField::Left => None,
        }
    }

    pub fn notification(self, method: &str, params: &impl Serialize) -> Frame {
        let envelope = Envelope {
            method: Some(method),
            params: Some(params),
            ..self.empty()
        };
        write(&envelope)
    }

    /// One that says when what it tells happened.
    pub fn stamped(self, method: &str, params: &impl Serialize, emitted_at_ms: i64) -> Frame {
        let envelope = Envelope {
            method: Some(method),
            params: Some(params),
            emitted_at_ms: Some(emitted_at_ms),
            ..self.empty()
        };
        write(&envelope)
    }

    /// A request of ours.
    pub fn request(self, id: u64, method: &str, params: &impl Serialize) -> Frame {
        let id = Value::from(id);
        let envelope = Envelope {
            id: Some(&id),
            method: Some(method),
            params: Some(params),
            ..self.empty()
        };
        write(&envelope)
    }

    pub fn response(self, id: &Id, result: &impl Serialize) -> Frame {
        let id = id.value();
        write(&Envelope {
            id: Some(&id),
            result: Some(result),
            ..self.empty()
        })
    }

    /// `None` for the id where the request could not be read.
    pub fn error(self, id: Option<&Id>, code: i32, message: &str) -> Frame {
        let id = id.map_or(Value::Null, Id::value);
        let error = Some(RpcError {
            code,
            message,
            data: None,
        });
        write(&Envelope::<()> {
            id: Some(&id),
            error,
            ..self.empty()
        })
    }

    fn empty<'a, P: Serialize>(self) -> Envelope<'a, P> {
        Envelope {
            jsonrpc: self.field(),
            id: None,
            method: None,
            params: None,
            result: None,
            error: None,
            emitted_at_ms: None,
        }
    }
}

impl Id {
    pub fn value(&self) -> Value {
        match self {
            Id::Number(number) => Value::from(*number),
            Id::Text(text) => Value::from(text.as_str()),
        }
    }
}

pub fn write(envelope: &impl Serialize) -> Frame {
    // Our own types always serialise; an empty object would be told as malformed by any client.
    serde_json::to_string(envelope).unwrap_or_else(|_| "{}".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_by_its_shape() {
        let object = || Value::Object(Map::new());
        let id = Id::Number(1);
        assert_eq!(
            read(r#"{"id":1,"method":"a/b"}"#),
            Ok(Incoming::Request {
                id: id.clone(),
                method: "a/b".into(),
                params: object()
            })
        );
        assert_eq!(
            read(r#"{"method":"initialized"}"#),
            Ok(Incoming::Notification {
                method: "initialized".into(),
                params: object()
            })
        );
        assert_eq!(
            read(r#"{"id":1,"result":{}}"#),
            Ok(Incoming::Response {
                id,
                result: object()
            })
        );
        assert!(matches!(
            read(r#"{"id":null,"method":"x"}"#),
            Ok(Incoming::Other(_))
        ));
        assert!(matches!(read(r#"{"type":"ping"}"#), Ok(Incoming::Other(_))));
        assert_eq!(read("[]"), Err(Malformed::NotAnObject));
        assert_eq!(read("{"), Err(Malformed::NotJson));
    }

    #[test]
    fn frames_are_written_with_or_without_the_version() {
        let params = serde_json::json!({ "x": 1 });
        assert_eq!(
            VersionField::Written.notification("a", &params),
            r#"{"jsonrpc":"2.0","method":"a","params":{"x":1}}"#
        );
        assert_eq!(
            VersionField::Left.response(&Id::Text("i".into()), &params),
            r#"{"id":"i","result":{"x":1}}"#
        );
        assert_eq!(
            VersionField::Left.error(None, PARSE_ERROR, "no"),
            r#"{"id":null,"error":{"code":-32700,"message":"no"}}"#
        );
    }
}
