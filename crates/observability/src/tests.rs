//! Delivery by a scripted endpoint in paused time, and what spans are told as.

mod delivery;
mod oracle;

use std::sync::Arc;

use serde_json::json;
use vocabulary::Usage;

use crate::settings::TracingSettings;
use crate::span::{
    Generation, ObservationKind, SpanId, SpanProblem, TraceId, TraceInfo, TraceSpan,
};

fn settings() -> TracingSettings {
    let mut settings = TracingSettings::default();
    settings.langfuse.environment = Some("dev".to_owned());
    settings.langfuse.release = Some("abc123".to_owned());
    settings
}

fn trace() -> Arc<TraceInfo> {
    Arc::new(TraceInfo {
        id: TraceId([7; 16]),
        name: "agent.turn",
        user: Some("user-1".to_owned()),
        session: "sess-1".to_owned(),
        tags: vec!["t1".to_owned()],
        metadata: vec![("k", json!("v"))],
    })
}

fn span(kind: ObservationKind) -> TraceSpan {
    TraceSpan {
        trace: trace(),
        id: SpanId([1; 8]),
        parent: Some(SpanId([9; 8])),
        name: "a span".to_owned(),
        started_ms: 1_000,
        ended_ms: 1_500,
        input: "asked".to_owned(),
        output: "answered".to_owned(),
        problem: None,
        kind,
    }
}

fn root() -> TraceSpan {
    TraceSpan {
        parent: None,
        ..span(ObservationKind::Agent)
    }
}

fn failed_tool() -> TraceSpan {
    TraceSpan {
        problem: Some(SpanProblem::Error("boom".to_owned())),
        ..span(ObservationKind::Tool {
            call_id: "c1".to_owned(),
        })
    }
}

fn generation() -> TraceSpan {
    span(ObservationKind::Generation(Box::new(Generation {
        provider: "openai".to_owned(),
        model: "gpt-5".to_owned(),
        parameters: json!({ "max_tokens": 100 }),
        usage: Some(Usage {
            input_tokens: 14,
            output_tokens: 22,
            cached_tokens: 3,
            reasoning_tokens: 0,
            cost_micro_dollars: Some(1_000),
        }),
        first_part_ms: None,
    })))
}
