//! What a client said: validated in stages, then a typed message.
//!
//! The first thing that is wrong is the answer, in the words and the order of
//! docs/protocols/cowork.md, "Validation Rules". The texts cannot come out of a serde derive, so
//! the checks run over the parsed JSON by a table, and the typed message is read only from what
//! passed.

use serde_json::{Map, Value};

use super::sign_in::Methods;
use super::wire::client::ClientMessage;
use super::wire::session::ServerErrorCode;

mod fields;
mod table;

pub use fields::Object;

pub use table::MESSAGES;

/// How much of a client's own text an answer repeats.
const REPEATED_CHARS_MAX: usize = 200;

/// A message that is as it should be.
#[derive(Debug)]
pub struct CheckedMessage {
    /// The wire's own name of it.
    pub name: &'static str,
    pub message: ClientMessage,
}

/// Why a frame is no message; told with the source `protocol`.
#[derive(Debug, PartialEq, Eq)]
pub struct InvalidMessage {
    pub code: ServerErrorCode,
    pub message: String,
}

impl InvalidMessage {
    fn new(code: ServerErrorCode, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message }
    }

    fn invalid(message: String) -> Self {
        Self::new(ServerErrorCode::ValidationFailed, message)
    }
}

/// What a message is held against.
#[derive(Clone, Copy)]
pub struct MessageContext<'a> {
    pub session: &'a str,
    pub methods: &'a Methods,
}

/// Reads a frame.
pub fn hear(frame: &str, known: MessageContext<'_>) -> Result<CheckedMessage, InvalidMessage> {
    let object = object(frame)?;
    let (name, fields) = known_type(&object)?;
    let has_session = name != "client_hello";
    if has_session && !fields::non_blank(object.get("sessionId")) {
        return Err(InvalidMessage::invalid(format!("{name} missing sessionId")));
    }
    fields::check(name, fields, &object, known.methods).map_err(InvalidMessage::invalid)?;
    let asked = object.get("sessionId").and_then(Value::as_str);
    if let Some(asked) = asked.filter(|asked| has_session && *asked != known.session) {
        let text = format!("Unknown sessionId: {}", repeated(asked));
        return Err(InvalidMessage::new(ServerErrorCode::UnknownSession, text));
    }
    let message = serde_json::from_value(Value::Object(object))
        .map_err(|error| InvalidMessage::invalid(format!("{name} invalid: {error}")))?;
    Ok(CheckedMessage { name, message })
}

fn object(frame: &str) -> Result<Map<String, Value>, InvalidMessage> {
    match serde_json::from_str(frame) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(InvalidMessage::new(
            ServerErrorCode::InvalidPayload,
            "Expected object",
        )),
        Err(_) => Err(InvalidMessage::new(
            ServerErrorCode::InvalidJson,
            "Invalid JSON",
        )),
    }
}

fn known_type(
    object: &Map<String, Value>,
) -> Result<(&'static str, &'static [fields::FieldCheck]), InvalidMessage> {
    let Some(name) = object.get("type").and_then(Value::as_str) else {
        return Err(InvalidMessage::new(
            ServerErrorCode::MissingType,
            "Missing type",
        ));
    };
    let known = MESSAGES.iter().find(|(known, _)| *known == name);
    known.copied().ok_or_else(|| {
        InvalidMessage::new(
            ServerErrorCode::UnknownType,
            format!("Unknown type: {}", repeated(name)),
        )
    })
}

/// A client's own text, cut where it is too long to send back.
pub fn repeated(text: &str) -> &str {
    match text.char_indices().nth(REPEATED_CHARS_MAX) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}
