//! A service that fails on purpose, and judges how we bear it.

use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};
use testkit::peer::Llmock;

use crate::{ANTHROPIC, CHAT, GEMINI, KEY, RESPONSES, Service, Site};

const LIMIT: Duration = Duration::from_secs(110);

/// Chunks before a fault: fewer than an answer of eight words has in any format.
const FEW: usize = 2;

#[test]
fn the_judge_passes_us_over_responses() {
    crate::tell(LIMIT, judged(&RESPONSES, |judge| judge.url("/v1")));
}

#[test]
fn the_judge_passes_us_over_chat_completions() {
    crate::tell(LIMIT, judged(&CHAT, |judge| judge.url("/v1")));
}

#[test]
fn the_judge_passes_us_over_messages() {
    crate::tell(
        LIMIT,
        judged(&ANTHROPIC, |judge| judge.url("/anthropic/v1")),
    );
}

#[test]
fn the_judge_passes_us_over_gemini() {
    crate::tell(LIMIT, judged(&GEMINI, |judge| judge.url("/gemini/v1beta")));
}

/// What befalls a turn, and whether it can be borne.
struct Trial {
    name: &'static str,
    fault: Value,
    outcome: &'static str,
}

fn trials() -> Vec<Trial> {
    let trial = |name, mut fault: Value, outcome| {
        // Only steps of turns offer tools: a title must not use a fault up.
        fault["match"] = json!({ "tools": true });
        Trial {
            name,
            fault,
            outcome,
        }
    };
    let cut = |kind: &str, after: usize| json!({ "type": "stream_fault", "kind": kind, "after_chunks": after });
    vec![
        trial(
            "too many requests, twice",
            json!({ "type": "fail", "status": 429, "retry_after": 0.7, "times": 2 }),
            "completed",
        ),
        trial(
            "broken three times, without a word of when to come again",
            json!({ "type": "fail", "status": 500, "times": 3 }),
            "completed",
        ),
        trial(
            "overloaded",
            json!({ "type": "fail", "status": 529, "retry_after": 0.3 }),
            "completed",
        ),
        trial(
            "an answer that never begins",
            cut("truncate", 0),
            "completed",
        ),
        trial("half an answer", cut("truncate", FEW), "completed"),
        trial(
            "a connection that breaks",
            cut("disconnect", FEW),
            "completed",
        ),
        trial(
            "a chunk that is no JSON",
            cut("malformed", FEW),
            "completed",
        ),
        trial(
            "a first word that takes its time",
            json!({ "type": "slow_first_token", "seconds": 1.5 }),
            "completed",
        ),
        trial(
            "arguments that are half an object",
            json!({ "type": "tool_fault", "kind": "malformed_arguments" }),
            "completed",
        ),
        trial(
            "a tool that nobody offered",
            json!({ "type": "tool_fault", "kind": "unknown_tool" }),
            "completed",
        ),
        trial(
            "a request that is refused",
            json!({ "type": "fail", "status": 400 }),
            "error",
        ),
        trial(
            "a key that is refused",
            json!({ "type": "fail", "status": 401 }),
            "error",
        ),
        trial(
            "an outage that does not end",
            json!({ "type": "fail", "status": 503, "retry_after": 0.05, "times": null }),
            "error",
        ),
    ]
}

async fn judged(service: &Service, url: impl Fn(&Llmock) -> String) -> anyhow::Result<()> {
    let judge = Llmock::start().await?;
    let mut site = Site::open(service, &url(&judge)).await?;
    for trial in trials() {
        judge.queue(&json!([trial.fault])).await?;
        let turn = site.converse(trial.name).await?;
        assert_eq!(turn.outcome(), trial.outcome, "{}", trial.name);
        if trial.outcome == "error" {
            let trouble = turn.trouble()?;
            ensure!(!trouble.contains(KEY), "a key is told: {trouble}");
        } else {
            ensure!(!turn.answer()?.is_empty(), "{}: no answer", trial.name);
        }
        let waiting = judge.pending().await?;
        let lasts = trial.fault["times"].is_null() && trial.fault.get("times").is_some();
        ensure!(
            waiting == usize::from(lasts),
            "{}: the fault did not come about",
            trial.name
        );
    }
    let verdict = judge.verdict().await?;
    ensure!(verdict.passed, "the judge says no: {:#?}", verdict.findings);
    ensure!(
        verdict.findings.is_empty(),
        "the judge warns: {:#?}",
        verdict.findings
    );
    ensure!(verdict.faults_injected >= 14, "{verdict:?}");
    Ok(())
}
