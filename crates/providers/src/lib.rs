//! Talks to model APIs: one request in, a stream of parts out; holds the scripted rehearsal model.
//!
//! A provider knows neither threads nor clients. Parts of one block never interleave out of order:
//! a block is started, grows, and is ended, and a tool call is complete when it is told.

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use serde_json::Value;
use thiserror::Error;

pub mod catalog;
pub mod rehearsal;

/// What a model is asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub model: String,
    pub system: String,
    pub messages: Vec<Message>,
    pub tools: Vec<ToolSpec>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON Schema of the input.
    pub parameters: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    User(String),
    Assistant(Vec<Block>),
    /// Results of the calls of the assistant message before it.
    ToolResults(Vec<ToolResult>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    Text(String),
    Reasoning(String),
    ToolCall {
        call_id: String,
        name: String,
        input: Value,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    pub call_id: String,
    pub name: String,
    pub text: String,
    pub is_error: bool,
}

/// One piece of a model's answer. `block` is the position of the block within the answer, from 0.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    TextStart {
        block: u32,
    },
    TextDelta {
        block: u32,
        text: String,
    },
    TextEnd {
        block: u32,
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
    ReasoningEnd {
        block: u32,
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
    /// The call is complete; its input is valid JSON.
    ToolCall {
        block: u32,
        call_id: String,
        name: String,
        input: Value,
    },
    /// Something without a meaning for us, kept for those who want it raw.
    Raw(Value),
    /// Always the last part of a good stream.
    Finish {
        stop: Stop,
        usage: Usage,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    Stop,
    ToolUse,
    Length,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cached_tokens: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ProviderError {
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// For people: what went wrong and what to do. Never a key.
    pub message: String,
}

/// A model service. Dropping the stream cancels the request.
#[async_trait]
pub trait Provider: Send + Sync + 'static {
    fn id(&self) -> &str;
    /// Starts one request. An error before the first part comes from here, a later one in the stream.
    async fn stream(
        &self,
        request: Request,
    ) -> Result<BoxStream<'static, Result<Part, ProviderError>>, ProviderError>;
}
