//! The other messages: what they ask of the engine, and how they are answered.

use serde_json::{Value, json};
use vocabulary::{
    Call, Cause, Changed, Changes, Fact, Idempotency, McpCall, McpReply, MessagePage, ModelRef,
    Reply, Seq, StartTurn, StartedTurn, ThreadFact, ThreadPage, ThreadQuery, Title, TurnId,
};

use super::samples::{
    OTHER, SESSION, card, catalog, mcp_files, settings, statuses, thread, thread_id,
};
use super::stub::Stub;

pub fn said(message: Value) -> Stub {
    let mut message = message;
    message["sessionId"] = json!(SESSION);
    let mut stub = Stub::connected();
    stub.say(message);
    stub
}

fn changes_of(message: Value) -> Changes {
    let stub = said(message);
    let Call::ChangeThread { thread, changes } = stub.call() else {
        panic!("not a change: {:?}", stub.call());
    };
    assert_eq!(*thread, card().id);
    assert!(stub.sent.is_empty());
    changes.clone()
}

#[test]
fn a_user_message_starts_a_turn() {
    let mut stub =
        said(json!({ "type": "user_message", "text": "/hello", "clientMessageId": "m1" }));
    assert_eq!(
        stub.call(),
        &Call::StartTurn(StartTurn {
            files: Vec::new(),
            changes: Box::default(),
            listen: None,
            images: Vec::new(),
            thread: card().id,
            text: "/hello".to_owned(),
            display: None,
            cause: Cause::UserMessage,
            client_message_id: Some("m1".to_owned()),
            client_turn_id: None,
            idempotency: Idempotency::Reconnect { joined_at: Seq(9) },
            pieces: Vec::new(),
        })
    );
    let turn = TurnId::new("t1");
    stub.reply(Ok(Reply::Turn(StartedTurn {
        turn,
        again: false,
        joined: None,
    })));
    assert!(stub.sent.is_empty(), "events tell the turn");
}

#[test]
fn a_message_sent_again_is_echoed_to_who_sent_it() {
    let mut stub = said(json!({ "type": "user_message", "text": "hi", "clientMessageId": "m1" }));
    let turn = TurnId::new("t1");
    stub.reply(Ok(Reply::Turn(StartedTurn {
        turn,
        again: true,
        joined: None,
    })));
    assert_eq!(
        stub.take(),
        [json!({
            "type": "user_message",
            "sessionId": SESSION,
            "text": "hi",
            "clientMessageId": "m1",
        })]
    );
}

#[test]
fn settings_become_changes() {
    let changes = changes_of(json!({
        "type": "set_config",
        "config": { "yolo": true, "maxSteps": 7.5, "subAgentModel": "gpt-5-mini" },
    }));
    let expected = Changes {
        auto_approve: Some(true),
        max_steps: Some(7),
        sub_agent_model: Some("gpt-5-mini".to_owned()),
        ..Changes::default()
    };
    assert_eq!(changes, expected);
    let changes = changes_of(json!({ "type": "set_enable_mcp", "enableMcp": false }));
    assert_eq!(changes.settings_named(), [Changed::Mcp]);
    let changes = changes_of(json!({ "type": "set_session_title", "title": " Mine " }));
    assert_eq!(changes.title.as_deref(), Some("Mine"));
}

#[test]
fn an_empty_patch_still_shows_the_config() {
    let mut stub = said(json!({ "type": "set_config", "config": {} }));
    assert_eq!(stub.take_types(), ["session_config"]);
}

#[test]
fn a_model_keeps_its_provider_unless_one_is_named() {
    let check = |message: Value, provider: &str, model: &str| {
        let expected = ModelRef {
            provider: provider.to_owned(),
            model: model.to_owned(),
        };
        assert_eq!(changes_of(message).model, Some(expected));
    };
    let named = json!({ "type": "set_model", "model": "claude", "provider": "anthropic" });
    check(named, "anthropic", "claude");
    check(
        json!({ "type": "set_model", "model": "gpt-5" }),
        "openai",
        "gpt-5",
    );
    let other = json!({ "type": "set_model", "model": "rehearsal/echo" });
    check(other, "rehearsal", "echo");
    let plain = json!({ "type": "set_model", "model": "vendor/model" });
    check(plain, "openai", "vendor/model");
}

#[test]
fn a_new_model_is_followed_by_the_catalog_with_its_selection() {
    let mut stub = Stub::connected();
    let mut settings = settings();
    settings.model = ModelRef {
        provider: "rehearsal".to_owned(),
        model: "echo".to_owned(),
    };
    stub.tell(Fact::Thread(ThreadFact::SettingsChanged {
        settings,
        changed: vec![Changed::Model],
        title: Title::default(),
    }));
    assert_eq!((stub.shared, stub.call()), (1, &Call::GetCatalog));
    stub.reply(Ok(Reply::Catalog(Box::new(catalog()))));
    let sent = stub.take();
    assert_eq!(sent[0]["default"]["openai"], "rehearsal/echo");
    assert_eq!(sent[0]["default"]["google"], "gemini");
}

#[test]
fn each_question_is_asked_and_answered() {
    let thread = card().id;
    let catalog = || Reply::Catalog(Box::new(catalog()));
    let tools = || Reply::Tools(vec![("bash".to_owned(), "Run".to_owned())]);
    let page = Call::ReadMessages {
        thread,
        offset: 1,
        limit: 2,
    };
    let whole = Call::ReadMessages {
        thread,
        offset: 0,
        limit: 100,
    };
    let messages = || {
        Reply::Messages(MessagePage {
            entries: Vec::new(),
            total: 0,
            offset: 0,
            limit: 100,
        })
    };
    let get = json!({ "type": "get_messages" });
    let get_page = json!({ "type": "get_messages", "offset": 1.9, "limit": 2.2 });
    let threads = Call::ListThreads(ThreadQuery::default());
    let listed = Reply::Threads(ThreadPage {
        threads: Vec::new(),
        next: None,
        back: None,
    });
    for (message, call, reply, event) in [
        (
            json!({ "type": "list_tools" }),
            Call::ListTools { thread },
            tools(),
            "tools",
        ),
        (
            json!({ "type": "provider_catalog_get" }),
            Call::GetCatalog,
            catalog(),
            "provider_catalog",
        ),
        (
            json!({ "type": "provider_auth_methods_get" }),
            Call::GetCatalog,
            catalog(),
            "provider_auth_methods",
        ),
        (
            json!({ "type": "refresh_provider_status" }),
            Call::GetProviderStatus { verify: true },
            Reply::ProviderStatus(statuses()),
            "provider_status",
        ),
        (
            json!({ "type": "mcp_servers_get" }),
            Call::Mcp {
                thread,
                call: McpCall::Get,
            },
            Reply::Mcp(Box::new(McpReply::Servers(mcp_files()))),
            "mcp_servers",
        ),
        (
            json!({ "type": "list_sessions" }),
            threads,
            listed,
            "sessions",
        ),
        (get, whole, messages(), "messages"),
        (get_page, page, messages(), "messages"),
    ] {
        let mut stub = said(message);
        assert_eq!(stub.call(), &call);
        stub.reply(Ok(reply));
        assert_eq!(stub.take_types(), [event]);
    }
}

#[test]
fn what_events_answer_gets_no_frame_of_its_own() {
    let thread = card().id;
    let cancel = Call::CancelTurn { thread, turn: None };
    let reset = Call::ResetThread { thread };
    for (name, call) in [("cancel", cancel), ("reset", reset)] {
        let mut stub = said(json!({ "type": name }));
        assert_eq!(stub.call(), &call);
        stub.reply(Ok(Reply::Done));
        assert!(stub.sent.is_empty());
    }
}

#[test]
fn a_ping_is_answered_and_a_hello_is_not() {
    let pong = json!({ "type": "pong", "sessionId": SESSION });
    assert_eq!(said(json!({ "type": "ping" })).take(), [pong]);
    let mut stub = Stub::connected();
    stub.say(json!({ "type": "client_hello", "client": "desktop-control" }));
    assert!(stub.sent.is_empty() && stub.calls.is_empty());
}

#[test]
fn sessions_are_listed_as_the_engine_sorts_them() {
    let mut named = thread();
    named.card.id = thread_id(OTHER);
    named.title.text = "Fix login bug".to_owned();
    named.message_count = 24;
    let mut stub = said(json!({ "type": "list_sessions" }));
    stub.reply(Ok(Reply::Threads(ThreadPage {
        threads: vec![named, thread()],
        next: None,
        back: None,
    })));
    let summary = |id: &str, title: &str, count: u64| {
        json!({
            "sessionId": id,
            "title": title,
            "provider": "openai",
            "model": "gpt-5.2",
            "createdAt": "2026-02-19T18:00:00.000Z",
            "updatedAt": "2026-02-19T18:00:00.000Z",
            "messageCount": count,
        })
    };
    assert_eq!(
        stub.take()[0]["sessions"],
        json!([
            summary(OTHER, "Fix login bug", 24),
            summary(SESSION, "New conversation", 0),
        ])
    );
}

#[test]
fn other_sessions_can_be_deleted_and_this_one_cannot() {
    let delete =
        |target: &str| said(json!({ "type": "delete_session", "targetSessionId": target }));
    let deleted = |target: &str| json!({ "type": "session_deleted", "sessionId": SESSION, "targetSessionId": target });
    let mut stub = delete(OTHER);
    stub.reply(Ok(Reply::Done));
    assert_eq!(stub.take(), [deleted(OTHER)]);
    let mut stub = delete(OTHER);
    stub.reply(Err(vocabulary::Refusal::unknown_thread(thread_id(OTHER))));
    assert_eq!(stub.take(), [deleted(OTHER)]);
    assert_eq!(delete("no-uuid").take(), [deleted("no-uuid")]);
    let own = delete(SESSION).take();
    assert_eq!(own[0]["message"], "Cannot delete the active session");
    assert_eq!(own[0]["code"], "validation_failed");
    assert_eq!(own[0]["source"], "session");
}

#[test]
fn an_answer_of_the_wrong_kind_leaves_nobody_waiting() {
    let mut stub = Stub::connected();
    stub.say(json!({ "type": "list_tools", "sessionId": SESSION }));
    stub.reply(Ok(Reply::Done));
    let sent = stub.take();
    assert_eq!(
        (&sent[0]["type"], &sent[0]["code"]),
        (&json!("error"), &json!("internal_error"))
    );
}

#[test]
fn the_tool_that_asks_is_listed_under_both_its_names() {
    let mut stub = Stub::connected();
    stub.say(json!({ "type": "list_tools", "sessionId": SESSION }));
    let tool = |name: &str| (name.to_owned(), format!("What {name} does."));
    stub.reply(Ok(Reply::Tools(vec![tool("ask"), tool("bash")])));
    assert_eq!(
        stub.take()[0]["tools"],
        json!([
            { "name": "AskUserQuestion", "description": "What ask does." },
            { "name": "ask", "description": "What ask does." },
            { "name": "bash", "description": "What bash does." },
        ])
    );
}
