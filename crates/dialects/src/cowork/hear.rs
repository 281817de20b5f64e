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

pub use table::MESSAGES;

/// How much of a client's own text an answer repeats.
const REPEATED_CHARS_MAX: usize = 200;

/// A message that is as it should be.
#[derive(Debug)]
pub struct Hearing {
    /// The wire's own name of it.
    pub name: &'static str,
    pub message: ClientMessage,
}

/// Why a frame is no message; told with the source `protocol`.
#[derive(Debug, PartialEq, Eq)]
pub struct Mishearing {
    pub code: ServerErrorCode,
    pub message: String,
}

impl Mishearing {
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
pub struct Known<'a> {
    pub session: &'a str,
    pub methods: &'a Methods,
}

/// Reads a frame.
pub fn hear(frame: &str, known: Known<'_>) -> Result<Hearing, Mishearing> {
    let object = object(frame)?;
    let (name, fields) = known_type(&object)?;
    let has_session = name != "client_hello";
    if has_session && !fields::non_blank(object.get("sessionId")) {
        return Err(Mishearing::invalid(format!("{name} missing sessionId")));
    }
    fields::check(name, fields, &object, known.methods).map_err(Mishearing::invalid)?;
    let asked = object.get("sessionId").and_then(Value::as_str);
    if let Some(asked) = asked.filter(|asked| has_session && *asked != known.session) {
        let text = format!("Unknown sessionId: {}", repeated(asked));
        return Err(Mishearing::new(ServerErrorCode::UnknownSession, text));
    }
    let message = serde_json::from_value(Value::Object(object))
        .map_err(|error| Mishearing::invalid(format!("{name} invalid: {error}")))?;
    Ok(Hearing { name, message })
}

fn object(frame: &str) -> Result<Map<String, Value>, Mishearing> {
    match serde_json::from_str(frame) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Mishearing::new(
            ServerErrorCode::InvalidPayload,
            "Expected object",
        )),
        Err(_) => Err(Mishearing::new(
            ServerErrorCode::InvalidJson,
            "Invalid JSON",
        )),
    }
}

fn known_type(
    object: &Map<String, Value>,
) -> Result<(&'static str, &'static [fields::Field]), Mishearing> {
    let Some(name) = object.get("type").and_then(Value::as_str) else {
        return Err(Mishearing::new(
            ServerErrorCode::MissingType,
            "Missing type",
        ));
    };
    let known = MESSAGES.iter().find(|(known, _)| *known == name);
    known.copied().ok_or_else(|| {
        Mishearing::new(
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
