//! What only Zane's clients do, and searches that grow letter by letter.

use serde_json::json;
use vocabulary::{
    Call, FoundFile, FoundFiles, ItemId, PushMatter, PushNews, Refusal, Reply, StartTurn,
    StartedTurn, SteerTurn, SteeredTurn, TurnId, Why,
};

use super::stub::{Stub, THREAD, thread};
use crate::codex::{Endpoint, push};

fn steer() -> serde_json::Value {
    json!({
        "threadId": THREAD, "expectedTurnId": "over",
        "input": [{ "type": "text", "text": "And tests" }],
    })
}

fn no_turn() -> Refusal {
    Refusal::new(Why::NoRunningTurn, "no turn is running")
}

#[test]
fn a_steer_that_comes_too_late_begins_a_turn_and_one_that_is_overtaken_is_said_to_that() {
    let mut stub = Stub::started(Endpoint::Zane);
    stub.ask(2, "turn/steer", steer());
    assert!(matches!(
        stub.call(),
        Call::SteerTurn(SteerTurn { turn: None, .. })
    ));
    stub.reply(Err(no_turn()));
    let Call::StartTurn(StartTurn { text, listen, .. }) = stub.call() else {
        panic!("{:?}", stub.call());
    };
    assert_eq!(
        (text.as_str(), *listen),
        ("And tests", None),
        "it is heard already"
    );
    let started = StartedTurn {
        turn: TurnId::new("next"),
        again: false,
        joined: None,
    };
    stub.reply(Ok(Reply::Turn(started)));
    assert_eq!(
        stub.take(),
        [json!({ "id": 2, "result": { "turnId": "next" } })]
    );

    // Somebody else was quicker: it is said to the turn that they started.
    stub.ask(3, "turn/steer", steer());
    stub.reply(Err(no_turn())).reply(Err(Refusal::busy()));
    assert!(matches!(
        stub.call(),
        Call::SteerTurn(SteerTurn { turn: None, .. })
    ));
    let (turn, item) = (TurnId::new("theirs"), ItemId::new("u"));
    stub.reply(Ok(Reply::Steered(SteeredTurn { turn, item })));
    assert_eq!(
        stub.take(),
        [json!({ "id": 3, "result": { "turnId": "theirs" } })]
    );

    // What is refused for another reason is an error, and nothing is tried again.
    stub.ask(4, "turn/steer", steer());
    stub.reply(Err(Refusal::unknown_thread(thread().card.id)));
    assert_eq!(stub.take()[0]["error"]["code"], -32600);
    assert!(stub.calls.is_empty());
}

fn found(path: &str) -> Reply {
    Reply::Found(FoundFiles {
        files: vec![FoundFile {
            root: "/w".into(),
            path: path.to_owned(),
            is_directory: false,
            score: 7,
            matched: vec![0],
        }],
        truncated: false,
    })
}

#[test]
fn a_search_that_grows_tells_what_was_typed_last_and_nothing_older() {
    for endpoint in [Endpoint::Codex, Endpoint::Zane] {
        let mut stub = Stub::ready(endpoint);
        let update = |query: &str| json!({ "sessionId": "s", "query": query });
        stub.ask(1, "fuzzyFileSearch/sessionUpdate", update("m"));
        assert_eq!(
            stub.take()[0]["error"]["code"],
            -32600,
            "it was not started"
        );
        let start = json!({ "sessionId": "s", "roots": ["/w"] });
        stub.ask(2, "fuzzyFileSearch/sessionStart", start);
        stub.ask(3, "fuzzyFileSearch/sessionUpdate", update("m"));
        stub.ask(4, "fuzzyFileSearch/sessionUpdate", update("ma"));
        assert_eq!(stub.take().len(), 3, "each is answered at once");
        stub.reply(Ok(found("src/m.rs")));
        assert!(stub.take().is_empty(), "more was typed meanwhile");
        stub.reply(Ok(found("src/main.rs")));
        let told = stub.take();
        assert_eq!(told[0]["method"], "fuzzyFileSearch/sessionUpdated");
        assert_eq!(told[0]["params"]["query"], "ma");
        let file = json!({
            "root": "/w", "path": "src/main.rs", "match_type": "file", "file_name": "main.rs",
            "score": 7, "indices": [0],
        });
        assert_eq!(told[0]["params"]["files"], json!([file]));
        assert_eq!(told[1]["method"], "fuzzyFileSearch/sessionCompleted");
        // A refusal ends it, too, and what was stopped says nothing more.
        stub.ask(5, "fuzzyFileSearch/sessionUpdate", update("mai"));
        stub.reply(Err(Refusal::invalid("roots", "roots: gone")));
        assert_eq!(stub.take()[1]["method"], "fuzzyFileSearch/sessionCompleted");
        stub.ask(6, "fuzzyFileSearch/sessionUpdate", update("main"));
        stub.ask(
            7,
            "fuzzyFileSearch/sessionStop",
            json!({ "sessionId": "s" }),
        );
        stub.take();
        stub.reply(Ok(found("src/main.rs")));
        assert!(stub.take().is_empty());
        stub.ask(
            8,
            "fuzzyFileSearch/sessionStart",
            json!({ "sessionId": "s", "roots": ["w"] }),
        );
        assert_eq!(stub.take()[0]["error"]["code"], -32602, "no relative path");
        for number in 0..17 {
            let start = json!({ "sessionId": number.to_string(), "roots": ["/w"] });
            stub.ask(9, "fuzzyFileSearch/sessionStart", start);
        }
        let last = stub.take().pop().expect("an answer");
        assert_eq!(last["error"]["code"], -32600, "there are enough");
    }
}

#[test]
fn only_zane_has_its_own_methods() {
    for (method, params) in [
        ("anchor.listDirs", json!({ "path": "" })),
        ("anchor.git.inspect", json!({ "path": "/w" })),
    ] {
        let mut stub = Stub::ready(Endpoint::Codex);
        stub.ask(1, method, params.clone());
        assert_eq!(stub.take()[0]["error"]["code"], -32601, "{method}");
        let mut stub = Stub::ready(Endpoint::Zane);
        stub.ask(1, method, params);
        assert!(matches!(stub.call(), Call::Directories(_)), "{method}");
    }
    let mut stub = Stub::ready(Endpoint::Codex);
    stub.ask(1, "fuzzyFileSearch", json!({ "query": "x" }));
    assert_eq!(
        stub.take()[0]["error"]["code"],
        -32602,
        "it must name roots"
    );
}

#[test]
fn a_push_message_says_what_kind_of_ask_waits_and_where() {
    let thread = thread().card.id;
    for (matter, kind) in [
        (PushMatter::Command, "approval"),
        (PushMatter::FileChange, "approval"),
        (PushMatter::OtherTool, "approval"),
        (PushMatter::Question, "user-input"),
    ] {
        let message = push::message(&PushNews::Asked { thread, matter });
        let message: serde_json::Value = serde_json::from_str(&message).expect("JSON");
        assert_eq!(message["type"], kind);
        assert_eq!(message["threadId"], THREAD);
        assert_eq!(message["actionUrl"], format!("/thread/{THREAD}"));
        assert!(message["title"].is_string() && message["body"].is_string());
    }
}
