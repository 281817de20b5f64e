//! Asks as requests, and what responses to them do.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use vocabulary::{
    Answer, ApprovalAnswer, Ask, AskFact, AskId, Call, Closing, Fact, Grant, GrantScope, Person,
    Refusal, Reply, Timestamp, Why,
};

use super::stub::{Stub, approval, question, tag, thread};
use crate::codex::Endpoint;

fn asked(ask: Ask) -> Stub {
    let mut stub = Stub::started(Endpoint::Codex);
    stub.tell(Fact::Ask {
        tag: tag(),
        what: AskFact::Opened { ask },
    });
    stub
}

fn answered(ask: Ask, response: Value) -> Answer {
    let mut stub = asked(ask);
    stub.say(&response.to_string());
    let Call::AnswerAsk { ask, answer, .. } = stub.call() else {
        panic!("not an answer");
    };
    assert_eq!(*ask, AskId(7));
    answer.clone()
}

#[test]
fn every_decision_has_its_answer() {
    for (decision, answer) in [
        ("accept", ApprovalAnswer::Once),
        ("acceptForSession", ApprovalAnswer::ForSession),
        ("decline", ApprovalAnswer::Deny),
        ("cancel", ApprovalAnswer::DenyAndCancel),
        ("acept", ApprovalAnswer::Deny),
    ] {
        let result = json!({ "decision": decision, "collaborationMode": "code" });
        let response = json!({ "id": 7, "result": result });
        assert_eq!(answered(approval(7), response), Answer::Approval(answer));
    }
    let refused = json!({ "id": 7, "error": { "code": -32000, "message": "no" } });
    assert_eq!(answered(approval(7), refused), Answer::Dismissed);
}

#[test]
fn questions_are_answered_by_their_ids() {
    let answers = json!({ "q1": { "answers": ["this"] }, "other": { "answers": ["x"] } });
    let response = json!({ "id": 7, "result": { "answers": answers } });
    let expected = BTreeMap::from([("q1".to_owned(), vec!["this".to_owned()])]);
    assert_eq!(answered(question(7), response), Answer::Questions(expected));
}

#[test]
fn a_blank_answer_is_asked_again() {
    let mut stub = asked(question(7));
    stub.say(r#"{"id":7,"result":{"answers":{"q1":{"answers":[" "]}}}}"#);
    stub.reply(Err(Refusal::new(Why::BlankAnswer, "blank")));
    let sent = stub.take();
    assert_eq!(sent[0]["method"], "item/tool/requestUserInput");
    assert_eq!(sent[0]["id"], 7);
}

#[test]
fn a_closed_ask_is_dropped_by_everyone() {
    let mut stub = asked(approval(7));
    let closed = stub.tell(Fact::Ask {
        tag: tag(),
        what: AskFact::Closed {
            ask: approval(7),
            closing: Closing::Cancelled,
        },
    });
    assert_eq!(closed[0]["method"], "serverRequest/resolved");
    assert_eq!(closed[0]["params"]["requestId"], 7);
    stub.say(r#"{"id":7,"result":{"decision":"accept"}}"#);
    assert!(stub.calls.is_empty(), "nobody waits for it any more");
}

#[test]
fn grants_are_listed_and_taken_back() {
    let mut stub = Stub::started(Endpoint::Codex);
    let thread = thread().card.id.to_string();
    stub.ask(5, "dragoman/grants/list", json!({ "threadId": thread }));
    assert!(matches!(stub.call(), Call::ListGrants { .. }));
    let key = r#"["bash",{"command":["cargo","test"]}]"#;
    let grant = Grant {
        id: "4f2a".to_owned(),
        what: "cargo test".to_owned(),
        key: key.to_owned(),
        scope: GrantScope::Workspace,
        thread: None,
        turn: None,
        directory: "/project".into(),
        by: Some(Person {
            member: "owner".to_owned(),
            via: Some("zane".to_owned()),
        }),
        at: Timestamp(7),
    };
    let listed = json!({
        "id": "4f2a", "what": "cargo test", "key": key, "scope": "workspace",
        "grantedAt": 7, "grantedBy": "owner (zane)",
    });
    assert_eq!(
        stub.reply(Ok(Reply::Grants(vec![grant]))).take(),
        [json!({ "id": 5, "result": { "data": [listed], "nextCursor": null } })]
    );
    let params = json!({ "threadId": thread, "what": "cargo test", "scope": "workspace" });
    stub.ask(6, "dragoman/grants/revoke", params);
    let Call::RevokeGrant { what, scope, .. } = stub.call() else {
        panic!("not a revocation");
    };
    assert_eq!(
        (what.as_str(), *scope),
        ("cargo test", GrantScope::Workspace)
    );
    assert_eq!(
        stub.reply(Ok(Reply::Done)).take(),
        [json!({ "id": 6, "result": {} })]
    );
}
