//! The parts of a model stream: what stands in `model_stream_chunk.part`.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::conversation::ReasoningMode;
use crate::content::McpContent;
use crate::cowork::names::{ChunkProvider, ModelName};
use crate::frame::AsText;
use crate::request_id::RequestId;

/// Shared Types: ModelStreamPartType.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartType {
    Start,
    Finish,
    Abort,
    Error,
    StartStep,
    FinishStep,
    TextStart,
    TextDelta,
    TextEnd,
    ReasoningStart,
    ReasoningDelta,
    ReasoningEnd,
    ToolInputStart,
    ToolInputDelta,
    ToolInputEnd,
    ToolCall,
    ToolResult,
    ToolError,
    ToolOutputDenied,
    ToolApprovalRequest,
    Source,
    File,
    Raw,
    Unknown,
}

/// The same names with hyphens, as `rawPart.type` has them.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", remote = "PartType")]
// Never made: serde takes only the names from it.
#[allow(dead_code)]
enum Hyphenated {
    Start,
    Finish,
    Abort,
    Error,
    StartStep,
    FinishStep,
    TextStart,
    TextDelta,
    TextEnd,
    ReasoningStart,
    ReasoningDelta,
    ReasoningEnd,
    ToolInputStart,
    ToolInputDelta,
    ToolInputEnd,
    ToolCall,
    ToolResult,
    ToolError,
    ToolOutputDenied,
    ToolApprovalRequest,
    Source,
    File,
    Raw,
    Unknown,
}

/// `rawPart`: the part again, with its hyphenated type beside its fields.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RawPart<'a> {
    #[serde(rename = "type", with = "Hyphenated")]
    #[schemars(with = "Hyphenated")]
    pub part_type: PartType,
    #[serde(flatten)]
    pub part: Part<'a>,
}

/// The position of a block within its step's answer, spelled `s0`.
#[derive(Clone, Copy, Debug)]
pub struct ContentId(pub u32);

impl fmt::Display for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

/// What stands in `part`, by `partType`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum Part<'a> {
    Start {},
    StartStep {
        step_number: u32,
        request: Request<'a>,
    },
    Finish {
        finish_reason: FinishReason,
        total_usage: Usage,
    },
    FinishStep {
        step_number: u32,
        response: Response,
        usage: Usage,
        finish_reason: FinishReason,
    },
    Abort {
        reason: &'a str,
    },
    Error {
        error: Cow<'a, str>,
    },
    TextStart {
        id: AsText<ContentId>,
    },
    TextDelta {
        id: AsText<ContentId>,
        text: &'a str,
    },
    TextEnd {
        id: AsText<ContentId>,
    },
    ReasoningStart {
        id: AsText<ContentId>,
        mode: ReasoningMode,
    },
    ReasoningDelta {
        id: AsText<ContentId>,
        mode: ReasoningMode,
        text: &'a str,
    },
    ReasoningEnd {
        id: AsText<ContentId>,
        mode: ReasoningMode,
    },
    ToolInputStart {
        id: &'a str,
        tool_name: &'a str,
    },
    ToolInputDelta {
        id: &'a str,
        delta: &'a str,
    },
    ToolInputEnd {
        id: &'a str,
    },
    ToolCall(ToolCallPart<'a>),
    ToolResult {
        tool_call_id: &'a str,
        tool_name: &'a str,
        output: Output<'a>,
    },
    ToolError {
        tool_call_id: &'a str,
        tool_name: &'a str,
        error: Cow<'a, str>,
    },
    ToolOutputDenied {
        tool_call_id: &'a str,
        tool_name: &'a str,
    },
    ToolApprovalRequest {
        approval_id: AsText<RequestId>,
        tool_call: ToolCallPart<'a>,
        /// Again beside it: an addition of ours.
        tool_call_id: &'a str,
        tool_name: &'a str,
    },
    Source {
        id: &'a str,
        source_type: SourceType,
        url: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'a str>,
    },
    File {
        media_type: &'a str,
        base64: &'a str,
    },
    /// Under a key of its own, so that a `type` inside cannot be taken for the part's.
    Raw {
        raw: Cow<'a, Value>,
    },
    /// Something that is not even an object.
    Unknown {
        value: Cow<'a, Value>,
    },
}

impl Part<'_> {
    pub fn part_type(&self) -> PartType {
        match self {
            Part::Start {} => PartType::Start,
            Part::StartStep { .. } => PartType::StartStep,
            Part::Finish { .. } => PartType::Finish,
            Part::FinishStep { .. } => PartType::FinishStep,
            Part::Abort { .. } => PartType::Abort,
            Part::Error { .. } => PartType::Error,
            Part::TextStart { .. } => PartType::TextStart,
            Part::TextDelta { .. } => PartType::TextDelta,
            Part::TextEnd { .. } => PartType::TextEnd,
            Part::ReasoningStart { .. } => PartType::ReasoningStart,
            Part::ReasoningDelta { .. } => PartType::ReasoningDelta,
            Part::ReasoningEnd { .. } => PartType::ReasoningEnd,
            Part::ToolInputStart { .. } => PartType::ToolInputStart,
            Part::ToolInputDelta { .. } => PartType::ToolInputDelta,
            Part::ToolInputEnd { .. } => PartType::ToolInputEnd,
            Part::ToolCall(_) => PartType::ToolCall,
            Part::ToolResult { .. } => PartType::ToolResult,
            Part::ToolError { .. } => PartType::ToolError,
            Part::ToolOutputDenied { .. } => PartType::ToolOutputDenied,
            Part::ToolApprovalRequest { .. } => PartType::ToolApprovalRequest,
            Part::Source { .. } => PartType::Source,
            Part::File { .. } => PartType::File,
            Part::Raw { .. } => PartType::Raw,
            Part::Unknown { .. } => PartType::Unknown,
        }
    }
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SourceType {
    Url,
}

/// A call, as `tool_call` is and `tool_approval_request` has it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallPart<'a> {
    pub tool_call_id: &'a str,
    pub tool_name: &'a str,
    pub input: Cow<'a, Value>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Request<'a> {
    pub model: AsText<ModelName<'a>>,
    pub provider: ChunkProvider,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Response {
    pub stop_reason: FinishReason,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FinishReason {
    Stop,
    ToolUse,
    Length,
    Aborted,
    Error,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    pub prompt_tokens: u64,
    pub completion_tokens: u64,
    pub total_tokens: u64,
}

/// What a tool gave back, as `tool_result.output` shows it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum Output<'a> {
    Text(Cow<'a, str>),
    Command {
        stdout: Cow<'a, str>,
        stderr: Cow<'a, str>,
        exit_code: i32,
    },
    Json(Cow<'a, Value>),
    Content(Vec<McpContent<'a>>),
}

impl<'a> Output<'a> {
    /// As one text: itself, or its JSON.
    pub fn as_text(self) -> Cow<'a, str> {
        match self {
            Output::Text(text) => text,
            Output::Command { .. } | Output::Json(_) | Output::Content(_) => {
                Cow::Owned(crate::frame::frame(&self, 0))
            }
        }
    }
}
