//! A thread's past: forked, taken back, deleted; and threads that are only for a moment.

use serde_json::{Value, json};
use vocabulary::{
    Call, Fact, ForkPlace, ForkedFrom, Refusal, Reply, RevertPoint, RevertThread, RevertTo,
    SandboxMode, Seq, Thread, ThreadFact, ThreadId, TurnId,
};

use super::stub::{Stub, THREAD, card, thread, view};
use crate::codex::Endpoint;

const CHILD: &str = "73d90981-ed97-4e30-a4a8-74684326d1fd";

fn child() -> Thread {
    let mut child = thread();
    child.card.forked_from = Some(ForkedFrom {
        thread: child.card.id,
        upto: Seq(9),
    });
    child.card.id = ThreadId::parse(CHILD).expect("a UUID");
    child
}

fn forked(params: Value) -> vocabulary::ForkThread {
    let mut stub = Stub::ready(Endpoint::Codex);
    stub.ask(1, "thread/fork", params);
    match stub.call() {
        Call::ForkThread(fork) => (**fork).clone(),
        other => panic!("no fork: {other:?}"),
    }
}

#[test]
fn a_fork_is_answered_like_a_start_and_heard_from_then_on() {
    for endpoint in [Endpoint::Codex, Endpoint::Zane] {
        let mut stub = Stub::ready(endpoint);
        stub.ask(1, "thread/fork", json!({ "threadId": THREAD }));
        stub.reply(Ok(Reply::Thread(Box::new(child()))));
        let mut heard = view();
        heard.thread = child();
        stub.reply(Ok(Reply::View(Box::new(heard))));
        let sent = stub.take();
        assert_eq!(sent[0]["id"], 1);
        assert_eq!(sent[0]["result"]["thread"]["id"], CHILD);
        assert_eq!(sent[0]["result"]["thread"]["forkedFromId"], THREAD);
        assert_eq!(sent[1]["method"], "thread/started");
        assert_eq!(sent[1]["params"]["thread"]["turns"], json!([]));
        // That it was added is no news to who made it.
        stub.notice(&vocabulary::Notice::ThreadAdded {
            thread: Box::new(child()),
        });
        assert!(stub.take().is_empty());
    }
}

#[test]
fn a_fork_says_how_far_and_what_changes() {
    let fork = forked(
        json!({ "threadId": THREAD, "lastTurnId": "t1", "sandbox": "read-only",
        "cwd": "/there", "ephemeral": true, "developerInstructions": " Be brief. " }),
    );
    assert_eq!(fork.thread, card().id);
    assert_eq!(fork.upto, ForkPlace::After(TurnId::new("t1")));
    assert_eq!(fork.directory.as_deref(), Some("/there".as_ref()));
    assert_eq!(fork.changes.sandbox, Some(SandboxMode::ReadOnly));
    assert_eq!(fork.instructions.as_deref(), Some("Be brief."));
    assert!(fork.ephemeral && !fork.files);
    let fork = forked(
        json!({ "threadId": THREAD, "lastTurnId": null, "beforeTurnId": "t2",
        "withFiles": true }),
    );
    assert!(fork.files);
    assert_eq!(fork.upto, ForkPlace::Before(TurnId::new("t2")));
    for (params, words) in [
        (
            json!({ "threadId": THREAD, "lastTurnId": "a", "beforeTurnId": "b" }),
            "thread/fork: beforeTurnId",
        ),
        (
            json!({ "threadId": THREAD, "cwd": "here" }),
            "thread/fork: cwd",
        ),
        (
            json!({ "threadId": THREAD, "sandbox": "none" }),
            "thread/fork: sandbox",
        ),
        (json!({ "threadId": "nobody" }), "invalid thread id"),
    ] {
        let mut stub = Stub::ready(Endpoint::Codex);
        stub.ask(1, "thread/fork", params);
        let error = stub.take().remove(0)["error"].take();
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.contains(words), "{message}");
        assert!(stub.calls.is_empty());
    }
}

#[test]
fn a_fork_that_is_refused_holds_back_nothing() {
    let mut stub = Stub::ready(Endpoint::Codex);
    stub.ask(1, "thread/fork", json!({ "threadId": THREAD }));
    stub.notice(&vocabulary::Notice::ThreadAdded {
        thread: Box::new(child()),
    });
    assert!(stub.take().is_empty(), "it may be ours");
    stub.reply(Err(Refusal::busy()));
    let sent = stub.take();
    assert_eq!(sent[0]["method"], "thread/started");
    assert_eq!(sent[1]["error"]["message"], "Agent is busy");
}

#[test]
fn turns_are_taken_back_by_name_or_by_number() {
    let mut stub = Stub::started(Endpoint::Codex);
    stub.ask(
        2,
        "thread/revert",
        json!({ "threadId": THREAD, "beforeTurnId": "t2" }),
    );
    let revert = RevertThread {
        thread: card().id,
        to: RevertTo::Before(TurnId::new("t2")),
        files: false,
    };
    assert_eq!(*stub.call(), Call::RevertThread(revert));
    stub.reply(Ok(Reply::Thread(Box::new(thread()))));
    let result = stub.take().remove(0)["result"].take();
    assert_eq!(result["thread"]["turns"], json!([]));
    assert_eq!(result["thread"]["status"]["type"], "idle");

    let params = json!({ "threadId": THREAD, "numTurns": 3, "restoreFiles": true });
    stub.ask(3, "thread/rollback", params);
    let revert = RevertThread {
        thread: card().id,
        to: RevertTo::Newest(3),
        files: true,
    };
    assert_eq!(*stub.call(), Call::RevertThread(revert));
    stub.reply(Ok(Reply::Thread(Box::new(thread()))));
    assert!(matches!(stub.call(), Call::ReadThread { .. }));
    stub.reply(Ok(Reply::View(Box::new(view()))));
    let result = stub.take().remove(0)["result"].take();
    assert_eq!(result["thread"]["id"], THREAD);

    stub.ask(
        4,
        "thread/rollback",
        json!({ "threadId": THREAD, "numTurns": 0 }),
    );
    let error = stub.take().remove(0)["error"].take();
    assert_eq!(error["code"], -32602);
}

#[test]
fn who_hears_a_thread_is_told_that_turns_were_taken_back() {
    let point = RevertPoint {
        turn: TurnId::new("t2"),
        number: 2,
        seq: Seq(7),
        entry: 4,
        message_count: 2,
        preview: String::new(),
        plan: Vec::new(),
        plan_turn: None,
        context_tokens: 0,
        compacted: None,
    };
    let reverted = || {
        Fact::Thread(ThreadFact::Reverted {
            point: Box::new(point.clone()),
        })
    };
    let mut stub = Stub::started(Endpoint::Codex);
    let told = stub.tell(reverted());
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["method"], "thread/reverted");
    assert_eq!(told[0]["params"], json!({ "threadId": THREAD }));
    assert!(stub.calls.is_empty());

    // Zane's client knows no such word: it is given the thread anew.
    let mut stub = Stub::started(Endpoint::Zane);
    stub.tell(reverted());
    stub.reply(Ok(Reply::View(Box::new(view()))));
    assert_eq!(stub.take()[0]["method"], "thread/started");
}

#[test]
fn an_ephemeral_thread_says_that_it_is_and_a_deletion_is_a_call() {
    let mut stub = Stub::ready(Endpoint::Codex);
    stub.ask(1, "thread/start", json!({ "ephemeral": true }));
    let Call::CreateThread(new) = stub.call() else {
        panic!("no thread")
    };
    assert!(new.ephemeral && !new.keep);
    let (mut made, mut heard) = (thread(), view());
    made.card.ephemeral = true;
    heard.thread.card.ephemeral = true;
    stub.reply(Ok(Reply::Thread(Box::new(made))));
    stub.reply(Ok(Reply::View(Box::new(heard))));
    assert_eq!(stub.take()[0]["result"]["thread"]["ephemeral"], true);

    stub.ask(2, "thread/delete", json!({ "threadId": THREAD }));
    let thread = card().id;
    assert_eq!(*stub.call(), Call::DeleteThread { thread });
    stub.reply(Ok(Reply::Done));
    assert_eq!(stub.take()[0]["result"], json!({}));
}
