//! Signing in and out, and who is signed in.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use vocabulary::{
    Account, AuthMode, Call, Challenge, ProviderStatus, Reply, Secret, SignInCall, SignedIn,
};

use super::stub::{NOW, Stub};
use crate::codex::Endpoint;

const KEY: &str = "sk-very-secret";

fn status(provider: &str, mode: AuthMode, email: Option<&str>) -> ProviderStatus {
    ProviderStatus {
        provider: provider.to_owned(),
        mode,
        authorized: mode != AuthMode::Missing,
        verified: false,
        account: email.map(|email| Account {
            email: Some(email.to_owned()),
            name: None,
        }),
        message: String::new(),
        masks: BTreeMap::new(),
        checked_at: NOW,
    }
}

fn ended(ok: bool, message: &str) -> Reply {
    Reply::SignedIn(SignedIn {
        ok,
        mode: None,
        message: message.to_owned(),
    })
}

fn completed(login_id: Value, error: Value) -> Value {
    let success = error.is_null();
    let params = json!({ "loginId": login_id, "success": success, "error": error });
    json!({ "method": "account/login/completed", "params": params })
}

fn updated(auth_mode: Value) -> Value {
    let params = json!({ "authMode": auth_mode, "planType": null });
    json!({ "method": "account/updated", "params": params })
}

#[test]
fn an_account_is_a_chatgpt_sign_in_or_a_key_or_none() {
    let chatgpt = json!({ "type": "chatgpt", "email": "a@b.c", "planType": "unknown" });
    for (statuses, account) in [
        (
            vec![
                status("openai", AuthMode::ApiKey, None),
                status("codex-cli", AuthMode::OAuth, Some("a@b.c")),
            ],
            chatgpt,
        ),
        (
            vec![
                status("openai", AuthMode::ApiKey, None),
                status("codex-cli", AuthMode::Missing, None),
            ],
            json!({ "type": "apiKey" }),
        ),
        (vec![status("openai", AuthMode::Missing, None)], Value::Null),
    ] {
        let mut stub = Stub::ready(Endpoint::Zane);
        stub.ask(1, "account/read", json!({}));
        assert_eq!(stub.call(), &Call::GetProviderStatus { verify: false });
        stub.reply(Ok(Reply::ProviderStatus(statuses)));
        let result = json!({ "account": account, "requiresOpenaiAuth": false });
        assert_eq!(stub.take(), [json!({ "id": 1, "result": result })]);
    }
}

#[test]
fn a_key_is_saved_and_never_repeated() {
    let mut stub = Stub::ready(Endpoint::Codex);
    let params = json!({ "type": "apiKey", "apiKey": KEY });
    stub.ask(1, "account/login/start", params.clone());
    let call = Call::SignIn(SignInCall::SetKey {
        provider: "openai".to_owned(),
        method: "api_key".to_owned(),
        key: Secret::new(KEY),
    });
    assert_eq!(stub.call(), &call);
    stub.reply(Ok(ended(true, "saved")));
    assert_eq!(
        stub.take(),
        [
            json!({ "id": 1, "result": { "type": "apiKey" } }),
            completed(Value::Null, Value::Null),
            updated(json!("apikey")),
        ]
    );
    stub.ask(2, "account/login/start", params);
    stub.reply(Ok(ended(false, "the key must not be empty")));
    let error = json!({ "code": -32600, "message": "the key must not be empty" });
    assert_eq!(stub.take(), [json!({ "id": 2, "error": error })]);

    for params in [
        json!({ "type": "apiKey", "apiKey": [KEY] }),
        json!({ "type": KEY }),
        json!({ "apiKey": KEY }),
        json!(KEY),
    ] {
        stub.ask(3, "account/login/start", params);
        let sent = stub.take();
        assert_eq!(sent[0]["error"]["code"], -32602);
        assert!(!sent[0].to_string().contains(KEY), "{sent:?}");
    }
}

/// A browser sign-in that waits for the browser.
fn browsing() -> Stub {
    let mut stub = Stub::ready(Endpoint::Codex);
    stub.ask(1, "account/login/start", json!({ "type": "chatgpt" }));
    let begin = Call::SignIn(SignInCall::Begin {
        provider: "codex-cli".to_owned(),
        method: "oauth_cli".to_owned(),
    });
    assert_eq!(stub.call(), &begin);
    stub.reply(Ok(Reply::Challenge(Box::new(Challenge {
        needs_code: false,
        instructions: "Open it".to_owned(),
        url: Some("https://auth.example.com/x".to_owned()),
        expires_at: None,
    }))));
    let result = json!({
        "type": "chatgpt", "loginId": "login-1", "authUrl": "https://auth.example.com/x"
    });
    assert_eq!(stub.take(), [json!({ "id": 1, "result": result })]);
    let finish = Call::SignIn(SignInCall::Finish {
        provider: "codex-cli".to_owned(),
        method: "oauth_cli".to_owned(),
        code: None,
    });
    assert_eq!(stub.call(), &finish);
    stub
}

#[test]
fn a_browser_sign_in_completes_by_itself() {
    let mut stub = browsing();
    stub.reply(Ok(ended(true, "signed in")));
    let told = stub.take();
    let expected = [
        completed(json!("login-1"), Value::Null),
        updated(json!("chatgpt")),
    ];
    assert_eq!(told, expected);

    let mut stub = browsing();
    stub.reply(Ok(ended(false, "it took too long")));
    let told = stub.take();
    assert_eq!(
        told,
        [completed(json!("login-1"), json!("it took too long"))]
    );
}

#[test]
fn a_canceled_sign_in_is_told_once() {
    let mut stub = browsing();
    let cancel = json!({ "loginId": "login-1" });
    stub.ask(2, "account/login/cancel", cancel.clone());
    let canceled = json!({ "id": 2, "result": { "status": "canceled" } });
    let told = completed(json!("login-1"), json!("the sign-in was canceled"));
    assert_eq!(stub.take(), [canceled, told]);
    stub.ask(3, "account/login/cancel", cancel);
    let unknown = json!({ "id": 3, "result": { "status": "notFound" } });
    assert_eq!(stub.take(), [unknown]);
    stub.reply(Ok(ended(false, "it took too long")));
    assert!(stub.take().is_empty());
}

#[test]
fn logging_out_leaves_no_account() {
    let mut stub = Stub::ready(Endpoint::Codex);
    stub.ask(1, "account/logout", json!({}));
    stub.reply(Ok(Reply::ProviderStatus(vec![
        status("openai", AuthMode::ApiKey, None),
        status("codex-cli", AuthMode::OAuth, None),
        status("anthropic", AuthMode::ApiKey, None),
    ])));
    for provider in ["codex-cli", "openai"] {
        let provider = provider.to_owned();
        let call = Call::SignIn(SignInCall::SignOut { provider });
        assert_eq!(stub.call(), &call);
        stub.reply(Ok(ended(true, "")));
    }
    let done = json!({ "id": 1, "result": {} });
    assert_eq!(stub.take(), [done, updated(Value::Null)]);
}

#[test]
fn zane_cannot_sign_in() {
    let mut stub = Stub::ready(Endpoint::Zane);
    stub.ask(1, "account/login/start", json!({ "type": "chatgpt" }));
    assert_eq!(stub.take()[0]["error"]["code"], -32601);
}
