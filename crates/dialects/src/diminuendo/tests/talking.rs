//! Turns, answers and stops.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use vocabulary::{
    Answer, ApprovalAnswer, AskId, Call, ItemId, Refusal, Reply, StartedTurn, SteerTurn,
    SteeredTurn, Subject, ToolCall, TurnId, Why,
};

use super::facts;
use super::stub::Stub;
use crate::Heard;
use crate::cowork::tests::samples::{SESSION, bash, event, thread_id, view};

#[test]
fn a_turn_has_the_id_its_client_gave() {
    let mut stub = Stub::connected();
    stub.say(
        json!({"type": "run_turn", "sessionId": SESSION, "content": "Go",
                    "clientTurnId": "mine"}),
    );
    let Call::StartTurn(start) = stub.call() else {
        panic!("{:?}", stub.asked);
    };
    assert_eq!(start.text, "Go");
    assert_eq!(start.client_turn_id.as_deref(), Some("mine"));
    let turn = TurnId::new("mine");
    stub.reply(Ok(Reply::Turn(StartedTurn {
        turn,
        again: false,
        joined: None,
    })));
    assert!(stub.take().is_empty(), "events tell of a turn");
}

#[test]
fn a_stop_is_acknowledged_if_there_was_something_to_stop() {
    let mut stub = Stub::connected();
    for (turn, expected) in [
        (
            Some(TurnId::new("t1")),
            json!({"type": "stop_acknowledged", "sessionId": SESSION, "turnId": "t1"}),
        ),
        (
            None,
            json!({"type": "error", "code": "NoActiveTurn",
                   "message": "no turn is running in this session"}),
        ),
    ] {
        stub.say(json!({"type": "stop_turn", "sessionId": SESSION}));
        stub.reply(Ok(Reply::Cancelled(turn)));
        assert_eq!(stub.take(), [expected]);
    }
}

#[test]
fn a_running_turn_is_steered_and_the_sender_hears_it_once() {
    let mut stub = Stub::joined(view());
    stub.sent.clear();
    let steer = json!({"type": "steer", "sessionId": SESSION, "text": "Left", "requestId": "r1"});
    stub.say(steer.clone());
    let call = Call::SteerTurn(SteerTurn {
        thread: thread_id(SESSION),
        turn: None,
        text: "Left".to_owned(),
        client_message_id: None,
        images: Vec::new(),
        pieces: Vec::new(),
    });
    assert_eq!(stub.call(), &call);
    let (turn, item) = (TurnId::new("t1"), ItemId::new("u2"));
    stub.reply(Ok(Reply::Steered(SteeredTurn { turn, item })));
    let mut sent = json!({"type": "steer_sent", "sessionId": SESSION, "steerId": "u2",
        "content": "Left"});
    let another = sent.clone();
    sent["requestId"] = json!("r1");
    assert_eq!(stub.take(), [sent]);
    let event = event(facts::steered());
    stub.hear(Heard::Live(&event));
    assert!(stub.take().is_empty(), "it was answered");
    stub.hear(Heard::Live(&event));
    assert_eq!(stub.take(), [another], "somebody else's is told");

    stub.say(steer);
    stub.reply(Err(Refusal::new(Why::NoRunningTurn, "no turn is running")));
    let error = json!({"type": "error", "code": "NoActiveTurn", "message": "no turn is running",
        "requestId": "r1"});
    assert_eq!(stub.take(), [error]);
}

#[test]
fn only_commands_write_to_the_terminal() {
    for (subject, times) in [(bash(json!({})).subject, 1), (Subject::Other, 0)] {
        let mut stub = Stub::joined(view());
        let call = ToolCall {
            subject,
            ..bash(json!({}))
        };
        stub.sent.clear();
        stub.hear(Heard::Live(&event(facts::wrote(call))));
        assert_eq!(stub.take().len(), times);
    }
}

fn check_answer(message: Value, expected: Answer) {
    let mut stub = Stub::connected();
    let mut message = message;
    message["sessionId"] = json!(SESSION);
    message["requestId"] = json!("req-7");
    stub.say(message);
    let (thread, ask) = (thread_id(SESSION), AskId(7));
    let call = Call::AnswerAsk {
        thread,
        ask,
        answer: expected,
    };
    assert_eq!(stub.call(), &call);
    stub.reply(Ok(Reply::Done));
    assert!(stub.take().is_empty());
}

#[test]
fn a_permission_is_answered_in_any_of_its_words() {
    for (answers, answer) in [
        (json!({"approved": true}), ApprovalAnswer::Once),
        (json!({"approved": "approve"}), ApprovalAnswer::Once),
        (json!("approve"), ApprovalAnswer::Once),
        (json!({"approved": false}), ApprovalAnswer::Deny),
        (json!("deny"), ApprovalAnswer::Deny),
    ] {
        let message = json!({"type": "answer_question", "answers": answers});
        check_answer(message, Answer::Approval(answer));
    }
    let message = json!({"type": "approve", "approved": true});
    check_answer(message, Answer::Approval(ApprovalAnswer::Once));
}

#[test]
fn questions_are_answered_by_their_ids_or_dismissed() {
    let texts = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect();
    check_answer(
        json!({"type": "answer_question", "answers": {"q1": "a", "q2": ["b", "c"]}}),
        Answer::Questions(BTreeMap::from([
            ("q1".to_owned(), texts(&["a"])),
            ("q2".to_owned(), texts(&["b", "c"])),
        ])),
    );
    let dismissed = json!({"type": "answer_question", "dismissed": true});
    check_answer(dismissed, Answer::Dismissed);
}
