//! MCP servers: what is configured, and looking after it.

use serde_json::{Value, json};
use vocabulary::{
    AuthMode, Call, Challenge, McpAuth, McpAuthMode, McpAuthState, McpCall, McpCheck, McpFile,
    McpLayer, McpReply, McpRunning, McpScope, McpServer, McpServerState, McpSnapshot, McpTransport,
    Refusal, Reply, Secret, SignedIn, Why,
};

use super::messages::of_session;
use super::samples::{NOW, card};
use super::stub::Stub;
use super::telling::frame;

const KEY: &str = "sk-very-secret";

fn call(call: McpCall) -> Call {
    let thread = card().id;
    Call::Mcp { thread, call }
}

fn reply(reply: McpReply) -> Result<Reply, Refusal> {
    Ok(Reply::Mcp(Box::new(reply)))
}

fn not_found() -> Refusal {
    Refusal::invalid("name", "MCP server \"grep\" not found.")
}

fn error(message: &str, code: &str, source: &str) -> Value {
    let fields = json!({ "message": message, "code": code, "source": source });
    frame("error", fields)
}

fn named(kind: &str) -> Value {
    of_session(kind, json!({ "name": " grep " }))
}

fn grep() -> McpServer {
    McpServer {
        name: "grep".to_owned(),
        transport: McpTransport::Http {
            url: "https://mcp.example".to_owned(),
            headers: [("X-Team".to_owned(), "a".to_owned())].into(),
        },
        required: None,
        retries: Some(2),
        auth: Some(McpAuth::OAuth {
            scope: None,
            resource: None,
            mode: Some("auto".to_owned()),
        }),
    }
}

fn files() -> McpServer {
    McpServer {
        name: "files".to_owned(),
        transport: McpTransport::Stdio {
            command: "npx".to_owned(),
            args: vec!["-y".to_owned(), "server".to_owned()],
            env: [("A".to_owned(), "b".to_owned())].into(),
            cwd: Some("sub".to_owned()),
        },
        required: Some(true),
        retries: None,
        auth: None,
    }
}

fn grep_config() -> Value {
    json!({
        "name": "grep",
        "transport": { "type": "http", "url": "https://mcp.example", "headers": { "X-Team": "a" } },
        "retries": 2.0,
        "auth": { "type": "oauth", "oauthMode": "auto" },
    })
}

fn snapshot() -> McpSnapshot {
    let state = |server, layer, mode, scope, message: &str| McpServerState {
        server,
        layer,
        auth: McpAuthState {
            mode,
            scope,
            message: message.to_owned(),
        },
        running: McpRunning::NotStarted,
        switched_off: false,
    };
    McpSnapshot {
        servers: vec![
            state(
                files(),
                McpLayer::System,
                McpAuthMode::None,
                McpScope::User,
                "No authentication required.",
            ),
            state(
                grep(),
                McpLayer::Workspace,
                McpAuthMode::OAuthPending,
                McpScope::Workspace,
                "OAuth sign-in waits for you to complete it.",
            ),
        ],
        files: vec![McpFile {
            layer: McpLayer::UserLegacy,
            path: "/u/.agent/mcp-servers.json".into(),
            exists: true,
            parse_error: Some("mcp-servers.json: it is not a file".to_owned()),
            server_count: 0,
        }],
        warnings: vec!["[MCP] Ignoring it".to_owned()],
        ..McpSnapshot::default()
    }
}

fn servers_event() -> Value {
    let mut grep = grep_config();
    for (name, value) in [
        ("source", "workspace"),
        ("authMode", "oauth_pending"),
        ("authScope", "workspace"),
        ("authMessage", "OAuth sign-in waits for you to complete it."),
    ] {
        grep[name] = json!(value);
    }
    grep["inherited"] = json!(false);
    frame(
        "mcp_servers",
        json!({
            "servers": [
                {
                    "name": "files",
                    "transport": {
                        "type": "stdio",
                        "command": "npx",
                        "args": ["-y", "server"],
                        "env": { "A": "b" },
                        "cwd": "sub",
                    },
                    "required": true,
                    "source": "system",
                    "inherited": true,
                    "authMode": "none",
                    "authScope": "user",
                    "authMessage": "No authentication required.",
                },
                grep,
            ],
            "legacy": {
                "workspace": { "path": "", "exists": false },
                "user": { "path": "/u/.agent/mcp-servers.json", "exists": true },
            },
            "files": [{
                "source": "user_legacy",
                "path": "/u/.agent/mcp-servers.json",
                "exists": true,
                "editable": false,
                "legacy": true,
                "parseError": "mcp-servers.json: it is not a file",
                "serverCount": 0,
            }],
            "warnings": ["[MCP] Ignoring it"],
        }),
    )
}

fn check(ok: bool) -> McpCheck {
    McpCheck {
        ok,
        mode: McpAuthMode::OAuth,
        message: "It was tried.".to_owned(),
        tool_count: ok.then_some(12),
        latency_ms: Some(143),
    }
}

fn validation(ok: bool) -> Value {
    let mut event = frame(
        "mcp_server_validation",
        json!({ "name": "grep", "ok": ok, "mode": "oauth", "message": "It was tried." }),
    );
    if ok {
        event["toolCount"] = json!(12);
    }
    event["latencyMs"] = json!(143);
    event
}

#[test]
fn a_server_that_is_saved_is_shown_and_then_tried() {
    let mut stub = Stub::connected();
    let mut config = grep_config();
    config["name"] = json!(" grep ");
    let fields = json!({ "server": config, "previousName": "old" });
    stub.say(of_session("mcp_server_upsert", fields));
    let save = McpCall::Save {
        server: Box::new(grep()),
        previous_name: Some("old".to_owned()),
    };
    assert_eq!(stub.call(), &call(save));
    stub.reply(reply(McpReply::Servers(snapshot())));
    assert_eq!(stub.take(), [servers_event()]);

    let name = "grep".to_owned();
    assert_eq!(stub.call(), &call(McpCall::Check { name }));
    stub.reply(reply(McpReply::Checked(check(true))));
    assert_eq!(stub.take(), [validation(true)]);
    assert!(stub.calls.is_empty());
}

#[test]
fn every_kind_of_server_is_understood() {
    let stdio = json!({
        "name": "files",
        "transport": {
            "type": "stdio",
            "command": "npx",
            "args": ["-y", "server"],
            "env": { "A": "b" },
            "cwd": "sub",
        },
        "required": true,
    });
    let sse = json!({
        "name": "old",
        "transport": { "type": "sse", "url": " http://127.0.0.1:9/sse " },
        "auth": { "type": "api_key", "headerName": "X-Key", "prefix": "Token", "keyId": "k" },
    });
    let old = McpServer {
        name: "old".to_owned(),
        transport: McpTransport::Sse {
            url: "http://127.0.0.1:9/sse".to_owned(),
            headers: Default::default(),
        },
        required: None,
        retries: None,
        auth: Some(McpAuth::ApiKey {
            header: Some("X-Key".to_owned()),
            prefix: Some("Token".to_owned()),
            key_id: Some("k".to_owned()),
        }),
    };
    for (config, server) in [(stdio, files()), (sse, old)] {
        let mut stub = Stub::connected();
        stub.say(of_session("mcp_server_upsert", json!({ "server": config })));
        let save = McpCall::Save {
            server: Box::new(server),
            previous_name: None,
        };
        assert_eq!(stub.call(), &call(save));
    }
}

#[test]
fn a_server_that_cannot_be_saved_is_not_tried() {
    let mut stub = Stub::connected();
    let fields = json!({ "server": grep_config() });
    stub.say(of_session("mcp_server_upsert", fields));
    let message = "mcp-servers.json: servers.0.transport.url: is not a URL";
    stub.reply(Err(Refusal::invalid("server", message)));
    assert_eq!(
        stub.take(),
        [error(message, "validation_failed", "session")]
    );
    assert!(stub.calls.is_empty());
}

#[test]
fn a_number_of_retries_is_a_whole_one() {
    for retries in [json!(1.5), json!(-1), json!(101), json!(1e300)] {
        let mut config = grep_config();
        config["retries"] = retries;
        let mut stub = Stub::connected();
        stub.say(of_session("mcp_server_upsert", json!({ "server": config })));
        let message = "mcp_server_upsert invalid server: Error: mcp-servers.json: \
                       servers.0.retries: must be a whole number from 0 to 100";
        assert_eq!(
            stub.take(),
            [error(message, "validation_failed", "protocol")]
        );
    }
}

#[test]
fn a_server_is_somewhere() {
    for (transport, field) in [
        (json!({ "type": "http", "url": "" }), "url"),
        (json!({ "type": "sse", "url": " " }), "url"),
        (json!({ "type": "stdio", "command": "" }), "command"),
    ] {
        let config = json!({ "name": "x", "transport": transport });
        let mut stub = Stub::connected();
        stub.say(of_session("mcp_server_upsert", json!({ "server": config })));
        let message = format!(
            "mcp_server_upsert invalid server: Error: mcp-servers.json: servers.0.transport.{field}: \
             must not be empty"
        );
        let refused = error(&message, "validation_failed", "protocol");
        assert_eq!(stub.take(), [refused]);
        assert!(stub.calls.is_empty());
    }
}

#[test]
fn nothing_that_was_not_asked_for_is_told_as_an_error() {
    let mut stub = Stub::connected();
    let fields = json!({ "server": grep_config() });
    stub.say(of_session("mcp_server_upsert", fields));
    stub.reply(reply(McpReply::Servers(snapshot())));
    stub.take();
    // A turn began meanwhile.
    stub.reply(Err(Refusal::busy()));
    assert_eq!(stub.take(), [Value::Null; 0]);
}

#[test]
fn a_deleted_server_is_gone_from_what_is_shown() {
    let mut stub = Stub::connected();
    stub.say(named("mcp_server_delete"));
    let name = "grep".to_owned();
    assert_eq!(stub.call(), &call(McpCall::Delete { name }));
    stub.reply(reply(McpReply::Servers(snapshot())));
    assert_eq!(stub.take(), [servers_event()]);
    assert!(stub.calls.is_empty());

    stub.say(named("mcp_server_delete"));
    stub.reply(Err(not_found()));
    let message = "MCP server \"grep\" not found.";
    assert_eq!(
        stub.take(),
        [error(message, "validation_failed", "session")]
    );
}

#[test]
fn a_check_is_told_whatever_comes_of_it() {
    for ok in [true, false] {
        let mut stub = Stub::connected();
        stub.say(named("mcp_server_validate"));
        stub.reply(reply(McpReply::Checked(check(ok))));
        assert_eq!(stub.take(), [validation(ok)]);
    }
    let mut stub = Stub::connected();
    stub.say(named("mcp_server_validate"));
    stub.reply(Err(not_found()));
    let message = "MCP server \"grep\" not found.";
    let fields = json!({ "name": "grep", "ok": false, "mode": "error", "message": message });
    let expected = [
        error(message, "validation_failed", "session"),
        frame("mcp_server_validation", fields),
    ];
    assert_eq!(stub.take(), expected);

    stub.say(named("mcp_server_validate"));
    stub.reply(Err(Refusal::busy()));
    assert_eq!(stub.take(), [error("Agent is busy", "busy", "session")]);
}

#[test]
fn a_sign_in_is_a_challenge_then_a_result_then_what_changed() {
    for (needs_code, url, method) in [
        (false, Some("https://auth.example/authorize"), "auto"),
        (true, None, "code"),
    ] {
        let mut stub = Stub::connected();
        stub.say(named("mcp_server_auth_authorize"));
        let name = "grep".to_owned();
        assert_eq!(stub.call(), &call(McpCall::Authorize { name }));
        stub.reply(reply(McpReply::Challenge(Box::new(Challenge {
            needs_code,
            instructions: "Open it.".to_owned(),
            url: url.map(str::to_owned),
            expires_at: url.map(|_| NOW),
        }))));
        let mut challenge = json!({ "method": method, "instructions": "Open it." });
        if let Some(url) = url {
            challenge["url"] = json!(url);
            challenge["expiresAt"] = json!(NOW.iso());
        }
        let fields = json!({ "name": "grep", "challenge": challenge });
        assert_eq!(stub.take(), [frame("mcp_server_auth_challenge", fields)]);
    }

    let mut stub = Stub::connected();
    let fields = json!({ "name": "grep", "code": format!(" {KEY} ") });
    stub.say(of_session("mcp_server_auth_callback", fields));
    let finish = McpCall::FinishSignIn {
        name: "grep".to_owned(),
        code: Some(Secret::new(KEY)),
    };
    assert_eq!(stub.call(), &call(finish));
    assert!(!format!("{:?}", stub.calls).contains("secret"));
    stub.reply(signed_in(true, AuthMode::OAuth, McpAuthMode::OAuth));
    assert_eq!(stub.take(), [result(true, "oauth")]);
    tried(&mut stub);
}

fn signed_in(ok: bool, was: AuthMode, mode: McpAuthMode) -> Result<Reply, Refusal> {
    let result = SignedIn {
        ok,
        mode: ok.then_some(was),
        message: "Done.".to_owned(),
    };
    reply(McpReply::SignedIn { result, mode })
}

fn result(ok: bool, mode: &str) -> Value {
    let fields = json!({ "name": "grep", "ok": ok, "mode": mode, "message": "Done." });
    frame("mcp_server_auth_result", fields)
}

/// What a sign-in is followed by.
fn tried(stub: &mut Stub) {
    let calls: Vec<_> = stub.calls.iter().map(|(_, call)| call.clone()).collect();
    let name = "grep".to_owned();
    let expected = [call(McpCall::Get), call(McpCall::Check { name })];
    assert_eq!(calls, expected.map(Some));
    stub.reply(reply(McpReply::Servers(snapshot())));
    stub.reply(reply(McpReply::Checked(check(true))));
    assert_eq!(stub.take(), [servers_event(), validation(true)]);
}

#[test]
fn a_key_is_saved_and_shown_to_nobody() {
    let mut stub = Stub::connected();
    let fields = json!({ "name": "grep", "apiKey": KEY });
    stub.say(of_session("mcp_server_auth_set_api_key", fields));
    let set = McpCall::SetKey {
        name: "grep".to_owned(),
        key: Secret::new(KEY),
    };
    assert_eq!(stub.call(), &call(set));
    assert!(!format!("{:?}", stub.calls).contains("secret"));
    stub.reply(signed_in(true, AuthMode::ApiKey, McpAuthMode::ApiKey));
    assert_eq!(stub.take(), [result(true, "api_key")]);
    tried(&mut stub);
}

#[test]
fn a_sign_in_that_failed_is_a_result_and_no_more() {
    let mut stub = Stub::connected();
    stub.say(named("mcp_server_auth_callback"));
    stub.reply(signed_in(false, AuthMode::OAuth, McpAuthMode::Missing));
    assert_eq!(stub.take(), [result(false, "missing")]);
    assert!(stub.calls.is_empty());
}

#[test]
fn one_sign_in_at_a_time_waits_for_a_person() {
    let mut stub = Stub::connected();
    stub.say(named("mcp_server_auth_callback"));
    stub.say(named("mcp_server_auth_callback"));
    let running = error("Connection flow already running", "busy", "session");
    assert_eq!(stub.take(), [running]);
    assert_eq!(stub.calls.len(), 1);
    // With a code nobody is waited for.
    let fields = json!({ "name": "grep", "code": "abc" });
    stub.say(of_session("mcp_server_auth_callback", fields));
    assert_eq!(stub.calls.len(), 2);

    let gone = "no sign-in was begun";
    stub.reply(Err(Refusal::new(Why::NotAvailable, gone)));
    assert_eq!(stub.take(), [error(gone, "internal_error", "session")]);
    stub.say(named("mcp_server_auth_callback"));
    assert_eq!(stub.calls.len(), 2);
    assert_eq!(stub.take(), [Value::Null; 0]);
}

#[test]
fn a_migration_is_told_in_words_and_then_shown() {
    let migrated = "Migrated the legacy MCP configuration (workspace): 2 imported, 1 already there. \
                    The old file is kept as /w/.agent/mcp-servers.legacy-migrated.json.";
    let nothing = "There is no legacy MCP configuration to migrate (user).";
    for (name, scope, archived, text) in [
        (
            "workspace",
            McpScope::Workspace,
            Some("/w/.agent/mcp-servers.legacy-migrated.json"),
            migrated,
        ),
        ("user", McpScope::User, None, nothing),
    ] {
        let mut stub = Stub::connected();
        let fields = json!({ "scope": name });
        stub.say(of_session("mcp_servers_migrate_legacy", fields));
        assert_eq!(stub.call(), &call(McpCall::Migrate { scope }));
        stub.reply(reply(McpReply::Migrated {
            imported: 2,
            skipped: 1,
            archived: archived.map(Into::into),
            now: snapshot(),
        }));
        let said = frame("assistant_message", json!({ "text": text }));
        assert_eq!(stub.take(), [said, servers_event()]);
    }
}

#[test]
fn an_answer_that_does_not_fit_is_an_error() {
    for kind in ["mcp_server_validate", "mcp_server_auth_authorize"] {
        let mut stub = Stub::connected();
        stub.say(named(kind));
        stub.reply(reply(McpReply::Servers(snapshot())));
        assert_eq!(stub.take_types(), ["error"]);
    }
}

#[test]
fn a_long_name_is_not_sent_back_whole() {
    let long = "é".repeat(100_000);
    let mut stub = Stub::connected();
    let fields = json!({ "name": long });
    stub.say(of_session("mcp_server_validate", fields));
    let Call::Mcp {
        call: McpCall::Check { name },
        ..
    } = stub.call()
    else {
        panic!("another call");
    };
    assert!(name.len() < 1000);
}
