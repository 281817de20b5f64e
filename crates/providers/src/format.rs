//! The wire formats of model APIs: how a request is written and how its stream is read. Pure: no
//! sockets, no clock, no chance; `remote` moves the bytes.

mod arguments;
mod blocks;
mod call_ids;
mod chat;
pub(crate) mod failure;
mod family;
mod gemini;
mod history;
mod listing;
mod messages;
mod responses;
mod target;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use vocabulary::Native;

use crate::{ErrorKind, ModelRequest, Part, ProviderError};

pub use blocks::{ANSWER_BYTES_MAX, BLOCKS_MAX};
pub use failure::{MESSAGE_CHARS_MAX, Remedy, ServiceFailure};
pub use listing::{
    ListPage, ListedModel, LocalFacts, MODELS_MAX, loaded_at_lm_studio, loaded_at_ollama,
    shown_by_ollama,
};
pub use target::{
    CallIdStyle, EffortStyle, Omitted, OmittedPictures, Quirks, RequestTarget, ThoughtReplay,
};

/// A wire format that more than one provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// OpenAI's Responses.
    Responses,
    /// OpenAI's Chat Completions, and every server compatible with it.
    Chat,
    /// Anthropic's Messages.
    Messages,
    /// Google's `streamGenerateContent`.
    Gemini,
}

/// A request as it goes out, without host and credential.
#[derive(Clone, Debug, PartialEq)]
pub struct Outgoing {
    /// Joined to the provider's base URL, query included.
    pub path: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: Value,
}

/// One server-sent event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseEvent<'a> {
    pub event: Option<&'a str>,
    pub data: &'a str,
}

/// Reads one stream. Parts come out in order; an error is the end of it, and what `out` got before
/// the error is still good. A block that was open then stays open.
pub trait Decode: Send {
    fn push(&mut self, event: SseEvent<'_>, out: &mut Vec<Part>) -> Result<(), ProviderError>;
    /// The connection has ended. An error when the end marker never came; `Finish` is told at the
    /// marker, or here where a format has none but the end itself.
    fn end(&mut self, out: &mut Vec<Part>) -> Result<(), ProviderError>;
    /// Whether `Finish` was told: what comes after is not waited for.
    fn finished(&self) -> bool;
    /// Whether the answer has said that it ends, so that only its counts may still come; `end` is
    /// then as good as the marker.
    fn stopped(&self) -> bool {
        false
    }
}

impl Wire {
    pub const ALL: [Wire; 4] = [Wire::Responses, Wire::Chat, Wire::Messages, Wire::Gemini];

    pub fn name(self) -> &'static str {
        match self {
            Wire::Responses => "responses",
            Wire::Chat => "chat",
            Wire::Messages => "messages",
            Wire::Gemini => "gemini",
        }
    }

    /// Writes a request. Whatever the history is, what comes out is a conversation that the format
    /// accepts: see `history`.
    pub fn encode(self, request: &ModelRequest, target: &RequestTarget) -> Outgoing {
        match self {
            Wire::Responses => responses::encode(request, target),
            Wire::Chat => chat::encode(request, target),
            Wire::Messages => messages::encode(request, target),
            Wire::Gemini => gemini::encode(request, target),
        }
    }

    /// Reads one answer to a request that went there. `seed` makes the ids of tool calls that come
    /// without one (Gemini, some compatible servers) and without a response id to derive it from:
    /// it must be another one for every request of a conversation, because clients key on call ids.
    pub fn decoder(self, target: &RequestTarget, seed: &str) -> Box<dyn Decode> {
        let origin = target.origin(self);
        match self {
            Wire::Responses => Box::new(responses::ResponsesDecoder::new(origin, seed)),
            Wire::Chat => Box::new(chat::ChatDecoder::new(target, seed)),
            Wire::Messages => Box::new(messages::MessagesDecoder::new(origin, seed)),
            Wire::Gemini => Box::new(gemini::GeminiDecoder::new(origin, seed)),
        }
    }

    /// Reads the body of an answer that is not a stream but a refusal.
    pub fn failure(self, status: u16, body: &[u8]) -> ServiceFailure {
        failure::read(status, body)
    }

    /// How a key is sent.
    pub fn auth_header(self, key: &str) -> (&'static str, String) {
        match self {
            Wire::Responses | Wire::Chat => ("authorization", format!("Bearer {key}")),
            Wire::Messages => ("x-api-key", key.to_owned()),
            Wire::Gemini => ("x-goog-api-key", key.to_owned()),
        }
    }

    /// Headers that every request of the format needs, `GET models` included.
    pub fn headers(self) -> Vec<(&'static str, String)> {
        match self {
            Wire::Responses | Wire::Chat | Wire::Gemini => Vec::new(),
            Wire::Messages => vec![("anthropic-version", messages::VERSION.to_owned())],
        }
    }

    /// Where the provider lists its models, joined to the base URL: as many as one page gives.
    pub fn models_path(self) -> &'static str {
        match self {
            Wire::Responses | Wire::Chat => "models",
            Wire::Messages => "models?limit=1000",
            Wire::Gemini => "models?pageSize=1000",
        }
    }

    /// What the page after one is asked for with.
    pub fn page_parameter(self) -> &'static str {
        match self {
            Wire::Responses | Wire::Chat => "after",
            Wire::Messages => "after_id",
            Wire::Gemini => "pageToken",
        }
    }

    /// Reads the answer to `models_path`.
    pub fn read_models(self, body: &[u8]) -> Result<ListPage, ProviderError> {
        listing::read(body)
    }
}

/// A JSON value that comes back to where it came from.
fn native(origin: &str, value: Value) -> Box<Native> {
    Box::new(Native {
        origin: origin.to_owned(),
        value,
    })
}

fn parse(data: &str) -> Result<Value, ProviderError> {
    serde_json::from_str(data).map_err(|error| {
        let excerpt = failure::excerpt(data);
        let message = format!("the stream holds data that is not JSON ({error}): {excerpt}");
        ProviderError::new(ErrorKind::Malformed, message)
    })
}

/// As `parse`; where an event is named an error, its words need not be JSON.
fn parse_event(event: SseEvent<'_>) -> Result<Value, ProviderError> {
    parse(event.data).map_err(|error| match event.event {
        Some("error") => failure::told(&Value::from(event.data)),
        Some(_) | None => error,
    })
}

fn cut_off() -> ProviderError {
    let message = "the connection ended before the answer did";
    ProviderError::new(ErrorKind::CutOff, message)
}

/// A count at a JSON pointer; what is not told is none.
fn count(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer).and_then(Value::as_u64)
}

/// A text that says something.
fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value[field].as_str().filter(|text| !text.is_empty())
}
