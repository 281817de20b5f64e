//! Spans: what a turn, a model request or a call was, with its beginning and its end.

use std::sync::Arc;

use serde_json::Value;
use vocabulary::Usage;

use crate::limits::TEXT_BYTES_MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceId(pub [u8; 16]);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanId(pub [u8; 8]);

/// What all spans of one trace say.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceInfo {
    pub id: TraceId,
    pub name: &'static str,
    /// Who started the turn.
    pub user: Option<String>,
    /// The thread.
    pub session: String,
    pub tags: Vec<String>,
    pub metadata: Vec<(&'static str, Value)>,
}

/// Something that began and ended. Its texts are what people, models and tools said: they go to the
/// endpoint that the operator configured, and nowhere else.
#[derive(Clone, PartialEq)]
pub struct TraceSpan {
    pub trace: Arc<TraceInfo>,
    pub id: SpanId,
    /// None: it is the trace's root.
    pub parent: Option<SpanId>,
    pub name: String,
    pub started_ms: i64,
    pub ended_ms: i64,
    pub input: String,
    pub output: String,
    pub problem: Option<SpanProblem>,
    pub kind: ObservationKind,
}

/// What it was, in Langfuse's words.
#[derive(Clone, PartialEq)]
pub enum ObservationKind {
    Agent,
    Generation(Box<Generation>),
    Tool { call_id: String },
}

/// A request to a model.
#[derive(Clone, PartialEq)]
pub struct Generation {
    pub provider: String,
    pub model: String,
    /// An object.
    pub parameters: Value,
    /// Where the answer came to its end.
    pub usage: Option<Usage>,
    /// When the first part of the answer came.
    pub first_part_ms: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpanProblem {
    /// It failed.
    Error(String),
    /// It was not to be: denied, cancelled, interrupted.
    Warning(String),
}

impl TraceSpan {
    /// How much room it takes while it waits.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.name.len() + self.input.len() + self.output.len()
    }
}

/// A text within its limit, with a note of what was cut.
pub fn cut(text: &str) -> String {
    if text.len() <= TEXT_BYTES_MAX {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(TEXT_BYTES_MAX);
    format!("{}\n[cut: {end} of {} bytes]", &text[..end], text.len())
}
