//! What is written out, line by line.

use vocabulary::TurnError;

use super::*;
use crate::limits::LABELS_MAX;

fn written(metrics: &Metrics) -> String {
    let mut out = MetricsText::default();
    metrics.write(&mut out);
    out.into_string()
}

fn has(text: &str, line: &str) {
    assert!(
        text.lines().any(|each| each == line),
        "no {line} in\n{text}"
    );
}

#[test]
fn turns_are_counted_by_how_they_ended() {
    let metrics = Metrics::default();
    metrics.turn_ended(&TurnOutcome::Completed);
    metrics.turn_ended(&TurnOutcome::Completed);
    metrics.turn_ended(&TurnOutcome::Failed(TurnError {
        kind: TurnErrorKind::AgentLost,
        message: String::new(),
    }));
    let text = written(&metrics);
    has(
        &text,
        r#"dragoman_turns_total{outcome="completed",reason=""} 2"#,
    );
    has(
        &text,
        r#"dragoman_turns_total{outcome="cancelled",reason=""} 0"#,
    );
    has(
        &text,
        r#"dragoman_turns_total{outcome="failed",reason="agent_lost"} 1"#,
    );
}

#[test]
fn a_histogram_counts_up_to_each_end() {
    let metrics = Metrics::default();
    for millis in [1, 3, 700, 1_000_000] {
        metrics.append_time.observe(Duration::from_millis(millis));
    }
    let text = written(&metrics);
    has(
        &text,
        r#"dragoman_store_append_seconds_bucket{le="0.0005"} 0"#,
    );
    has(
        &text,
        r#"dragoman_store_append_seconds_bucket{le="0.001"} 1"#,
    );
    has(
        &text,
        r#"dragoman_store_append_seconds_bucket{le="0.005"} 2"#,
    );
    has(&text, r#"dragoman_store_append_seconds_bucket{le="300"} 3"#);
    has(
        &text,
        r#"dragoman_store_append_seconds_bucket{le="+Inf"} 4"#,
    );
    has(&text, "dragoman_store_append_seconds_sum 1000.704");
    has(&text, "dragoman_store_append_seconds_count 4");
}

#[test]
fn models_past_the_limit_are_counted_together_and_names_are_escaped() {
    let metrics = Metrics::default();
    let usage = Usage {
        input_tokens: 3,
        cost_micro_dollars: Some(250_000),
        ..Usage::default()
    };
    let model = |model: &str| ModelRef {
        provider: "p".to_owned(),
        model: model.to_owned(),
    };
    metrics.spent(&model("a\"b\n"), usage);
    for number in 0..LABELS_MAX + 5 {
        metrics.spent(&model(&number.to_string()), usage);
    }
    metrics.spent(&model("0"), usage);
    let text = written(&metrics);
    has(
        &text,
        r#"dragoman_model_tokens_total{provider="p",model="a\"b\n",kind="input"} 3"#,
    );
    has(
        &text,
        r#"dragoman_model_cost_dollars_total{provider="p",model="0"} 0.5"#,
    );
    has(
        &text,
        r#"dragoman_model_tokens_total{provider="other",model="other",kind="input"} 18"#,
    );
}

#[test]
fn requests_are_timed_by_provider() {
    let metrics = Metrics::default();
    let timing = RequestTiming {
        first_part: None,
        whole: Duration::from_secs(2),
        failed: true,
        retries: 2,
    };
    metrics.requested("openai", timing);
    let first_part = Some(Duration::from_millis(40));
    metrics.requested(
        "openai",
        RequestTiming {
            first_part,
            failed: false,
            ..timing
        },
    );
    let text = written(&metrics);
    has(
        &text,
        r#"dragoman_provider_first_part_seconds_count{provider="openai"} 1"#,
    );
    has(
        &text,
        r#"dragoman_provider_request_seconds_count{provider="openai"} 2"#,
    );
    has(
        &text,
        r#"dragoman_provider_failures_total{provider="openai"} 1"#,
    );
    has(
        &text,
        r#"dragoman_provider_retries_total{provider="openai"} 4"#,
    );
}
