//! Reads client frames: JSON, object, known type, then each field in order.

use serde_json::{Map, Value};

use super::wire::ClientMessage;
use super::wire::parts::ErrorCode;

mod table;

pub use table::MESSAGES;

/// Longer ids are nobody's, and would only be sent back.
const REQUEST_ID_CHARS_MAX: usize = 200;
/// How much of a client's own text an error repeats.
const REPEATED_CHARS_MAX: usize = 80;

/// A frame that was understood.
#[derive(Debug)]
pub struct ClientRequest {
    pub request_id: Option<String>,
    pub message: ClientMessage,
}

/// A frame that was not.
#[derive(Debug)]
pub struct UnreadableMessage {
    pub code: ErrorCode,
    pub message: String,
    pub request_id: Option<String>,
}

impl UnreadableMessage {
    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            request_id: None,
        }
    }

    fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidMessage, message)
    }
}

pub fn hear(frame: &str) -> Result<ClientRequest, UnreadableMessage> {
    let value = serde_json::from_str(frame).map_err(|_| {
        UnreadableMessage::new(ErrorCode::InvalidJson, "the message is not valid JSON")
    })?;
    let Value::Object(mut object) = value else {
        return Err(UnreadableMessage::invalid("expected an object"));
    };
    // Some clients spell an absent field `null`.
    object.retain(|_, value| !value.is_null());
    let request_id = request_id(&object)?;
    read(object, request_id.clone()).map_err(|wrong| UnreadableMessage {
        request_id,
        ..wrong
    })
}

fn request_id(object: &Map<String, Value>) -> Result<Option<String>, UnreadableMessage> {
    match object.get("requestId") {
        None => Ok(None),
        Some(Value::String(id)) if id.chars().count() <= REQUEST_ID_CHARS_MAX => {
            Ok(Some(id.clone()))
        }
        Some(_) => Err(UnreadableMessage::invalid(format!(
            "requestId must be a string of at most {REQUEST_ID_CHARS_MAX} characters"
        ))),
    }
}

fn read(
    object: Map<String, Value>,
    request_id: Option<String>,
) -> Result<ClientRequest, UnreadableMessage> {
    let Some(kind) = object.get("type").and_then(Value::as_str) else {
        return Err(UnreadableMessage::invalid(
            "type is missing: expected a string",
        ));
    };
    let known = MESSAGES.iter().find(|(known, _)| *known == kind);
    let Some((name, fields)) = known.copied() else {
        let text = format!("unknown type: {}", repeated(kind));
        return Err(UnreadableMessage::invalid(text));
    };
    for field in fields {
        field
            .check(&object)
            .map_err(|wrong| UnreadableMessage::invalid(format!("{name}: {wrong}")))?;
    }
    let message = serde_json::from_value(Value::Object(object)).map_err(|error| {
        UnreadableMessage::invalid(format!("{name}: {}", repeated(&error.to_string())))
    })?;
    Ok(ClientRequest {
        request_id,
        message,
    })
}

/// A client's own text, cut where it is too long to send back.
pub fn repeated(text: &str) -> &str {
    match text.char_indices().nth(REPEATED_CHARS_MAX) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}
