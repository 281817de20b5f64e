//! Our spans beside those that Langfuse's own SDK sent, in the names of their attributes.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::sync::Arc;

use flate2::read::GzDecoder;
use prost::Message as _;
use secrecy::SecretString;
use serde_json::Value;

use super::{failed_tool, generation, root, settings};
use crate::attributes::AttributeWords;
use crate::batch::BatchEncoder;
use crate::otlp::{AttributeValue, ExportTraceServiceRequest, KeyValue, OtlpSpan, ResourceSpans};
use crate::secrets::KnownSecrets;
use crate::span::TraceSpan;

const ORACLE: &str = include_str!("../../tests/data/langfuse-python-5.0.4.spans.jsonl");

fn oracle(kind: &str) -> Value {
    let lines = ORACLE.lines().map(serde_json::from_str::<Value>);
    let mut spans = lines.map(|line| line.expect("JSON"));
    let found = spans.find(|span| span["attrs"]["langfuse.observation.type"] == kind);
    found.expect("a span of this kind")
}

fn names(object: &Value) -> BTreeSet<String> {
    object
        .as_object()
        .expect("attributes")
        .keys()
        .cloned()
        .collect()
}

fn keys(attributes: &[KeyValue]) -> BTreeSet<String> {
    attributes.iter().map(|pair| pair.key.clone()).collect()
}

fn sent(span: TraceSpan, words: AttributeWords, secrets: &[&str]) -> (ResourceSpans, OtlpSpan) {
    let known = KnownSecrets::default();
    known.learn(secrets.iter().map(|secret| SecretString::from(*secret)));
    let encoder = BatchEncoder::new(&settings(), words, "instance", Arc::new(known));
    let packed = encoder.encode(&[Arc::new(span)]).expect("a body");
    let mut body = Vec::new();
    GzDecoder::new(&packed[..])
        .read_to_end(&mut body)
        .expect("gzip");
    let request = ExportTraceServiceRequest::decode(&body[..]).expect("a request");
    let [resource] = &request.resource_spans[..] else {
        panic!("{request:?}")
    };
    let span = resource.scope_spans[0].spans[0].clone();
    (resource.clone(), span)
}

fn text<'a>(span: &'a OtlpSpan, key: &str) -> &'a str {
    let pair = span.attributes.iter().find(|pair| pair.key == key);
    match pair.and_then(|pair| pair.value.as_ref()?.value.as_ref()) {
        Some(AttributeValue::Text(text)) => text,
        other => panic!("{key}: {other:?}"),
    }
}

#[test]
fn each_kind_of_span_has_the_attributes_that_langfuse_knows() {
    for (kind, ours) in [
        ("agent", root()),
        ("generation", generation()),
        ("tool", failed_tool()),
    ] {
        let theirs = oracle(kind);
        let (resource, span) = sent(ours, AttributeWords::Langfuse, &[]);
        assert_eq!(keys(&span.attributes), names(&theirs["attrs"]), "{kind}");
        let resource = resource.resource.expect("a resource");
        assert_eq!(
            keys(&resource.attributes),
            names(&theirs["resource"]),
            "{kind}"
        );
        assert_eq!(i64::from(span.kind), theirs["kind"]);
        let status = span.status.map_or(0, |status| status.code);
        assert_eq!(i64::from(status), theirs["status"]);
        let is_root = theirs["parent"] == "";
        assert_eq!(span.parent_span_id.is_empty(), is_root);
    }
}

#[test]
fn values_have_the_shapes_that_langfuse_reads() {
    let theirs = oracle("generation");
    let (_, span) = sent(generation(), AttributeWords::Langfuse, &[]);
    for key in [
        "langfuse.observation.usage_details",
        "langfuse.observation.cost_details",
    ] {
        let theirs = theirs["attrs"][key].as_str().expect("a text");
        let theirs: Value = serde_json::from_str(theirs).expect("JSON");
        let ours: Value = serde_json::from_str(text(&span, key)).expect("JSON");
        assert_eq!(ours, theirs, "{key}");
    }
    assert_eq!(text(&span, "langfuse.trace.metadata.k"), "\"v\"");
    assert_eq!(span.start_time_unix_nano, 1_000_000_000);
    assert_eq!(span.end_time_unix_nano, 1_500_000_000);
}

#[test]
fn other_endpoints_get_the_conventions_beside() {
    let (_, langfuse) = sent(generation(), AttributeWords::Langfuse, &[]);
    let (_, all) = sent(generation(), AttributeWords::All, &[]);
    let further = &keys(&all.attributes) - &keys(&langfuse.attributes);
    let further: Vec<&str> = further.iter().map(String::as_str).collect();
    assert_eq!(
        further,
        [
            "gen_ai.conversation.id",
            "gen_ai.operation.name",
            "gen_ai.provider.name",
            "gen_ai.request.max_tokens",
            "gen_ai.request.model",
            "gen_ai.usage.input_tokens",
            "gen_ai.usage.output_tokens",
        ]
    );
    assert_eq!(text(&all, "gen_ai.operation.name"), "chat");
}

#[test]
fn known_secrets_are_left_out_of_every_text() {
    let mut span = failed_tool();
    span.input = "echo sk-planted-secret".to_owned();
    span.output = "sk-planted-secret and sk-planted-secret".to_owned();
    let (resource, span) = sent(span, AttributeWords::All, &["sk-planted-secret", "short"]);
    assert!(!format!("{resource:?}").contains("planted"));
    assert_eq!(
        text(&span, "langfuse.observation.output"),
        "[secret left out] and [secret left out]"
    );
}
