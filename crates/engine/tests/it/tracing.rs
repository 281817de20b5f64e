//! Traces of turns, as a receiver gets them, and what is counted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use observability::TracingSettings;
use observability::metrics::MetricsText;
use observability::otlp::{AttributeValue, ExportTraceServiceRequest, OtlpSpan};
use prost::Message as _;
use serde_json::{Value, json};
use testkit::receiver::{ReceivedTraces, TraceReceiver};
use vocabulary::{Changes, Effects, Notice, TracingHealth};

use crate::house::{House, Stage};
use crate::puppet::{Play, Puppet, calls, says};
use crate::toys::Toys;

const ORACLE: &str =
    include_str!("../../../observability/tests/data/langfuse-python-5.0.4.spans.jsonl");

fn settings(receiver: &TraceReceiver) -> TracingSettings {
    let mut settings = TracingSettings {
        batch_delay: Some(Duration::from_millis(20)),
        ..TracingSettings::default()
    };
    let langfuse = &mut settings.langfuse;
    langfuse.base_url = Some(receiver.url());
    langfuse.public_key = Some("pk-lf-kit".to_owned());
    langfuse.secret_key = Some("sk-lf-planted".into());
    langfuse.environment = Some("dev".to_owned());
    langfuse.release = Some("abc123".to_owned());
    settings
}

fn traced(receiver: &TraceReceiver, puppet: &Arc<Puppet>, toys: &Toys) -> House {
    // The client for traces needs one, as the program has.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut stage = Stage::of(puppet);
    stage.tools.add(toys.tool("look", Effects::READS));
    stage.tracing = settings(receiver);
    House::in_real_time(stage)
}

fn spans(received: &[ReceivedTraces]) -> Vec<OtlpSpan> {
    let requests = received.iter().map(|request| {
        ExportTraceServiceRequest::decode(&request.body[..]).expect("an export request")
    });
    let resources = requests.flat_map(|request| request.resource_spans);
    let scopes = resources.flat_map(|resource| resource.scope_spans);
    scopes.flat_map(|scope| scope.spans).collect()
}

fn has_root(received: &[ReceivedTraces]) -> bool {
    spans(received).iter().any(|span| span.name == "agent.turn")
}

fn attributes(span: &OtlpSpan) -> BTreeMap<&str, String> {
    let spelled = |value: &AttributeValue| match value {
        AttributeValue::Text(text) => text.clone(),
        AttributeValue::Bool(value) => value.to_string(),
        AttributeValue::Int(value) => value.to_string(),
        AttributeValue::Double(value) => value.to_string(),
        AttributeValue::Array(array) => format!("{} values", array.values.len()),
    };
    let pairs = span.attributes.iter().filter_map(|pair| {
        let value = pair.value.as_ref()?.value.as_ref()?;
        Some((pair.key.as_str(), spelled(value)))
    });
    pairs.collect()
}

fn of_kind<'a>(spans: &'a [OtlpSpan], kind: &str) -> Vec<&'a OtlpSpan> {
    let is = |span: &&OtlpSpan| attributes(span)["langfuse.observation.type"] == kind;
    spans.iter().filter(is).collect()
}

/// The names of attributes; what metadata is called is everyone's own matter.
fn names<'a>(names: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let general = |name: &str| match name.starts_with("langfuse.trace.metadata.") {
        true => "langfuse.trace.metadata.*".to_owned(),
        false => name.to_owned(),
    };
    names.map(general).collect()
}

fn oracle(kind: &str) -> BTreeSet<String> {
    let lines = ORACLE.lines().map(serde_json::from_str::<Value>);
    let mut spans = lines.map(|line| line.expect("JSON"));
    let found = spans.find(|span| span["attrs"]["langfuse.observation.type"] == kind);
    let found = found.expect("a span of this kind");
    names(
        found["attrs"]
            .as_object()
            .expect("attributes")
            .keys()
            .map(String::as_str),
    )
}

#[tokio::test]
async fn a_turn_is_a_trace_with_its_requests_and_calls() {
    let receiver = TraceReceiver::start().await.expect("a receiver");
    let puppet = Puppet::new([
        calls("c1", "look", json!({"at": "it"})),
        Play::new().say("done").end(11, 22),
    ]);
    let house = traced(&receiver, &puppet, &Toys::new());
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "hi").await.expect("a turn");
    ear.rest().await;
    let received = receiver.until(has_root).await.expect("traces");
    let head = &received[0].head;
    assert!(
        head.starts_with("post /api/public/otel/v1/traces "),
        "{head}"
    );
    for header in [
        "content-type: application/x-protobuf",
        "content-encoding: gzip",
        "x-langfuse-ingestion-version: 4",
        "x-langfuse-sdk-name: dragoman",
        "x-langfuse-public-key: pk-lf-kit",
        // pk-lf-kit:sk-lf-planted
        "authorization: basic cgstbgyta2l0onnrlwxmlxbsyw50zwq=",
    ] {
        assert!(head.contains(header), "no {header} in {head}");
    }
    let spans = spans(&received);
    let (roots, requests) = (of_kind(&spans, "agent"), of_kind(&spans, "generation"));
    let tools = of_kind(&spans, "tool");
    let ([root], [first, second], [tool]) = (&roots[..], &requests[..], &tools[..]) else {
        panic!("{spans:?}")
    };
    assert_eq!(names(attributes(root).into_keys()), oracle("agent"));
    // A puppet's first part comes at once, and the oracle's never: it was not streamed.
    let mut streamed = oracle("generation");
    streamed.insert("langfuse.observation.completion_start_time".to_owned());
    for request in [first, second] {
        assert_eq!(names(attributes(request).into_keys()), streamed);
    }
    let mut succeeded = oracle("tool");
    succeeded.remove("langfuse.observation.level");
    succeeded.remove("langfuse.observation.status_message");
    assert_eq!(names(attributes(tool).into_keys()), succeeded);
    for span in [first, second, tool] {
        assert_eq!(span.trace_id, root.trace_id);
        assert_eq!(span.parent_span_id, root.span_id);
        assert_ne!(span.span_id, root.span_id);
    }
    let (root, second, tool) = (attributes(root), attributes(second), attributes(tool));
    assert_eq!(root["session.id"], thread.to_string());
    assert_eq!(root["langfuse.observation.input"], "hi");
    assert_eq!(root["langfuse.observation.output"], "done");
    assert_eq!(second["langfuse.observation.output"], "done");
    assert!(second["langfuse.observation.input"].contains("\"role\":\"tool\""));
    assert_eq!(
        second["langfuse.observation.usage_details"],
        r#"{"input":11,"output":22}"#
    );
    assert_eq!(tool["langfuse.observation.input"], r#"{"at":"it"}"#);
}

#[tokio::test]
async fn what_a_sub_agent_does_is_below_the_call_that_it_works_for() {
    let receiver = TraceReceiver::start().await.expect("a receiver");
    let task = json!({"task": "find it", "kind": "general"});
    let puppet = Puppet::new([
        calls("p1", "spawnAgent", task),
        calls("s1", "look", json!({"id": "a"})),
        says("found"),
        says("done"),
    ]);
    let house = traced(&receiver, &puppet, &Toys::new());
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "hi").await.expect("a turn");
    ear.rest().await;
    let spans = spans(&receiver.until(has_root).await.expect("traces"));
    let named = |name: &'static str| spans.iter().filter(move |span| span.name == name);
    let root = named("agent.turn").next().expect("a root");
    let spawn = named("spawnAgent").next().expect("a call");
    assert_eq!(spawn.parent_span_id, root.span_id);
    let look = named("look").next().expect("the sub-agent's call");
    assert_eq!(look.parent_span_id, spawn.span_id);
    let below = |parent: &[u8]| {
        named("llm")
            .filter(|span| span.parent_span_id == parent)
            .count()
    };
    assert_eq!(below(&root.span_id), 2);
    assert_eq!(below(&spawn.span_id), 2);
}

#[tokio::test]
async fn a_thread_that_does_not_want_it_is_not_traced() {
    let receiver = TraceReceiver::start().await.expect("a receiver");
    let puppet = Puppet::new([says("one"), says("two")]);
    let house = traced(&receiver, &puppet, &Toys::new());
    let (quiet, mut ear) = house.heard_thread().await;
    let changes = Changes {
        observability: Some(false),
        ..Changes::default()
    };
    house.change(quiet, changes).await;
    house.say(quiet, "hi").await.expect("a turn");
    ear.rest().await;
    let (loud, mut ear) = house.heard_thread().await;
    house.say(loud, "hello").await.expect("a turn");
    ear.rest().await;
    let received = receiver.until(has_root).await.expect("traces");
    for span in &spans(&received) {
        assert_eq!(attributes(span)["session.id"], loud.to_string());
    }
}

#[tokio::test]
async fn while_the_endpoint_fails_turns_go_on_and_everything_comes_later() {
    let receiver = TraceReceiver::start().await.expect("a receiver");
    receiver.answer("503 Service Unavailable");
    let puppet = Puppet::new([says("one"), says("two")]);
    let house = traced(&receiver, &puppet, &Toys::new());
    let mut watcher = house.engine.watch_server();
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "hi").await.expect("a turn");
    ear.rest().await;
    receiver.until_refused(1).await.expect("a request");
    loop {
        let Some(Notice::TracingChanged { state }) = watcher.next().await else {
            panic!("no change")
        };
        if let TracingHealth::Failing {
            refused, message, ..
        } = &state.health
        {
            assert!(!refused && message.contains("503"), "{message}");
            assert!(!message.contains("planted"));
            break;
        }
    }
    house.say(thread, "again").await.expect("a turn");
    ear.rest().await;
    receiver.answer("200 OK");
    let both = |received: &[ReceivedTraces]| {
        let spans = spans(received);
        spans
            .iter()
            .filter(|span| span.name == "agent.turn")
            .count()
            == 2
    };
    let received = receiver.until(both).await.expect("all traces");
    assert_eq!(spans(&received).len(), 4);
    house.engine.stop(Duration::ZERO).await;
    assert!(matches!(
        house.engine.tracing().health,
        TracingHealth::Ready { since: Some(_) }
    ));
}

#[tokio::test(start_paused = true)]
async fn turns_tokens_and_requests_are_counted() {
    let puppet = Puppet::new([
        calls("c1", "look", json!({})),
        Play::new().say("done").end(11, 22),
    ]);
    let mut stage = Stage::of(&puppet);
    stage.tools.add(Toys::new().tool("look", Effects::READS));
    let house = House::staged(stage);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "hi").await.expect("a turn");
    ear.rest().await;
    let mut out = MetricsText::default();
    house.engine.write_metrics(&mut out);
    let text = out.into_string();
    for line in [
        r#"dragoman_turns_total{outcome="completed",reason=""} 1"#,
        r#"dragoman_provider_request_seconds_count{provider="puppet"} 2"#,
        r#"dragoman_provider_first_part_seconds_count{provider="puppet"} 2"#,
        "dragoman_asks_open 0",
        "dragoman_sessions_awake 1",
        "dragoman_mailbox_messages 0",
        "dragoman_store_writes_waiting 0",
    ] {
        assert!(
            text.lines().any(|each| each == line),
            "no {line} in\n{text}"
        );
    }
    let tokens = r#"dragoman_model_tokens_total{provider="puppet",model="big",kind="output"}"#;
    assert!(text.contains(tokens), "{text}");
    assert!(!text.contains("dragoman_deltas_total 0\n"), "{text}");
    assert!(!text.contains("dragoman_traces_failing"), "{text}");
}
