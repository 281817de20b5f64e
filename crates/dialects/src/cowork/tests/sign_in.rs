//! Signing in at a provider.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use vocabulary::{
    Account, AuthMode, Call, Challenge, Refusal, Reply, RunningTurn, Secret, SignInCall, SignedIn,
    TurnId, TurnOutcome, UserInput, Why,
};

use super::messages::of_session;
use super::samples::{NOW, SESSION, catalog, statuses, view};
use super::stub::Stub;
use super::telling::frame;
use crate::diminuendo::tests::facts;

const KEY: &str = "sk-very-secret";

fn authorize(provider: &str, method: &str) -> Value {
    let fields = json!({ "provider": provider, "methodId": method });
    of_session("provider_auth_authorize", fields)
}

fn callback(code: Option<&str>) -> Value {
    let mut fields = json!({ "provider": "codex-cli", "methodId": "oauth_cli" });
    if let Some(code) = code {
        fields["code"] = json!(code);
    }
    of_session("provider_auth_callback", fields)
}

fn set_key(provider: &str, method: &str) -> Value {
    let fields = json!({ "provider": provider, "methodId": method, "apiKey": KEY });
    of_session("provider_auth_set_api_key", fields)
}

fn finish(code: Option<&str>) -> Call {
    Call::SignIn(SignInCall::Finish {
        provider: "codex-cli".to_owned(),
        method: "oauth_cli".to_owned(),
        code: code.map(vocabulary::Secret::new),
    })
}

fn signed_in(mode: AuthMode) -> Reply {
    Reply::SignedIn(SignedIn {
        ok: true,
        mode: Some(mode),
        message: "Welcome.".to_owned(),
    })
}

fn result(provider: &str, method: &str, ok: bool, rest: Value) -> Value {
    let mut result = frame(
        "provider_auth_result",
        json!({ "provider": provider, "methodId": method, "ok": ok, "message": "Welcome." }),
    );
    for (name, value) in rest.as_object().expect("fields") {
        result[name] = value.clone();
    }
    result
}

fn error(message: &str, code: &str, source: &str) -> Value {
    let fields = json!({ "message": message, "code": code, "source": source });
    frame("error", fields)
}

#[test]
fn an_authorization_is_answered_with_what_a_person_must_do() {
    for (needs_code, url, method) in [
        (false, Some("https://auth.example/authorize"), "auto"),
        (true, None, "code"),
    ] {
        let mut stub = Stub::connected();
        stub.say(authorize("codex-cli", "oauth_cli"));
        let begin = SignInCall::Begin {
            provider: "codex-cli".to_owned(),
            method: "oauth_cli".to_owned(),
        };
        assert_eq!(stub.call(), &Call::SignIn(begin));
        stub.reply(Ok(Reply::Challenge(Box::new(Challenge {
            needs_code,
            instructions: "Open it.".to_owned(),
            url: url.map(str::to_owned),
            expires_at: Some(NOW),
        }))));
        let mut challenge = json!({ "method": method, "instructions": "Open it." });
        if let Some(url) = url {
            challenge["url"] = json!(url);
        }
        let fields = json!({
            "provider": "codex-cli",
            "methodId": "oauth_cli",
            "challenge": challenge,
        });
        assert_eq!(stub.take(), [frame("provider_auth_challenge", fields)]);
        assert!(stub.calls.is_empty());
    }
}

#[test]
fn a_key_is_set_and_its_success_is_followed_by_what_changed() {
    let mut stub = Stub::connected();
    stub.say(set_key("openai", "api_key"));
    let set = SignInCall::SetKey {
        provider: "openai".to_owned(),
        method: "api_key".to_owned(),
        key: Secret::new(KEY),
    };
    assert_eq!(stub.call(), &Call::SignIn(set));
    assert!(!format!("{:?}", stub.calls).contains("secret"));
    stub.reply(Ok(signed_in(AuthMode::ApiKey)));
    let mode = json!({ "mode": "api_key" });
    assert_eq!(stub.take(), [result("openai", "api_key", true, mode)]);

    let calls: Vec<_> = stub.calls.iter().map(|(_, call)| call.clone()).collect();
    let status = Call::GetProviderStatus { verify: false };
    assert_eq!(calls, [Some(status), Some(Call::GetCatalog)]);
    stub.reply(Ok(Reply::ProviderStatus(statuses())));
    stub.reply(Ok(Reply::Catalog(Box::new(catalog()))));
    assert_eq!(stub.take_types(), ["provider_status", "provider_catalog"]);
}

#[test]
fn a_sign_in_that_failed_is_a_result_and_no_more() {
    for mode in [None, Some(AuthMode::Error), Some(AuthMode::ApiKey)] {
        let mut stub = Stub::connected();
        stub.say(set_key("openai", "api_key"));
        stub.reply(Ok(Reply::SignedIn(SignedIn {
            ok: false,
            mode,
            message: "Welcome.".to_owned(),
        })));
        assert_eq!(stub.take(), [result("openai", "api_key", false, json!({}))]);
        assert!(stub.calls.is_empty());
    }
}

#[test]
fn other_messages_are_answered_while_a_sign_in_waits_for_a_person() {
    let mut stub = Stub::connected();
    stub.say(callback(None));
    assert_eq!(stub.call(), &finish(None));
    assert!(stub.call().waits_outside());

    stub.say(of_session("ping", json!({})));
    stub.say(of_session("list_tools", json!({})));
    stub.reply_to(1, Ok(Reply::Tools(Vec::new())));
    assert_eq!(stub.take_types(), ["pong", "tools"]);

    stub.say(callback(None));
    let running = error("Connection flow already running", "busy", "session");
    assert_eq!(stub.take(), [running]);

    stub.reply(Ok(signed_in(AuthMode::OAuth)));
    let mode = json!({ "mode": "oauth" });
    assert_eq!(stub.take(), [result("codex-cli", "oauth_cli", true, mode)]);

    stub.calls.clear();
    stub.say(callback(None));
    stub.reply(Err(Refusal::new(Why::NotAvailable, "nobody has begun")));
    stub.take();
    stub.say(callback(None));
    assert_eq!(stub.call(), &finish(None), "a refused one waits no more");
}

#[test]
fn a_code_completes_a_sign_in_beside_one_that_waits() {
    let mut stub = Stub::connected();
    stub.say(callback(None));
    stub.say(callback(Some(" abc ")));
    let (_, second) = &stub.calls[1];
    let second = second.as_ref().expect("a call");
    assert_eq!(second, &finish(Some("abc")));
    assert!(!second.waits_outside());
    stub.reply_to(1, Ok(signed_in(AuthMode::OAuthPending)));
    let mode = json!({ "mode": "oauth_pending" });
    let pending = result("codex-cli", "oauth_cli", true, mode);
    assert_eq!(stub.take(), [pending]);
    stub.say(callback(None));
    assert_eq!(stub.take_types(), ["error"], "the first still waits");
    // A code of nothing is none.
    let mut stub = Stub::connected();
    stub.say(callback(Some(" ")));
    assert_eq!(stub.call(), &finish(None));
}

#[test]
fn nobody_signs_in_while_a_turn_runs() {
    let messages = || {
        [
            authorize("codex-cli", "oauth_cli"),
            callback(None),
            set_key("openai", "api_key"),
            authorize("openai", "api_key"),
        ]
    };
    let mut joined = view();
    joined.turn = Some(RunningTurn {
        turn: TurnId::new("t1"),
        started_at: NOW,
        input: UserInput {
            item: vocabulary::ItemId::new("i1"),
            text: "Hello".to_owned(),
            display: None,
            client_id: None,
            images: Vec::new(),
            pieces: Vec::new(),
        },
        text: Vec::new(),
        reasoning: Vec::new(),
        calls: Vec::new(),
        step: None,
        live: Vec::new(),
        events: Vec::new(),
        unplaced: Vec::new(),
    });
    let mut began = Stub::connected();
    began.tell(facts::turn_started());
    for mut stub in [Stub::connected_to(joined), began] {
        for message in messages() {
            stub.say(message);
            assert_eq!(stub.take(), [error("Agent is busy", "busy", "session")]);
        }
        assert!(stub.calls.is_empty());
        stub.tell(facts::turn_finished(TurnOutcome::Completed));
        stub.say(set_key("openai", "api_key"));
        assert_eq!(stub.calls.len(), 1);
    }
}

#[test]
fn another_way_to_sign_in_takes_the_place_of_the_one_that_waits() {
    let mut grown = catalog();
    let device = vocabulary::AuthMethod::OAuth {
        id: "oauth_device".to_owned(),
        label: "Code".to_owned(),
    };
    grown.providers[3].auth_methods.push(device);
    let mut stub = Stub::connected();
    stub.say(of_session("provider_catalog_get", json!({})));
    stub.reply(Ok(Reply::Catalog(Box::new(grown))));
    stub.take();

    stub.say(callback(None));
    stub.say(authorize("codex-cli", "oauth_device"));
    stub.reply_to(
        1,
        Ok(Reply::Challenge(Box::new(Challenge {
            needs_code: false,
            instructions: "Enter AB-CD.".to_owned(),
            url: None,
            expires_at: None,
        }))),
    );
    let device = json!({ "provider": "codex-cli", "methodId": "oauth_device" });
    stub.say(of_session("provider_auth_callback", device));
    assert_eq!(stub.take_types(), ["provider_auth_challenge"]);
    assert_eq!(stub.calls.len(), 2, "both ends are waited for");

    stub.reply(Ok(Reply::SignedIn(SignedIn {
        ok: false,
        mode: None,
        message: "Welcome.".to_owned(),
    })));
    stub.reply(Ok(signed_in(AuthMode::OAuth)));
    let mode = json!({ "mode": "oauth" });
    assert_eq!(
        stub.take(),
        [
            result("codex-cli", "oauth_cli", false, json!({})),
            result("codex-cli", "oauth_device", true, mode),
        ]
    );
}

#[test]
fn a_method_is_used_for_what_it_is() {
    let mut stub = Stub::connected();
    stub.say(authorize("openai", "api_key"));
    let text = "Auth method \"api_key\" does not support authorization.";
    assert_eq!(stub.take(), [error(text, "provider_error", "provider")]);
    let with_key = json!({ "provider": "codex-cli", "methodId": "api_key" });
    for (message, method, text) in [
        (
            of_session("provider_auth_callback", with_key),
            "api_key",
            "Method \"api_key\" is not an OAuth method.",
        ),
        (
            set_key("codex-cli", "oauth_cli"),
            "oauth_cli",
            "Method \"oauth_cli\" is not an API key method.",
        ),
    ] {
        stub.say(message);
        let text = json!({ "message": text });
        assert_eq!(stub.take(), [result("codex-cli", method, false, text)]);
    }
    assert!(stub.calls.is_empty());
}

#[test]
fn the_catalog_says_which_methods_there_are() {
    let mut stub = Stub::greeted(view());
    stub.take();
    let calls = stub.calls.len();
    stub.say(set_key("google", "exa_api_key"));
    assert_eq!(stub.calls.len(), calls + 1, "until then the engine judges");
    stub.calls.pop();
    stub.answer_connect_calls();
    stub.take();

    stub.say(set_key("google", "exa_api_key"));
    let unknown = "provider_auth_set_api_key unknown methodId";
    let unknown = error(unknown, "validation_failed", "protocol");
    assert_eq!(stub.take(), [unknown]);

    let mut grown = catalog();
    grown.providers[0]
        .auth_methods
        .push(vocabulary::AuthMethod::ApiKey {
            id: "exa_api_key".to_owned(),
            label: "Exa".to_owned(),
        });
    stub.say(of_session("provider_catalog_get", json!({})));
    stub.reply(Ok(Reply::Catalog(Box::new(grown))));
    stub.take();
    stub.say(set_key("google", "exa_api_key"));
    assert_eq!((stub.calls.len(), stub.sent.len()), (1, 0));
}

#[test]
fn a_refused_sign_in_has_a_code_by_its_meaning() {
    for (why, code, source) in [
        (Why::NotAvailable, "provider_error", "provider"),
        (Why::invalid("method"), "validation_failed", "session"),
        (Why::Forbidden, "permission_denied", "permissions"),
        (Why::Storage, "internal_error", "session"),
    ] {
        let mut stub = Stub::connected();
        stub.say(authorize("codex-cli", "oauth_cli"));
        stub.reply(Err(Refusal::new(why, "no")));
        assert_eq!(stub.take(), [error("no", code, source)]);
    }
}

#[test]
fn a_status_shows_the_account_and_masked_keys() {
    let mut statuses = statuses();
    statuses.truncate(2);
    statuses[0].mode = AuthMode::OAuthPending;
    statuses[0].account = Some(Account {
        email: Some("user@example.com".to_owned()),
        name: None,
    });
    statuses[1].verified = true;
    statuses[1].masks = BTreeMap::from([("api_key".to_owned(), "sk-v...cret".to_owned())]);
    let mut stub = Stub::connected();
    stub.say(of_session("refresh_provider_status", json!({})));
    assert_eq!(stub.call(), &Call::GetProviderStatus { verify: true });
    assert!(stub.call().waits_outside());
    stub.reply(Ok(Reply::ProviderStatus(statuses)));
    let status = |provider: &str, mode: &str, account: Value| {
        json!({
            "provider": provider,
            "authorized": provider == "openai",
            "verified": provider == "openai",
            "mode": mode,
            "account": account,
            "message": "Not connected.",
            "checkedAt": "2026-02-19T18:00:00.000Z",
        })
    };
    let account = json!({ "email": "user@example.com" });
    let google = status("google", "oauth_pending", account);
    let mut openai = status("openai", "api_key", json!(null));
    openai["savedApiKeyMasks"] = json!({ "api_key": "sk-v...cret" });
    let providers = json!([google, openai]);
    assert_eq!(
        stub.take(),
        [json!({ "type": "provider_status", "sessionId": SESSION, "providers": providers })]
    );
}
