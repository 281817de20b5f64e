//! Sessions are listed, made, changed and deleted, and everyone of the tenant is told.

use serde_json::{Value, json};
use vocabulary::{ArchivedThreads, Call, Changes, Notice, Reply, Thread, ThreadPage, ThreadQuery};

use super::stub::Stub;
use crate::cowork::tests::samples::{NOW, OTHER, SESSION, thread, thread_id};

fn named(name: &str) -> Thread {
    let mut thread = thread();
    thread.title.text = name.to_owned();
    thread
}

fn meta(name: Value) -> Value {
    json!({"id": SESSION, "tenantId": "local", "name": name, "agentType": "coding-agent",
           "status": "ready", "archived": false, "createdAt": NOW.millis(),
           "updatedAt": NOW.millis(), "lastActivityAt": null})
}

#[test]
fn a_session_is_made_with_its_type_and_kept() {
    let mut stub = Stub::connected();
    stub.say(json!({"type": "create_session", "agentType": "echo", "name": "Mine"}));
    let Call::CreateThread(new) = stub.call() else {
        panic!("{:?}", stub.asked);
    };
    assert!(new.keep);
    assert_eq!(new.title.as_deref(), Some("Mine"));
    assert_eq!(new.changes.agent.as_deref(), Some("echo"));
    let mut made = named("Mine");
    made.settings.agent = new.changes.agent.clone();
    stub.reply(Ok(Reply::Thread(Box::new(made))));
    let sent = stub.take();
    assert_eq!(sent[0]["type"], "session_created");
    assert_eq!(sent[0]["session"]["agentType"], "echo");
}

#[test]
fn the_list_shows_a_session_nobody_named_without_a_name() {
    let mut stub = Stub::connected();
    stub.say(json!({"type": "list_sessions", "includeArchived": true, "requestId": "l"}));
    let expected = ThreadQuery {
        archived: ArchivedThreads::Included,
        ..ThreadQuery::default()
    };
    assert_eq!(*stub.call(), Call::ListThreads(expected));
    let (threads, next) = (vec![thread()], None);
    stub.reply(Ok(Reply::Threads(ThreadPage {
        threads,
        next,
        back: None,
    })));
    assert_eq!(
        stub.take(),
        [json!({"type": "session_list", "sessions": [meta(Value::Null)], "requestId": "l"})]
    );
}

#[test]
fn a_new_name_is_answered_once_and_told_to_the_others() {
    let mut stub = Stub::connected();
    stub.say(json!({"type": "rename_session", "sessionId": SESSION, "name": "New"}));
    let changes = Changes {
        title: Some("New".to_owned()),
        ..Changes::default()
    };
    let thread = thread_id(SESSION);
    assert_eq!(stub.call(), &Call::ChangeThread { thread, changes });
    stub.reply(Ok(Reply::Thread(Box::new(named("New")))));
    let changed = |name| Notice::ThreadChanged {
        thread: Box::new(named(name)),
    };
    stub.notice(&changed("New"));
    let updated = |name: &str| json!({"type": "session_updated", "session": meta(json!(name))});
    assert_eq!(stub.take(), [updated("New")]);
    stub.notice(&changed("Newer"));
    assert_eq!(stub.take(), [updated("Newer")]);
}

#[test]
fn archiving_and_back_have_answers_of_their_own() {
    for (message, answer) in [
        ("archive_session", "session_archived"),
        ("unarchive_session", "session_unarchived"),
    ] {
        let mut stub = Stub::connected();
        stub.say(json!({"type": message, "sessionId": SESSION}));
        stub.reply(Ok(Reply::Thread(Box::new(thread()))));
        assert_eq!(stub.take_types(), [answer]);
    }
}

#[test]
fn a_deleted_session_is_told_once_to_everyone() {
    let mut stub = Stub::connected();
    stub.say(json!({"type": "delete_session", "sessionId": SESSION}));
    let removed = |id| Notice::ThreadRemoved {
        thread: thread_id(id),
    };
    stub.notice(&removed(SESSION));
    stub.reply(Ok(Reply::Done));
    stub.notice(&removed(SESSION));
    let deleted = |id: &str| json!({"type": "session_deleted", "sessionId": id});
    assert_eq!(stub.take(), [deleted(SESSION)]);
    stub.notice(&removed(OTHER));
    assert_eq!(stub.take(), [deleted(OTHER)]);
}

#[test]
fn missed_notices_are_made_up_for() {
    let mut stub = Stub::connected();
    stub.notice(&Notice::Reload);
    let (threads, next) = (vec![thread(), named("x")], None);
    stub.reply(Ok(Reply::Threads(ThreadPage {
        threads,
        next,
        back: None,
    })));
    assert_eq!(stub.take_types(), ["session_updated", "session_updated"]);
}

#[test]
fn an_answer_of_the_wrong_kind_leaves_nobody_waiting() {
    let mut stub = Stub::connected();
    stub.say(json!({"type": "list_sessions", "requestId": "l"}));
    stub.reply(Ok(Reply::Done));
    let sent = stub.take();
    assert_eq!(
        (&sent[0]["type"], &sent[0]["requestId"]),
        (&json!("error"), &json!("l"))
    );
}

#[test]
fn the_agent_type_is_what_drives_the_session_now() {
    let told = |thread: Thread| {
        let mut stub = Stub::connected();
        stub.notice(&Notice::ThreadChanged {
            thread: Box::new(thread),
        });
        stub.take().remove(0)["session"]["agentType"].clone()
    };
    let by = |provider: &str, label: &str| {
        let mut thread = thread();
        thread.settings.model.provider = provider.to_owned();
        let label = ("agentType".to_owned(), label.to_owned());
        thread.labels = [label].into();
        thread
    };
    // Made by another protocol, or changed by one since.
    assert_eq!(told(by("claude-code", "coding-agent")), "claude-code");
    assert_eq!(told(by("rehearsal", "claude-code")), "coding-agent");
    // An agent of the settings file.
    assert_eq!(told(by("mine", "mine")), "mine");
    // Older versions took any word.
    assert_eq!(told(by("rehearsal", "researcher")), "coding-agent");
    let mut echo = thread();
    echo.settings.agent = Some("echo".to_owned());
    assert_eq!(told(echo), "echo");
}

#[test]
fn a_session_that_others_make_is_told_and_ones_own_is_answered() {
    let made = |id: &str| {
        let mut thread = thread();
        thread.card.id = thread_id(id);
        thread
    };
    let added = |id: &str| Notice::ThreadAdded {
        thread: Box::new(made(id)),
    };
    let told = |stub: &mut Stub| -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let sent = stub.take();
        let each = |frame: &Value| (text(&frame["type"]), text(&frame["session"]["id"]));
        sent.iter().map(each).collect()
    };
    let pair = |kind: &str, id: &str| (kind.to_owned(), id.to_owned());
    let mut stub = Stub::connected();
    stub.notice(&added(OTHER));
    assert_eq!(told(&mut stub), [pair("session_updated", OTHER)]);
    // The notice of one's own comes before the answer, or after it.
    for is_before in [true, false] {
        let mut stub = Stub::connected();
        stub.say(json!({"type": "create_session", "agentType": "echo"}));
        stub.notice(&added(OTHER));
        if is_before {
            stub.notice(&added(SESSION));
        }
        assert_eq!(told(&mut stub), [], "it is not known yet whose it is");
        stub.reply(Ok(Reply::Thread(Box::new(made(SESSION)))));
        if !is_before {
            stub.notice(&added(SESSION));
        }
        let expected = [
            pair("session_created", SESSION),
            pair("session_updated", OTHER),
        ];
        assert_eq!(told(&mut stub), expected);
        // Awake and asleep again it is as it was made, and that is news.
        for _ in 0..2 {
            stub.notice(&Notice::ThreadStatusChanged {
                thread: Box::new(made(SESSION)),
            });
            assert_eq!(told(&mut stub), [pair("session_updated", SESSION)]);
        }
    }
}
