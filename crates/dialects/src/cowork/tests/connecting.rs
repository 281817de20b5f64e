//! How a connection starts, and how it ends.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use vocabulary::{
    Answer, ApprovalAnswer, AskFact, AskId, AskKind, Call, Closing, Fact, McpReply, NoteFact,
    OpenAsk, Refusal, Reply, Seq, ThreadId, ThreadView, Why,
};

use super::backup::shown;
use super::samples::{
    NOW, OTHER, SESSION, approval, catalog, mcp_files, questions, statuses, tag, thread, view,
};
use super::stub::{Stub, no_checkpoints};

const FIRST_FIVE: [&str; 5] = [
    "server_hello",
    "session_settings",
    "session_config",
    "session_info",
    "observability_status",
];

const OTHER_FIVE: [&str; 5] = [
    "provider_catalog",
    "provider_auth_methods",
    "provider_status",
    "mcp_servers",
    "session_backup_state",
];

fn open_ask(ask: vocabulary::Ask, answered: &[&str]) -> OpenAsk {
    let answer = |id: &&str| (id.to_string(), vec!["yes".to_owned()]);
    OpenAsk {
        ask,
        seq: Seq(5),
        at: NOW,
        tag: tag(0),
        answers: answered.iter().map(answer).collect(),
    }
}

#[test]
fn a_fresh_connection_is_told_the_first_five_at_once() {
    let mut stub = Stub::opened(&[]);
    assert_eq!(stub.call(), &creation());
    stub.reply(Ok(Reply::Thread(Box::new(thread()))));
    assert!(stub.sent.is_empty());
    stub.reply(Ok(Reply::View(Box::new(view()))));
    assert_eq!(
        stub.take(),
        [
            json!({
                "type": "server_hello",
                "sessionId": SESSION,
                "protocolVersion": "7.0",
                "capabilities": { "modelStreamChunk": "v1" },
                "config": {
                    "provider": "openai",
                    "model": "gpt-5.2",
                    "workingDirectory": "/home/user/project",
                },
            }),
            json!({ "type": "session_settings", "sessionId": SESSION, "enableMcp": true }),
            json!({
                "type": "session_config",
                "sessionId": SESSION,
                "config": {
                    "yolo": false,
                    "observabilityEnabled": true,
                    "subAgentModel": "gpt-5.2",
                    "maxSteps": 100,
                },
            }),
            json!({
                "type": "session_info",
                "sessionId": SESSION,
                "title": "New conversation",
                "titleSource": "default",
                "titleModel": null,
                "createdAt": "2026-02-19T18:00:00.000Z",
                "updatedAt": "2026-02-19T18:00:00.000Z",
                "provider": "openai",
                "model": "gpt-5.2",
            }),
            json!({
                "type": "observability_status",
                "sessionId": SESSION,
                "enabled": true,
                "health": {
                    "status": "degraded",
                    "reason": "missing_credentials",
                    "message": "Observability is on, but Langfuse is not configured: start \
                        the server with LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY.",
                    "updatedAt": "2026-02-19T18:00:00.000Z",
                },
                "config": {
                    "provider": "langfuse",
                    "baseUrl": "https://cloud.langfuse.com",
                    "otelEndpoint": "https://cloud.langfuse.com/api/public/otel/v1/traces",
                    "hasPublicKey": false,
                    "hasSecretKey": false,
                    "configured": false,
                },
            }),
        ]
    );
    assert_eq!(stub.wake_at, Some(NOW.plus_millis(250)));
}

#[test]
fn the_other_five_show_what_the_engine_answers() {
    let mut stub = Stub::greeted(view());
    stub.take();
    stub.answer_connect_calls();
    let sent = stub.take();
    assert_eq!(
        sent[0],
        json!({
            "type": "provider_catalog",
            "sessionId": SESSION,
            "all": [
                entry("google", "GOOGLE", &["gemini"]),
                entry("openai", "OPENAI", &["gpt-5.2", "rehearsal/echo"]),
                entry("anthropic", "ANTHROPIC", &["claude"]),
                entry("codex-cli", "CODEX-CLI", &["codex"]),
            ],
            "default": {
                "google": "gemini",
                "openai": "gpt-5.2",
                "anthropic": "claude",
                "codex-cli": "codex",
            },
            "connected": ["google"],
        })
    );
    let key = json!({ "id": "api_key", "type": "api", "label": "API key" });
    let sign_in =
        json!({ "id": "oauth_cli", "type": "oauth", "label": "Sign in", "oauthMode": "auto" });
    assert_eq!(
        sent[1],
        json!({
            "type": "provider_auth_methods",
            "sessionId": SESSION,
            "methods": {
                "google": [key],
                "openai": [key],
                "anthropic": [key],
                "codex-cli": [sign_in, key],
            },
        })
    );
    assert_eq!(
        sent[2]["providers"],
        json!([
            status("google", false, "missing"),
            status("openai", true, "api_key"),
            status("anthropic", false, "missing"),
            status("codex-cli", true, "oauth"),
        ])
    );
    assert_eq!(sent[3], mcp_servers());
    assert_eq!(sent[4], shown("requested", json!([])));
}

fn entry(id: &str, name: &str, models: &[&str]) -> Value {
    json!({ "id": id, "name": name, "models": models, "defaultModel": models[0] })
}

fn status(provider: &str, authorized: bool, mode: &str) -> Value {
    json!({
        "provider": provider,
        "authorized": authorized,
        "verified": false,
        "mode": mode,
        "account": null,
        "message": "Not connected.",
        "checkedAt": "2026-02-19T18:00:00.000Z",
    })
}

fn mcp_servers() -> Value {
    let file = |source: &str, path: &str, exists: bool| {
        json!({
            "source": source,
            "path": path,
            "exists": exists,
            "editable": source == "workspace",
            "legacy": source.ends_with("_legacy"),
            "serverCount": 0,
        })
    };
    json!({
        "type": "mcp_servers",
        "sessionId": SESSION,
        "servers": [],
        "legacy": {
            "workspace": { "path": "/w/.agent/mcp-servers.json", "exists": true },
            "user": { "path": "/u/.agent/mcp-servers.json", "exists": false },
        },
        "files": [
            file("workspace", "/w/.cowork/mcp-servers.json", false),
            file("user", "/u/.cowork/mcp-servers.json", false),
            file("system", "/s/mcp-servers.json", true),
            file("workspace_legacy", "/w/.agent/mcp-servers.json", true),
            file("user_legacy", "/u/.agent/mcp-servers.json", false),
        ],
    })
}

#[test]
fn answers_in_any_order_are_sent_in_the_protocols_order() {
    let mut stub = Stub::greeted(view());
    assert_eq!(stub.take_types(), FIRST_FIVE);
    stub.reply_to(3, Err(no_checkpoints()));
    stub.reply_to(1, Ok(Reply::ProviderStatus(statuses())));
    stub.reply_to(1, Ok(Reply::Mcp(Box::new(McpReply::Servers(mcp_files())))));
    assert!(stub.sent.is_empty(), "the catalog comes first");
    stub.reply(Ok(Reply::Catalog(Box::new(catalog()))));
    assert_eq!(stub.take_types(), OTHER_FIVE);
    stub.wake();
    assert!(stub.sent.is_empty());
}

#[test]
fn after_a_while_what_is_ready_overtakes_what_is_late() {
    let mut stub = Stub::greeted(view());
    stub.take();
    stub.reply_to(2, Ok(Reply::Mcp(Box::new(McpReply::Servers(mcp_files())))));
    stub.wake();
    assert_eq!(stub.take_types(), ["mcp_servers"]);
    stub.reply_to(1, Ok(Reply::ProviderStatus(statuses())));
    assert_eq!(stub.take_types(), ["provider_status"]);
    stub.reply(Ok(Reply::Catalog(Box::new(catalog()))));
    stub.reply(Err(no_checkpoints()));
    let late = [
        "provider_catalog",
        "provider_auth_methods",
        "session_backup_state",
    ];
    assert_eq!(stub.take_types(), late);
}

#[test]
fn a_slot_whose_call_is_refused_says_so_and_holds_up_nothing() {
    let mut stub = Stub::greeted(view());
    stub.take();
    stub.reply(Err(Refusal::new(Why::Internal, "no catalog")));
    stub.reply(Err(Refusal::new(Why::Internal, "no status")));
    stub.reply(Ok(Reply::Mcp(Box::new(McpReply::Servers(mcp_files())))));
    assert_eq!(stub.take_types(), ["error", "error", "mcp_servers"]);
}

#[test]
fn live_events_flow_before_the_slots_are_full() {
    let mut stub = Stub::greeted(view());
    stub.tell(Fact::Note(NoteFact::Logged {
        line: "x".to_owned(),
    }));
    assert_eq!(stub.shared, 1);
}

fn resumed(view: ThreadView) -> Stub {
    let mut stub = Stub::opened(&[("resumeSessionId", SESSION)]);
    stub.reply(Ok(Reply::View(Box::new(view))));
    stub
}

fn waiting_view() -> ThreadView {
    let mut view = view();
    view.thread.message_count = 12;
    view.asks = vec![
        open_ask(approval(3), &[]),
        open_ask(questions(4, &["Which?", "Why?"]), &["q-Which?"]),
    ];
    view
}

#[test]
fn a_resumed_session_says_where_it_stands() {
    let mut stub = resumed(waiting_view());
    let hello = stub.take().remove(0);
    let resume = [
        ("isResume", json!(true)),
        ("busy", json!(false)),
        ("messageCount", json!(12)),
        ("hasPendingAsk", json!(true)),
        ("hasPendingApproval", json!(true)),
    ];
    for (name, value) in resume {
        assert_eq!(hello[name], value, "{name}");
    }
    assert_eq!(hello.get("resumedFromStorage"), None);

    let mut woken = view();
    woken.woken = true;
    let hello = resumed(woken).take().remove(0);
    assert_eq!(hello["resumedFromStorage"], json!(true));
    assert_eq!(hello["hasPendingAsk"], json!(false));
}

#[test]
fn what_waits_is_asked_again_behind_the_ten() {
    let mut stub = resumed(waiting_view());
    stub.take();
    stub.answer_connect_calls();
    let sent = stub.take();
    assert_eq!(sent.len(), 7);
    assert_eq!(
        sent[5],
        json!({
            "type": "ask",
            "sessionId": SESSION,
            "requestId": "req-4-2",
            "question": "Why?",
            "options": ["yes"],
        })
    );
    assert_eq!(sent[6]["type"], "approval");
    assert_eq!(sent[6]["requestId"], "req-3");
}

#[test]
fn what_was_answered_meanwhile_is_not_asked_again() {
    let mut stub = resumed(waiting_view());
    stub.take();
    stub.tell(Fact::Ask {
        tag: tag(1),
        what: AskFact::Closed {
            ask: approval(3),
            closing: Closing::Answered(Answer::Approval(ApprovalAnswer::Once)),
        },
    });
    stub.tell(Fact::Ask {
        tag: tag(1),
        what: AskFact::Closed {
            ask: questions(4, &["Which?", "Why?"]),
            closing: Closing::Answered(Answer::Questions(BTreeMap::new())),
        },
    });
    stub.answer_connect_calls();
    assert_eq!(stub.take_types(), OTHER_FIVE);
}

#[test]
fn a_question_told_live_meanwhile_is_not_asked_twice() {
    let mut view = view();
    view.asks = vec![open_ask(questions(4, &["Which?", "Why?"]), &[])];
    let mut stub = resumed(view);
    stub.take();
    let AskKind::Questions(mut asked) = questions(4, &["Which?", "Why?"]).kind else {
        panic!("it asks");
    };
    stub.tell(Fact::Ask {
        tag: tag(1),
        what: AskFact::Progressed {
            ask: AskId(4),
            answers: BTreeMap::from([("q-Which?".to_owned(), vec!["yes".to_owned()])]),
            next: Some(asked.remove(1)),
            position: 1,
        },
    });
    assert_eq!(stub.shared, 1);
    stub.answer_connect_calls();
    assert_eq!(stub.take_types(), OTHER_FIVE);
}

#[test]
fn an_unknown_session_is_silently_a_new_one() {
    let mut stub = Stub::opened(&[("resumeSessionId", OTHER)]);
    stub.reply(Err(Refusal::new(Why::UnknownThread, "there is none")));
    assert_eq!(stub.call(), &creation_of(ThreadId::parse(OTHER)));
    stub.reply(Ok(Reply::Thread(Box::new(thread()))));
    stub.reply(Ok(Reply::View(Box::new(view()))));
    let hello = stub.take().remove(0);
    assert_eq!(hello["sessionId"], SESSION);
    assert_eq!(hello.get("isResume"), None);
}

#[test]
fn a_session_that_was_given_out_and_never_kept_is_resumed() {
    let mut stub = Stub::opened(&[("resumeSessionId", SESSION)]);
    stub.say(json!({ "type": "ping", "sessionId": SESSION }));
    stub.reply(Err(Refusal::new(Why::UnknownThread, "there is none")));
    assert_eq!(stub.call(), &creation_of(ThreadId::parse(SESSION)));
    stub.reply(Ok(Reply::Thread(Box::new(thread()))));
    stub.reply(Ok(Reply::View(Box::new(view()))));
    let frames = stub.take();
    assert_eq!(frames[0]["sessionId"], SESSION);
    assert_eq!(frames[0]["isResume"], true);
    assert_eq!(frames[5]["type"], "pong", "what was queued is heard");
}

#[test]
fn an_id_that_is_none_is_not_asked_for() {
    for id in ["", "  ", "not-a-uuid", "../../etc"] {
        let stub = Stub::opened(&[("resumeSessionId", id)]);
        assert_eq!(stub.call(), &creation());
    }
}

#[test]
fn a_session_of_another_process_is_busy() {
    let mut stub = Stub::opened(&[("resumeSessionId", OTHER)]);
    stub.reply(Err(Refusal::new(Why::OwnedElsewhere, "process 7 has it")));
    assert_eq!(
        stub.take(),
        [json!({
            "type": "error",
            "sessionId": OTHER,
            "message": "process 7 has it",
            "code": "busy",
            "source": "session",
        })]
    );
    assert_eq!(stub.closed.map(|reason| reason.code), Some(1013));
}

#[test]
fn what_is_said_before_the_greeting_is_heard_after_it() {
    let mut stub = Stub::opened(&[("resumeSessionId", SESSION)]);
    stub.say(json!({ "type": "client_hello", "client": "tui" }));
    stub.say(json!({ "type": "ping", "sessionId": SESSION }));
    assert!(stub.sent.is_empty());
    stub.reply(Ok(Reply::View(Box::new(view()))));
    let types = stub.take_types();
    assert_eq!(types[..5], FIRST_FIVE);
    assert_eq!(types[5..], ["pong"]);
}

/// The thread of a new socket: cowork's rules say what asks there.
fn creation() -> Call {
    creation_of(None)
}

fn creation_of(resumed: Option<ThreadId>) -> Call {
    Call::CreateThread(Box::new(vocabulary::NewThread {
        approvals_expected: Some(vocabulary::Approvals::Ask),
        resumed,
        ..vocabulary::NewThread::default()
    }))
}
