//! Greetings, and threads that are started, listed and resumed.

use serde_json::json;
use vocabulary::{Approvals, Call, Notice, Refusal, Reply, ThreadPage};

use super::stub::{Stub, THREAD, approval, open, thread, view};
use crate::codex::Endpoint;

#[test]
fn codex_wants_one_handshake() {
    let mut stub = Stub::opened(Endpoint::Codex);
    stub.ask(1, "thread/list", json!({}));
    let error = json!({ "code": -32600, "message": "Not initialized" });
    assert_eq!(stub.take(), [json!({ "id": 1, "error": error })]);
    assert!(!stub.watches);
    let client = json!({ "clientInfo": { "name": "story", "version": "1" } });
    stub.ask(2, "initialize", client.clone());
    assert_eq!(stub.take()[0]["result"]["platformOs"], std::env::consts::OS);
    assert!(stub.watches);
    stub.ask(3, "initialize", client);
    assert_eq!(stub.take()[0]["error"]["message"], "Already initialized");
}

#[test]
fn zane_is_greeted_and_its_ping_is_answered_to_the_byte() {
    let mut stub = Stub::opened(Endpoint::Zane);
    let hello = json!({
        "type": "orbit.hello", "role": "client", "ts": "2026-02-19T18:00:00.000Z"
    });
    assert_eq!(stub.take(), [hello]);
    stub.say(r#"{"type":"ping"}"#);
    assert_eq!(stub.take()[0].to_string(), r#"{"type":"pong"}"#);
    stub.say(r#"{"type":"orbit.list-anchors"}"#);
    assert_eq!(stub.take()[0]["anchors"][0]["id"], "dragoman");
}

#[test]
fn a_new_thread_is_told_once_behind_its_response() {
    let mut stub = Stub::ready(Endpoint::Codex);
    stub.ask(
        1,
        "thread/start",
        json!({ "cwd": "/work", "approvalPolicy": "never" }),
    );
    let Call::CreateThread(new) = stub.call() else {
        panic!("not a creation");
    };
    assert_eq!(new.directory.as_deref(), Some("/work".as_ref()));
    let asked = (new.changes.approvals, new.changes.auto_approve);
    assert_eq!((asked, new.keep), ((Some(Approvals::Never), None), true));
    let added = Notice::ThreadAdded {
        thread: Box::new(thread()),
    };
    stub.notice(&added);
    assert_eq!(stub.sent.len(), 0, "held until it is known whose it is");
    stub.reply(Ok(Reply::Thread(Box::new(thread()))));
    stub.reply(Ok(Reply::View(Box::new(view()))));
    let sent = stub.take();
    assert_eq!(sent[0]["result"]["thread"]["id"], THREAD);
    assert_eq!(
        sent[0]["result"]["thread"]["status"],
        json!({ "type": "idle" })
    );
    assert_eq!(sent[1]["method"], "thread/started");
    assert_eq!(sent.len(), 2);
    stub.notice(&added);
    assert_eq!(stub.take()[0]["method"], "thread/started", "another's");
}

#[test]
fn what_cannot_be_done_says_why() {
    let mut stub = Stub::ready(Endpoint::Codex);
    let mut check = |method: &str, params, code: i32, words: &str| {
        stub.ask(5, method, params);
        let error = stub.take()[0]["error"].clone();
        assert_eq!(error["code"], code, "{error}");
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains(words), "{message}");
    };
    check(
        "thread/start",
        json!({ "cwd": "here" }),
        -32602,
        "cwd: expected an absolute",
    );
    check("thread/read", json!({}), -32602, "missing field `threadId`");
    check(
        "thread/read",
        json!({ "threadId": 3 }),
        -32602,
        "threadId: invalid type",
    );
    check(
        "thread/read",
        json!({ "threadId": "x" }),
        -32600,
        "expected a UUID",
    );
    check(
        "thread/sing",
        json!({}),
        -32601,
        "unknown method `thread/sing`",
    );
    let image = json!([{ "type": "image", "url": "x" }]);
    let params = json!({ "threadId": THREAD, "input": image });
    check("turn/start", params, -32602, "input: url: expected a data:");
    let audio = json!([{ "type": "audio", "url": "x" }]);
    let params = json!({ "threadId": THREAD, "input": audio });
    check(
        "turn/start",
        params,
        -32602,
        "expected text or a picture, not \"audio\"",
    );
    stub.say("{");
    assert_eq!(stub.take()[0]["error"]["code"], -32700);
}

#[test]
fn an_unknown_thread_is_refused_by_its_requests_id() {
    let mut stub = Stub::ready(Endpoint::Codex);
    stub.ask(9, "thread/resume", json!({ "threadId": THREAD }));
    stub.reply(Err(Refusal::unknown_thread(thread().card.id)));
    let sent = stub.take();
    assert_eq!(
        (&sent[0]["id"], &sent[0]["error"]["code"]),
        (&json!(9), &json!(-32600))
    );
}

#[test]
fn a_list_is_paged() {
    let mut stub = Stub::ready(Endpoint::Zane);
    stub.ask(1, "thread/list", json!({ "cursor": null, "limit": 1 }));
    stub.reply(Ok(Reply::Threads(ThreadPage {
        threads: vec![thread()],
        next: Some("c".to_owned()),
        back: None,
    })));
    let result = stub.take()[0]["result"].clone();
    assert_eq!(result["nextCursor"], "c");
    assert_eq!(result["data"][0]["createdAt"], 1_771_524_000);
    assert_eq!(result["data"][0]["status"], "Idle");
}

#[test]
fn resuming_asks_again_with_the_same_id() {
    let mut view = view();
    view.asks.push(open(approval(7)));
    for endpoint in [Endpoint::Codex, Endpoint::Zane] {
        let mut stub = Stub::ready(endpoint);
        stub.ask(1, "thread/resume", json!({ "threadId": THREAD }));
        stub.reply(Ok(Reply::View(Box::new(view.clone()))));
        let sent = stub.take();
        assert_eq!(sent[0]["id"], 1);
        assert_eq!(sent[1]["id"], 7);
        assert_eq!(sent[1]["params"]["threadId"], THREAD);
    }
}

#[test]
fn leaving_a_thread_ends_its_deliveries() {
    let mut stub = Stub::started(Endpoint::Codex);
    stub.ask(2, "thread/unsubscribe", json!({ "threadId": THREAD }));
    assert_eq!(stub.take()[0]["result"]["status"], "unsubscribed");
    assert_eq!(stub.unlistened, [thread().card.id]);
    stub.ask(3, "thread/unsubscribe", json!({ "threadId": THREAD }));
    assert_eq!(stub.take()[0]["result"]["status"], "notSubscribed");
}

#[test]
fn an_answer_of_the_wrong_kind_leaves_nobody_waiting() {
    let mut stub = Stub::ready(Endpoint::Codex);
    stub.ask(9, "thread/start", json!({}));
    stub.reply(Ok(Reply::Done));
    let sent = stub.take();
    assert_eq!(
        (&sent[0]["id"], &sent[0]["error"]["code"]),
        (&json!(9), &json!(-32603))
    );
}
