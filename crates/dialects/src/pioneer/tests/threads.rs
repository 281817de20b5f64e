//! Threads: started, reopened, left, read.

use serde_json::json;
use vocabulary::{
    AgentMode, Call, EndedTurn, Entry, EventPage, Fact, IndexedTurn, LibraryReply, Reply, Seq,
    TurnId, TurnOutcome, TurnPage, TurnSelection, Why,
};

use super::samples::{self, THREAD, WORKSPACE, thread, turn_finished, turn_started, view};
use super::stub::Stub;

fn start() -> serde_json::Value {
    json!({ "thread_id": THREAD, "workspace_id": WORKSPACE })
}

#[test]
fn a_new_thread_keeps_the_clients_id_and_only_chats() {
    for (permissions, auto_approve) in [(false, true), (true, false)] {
        let mut stub = Stub::opened(permissions);
        stub.say("thread/start", start());
        stub.refuse(Why::UnknownThread);
        stub.library(LibraryReply::Workspace(samples::workspace()));
        let Call::CreateThread(new) = stub.call() else {
            panic!("{:?}", stub.call())
        };
        assert_eq!(new.client_id.as_deref(), Some(THREAD));
        assert!(new.keep);
        assert_eq!(new.changes.mode, Some(AgentMode::Chat));
        assert_eq!(new.changes.auto_approve, Some(auto_approve));
        stub.reply(Ok(Reply::Thread(Box::new(thread()))));
        stub.reply(Ok(Reply::View(Box::new(view()))));
        let sent = stub.take();
        assert_eq!(sent[0]["result"]["thread"]["id"], THREAD);
        assert_eq!(sent[0]["result"]["thread"]["mode"], "Chat");
        assert_eq!(sent[0]["result"]["thread"]["turns"], json!([]));
        let sandbox = view().sandbox;
        let told = json!({
            "mode": "FullAccess", "held": sandbox.holds, "network": sandbox.network,
        });
        assert_eq!(sent[0]["result"]["sandbox"], told, "what is really so");
        assert_eq!(sent[1]["method"], "thread/started");
    }
}

#[test]
fn a_thread_of_another_workspace_is_not_reopened() {
    let mut stub = Stub::opened(false);
    let params = json!({ "thread_id": THREAD, "workspace_id": "another" });
    stub.say("thread/start", params);
    stub.reply(Ok(Reply::Thread(Box::new(thread()))));
    assert_eq!(stub.take()[0]["error"]["code"], -32602);
    assert!(stub.calls.is_empty());
}

#[test]
fn reopening_a_thread_that_sleeps_takes_labels_over_and_keeps_the_others() {
    let mut asleep = thread();
    asleep.labels = [("origin_kind", "task_run"), ("agent_role", "scout")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    let mut stub = Stub::opened(false);
    stub.say("thread/start", start());
    stub.reply(Ok(Reply::Thread(Box::new(asleep.clone()))));
    let mut joined = view();
    joined.thread = asleep.clone();
    stub.reply(Ok(Reply::View(Box::new(joined))));
    let told = stub.take()[0]["result"]["thread"].take();
    assert_eq!(told["origin_kind"], "task_run", "nothing was supplied");
    assert_eq!(told["agent_role"], "scout");

    let mut stub = Stub::opened(false);
    let mut params = start();
    params["sidebar_visibility"] = json!("hidden");
    params["agent_role"] = json!("scout");
    params["agent_nickname"] = json!("x".repeat(300));
    stub.say("thread/start", params);
    stub.reply(Ok(Reply::Thread(Box::new(asleep))));
    let Call::ChangeThread { changes, .. } = stub.call() else {
        panic!("{:?}", stub.call())
    };
    let names: Vec<_> = changes.labels.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["agent_nickname", "sidebar_visibility"],
        "what differs"
    );
    assert_eq!(changes.labels["agent_nickname"].len(), 200);
}

#[test]
fn a_sandbox_that_is_not_there_is_refused_with_its_field() {
    for (method, params) in [
        (
            "thread/start",
            json!({ "thread_id": THREAD, "workspace_id": WORKSPACE, "sandbox": "ReadOnly" }),
        ),
        (
            "turn/start",
            json!({
                "thread_id": THREAD, "turn_id": "t1", "input": [{ "type": "text", "text": "x" }],
                "sandbox_policy": { "mode": "ReadOnly" },
            }),
        ),
    ] {
        let mut stub = Stub::subscribed(false);
        stub.say(method, params);
        let error = stub.take().remove(0)["error"].take();
        assert_eq!(error["code"], -32602);
        let words = error["message"].as_str().expect("words");
        assert!(
            words.contains("sandbox: expected \"FullAccess\""),
            "{words}"
        );
        assert!(stub.calls.is_empty());
    }
}

#[test]
fn who_leaves_is_told_that_the_thread_is_closed() {
    let mut stub = Stub::subscribed(false);
    stub.say("thread/unsubscribe", json!({ "threadId": THREAD }));
    let sent = stub.take();
    assert_eq!(sent[0]["result"], json!({ "status": "unsubscribed" }));
    assert_eq!(sent[1]["method"], "thread/closed");
    let closed = json!({ "workspaceId": WORKSPACE, "threadId": THREAD });
    assert_eq!(sent[1]["params"], closed);
    stub.tell(turn_started());
    assert!(stub.take().is_empty());
    stub.say("thread/unsubscribe", json!({ "thread_id": THREAD }));
    stub.reply(Ok(Reply::Thread(Box::new(thread()))));
    assert_eq!(stub.take()[0]["result"]["status"], "notLoaded");
}

#[test]
fn an_unknown_thread_is_named_in_the_refusal() {
    let mut stub = Stub::opened(false);
    stub.say("thread/get", json!({ "thread_id": "x" }));
    stub.refuse(Why::UnknownThread);
    let error = &stub.take()[0]["error"];
    assert_eq!(error["code"], -32600);
    assert_eq!(error["message"], "thread `x` was not found");
}

fn page(facts: Vec<Fact>) -> Reply {
    let events = (1..).zip(facts);
    Reply::Events(EventPage {
        card: Box::new(thread().card),
        events: events
            .map(|(seq, fact)| samples::event(seq, fact))
            .collect(),
        more: false,
    })
}

/// A page of the index: turn `number` is called `t<number>`.
fn turns(numbers: std::ops::Range<u64>, more: bool) -> Reply {
    let turn = |number: u64| IndexedTurn {
        number,
        turn: TurnId::new(format!("t{number}")),
        first_seq: Seq(number * 10),
        first_ordinal: number * 4,
        started_at: samples::NOW,
        ended: (number % 2 == 1).then_some(EndedTurn {
            last_seq: Seq(number * 10 + 9),
            last_ordinal: number * 4 + 3,
            at: samples::NOW,
            outcome: TurnOutcome::Completed,
        }),
    };
    let entries = [turn_started(), turn_finished()];
    let entries = (10..).zip(entries).map(|(seq, fact)| Entry {
        ordinal: seq - 6,
        message: 0,
        event: samples::event(seq, fact),
    });
    Reply::Turns(Box::new(TurnPage {
        view: samples::view(),
        turns: numbers.map(turn).collect(),
        entries: entries.collect(),
        more,
    }))
}

fn asked(stub: &Stub) -> (TurnSelection, bool) {
    let Call::ReadTurns {
        selection, entries, ..
    } = stub.call()
    else {
        panic!("{:?}", stub.calls)
    };
    (selection.clone(), *entries)
}

#[test]
fn a_thread_is_shown_with_its_turns() {
    let mut stub = Stub::opened(false);
    stub.say("thread/get", json!({ "thread_id": THREAD }));
    stub.reply(Ok(Reply::Thread(Box::new(thread()))));
    assert_eq!(asked(&stub), (TurnSelection::After(0), false));
    stub.reply(Ok(turns(3..5, true)));
    assert!(stub.sent.is_empty(), "there are more");
    assert_eq!(asked(&stub), (TurnSelection::After(4), false));
    stub.reply(Ok(turns(5..6, false)));
    let turns = json!([
        { "id": "t3", "status": "Completed" },
        { "id": "t4", "status": "InProgress" },
        { "id": "t5", "status": "Completed" },
    ]);
    assert_eq!(stub.take()[0]["result"]["thread"]["turns"], turns);
}

#[test]
fn one_turn_is_found_without_its_thread() {
    let params = json!({ "thread_id": THREAD, "turn_id": "t1" });
    for (method, reads) in [("turn/get", false), ("turn/items", true)] {
        let mut stub = Stub::opened(false);
        stub.say(method, params.clone());
        stub.reply(Ok(Reply::Thread(Box::new(thread()))));
        let one = TurnSelection::One(TurnId::new("t1"));
        assert_eq!(asked(&stub), (one, false));
        stub.reply(Ok(turns(1..2, false)));
        if reads {
            // Where the index says that it lies.
            assert!(matches!(
                stub.call(),
                Call::ReadEvents { after: Seq(9), .. }
            ));
            let facts = [
                (10, turn_started()),
                (11, turn_finished()),
                (30, turn_started()),
            ];
            let events = facts.map(|(seq, fact)| samples::event(seq, fact));
            stub.reply(Ok(Reply::Events(vocabulary::EventPage {
                card: Box::new(thread().card),
                events: events.to_vec(),
                more: true,
            })));
        }
        let result = stub.take().remove(0)["result"].take();
        match reads {
            false => assert_eq!(result["turn"], json!({ "id": "t1", "status": "Completed" })),
            true => {
                let of = |field: &str| result["events"][1]["payload"][field].clone();
                assert_eq!(of("type"), "itemCompleted");
                assert_eq!(result["last_sequence"], 42);
            }
        }
        stub.say(method, params.clone());
        stub.reply(Ok(Reply::Thread(Box::new(thread()))));
        stub.reply(Ok(turns(1..1, false)));
        let error = &stub.take()[0]["error"];
        assert_eq!(error["message"], "turn `t1` was not found");
    }
}

#[test]
fn history_is_limited_to_its_end_and_paged_onwards() {
    let read = |params| {
        let mut stub = Stub::opened(false);
        stub.say("thread/history", params);
        stub.reply(Ok(Reply::Thread(Box::new(thread()))));
        stub.reply(Ok(page(vec![turn_started(), turn_finished()])));
        stub.take().remove(0)["result"].take()
    };
    let all = read(json!({ "thread_id": THREAD }));
    let kinds = |result: &serde_json::Value| -> Vec<String> {
        let events = result["events"].as_array().expect("events");
        let kind = |event: &serde_json::Value| event["payload"]["type"].as_str().map(str::to_owned);
        events.iter().filter_map(kind).collect()
    };
    assert_eq!(
        kinds(&all),
        [
            "turnStarted",
            "itemStarted",
            "itemCompleted",
            "turnCompleted"
        ]
    );
    assert_eq!(all.get("next_cursor"), None);
    let last = read(json!({ "thread_id": THREAD, "limit": 2 }));
    assert_eq!(kinds(&last), ["itemCompleted", "turnCompleted"]);

    let first = read(json!({ "thread_id": THREAD, "limit": 3, "after_sequence": 0 }));
    assert_eq!(
        kinds(&first),
        ["turnStarted", "itemStarted", "itemCompleted"]
    );
    let cursor = &first["next_cursor"];
    let rest = read(json!({ "thread_id": THREAD, "limit": 3, "after_sequence": cursor }));
    assert_eq!(kinds(&rest), ["turnCompleted"]);
    assert_eq!(rest.get("next_cursor"), None);
}
