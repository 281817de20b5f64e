//! `connect_provider`, from the message to its end.

use serde_json::{Value, json};
use vocabulary::{
    AuthMode, Call, Challenge, Changes, NamedModel, Refusal, Reply, Secret, SignInCall, SignedIn,
    Why,
};

use super::stub::Stub;
use crate::cowork::tests::samples::{SESSION, catalog, thread_id};
use crate::diminuendo::tests::facts;

fn connect(provider: &str, key: Option<&str>) -> Value {
    let mut message =
        json!({"type": "connect_provider", "sessionId": SESSION, "provider": provider});
    if let Some(key) = key {
        message["apiKey"] = json!(key);
    }
    message
}

/// The message was heard, and the catalog told.
fn connecting(provider: &str, key: Option<&str>) -> Stub {
    let mut stub = Stub::connected();
    stub.say(connect(provider, key));
    assert_eq!(stub.call(), &Call::GetCatalog);
    stub.reply(Ok(Reply::Catalog(Box::new(catalog()))));
    stub
}

fn signed_in(ok: bool) -> Reply {
    Reply::SignedIn(SignedIn {
        ok,
        mode: ok.then_some(AuthMode::ApiKey),
        message: "That was it.".to_owned(),
    })
}

fn challenge(needs_code: bool) -> Reply {
    Reply::Challenge(Box::new(Challenge {
        needs_code,
        instructions: "Open this page.".to_owned(),
        url: Some("https://auth.example/go".to_owned()),
        expires_at: None,
    }))
}

fn message(text: &str) -> Value {
    json!({"type": "assistant_message", "sessionId": SESSION, "text": text})
}

fn error(text: &str) -> Value {
    json!({"type": "error", "sessionId": SESSION, "message": text})
}

#[test]
fn a_key_connects_a_provider_and_the_session_uses_it() {
    let mut stub = connecting("anthropic", Some(" sk-secret "));
    let set = SignInCall::SetKey {
        provider: "anthropic".to_owned(),
        method: "api_key".to_owned(),
        key: Secret::new("sk-secret"),
    };
    assert_eq!(stub.call(), &Call::SignIn(set));
    stub.reply(Ok(signed_in(true)));
    assert_eq!(
        stub.take(),
        [message("### Connected: anthropic\n\nThat was it.")]
    );
    let claude = NamedModel::DefaultOf("anthropic".to_owned());
    let change = Call::ChangeThread {
        thread: thread_id(SESSION),
        changes: Changes {
            named_model: Some(claude),
            ..Changes::default()
        },
    };
    assert_eq!(stub.call(), &change);
}

#[test]
fn a_session_that_uses_the_provider_or_is_busy_keeps_its_model() {
    let mut stub = connecting("openai", Some("sk-secret"));
    stub.reply(Ok(signed_in(true)));
    assert!(stub.calls.is_empty());
    let mut stub = connecting("anthropic", Some("sk-secret"));
    stub.tell(facts::turn_started());
    stub.reply(Ok(signed_in(true)));
    assert!(stub.calls.is_empty());
}

#[test]
fn without_a_key_a_person_signs_in() {
    let mut stub = connecting("codex-cli", Some("  "));
    let started = "[connect codex-cli] starting oauth...";
    let log = json!({"type": "log", "sessionId": SESSION, "line": started});
    assert_eq!(stub.take(), [log]);
    let (provider, method) = ("codex-cli".to_owned(), "oauth_cli".to_owned());
    let begin = SignInCall::Begin {
        provider: provider.clone(),
        method: method.clone(),
    };
    assert_eq!(stub.call(), &Call::SignIn(begin));
    stub.reply(Ok(challenge(false)));
    let text = "### Connect codex-cli\n\nOpen this page.\n\n<https://auth.example/go>";
    assert_eq!(stub.take(), [message(text)]);
    let finish = SignInCall::Finish {
        provider,
        method,
        code: None,
    };
    assert_eq!(stub.call(), &Call::SignIn(finish));
    assert!(stub.call().waits_outside());

    stub.say(connect("openai", Some("sk-secret")));
    assert_eq!(stub.take(), [error("Connection flow already running")]);

    stub.reply(Ok(signed_in(true)));
    let text = "### Connected: codex-cli\n\nThat was it.";
    assert_eq!(stub.take(), [message(text)]);
    stub.calls.clear();
    stub.say(connect("openai", Some("sk-secret")));
    assert_eq!(stub.call(), &Call::GetCatalog, "the flow is over");
}

#[test]
fn without_the_key_that_a_provider_needs_the_connection_is_pending() {
    let mut stub = connecting("openai", None);
    let text = "### Connection pending: openai\n\nNo API key provided. The connection stays pending \
                until one is: connect openai again with an API key.";
    assert_eq!(stub.take(), [message(text)]);
    assert!(stub.calls.is_empty());
    stub.say(connect("openai", Some("sk-secret")));
    assert_eq!(stub.call(), &Call::GetCatalog, "nothing waits");
}

#[test]
fn nobody_connects_while_a_turn_runs() {
    let mut stub = Stub::connected();
    stub.tell(facts::turn_started());
    stub.take();
    stub.say(connect("openai", Some("sk-secret")));
    assert_eq!(stub.take(), [error("Agent is busy")]);
    assert!(stub.calls.is_empty());
}

#[test]
fn each_failure_says_why_and_ends_the_flow() {
    let failed = |mut stub: Stub, why: &str| {
        let sent = stub.take();
        assert_eq!(sent.last(), Some(&error(&format!("connect failed: {why}"))));
        assert!(stub.calls.is_empty());
        stub.say(connect("openai", Some("sk-secret")));
        assert_eq!(stub.call(), &Call::GetCatalog);
    };
    let unknown = "this server has no provider gemini-cli";
    failed(connecting("gemini-cli", None), unknown);

    let mut stub = connecting("openai", Some("sk-secret"));
    stub.reply(Ok(signed_in(false)));
    failed(stub, "That was it.");

    let mut stub = connecting("codex-cli", None);
    stub.reply(Err(Refusal::new(Why::NotAvailable, "nobody answers")));
    failed(stub, "nobody answers");

    let mut stub = connecting("codex-cli", None);
    stub.reply(Ok(challenge(true)));
    let why = "this sign-in needs a code to be entered, which this client cannot do; \
               run `dragoman auth login codex-cli`";
    failed(stub, why);
}
