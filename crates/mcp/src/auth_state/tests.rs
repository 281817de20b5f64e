//! How a server stands, and how a key is sent.

use serde_json::json;
use vocabulary::{McpLayer, McpScope};

use super::*;

fn http(auth: Option<McpAuth>) -> ConfiguredServer {
    ConfiguredServer {
        server: McpServer {
            name: "grep".to_owned(),
            transport: McpTransport::Http {
                url: "https://mcp.example".to_owned(),
                headers: Default::default(),
            },
            required: None,
            retries: None,
            auth,
        },
        layer: McpLayer::Workspace,
    }
}

fn by_key(header: Option<&str>, prefix: Option<&str>, key_id: Option<&str>) -> McpAuth {
    McpAuth::ApiKey {
        header: header.map(str::to_owned),
        prefix: prefix.map(str::to_owned),
        key_id: key_id.map(str::to_owned),
    }
}

const OAUTH: McpAuth = McpAuth::OAuth {
    scope: None,
    resource: None,
    mode: None,
};

fn saved(change: impl FnOnce(&mut ServerCredentials)) -> SavedCredentials {
    let mut credentials = ServerCredentials::default();
    change(&mut credentials);
    let mut saved = SavedCredentials::default();
    saved.set("grep", credentials);
    saved
}

fn state(auth: Option<McpAuth>, saved: &SavedCredentials) -> (McpAuthMode, String) {
    let state = auth_state(&http(auth), Ok(saved));
    assert_eq!(state.scope, McpScope::Workspace);
    (state.mode, state.message)
}

#[test]
fn every_way_it_can_stand_has_its_words() {
    let nothing = saved(|_| {});
    let key = saved(|all| all.set_key("k", Some("main")));
    let tokens = saved(|all| all.set_oauth(OAuthPart::Tokens, Some(json!({ "accessToken": "t" }))));
    let pending = |expires: &str| {
        let pending = json!({ "expiresAt": expires });
        saved(|all| all.set_oauth(OAuthPart::Pending, Some(pending)))
    };
    let required = McpAuthMode::Missing;
    let cases = [
        (None, &key, McpAuthMode::None, "No authentication required."),
        // It was signed in to all the same.
        (None, &tokens, McpAuthMode::OAuth, "OAuth token available."),
        (
            Some(McpAuth::None),
            &tokens,
            McpAuthMode::None,
            "No authentication required.",
        ),
        (
            Some(McpAuth::None),
            &key,
            McpAuthMode::None,
            "No authentication required.",
        ),
        (
            Some(by_key(None, None, None)),
            &key,
            McpAuthMode::ApiKey,
            "API key available.",
        ),
        (
            Some(by_key(None, None, Some("main"))),
            &key,
            McpAuthMode::ApiKey,
            "API key available.",
        ),
        (
            Some(by_key(None, None, Some("other"))),
            &key,
            required,
            "API key required.",
        ),
        (
            Some(by_key(None, None, None)),
            &tokens,
            required,
            "API key required.",
        ),
        (
            Some(OAUTH),
            &tokens,
            McpAuthMode::OAuth,
            "OAuth token available.",
        ),
        (Some(OAUTH), &nothing, required, "OAuth sign-in required."),
        (
            Some(OAUTH),
            &pending("2001-01-01T00:00:00.000Z"),
            required,
            "OAuth sign-in required.",
        ),
        (
            Some(OAUTH),
            &pending("2999-01-01T00:00:00.000Z"),
            McpAuthMode::OAuthPending,
            "OAuth sign-in waits for you to complete it.",
        ),
    ];
    for (auth, saved, mode, message) in cases {
        assert_eq!(state(auth, saved), (mode, message.to_owned()));
    }
}

#[test]
fn a_damaged_file_is_an_error_for_those_who_need_it() {
    let damaged = CredentialsError::Damaged("auth/mcp-credentials.json".into());
    let state = auth_state(&http(Some(OAUTH)), Err(&damaged));
    assert_eq!(state.mode, McpAuthMode::Error);
    assert!(
        state
            .message
            .contains("auth/mcp-credentials.json is damaged")
    );
    let open = auth_state(&http(None), Err(&damaged));
    assert_eq!(open.mode, McpAuthMode::None);
}

#[test]
fn a_key_is_sent_as_the_server_wants_it() {
    let mut credentials = ServerCredentials::default();
    credentials.set_key("k", None);
    let sent = |auth| {
        let (name, value) = key_header(&http(Some(auth)).server, &credentials)?;
        Some((name, value.expose_secret().to_owned()))
    };
    let pair = |name: &str, value: &str| Some((name.to_owned(), value.to_owned()));
    assert_eq!(
        sent(by_key(None, None, None)),
        pair("Authorization", "Bearer k")
    );
    assert_eq!(sent(by_key(Some("X-Key"), None, None)), pair("X-Key", "k"));
    assert_eq!(
        sent(by_key(Some("X-Key"), Some("Token "), None)),
        pair("X-Key", "Token k")
    );
    assert_eq!(
        sent(by_key(None, Some(""), None)),
        pair("Authorization", "k")
    );
    assert_eq!(sent(OAUTH), None);
    let none = ServerCredentials::default();
    assert!(key_header(&http(Some(by_key(None, None, None))).server, &none).is_none());
}
