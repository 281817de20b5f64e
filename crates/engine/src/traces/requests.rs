//! A request to a model, watched from its beginning to the end of its answer: for metrics always, for
//! the turn's trace where there is one.

use std::sync::Arc;
use std::time::Duration;

use observability::metrics::RequestTiming;
use observability::{Generation, ObservationKind, SpanId, SpanProblem, TraceSpan, cut};
use providers::{Block, ModelRequest, ModelUsage};
use serde_json::Value;
use tokio::time::Instant;
use vocabulary::{ModelRef, Timestamp, ToolCall};

use super::words;
use crate::turn::{Turn, meter};

/// What a request is called in a trace.
const REQUEST: &str = "llm";

pub struct WatchedRequest<'a> {
    turn: &'a Turn,
    model: ModelRef,
    since: Instant,
    since_ms: Timestamp,
    /// When its answer began.
    first_part: Option<Duration>,
    retries: u64,
    traced: Option<TracedRequest>,
}

struct TracedRequest {
    parent: SpanId,
    input: String,
    parameters: Value,
}

/// How the answer to a request ended.
pub enum RequestEnd<'a> {
    Answered(&'a [Block], ModelUsage),
    Failed(&'a [Block], &'a str),
    Cancelled(&'a [Block]),
}

impl<'a> WatchedRequest<'a> {
    /// `whose`: the call that a sub-agent works for, if it is one that asks.
    pub fn begin(
        turn: &'a Turn,
        model: &ModelRef,
        request: &ModelRequest,
        whose: Option<&ToolCall>,
    ) -> Self {
        let traced = turn.trace.as_ref().map(|trace| TracedRequest {
            parent: whose.map_or(trace.root, |call| trace.of_item(&call.item)),
            input: words::asked(request),
            parameters: words::parameters(request),
        });
        Self {
            turn,
            model: model.clone(),
            since: Instant::now(),
            since_ms: turn.shared.now(),
            first_part: None,
            retries: 0,
            traced,
        }
    }

    pub fn retried(&mut self) {
        self.retries += 1;
    }

    pub fn first_part(&mut self) {
        self.first_part = Some(self.since.elapsed());
    }

    pub fn ended(self, end: &RequestEnd<'_>) {
        let shared = &self.turn.shared;
        let timing = RequestTiming {
            first_part: self.first_part,
            whole: self.since.elapsed(),
            failed: matches!(end, RequestEnd::Failed(..)),
            retries: self.retries,
        };
        shared.metrics.requested(&self.model.provider, timing);
        let (Some(traced), Some(trace)) = (self.traced, &self.turn.trace) else {
            return;
        };
        let (blocks, usage, problem) = match end {
            RequestEnd::Answered(blocks, usage) => (blocks, Some(*usage), None),
            RequestEnd::Failed(blocks, why) => (blocks, None, Some(SpanProblem::Error(cut(why)))),
            RequestEnd::Cancelled(blocks) => {
                let cancelled = SpanProblem::Warning("cancelled".to_owned());
                (blocks, None, Some(cancelled))
            }
        };
        let usage = usage.map(|usage| meter::priced(&self.turn.own().models, &self.model, usage));
        let millis = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        let first_part_ms = self.first_part.map(millis);
        trace.exporter.offer(TraceSpan {
            trace: Arc::clone(&trace.info),
            id: trace.next_request(self.since_ms),
            parent: Some(traced.parent),
            name: REQUEST.to_owned(),
            started_ms: self.since_ms.millis(),
            ended_ms: shared.now().millis(),
            input: traced.input,
            output: words::answered(blocks),
            problem,
            kind: ObservationKind::Generation(Box::new(Generation {
                provider: self.model.provider,
                model: self.model.model,
                parameters: traced.parameters,
                usage,
                first_part_ms: first_part_ms.map(|after| self.since_ms.millis() + after),
            })),
        });
    }
}
