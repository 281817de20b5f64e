//! Talks to model APIs: one request in, a stream of parts out; holds the scripted rehearsal model.
//!
//! A provider knows neither threads nor clients. Parts of one block never interleave out of order:
//! a block is started, grows, and is ended, and a tool call is complete when it is told.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use serde_json::Value;
use thiserror::Error;
use vocabulary::{Native, SummaryDetail, Verbosity};

mod accounts;
pub mod catalog;
mod family;
pub mod format;
#[cfg(test)]
mod kept_blocks;
pub mod models;
pub mod rehearsal;
pub mod remote;
mod tool_schema;

pub use family::ModelFamily;
pub use models::Models;

/// What a model is asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelRequest {
    pub model: String,
    pub system: String,
    /// Shared, because each request of a conversation begins with all of the one before.
    pub messages: Vec<Arc<Message>>,
    pub tools: Arc<[ToolSpec]>,
    /// Words alone are wanted. The tools are sent all the same: they belong to the cached prefix.
    pub no_calls: bool,
    /// How hard to think, in the catalog's words (`low`, `high`); the provider's own default when
    /// absent.
    pub effort: Option<String>,
    /// How much to say, where the service lets that be set.
    pub verbosity: Option<Verbosity>,
    /// What to show of the thoughts, where the service summarises them.
    pub summary: Option<SummaryDetail>,
    /// The most tokens it may write; the provider's own limit when absent.
    pub max_output_tokens: Option<u64>,
    pub purpose: RequestPurpose,
    /// How often it may be tried at most, where that is fewer than the provider would.
    pub attempts_max: Option<u32>,
    /// The same for all requests of one conversation, so that a provider finds its cached prefix.
    pub cache_key: Option<String>,
}

/// What an answer is for. Services are not told; the scripted model answers each in its own way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestPurpose {
    #[default]
    Answer,
    /// The work of a sub-agent.
    Task,
    Summary,
    Title,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON Schema of the input. Shared: the same tools go with every request of every thread.
    pub parameters: Arc<Value>,
    /// The input is one text, in the field [`FREE_TEXT_FIELD`], and this Lark grammar says what it may
    /// be. Services that can let the model write it as it is, without JSON around it.
    pub grammar: Option<&'static str>,
}

/// The field of a tool's input that a free text is.
pub const FREE_TEXT_FIELD: &str = "input";

impl ToolSpec {
    /// A tool as models are told of it: without the rules of its schema that only the tool itself
    /// checks.
    pub fn new(name: &str, description: &str, mut parameters: Value) -> Self {
        tool_schema::strip_limits(&mut parameters);
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters: Arc::new(parameters),
            grammar: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    User(UserMessage),
    Assistant(Vec<Block>),
    /// Results of the calls of the assistant message before it.
    ToolResults(Vec<ToolResult>),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct UserMessage {
    pub text: String,
    pub images: Vec<MessageImage>,
    /// The server says it in the user's place.
    pub is_note: bool,
}

impl Message {
    pub fn user(text: impl Into<String>) -> Self {
        Message::User(UserMessage {
            text: text.into(),
            ..UserMessage::default()
        })
    }

    /// What the server itself tells the model.
    pub fn note(text: impl Into<String>) -> Self {
        Message::User(UserMessage {
            text: text.into(),
            is_note: true,
            ..UserMessage::default()
        })
    }
}

/// A picture that can be sent; one that is still a path (`vocabulary::Image`) cannot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageImage {
    Data {
        /// `image/png` and the like.
        media_type: String,
        base64: Arc<str>,
    },
    Url(String),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    Text {
        text: String,
        native: Option<Box<Native>>,
    },
    Reasoning {
        text: String,
        native: Option<Box<Native>>,
    },
    ToolCall {
        call_id: String,
        name: String,
        input: Value,
        native: Option<Box<Native>>,
    },
    /// A file that the model made. Who cannot take it back reads that there was one.
    File {
        media_type: String,
        base64: Arc<str>,
        native: Option<Box<Native>>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    pub call_id: String,
    pub name: String,
    pub content: Vec<ResultBlock>,
    pub is_error: bool,
}

/// What a model can be shown of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultBlock {
    Text(String),
    Image(MessageImage),
    Document(DocumentFile),
}

/// A file of pages that some services read by themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentFile {
    pub name: String,
    /// `application/pdf`
    pub media_type: String,
    pub base64: Arc<str>,
    /// For all others.
    pub text: String,
}

impl ToolResult {
    /// Its words, without its pictures.
    pub fn text(&self) -> Cow<'_, str> {
        let texts = self.content.iter().filter_map(|block| match block {
            ResultBlock::Text(text) => Some(text.as_str()),
            ResultBlock::Document(document) => Some(document.text.as_str()),
            ResultBlock::Image(_) => None,
        });
        let texts: Vec<&str> = texts.collect();
        match texts[..] {
            [] => Cow::Borrowed(""),
            [text] => Cow::Borrowed(text),
            _ => Cow::Owned(texts.join("\n\n")),
        }
    }

    pub fn images(&self) -> impl Iterator<Item = &MessageImage> {
        self.content.iter().filter_map(|block| match block {
            ResultBlock::Image(image) => Some(image),
            ResultBlock::Text(_) | ResultBlock::Document(_) => None,
        })
    }
}

/// One piece of a model's answer. `block` is the position of the block within the answer, from 0.
/// Blocks never overlap: one ends before the next starts.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// The request failed in a way that may pass, or was refused for something that is left out
    /// now, and is made again after `delay`. Only ever before anything else of the answer.
    Retrying {
        /// The attempt that failed, from 1.
        attempt: u32,
        delay: Duration,
        /// For people.
        why: String,
    },
    TextStart {
        block: u32,
    },
    TextDelta {
        block: u32,
        text: String,
    },
    TextEnd {
        block: u32,
        native: Option<Box<Native>>,
    },
    /// `summary`: the provider shows a summary, not the reasoning itself.
    ReasoningStart {
        block: u32,
        summary: bool,
    },
    ReasoningDelta {
        block: u32,
        text: String,
    },
    /// The next part of a thought begins, a blank line after the one before.
    ReasoningPart {
        block: u32,
    },
    /// A block may end without any text: some providers only show that there was a thought.
    ReasoningEnd {
        block: u32,
        native: Option<Box<Native>>,
    },
    ToolInputStart {
        block: u32,
        call_id: String,
        name: String,
    },
    ToolInputDelta {
        block: u32,
        json: String,
    },
    /// The call is complete; its input is an object.
    ToolCall {
        block: u32,
        call_id: String,
        name: String,
        input: Value,
        native: Option<Box<Native>>,
        /// What is wrong with the arguments the model wrote, for the model to read; the call must
        /// not run. `input` is then `{"arguments": "<as written>"}`.
        problem: Option<String>,
    },
    /// What the model names as the source of what it says. Each address once in an answer.
    Source {
        url: String,
        title: Option<String>,
    },
    /// A whole file that the model made: a picture, mostly.
    File {
        block: u32,
        media_type: String,
        base64: Arc<str>,
        native: Option<Box<Native>>,
    },
    /// Something without a meaning for us, kept for those who want it raw.
    Raw(Value),
    /// Always the last part of a good stream.
    Finish {
        stop: StopCause,
        usage: ModelUsage,
    },
}

/// How a model ends its answer; that a turn was stopped (`vocabulary::StopReason`) it cannot say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopCause {
    Stop,
    ToolUse,
    Length,
}

/// As a provider counts it; with its cost it is a `vocabulary::Usage`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelUsage {
    /// Everything the model read, cached or not.
    pub input_tokens: u64,
    /// Everything it wrote, reasoning included.
    pub output_tokens: u64,
    /// Of the input: read from the provider's cache.
    pub cached_tokens: u64,
    /// Of the input: written to the provider's cache.
    pub cache_write_tokens: u64,
    /// Of the output: reasoning.
    pub reasoning_tokens: u64,
    /// What the provider itself says that it cost; a list of prices knows less.
    pub cost_micro_dollars: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ProviderError {
    pub kind: ErrorKind,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// For people: what went wrong and what to do. Never a key.
    pub message: String,
}

/// What went wrong, for whoever decides what to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// No credential, or one that was not accepted.
    Auth,
    /// Too many requests, for now.
    RateLimited,
    /// The account has no money or quota left.
    Quota,
    /// The service is overloaded or broken, for now.
    Overloaded,
    /// No connection could be made, or it broke before the answer began.
    Unreachable,
    /// The conversation is longer than the model can read.
    ContextTooLong,
    /// The request was not accepted; the same one never will be.
    BadRequest,
    /// There is no such model, or not for this account.
    UnknownModel,
    /// The answer stopped before its end marker.
    CutOff,
    /// Nothing came for too long.
    Stalled,
    /// What came could not be understood.
    Malformed,
    /// The model or its service declined to answer.
    Refused,
    Other,
}

impl ProviderError {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            status: None,
            message: message.into(),
        }
    }

    pub fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }
}

pub type PartStream = BoxStream<'static, Result<Part, ProviderError>>;

/// A model service. Dropping the stream cancels the request and closes its connection.
#[async_trait]
pub trait Provider: Send + Sync + 'static {
    fn id(&self) -> &str;
    /// Starts one request. An error before the first part may come from here or in the stream.
    async fn stream(&self, request: ModelRequest) -> Result<PartStream, ProviderError>;
}
