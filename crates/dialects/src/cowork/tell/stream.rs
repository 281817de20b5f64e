//! What a model writes: steps, blocks, deltas.

use std::borrow::Cow;

use serde_json::Value;
use vocabulary::{Growth, Item, ModelRef, Opening, ReasoningKind, StopReason, Usage};

use super::chunks::Chunks;
use crate::Frame;
use crate::cowork::names::{spell_speaker, summarises};
use crate::cowork::wire::conversation::ReasoningMode;
use crate::cowork::wire::part::{
    ContentId, FinishReason, Part, Request, Response, SourceType, Usage as WireUsage,
};
use crate::frame::AsText;

pub fn step_started(chunks: Chunks<'_>) -> Vec<Frame> {
    vec![
        chunks.first(start_step(chunks)),
        chunks.second(Part::Start {}),
    ]
}

/// What came of an answer that broke off counts no more: clients throw it away where a new one starts.
pub fn step_restarted(chunks: Chunks<'_>) -> Vec<Frame> {
    let ended = finish_step(chunks, FinishReason::Error, Usage::default());
    vec![
        chunks.first(ended),
        chunks.second(start_step(chunks)),
        chunks.third(Part::Start {}),
    ]
}

fn start_step(chunks: Chunks<'_>) -> Part<'_> {
    let (provider, model) = spell_speaker(chunks.tag.model.as_deref());
    Part::StartStep {
        step_number: chunks.tag.step,
        request: Request {
            model: AsText(model),
            provider,
        },
    }
}

pub fn step_finished(chunks: Chunks<'_>, reason: StopReason, usage: Usage) -> Vec<Frame> {
    let finish = Part::Finish {
        finish_reason: finish_reason(reason),
        total_usage: wire_usage(usage),
    };
    vec![
        chunks.first(finish),
        chunks.second(finish_step(chunks, finish_reason(reason), usage)),
    ]
}

/// A step that was cut off: by a cancel, or by the provider.
pub fn step_failed(chunks: Chunks<'_>, reason: StopReason, error: &str) -> Vec<Frame> {
    let (part, reason) = match reason {
        StopReason::Aborted => {
            let reason = "cancelled";
            (Part::Abort { reason }, FinishReason::Aborted)
        }
        StopReason::Error | StopReason::Stop | StopReason::ToolUse | StopReason::Length => {
            let error = Cow::Borrowed(error);
            (Part::Error { error }, FinishReason::Error)
        }
    };
    vec![
        chunks.first(part),
        chunks.second(finish_step(chunks, reason, Usage::default())),
    ]
}

fn finish_step<'a>(chunks: Chunks<'_>, reason: FinishReason, usage: Usage) -> Part<'a> {
    Part::FinishStep {
        step_number: chunks.tag.step,
        response: Response {
            stop_reason: reason,
        },
        usage: wire_usage(usage),
        finish_reason: reason,
    }
}

pub fn started(chunks: Chunks<'_>, content: u32, opening: &Opening) -> Vec<Frame> {
    let id = AsText(ContentId(content));
    let model = chunks.tag.model.as_deref();
    vec![chunks.first(match opening {
        Opening::Text | Opening::Plan => Part::TextStart { id },
        Opening::Reasoning(kind) => Part::ReasoningStart {
            id,
            mode: reasoning_mode(*kind, model),
        },
        Opening::ToolInput { call_id, name } => Part::ToolInputStart {
            id: call_id,
            tool_name: name,
        },
    })]
}

/// The hot path: written from what the event holds, into memory taken once.
pub fn grew(chunks: Chunks<'_>, content: u32, growth: &Growth, delta: &str) -> Vec<Frame> {
    let id = AsText(ContentId(content));
    let part = match growth {
        Growth::Text | Growth::Plan => Part::TextDelta { id, text: delta },
        Growth::Reasoning { kind, .. } | Growth::ReasoningPart { kind, .. } => {
            Part::ReasoningDelta {
                id,
                mode: reasoning_mode(*kind, chunks.tag.model.as_deref()),
                text: delta,
            }
        }
        Growth::ToolInput { call_id } => Part::ToolInputDelta { id: call_id, delta },
    };
    vec![chunks.delta(part, delta.len())]
}

pub fn finished(chunks: Chunks<'_>, content: u32, body: &Item) -> Vec<Frame> {
    let id = AsText(ContentId(content));
    vec![chunks.first(match body {
        // What was found is said in words, too.
        Item::ReviewEntered { .. } | Item::ReviewExited { .. } => return Vec::new(),
        Item::AgentMessage { .. } | Item::Plan { .. } => Part::TextEnd { id },
        Item::Reasoning { kind, .. } => Part::ReasoningEnd {
            id,
            mode: reasoning_mode(*kind, chunks.tag.model.as_deref()),
        },
        Item::File {
            media_type, base64, ..
        } => Part::File { media_type, base64 },
    })]
}

/// A page that the model names; its address is also its id.
pub fn cited(chunks: Chunks<'_>, url: &str, title: Option<&str>) -> Vec<Frame> {
    vec![chunks.first(Part::Source {
        id: url,
        source_type: SourceType::Url,
        url,
        title,
    })]
}

/// An event of the provider without a meaning of its own; one that is no object is unknown altogether.
pub fn raw(chunks: Chunks<'_>, value: &Value) -> Vec<Frame> {
    let is_object = value.is_object();
    let value = Cow::Borrowed(value);
    vec![chunks.first(match is_object {
        true => Part::Raw { raw: value },
        false => Part::Unknown { value },
    })]
}

/// Clients know summaries from OpenAI alone; what others tell of their thoughts is reasoning to them.
pub fn reasoning_mode(kind: ReasoningKind, model: Option<&ModelRef>) -> ReasoningMode {
    match kind {
        ReasoningKind::Summary if summarises(model) => ReasoningMode::Summary,
        ReasoningKind::Summary | ReasoningKind::Reasoning => ReasoningMode::Reasoning,
    }
}

pub fn wire_usage(usage: Usage) -> WireUsage {
    WireUsage {
        prompt_tokens: usage.input_tokens,
        completion_tokens: usage.output_tokens,
        total_tokens: usage.total_tokens(),
    }
}

fn finish_reason(reason: StopReason) -> FinishReason {
    match reason {
        StopReason::Stop => FinishReason::Stop,
        StopReason::ToolUse => FinishReason::ToolUse,
        StopReason::Length => FinishReason::Length,
        StopReason::Aborted => FinishReason::Aborted,
        StopReason::Error => FinishReason::Error,
    }
}
