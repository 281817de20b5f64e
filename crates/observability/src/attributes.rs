//! A span in the words of Langfuse and, for other endpoints, of OpenTelemetry's conventions for
//! generative AI beside them.

use serde_json::{Map, Value, json};
use vocabulary::{Timestamp, Usage};

use crate::otlp::{
    ArrayValue, AttributeValue, KIND_INTERNAL, KeyValue, OtlpSpan, STATUS_ERROR, SpanStatus,
};
use crate::span::{Generation, ObservationKind, SpanProblem, TraceSpan};

/// In which words spans are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeWords {
    Langfuse,
    /// Those, and the `gen_ai.*` ones.
    All,
}

/// What the operator calls this deployment, on every span.
#[derive(Clone, Debug, Default)]
pub struct DeploymentLabels {
    pub environment: Option<String>,
    pub release: Option<String>,
}

impl DeploymentLabels {
    pub fn attributes(&self) -> impl Iterator<Item = KeyValue> {
        let environment = self.environment.as_deref();
        let release = self.release.as_deref();
        let environment = environment.map(|text| KeyValue::new("langfuse.environment", text));
        let release = release.map(|text| KeyValue::new("langfuse.release", text));
        environment.into_iter().chain(release)
    }
}

/// `clean` takes out what no span may contain.
pub fn told(
    span: &TraceSpan,
    labels: &DeploymentLabels,
    words: AttributeWords,
    clean: &dyn Fn(&str) -> String,
) -> OtlpSpan {
    let mut attributes = Vec::new();
    add_trace(&mut attributes, span, labels);
    add_observation(&mut attributes, span, clean);
    if words == AttributeWords::All {
        add_conventions(&mut attributes, span);
    }
    let error = match &span.problem {
        Some(SpanProblem::Error(message)) => Some(clean(message)),
        Some(SpanProblem::Warning(_)) | None => None,
    };
    OtlpSpan {
        trace_id: span.trace.id.0.to_vec(),
        span_id: span.id.0.to_vec(),
        parent_span_id: span.parent.map(|id| id.0.to_vec()).unwrap_or_default(),
        name: span.name.clone(),
        kind: KIND_INTERNAL,
        start_time_unix_nano: nanos(span.started_ms),
        end_time_unix_nano: nanos(span.ended_ms.max(span.started_ms)),
        attributes,
        status: error.map(|message| SpanStatus {
            message,
            code: STATUS_ERROR,
        }),
    }
}

fn nanos(millis: i64) -> u64 {
    u64::try_from(millis).unwrap_or_default() * 1_000_000
}

/// What all spans of a trace have.
fn add_trace(to: &mut Vec<KeyValue>, span: &TraceSpan, labels: &DeploymentLabels) {
    let trace = &span.trace;
    if let Some(user) = &trace.user {
        to.push(KeyValue::new("user.id", user.as_str()));
    }
    to.push(KeyValue::new("session.id", trace.session.as_str()));
    for (name, value) in &trace.metadata {
        let key = format!("langfuse.trace.metadata.{name}");
        to.push(KeyValue::new(key, value.to_string()));
    }
    let tags = trace.tags.iter();
    let values = tags.map(|tag| AttributeValue::from(tag.as_str()).into());
    let tags = AttributeValue::Array(ArrayValue {
        values: values.collect(),
    });
    to.push(KeyValue::new("langfuse.trace.tags", tags));
    to.push(KeyValue::new("langfuse.trace.name", trace.name));
    if span.parent.is_none() {
        let root = AttributeValue::Bool(true);
        to.push(KeyValue::new("langfuse.internal.is_app_root", root));
    }
    to.extend(labels.attributes());
}

fn add_observation(to: &mut Vec<KeyValue>, span: &TraceSpan, clean: &dyn Fn(&str) -> String) {
    let mut add = |name: &str, value: String| {
        let key = format!("langfuse.observation.{name}");
        to.push(KeyValue::new(key, value));
    };
    add("input", clean(&span.input));
    add("output", clean(&span.output));
    match &span.kind {
        ObservationKind::Agent => add("type", "agent".to_owned()),
        ObservationKind::Tool { .. } => add("type", "tool".to_owned()),
        ObservationKind::Generation(generation) => {
            add("type", "generation".to_owned());
            add("model.name", generation.model.clone());
            add("model.parameters", generation.parameters.to_string());
            if let Some(usage) = generation.usage {
                add("usage_details", usage_details(usage).to_string());
                if let Some(cost) = usage.cost_micro_dollars {
                    let dollars = cost as f64 / 1e6;
                    add("cost_details", json!({ "total": dollars }).to_string());
                }
            }
            if let Some(at) = generation.first_part_ms {
                let at = Value::from(Timestamp(at).iso());
                add("completion_start_time", at.to_string());
            }
        }
    }
    let (level, message) = match &span.problem {
        Some(SpanProblem::Error(message)) => ("ERROR", message),
        Some(SpanProblem::Warning(message)) => ("WARNING", message),
        None => return,
    };
    add("level", level.to_owned());
    add("status_message", clean(message));
}

/// Each token once: Langfuse adds them up.
fn usage_details(usage: Usage) -> Value {
    let mut details = Map::new();
    let input = usage.input_tokens.saturating_sub(usage.cached_tokens);
    let output = usage.output_tokens.saturating_sub(usage.reasoning_tokens);
    details.insert("input".to_owned(), input.into());
    details.insert("output".to_owned(), output.into());
    for (name, count) in [
        ("cache_read_input_tokens", usage.cached_tokens),
        ("output_reasoning_tokens", usage.reasoning_tokens),
    ] {
        if count > 0 {
            details.insert(name.to_owned(), count.into());
        }
    }
    Value::Object(details)
}

/// OpenTelemetry's semantic conventions for generative AI.
fn add_conventions(to: &mut Vec<KeyValue>, span: &TraceSpan) {
    let mut add = |key: &str, value: AttributeValue| to.push(KeyValue::new(key, value));
    add("gen_ai.conversation.id", span.trace.session.as_str().into());
    match &span.kind {
        ObservationKind::Agent => {
            add("gen_ai.operation.name", "invoke_agent".into());
            add("gen_ai.agent.name", "dragoman".into());
        }
        ObservationKind::Tool { call_id } => {
            add("gen_ai.operation.name", "execute_tool".into());
            add("gen_ai.tool.name", span.name.as_str().into());
            add("gen_ai.tool.call.id", call_id.as_str().into());
        }
        ObservationKind::Generation(generation) => {
            add("gen_ai.operation.name", "chat".into());
            add_request(&mut add, generation);
        }
    }
    if matches!(span.problem, Some(SpanProblem::Error(_))) {
        add("error.type", "_OTHER".into());
    }
}

fn add_request(add: &mut dyn FnMut(&str, AttributeValue), generation: &Generation) {
    add("gen_ai.provider.name", generation.provider.as_str().into());
    add("gen_ai.request.model", generation.model.as_str().into());
    let count = |number: u64| AttributeValue::Int(i64::try_from(number).unwrap_or(i64::MAX));
    if let Some(most) = generation.parameters["max_tokens"].as_u64() {
        add("gen_ai.request.max_tokens", count(most));
    }
    if let Some(usage) = generation.usage {
        add("gen_ai.usage.input_tokens", count(usage.input_tokens));
        add("gen_ai.usage.output_tokens", count(usage.output_tokens));
    }
}
