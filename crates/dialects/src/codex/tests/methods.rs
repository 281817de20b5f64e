//! Every method of the app-server is served, declined with a reason, or unknown.

use serde_json::{Value, json};

use super::stub::Stub;
use crate::codex::{Endpoint, declined};

/// Those that the client of the pinned version has, as its schema lists them.
const METHODS: &str = include_str!("methods.txt");

/// Those that are being built; none of them has a reason not to be there.
const TO_COME: [&str; 4] = [
    "fuzzyFileSearch",
    "fuzzyFileSearch/sessionStart",
    "fuzzyFileSearch/sessionStop",
    "fuzzyFileSearch/sessionUpdate",
];

fn refusal(endpoint: Endpoint, method: &str) -> Option<(i64, String)> {
    let mut stub = Stub::ready(endpoint);
    stub.ask(7, method, json!({}));
    let error = stub.sent.first()?.get("error")?.clone();
    let code = error["code"].as_i64()?;
    Some((code, error["message"].as_str()?.to_owned()))
}

#[test]
fn every_method_of_the_app_server_is_served_or_says_why_not() {
    for method in METHODS.lines() {
        let (code, message) = refusal(Endpoint::Codex, method).unwrap_or_default();
        let why = declined::reason(method);
        match why {
            Some(why) => {
                assert_eq!(code, -32004, "{method}: {message}");
                assert_eq!(message, format!("{method} is not supported: {why}"));
            }
            None if TO_COME.contains(&method) => {}
            None => assert!(code != -32601 && code != -32004, "{method}: {message}"),
        }
    }
}

#[test]
fn what_is_declined_is_a_method_of_the_app_server_and_stands_on_the_page() {
    let page = include_str!("../../../../../docs/protocols/codex.md");
    let mut seen = std::collections::HashSet::new();
    for method in declined::methods() {
        let known = METHODS.lines().any(|line| line == method);
        assert!(known, "{method} is nobody's");
        assert!(seen.insert(method), "{method} is declined twice");
        assert!(page.contains(&format!("`{method}`")), "{method}");
    }
}

#[test]
fn an_unknown_method_says_so_and_repeats_little() {
    for endpoint in [Endpoint::Codex, Endpoint::Zane] {
        let told = refusal(endpoint, "no/such").expect("refused");
        assert_eq!(told, (-32601, "unknown method `no/such`".to_owned()));
        let (_, message) = refusal(endpoint, &"x".repeat(1_000)).expect("refused");
        assert!(message.len() < 300, "{message}");
        let (code, _) = refusal(endpoint, "fs/readFile").expect("refused");
        assert_eq!(code, -32004);
    }
}

#[test]
fn params_that_do_not_fit_are_no_unknown_method() {
    let mut stub = Stub::ready(Endpoint::Codex);
    stub.ask(1, "thread/goal/get", json!({}));
    let error: &Value = &stub.sent[0]["error"];
    assert_eq!(error["code"], -32602, "{error}");
}
