//! `observability_status`: on connecting, when it is switched, and when the server's tracing fares
//! otherwise.

use std::sync::Arc;

use serde_json::{Value, json};
use vocabulary::{
    Changed, Fact, LangfuseTarget, Notice, ThreadFact, ThreadSettings, Timestamp, TracingHealth,
    TracingState,
};

use super::samples;
use super::stub::Stub;

fn configured(health: TracingHealth) -> Arc<TracingState> {
    let langfuse = LangfuseTarget {
        environment: Some("dev".to_owned()),
        release: Some("abc123".to_owned()),
        has_public_key: true,
        has_secret_key: true,
        ..LangfuseTarget::at(Some("https://langfuse.example/"))
    };
    Arc::new(TracingState { langfuse, health })
}

fn switched(on: bool) -> Fact {
    let view = samples::view();
    Fact::Thread(ThreadFact::SettingsChanged {
        settings: ThreadSettings {
            observability: on,
            ..view.thread.settings
        },
        changed: vec![Changed::Observability],
        title: view.thread.title,
    })
}

fn told(stub: &mut Stub, health: TracingHealth) -> Vec<Value> {
    let state = configured(health);
    stub.notice(&Notice::TracingChanged { state });
    std::mem::take(&mut stub.sent)
}

#[test]
fn what_is_configured_is_told_without_keys() {
    let mut stub = Stub::connected();
    assert!(stub.watches);
    let sent = told(&mut stub, TracingHealth::Ready { since: None });
    let [status] = &sent[..] else {
        panic!("{sent:?}")
    };
    assert_eq!(status["enabled"], true);
    assert_eq!(status["health"]["status"], "ready");
    assert_eq!(status["health"]["reason"], "runtime_ready");
    assert!(status["health"].get("message").is_none());
    assert_eq!(
        status["config"],
        json!({
            "provider": "langfuse",
            "baseUrl": "https://langfuse.example",
            "otelEndpoint": "https://langfuse.example/api/public/otel/v1/traces",
            "tracingEnvironment": "dev",
            "release": "abc123",
            "hasPublicKey": true,
            "hasSecretKey": true,
            "configured": true,
        })
    );
}

#[test]
fn the_same_state_again_is_not_told_again() {
    let mut stub = Stub::connected();
    let state = Arc::<TracingState>::default();
    stub.notice(&Notice::TracingChanged { state });
    assert!(stub.sent.is_empty(), "{:?}", stub.sent);
}

#[test]
fn switching_tells_the_status_before_the_new_configuration() {
    let mut stub = Stub::connected();
    stub.tell(switched(false));
    let [status] = &stub.sent[..] else {
        panic!("{:?}", stub.sent)
    };
    assert_eq!(status["enabled"], false);
    assert_eq!(
        status["health"],
        json!({
            "status": "disabled",
            "reason": "observability_disabled",
            "message": "Langfuse observability is disabled.",
            "updatedAt": samples::event(switched(false)).at.iso(),
        })
    );
    // What everyone hears of the event, the configuration, follows it.
    assert_eq!(stub.order, ["observability_status", "shared"]);
    stub.sent.clear();
    let sent = told(&mut stub, TracingHealth::Ready { since: None });
    assert_eq!(sent[0]["health"]["status"], "disabled");
}

#[test]
fn a_failure_is_a_status_and_a_refusal_is_also_an_error() {
    let mut stub = Stub::connected();
    let failing = |refused| TracingHealth::Failing {
        refused,
        message: "nothing answers".to_owned(),
        since: Timestamp(1_000),
    };
    let sent = told(&mut stub, failing(false));
    let [status] = &sent[..] else {
        panic!("{sent:?}")
    };
    assert_eq!(
        status["health"],
        json!({
            "status": "degraded",
            "reason": "export_failed",
            "message": "nothing answers",
            "updatedAt": "1970-01-01T00:00:01.000Z",
        })
    );
    let sent = told(&mut stub, failing(true));
    let [status, error] = &sent[..] else {
        panic!("{sent:?}")
    };
    assert_eq!(status["health"]["reason"], "export_refused");
    assert_eq!(error["type"], "error");
    assert_eq!(error["code"], "observability_error");
    assert_eq!(error["source"], "observability");
    // Who does not want traces is not told of an error with them.
    stub.tell(switched(false)).sent.clear();
    let quiet = TracingHealth::Failing {
        refused: true,
        message: "other words".to_owned(),
        since: Timestamp(2_000),
    };
    assert_eq!(told(&mut stub, quiet).len(), 1);
}
