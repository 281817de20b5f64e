//! The formats on captured streams, on streams as they might come, and on any bytes.

#![allow(clippy::unwrap_used)]

mod answer_style;
mod captures;
mod compatible;
mod decode;
mod documents;
mod encode;
mod failure;
mod free_text;
mod golden;
mod history;
mod journey;
mod listing;
mod omitted;
mod output;
mod pictures;
mod properties;
mod responses;
mod services;
mod sources;
mod stops;
mod think_tags;
mod thinking;
mod trouble;

use serde_json::Value;
use vocabulary::{Native, PART_BREAK};

use super::{Outgoing, RequestTarget, SseEvent, Wire};
use crate::{ModelRequest, ModelUsage, Part, ProviderError, StopCause};

/// What calls without an id are named after.
const SEED: &str = "seed";

fn model(wire: Wire) -> &'static str {
    match wire {
        Wire::Responses | Wire::Chat => "gpt-5",
        Wire::Messages => "claude-sonnet-4-5",
        Wire::Gemini => "gemini-2.5-pro",
    }
}

fn origin(wire: Wire, model: &str) -> String {
    RequestTarget::unknown(model).origin(wire)
}

/// A request to a model of which nothing is known.
fn encoded(wire: Wire, request: &ModelRequest) -> Outgoing {
    wire.encode(request, &RequestTarget::unknown(&request.model))
}

/// The events of a stream as (event, data). What is not ended by an empty line is not an event.
fn events(body: &str) -> Vec<(Option<String>, String)> {
    let mut events = Vec::new();
    let (mut event, mut data) = (None, Vec::new());
    for line in body.split_inclusive('\n') {
        let Some(line) = line.strip_suffix('\n') else {
            break;
        };
        if let Some(name) = line.strip_prefix("event:") {
            event = Some(name.trim().to_owned());
        } else if let Some(text) = line.strip_prefix("data:") {
            data.push(text.strip_prefix(' ').unwrap_or(text).to_owned());
        } else if line.is_empty() && !data.is_empty() {
            events.push((event.take(), std::mem::take(&mut data).join("\n")));
        }
    }
    events
}

/// Everything a stream says, and how it ends.
fn decode(
    wire: Wire,
    events: &[(Option<String>, String)],
) -> (Vec<Part>, Result<(), ProviderError>) {
    let mut decoder = wire.decoder(&RequestTarget::unknown(model(wire)), SEED);
    let mut parts = Vec::new();
    for (event, data) in events {
        let event = SseEvent {
            event: event.as_deref(),
            data,
        };
        if let Err(error) = decoder.push(event, &mut parts) {
            return (parts, Err(error));
        }
    }
    let end = decoder.end(&mut parts);
    (parts, end)
}

/// A stream of data without event names.
fn decode_data(wire: Wire, data: &[Value]) -> (Vec<Part>, Result<(), ProviderError>) {
    let events: Vec<_> = data.iter().map(|data| (None, data.to_string())).collect();
    decode(wire, &events)
}

fn native(wire: Wire, value: Value) -> Option<Box<Native>> {
    Some(super::native(&origin(wire, model(wire)), value))
}

fn text(block: u32, pieces: &[&str]) -> Vec<Part> {
    let mut parts = open_text(block, pieces);
    parts.push(Part::TextEnd {
        block,
        native: None,
    });
    parts
}

/// A text that was never ended.
fn open_text(block: u32, pieces: &[&str]) -> Vec<Part> {
    let deltas = pieces.iter().map(|piece| Part::TextDelta {
        block,
        text: (*piece).to_owned(),
    });
    [Part::TextStart { block }]
        .into_iter()
        .chain(deltas)
        .collect()
}

fn thought(block: u32, summary: bool, pieces: &[&str], native: Option<Box<Native>>) -> Vec<Part> {
    let mut parts = vec![Part::ReasoningStart { block, summary }];
    parts.extend(pieces.iter().map(|piece| match *piece {
        PART_BREAK => Part::ReasoningPart { block },
        piece => Part::ReasoningDelta {
            block,
            text: piece.to_owned(),
        },
    }));
    parts.push(Part::ReasoningEnd { block, native });
    parts
}

/// A call whose pieces are together its input.
fn call(
    block: u32,
    call_id: &str,
    name: &str,
    pieces: &[&str],
    native: Option<Box<Native>>,
) -> Vec<Part> {
    let input = serde_json::from_str(&pieces.concat()).unwrap();
    let mut parts = open_call(block, call_id, name, pieces);
    parts.push(Part::ToolCall {
        block,
        call_id: call_id.to_owned(),
        name: name.to_owned(),
        input,
        native,
        problem: None,
    });
    parts
}

fn open_call(block: u32, call_id: &str, name: &str, pieces: &[&str]) -> Vec<Part> {
    let mut parts = vec![Part::ToolInputStart {
        block,
        call_id: call_id.to_owned(),
        name: name.to_owned(),
    }];
    parts.extend(pieces.iter().map(|piece| Part::ToolInputDelta {
        block,
        json: (*piece).to_owned(),
    }));
    parts
}

fn finish(stop: StopCause, input_tokens: u64, output_tokens: u64) -> Vec<Part> {
    let usage = ModelUsage {
        input_tokens,
        output_tokens,
        ..ModelUsage::default()
    };
    vec![Part::Finish { stop, usage }]
}
