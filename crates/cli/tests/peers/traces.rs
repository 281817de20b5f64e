//! Traces of real turns, received by the types that OpenTelemetry itself gives away, beside what
//! Langfuse's own SDK sent.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::peer::{Aimock, OtlpReceiver};

use crate::{RESPONSES, Site};

const LIMIT: Duration = Duration::from_secs(120);
const ORACLE: &str =
    include_str!("../../../observability/tests/data/langfuse-python-5.0.4.spans.jsonl");
const LANGFUSE: &str = "/api/public/otel/v1/traces";
const OTLP: &str = "/v1/traces";
const SECRET: &str = "sk-lf-planted-0123456789";

/// The model reads a file that is not there, and says so; later it only speaks.
fn script() -> Value {
    let usage = json!({ "prompt_tokens": 1000, "completion_tokens": 20 });
    json!([
        {
            "match": { "userMessage": "What is in it", "hasToolResult": false },
            "response": {
                "toolCalls": [{ "name": "read", "arguments": { "filePath": "missing.txt" } }],
                "usage": usage,
            },
        },
        {
            "match": { "userMessage": "What is in it" },
            "response": { "content": "It is not there.", "usage": usage },
        },
        {
            "match": { "userMessage": "And now" },
            "response": { "content": "Still not.", "usage": usage },
        },
    ])
}

/// The names of attributes; what metadata is called is everyone's own matter.
fn names(attributes: &Value) -> BTreeSet<String> {
    let general = |name: &String| match name.starts_with("langfuse.trace.metadata.") {
        true => "langfuse.trace.metadata.*".to_owned(),
        false => name.clone(),
    };
    let object = attributes.as_object().into_iter();
    object
        .flat_map(|object| object.keys())
        .map(general)
        .collect()
}

fn oracle(kind: &str) -> anyhow::Result<Value> {
    let mut spans = ORACLE.lines().map(serde_json::from_str::<Value>);
    let is = |span: &Value| span["attrs"]["langfuse.observation.type"] == kind;
    let found = spans.find(|span| span.as_ref().is_ok_and(is));
    Ok(found.context("no such span")??)
}

fn of_kind<'a>(spans: &'a [Value], kind: &str) -> Vec<&'a Value> {
    let is = |span: &&Value| span["attrs"]["langfuse.observation.type"] == kind;
    spans.iter().filter(is).collect()
}

fn compare(spans: &[Value]) -> anyhow::Result<()> {
    for (kind, count) in [("agent", 1), ("generation", 2), ("tool", 1)] {
        let (ours, theirs) = (of_kind(spans, kind), oracle(kind)?);
        ensure!(ours.len() == count, "{kind}: {spans:#?}");
        let mut expected = names(&theirs["attrs"]);
        if kind == "generation" {
            // Theirs was not streamed.
            expected.insert("langfuse.observation.completion_start_time".to_owned());
        }
        for span in ours {
            let found = names(&span["attrs"]);
            ensure!(found == expected, "{kind}: {found:?} is not {expected:?}");
            ensure!(
                names(&span["resource"]) == names(&theirs["resource"]),
                "{span:#}"
            );
            ensure!(span["kind"] == theirs["kind"] && span["status"] == theirs["status"]);
            ensure!(
                (span["parent"] == "") == (theirs["parent"] == ""),
                "{span:#}"
            );
            let types = |span: &Value| {
                let kind =
                    |value: &Value| (value.is_string(), value.is_array(), value.is_boolean());
                let pairs = span["attrs"].as_object().into_iter().flatten();
                let own = |(name, _): &(&String, &Value)| {
                    !name.contains("metadata") && !name.contains("completion_start")
                };
                pairs
                    .filter(own)
                    .map(|(name, value)| (name.clone(), kind(value)))
                    .collect()
            };
            let (found, expected): (BTreeSet<_>, BTreeSet<_>) = (types(span), types(&theirs));
            ensure!(found == expected, "{found:?} is not {expected:?}");
        }
    }
    ensure!(
        !serde_json::to_string(spans)?.contains(SECRET),
        "a secret was sent"
    );
    Ok(())
}

fn check_headers(span: &Value) -> anyhow::Result<()> {
    let theirs: Value = serde_json::from_str(ORACLE.lines().next().context("no oracle")?)?;
    let headers = &span["headers"];
    ensure!(headers["content-type"] == theirs["content_type"]);
    ensure!(headers["content-encoding"] == theirs["encoding"]);
    for name in names(&theirs["headers"]) {
        ensure!(headers[&name].is_string(), "no {name} in {headers}");
    }
    let version = "x-langfuse-ingestion-version";
    ensure!(headers[version] == theirs["headers"][version]);
    let basic = headers["authorization"].as_str().unwrap_or_default();
    ensure!(basic.starts_with("Basic "), "{basic}");
    Ok(())
}

#[test]
fn a_turn_is_traced_as_langfuse_knows_it_and_an_endpoint_that_is_away_hurts_nobody() {
    crate::tell(LIMIT, async {
        let aimock = Aimock::start(&script()).await?;
        let receiver = OtlpReceiver::start().await?;
        let (url, port) = (receiver.url(), receiver.port());
        let variables = [
            ("LANGFUSE_BASE_URL", url.as_str()),
            ("LANGFUSE_PUBLIC_KEY", "pk-lf-kit"),
            ("LANGFUSE_SECRET_KEY", SECRET),
            ("LANGFUSE_TRACING_ENVIRONMENT", "dev"),
            ("LANGFUSE_RELEASE", "abc123"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()),
            ("OTEL_BSP_SCHEDULE_DELAY", "50"),
        ];
        let model = format!("http://127.0.0.1:{}/v1", aimock.port());
        let mut site = Site::open_with(&RESPONSES, &model, &variables).await?;
        let greeting = site.turn(0)?;
        let status = greeting.of_type("observability_status");
        let status = status.first().context("no status")?;
        ensure!(status["health"]["status"] == "ready", "{status}");
        ensure!(status["config"]["configured"] == true, "{status}");
        ensure!(!status.to_string().contains(SECRET));

        let turn = site.converse("What is in it?").await?;
        ensure!(turn.answer()? == "It is not there.");
        let spans = receiver.spans(LANGFUSE, 1).await?;
        compare(&spans)?;
        check_headers(&spans[0])?;
        let beside = receiver.spans(OTLP, 1).await?;
        ensure!(beside.len() == spans.len(), "{beside:#?}");
        let chat = of_kind(&beside, "generation");
        ensure!(
            chat[0]["attrs"]["gen_ai.operation.name"] == "chat",
            "{chat:#?}"
        );

        receiver.kill().await?;
        let since = Instant::now();
        let turn = site.converse("And now?").await?;
        ensure!(turn.answer()? == "Still not.");
        ensure!(
            since.elapsed() < Duration::from_secs(10),
            "{:?}",
            since.elapsed()
        );
        let client = &mut site.visitor.client;
        let degraded = |frame: &Value| frame["health"]["reason"] == "export_failed";
        let failed = client.until(degraded).await?;
        ensure!(failed["health"]["status"] == "degraded", "{failed}");

        let receiver = OtlpReceiver::start_on(port).await?;
        let ready = |frame: &Value| frame["health"]["status"] == "ready";
        client.until(ready).await?;
        for path in [LANGFUSE, OTLP] {
            let late = receiver.spans(path, 1).await?;
            ensure!(late.len() == 2, "{late:#?}");
        }
        Ok(())
    });
}
