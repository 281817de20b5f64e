//! Answers to what the agent asks.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use vocabulary::{Answer, ApprovalAnswer, AskFact, AskId, Call, Fact, Refusal, Reply, Why};

use super::samples::{SESSION, approval, card, questions, tag};
use super::stub::Stub;

fn answer(stub: &mut Stub, request: &str, answer: &str) {
    stub.say(json!({
        "type": "ask_response",
        "sessionId": SESSION,
        "requestId": request,
        "answer": answer,
    }));
}

fn approve(stub: &mut Stub, request: &str, approved: bool) {
    stub.say(json!({
        "type": "approval_response",
        "sessionId": SESSION,
        "requestId": request,
        "approved": approved,
    }));
}

fn asked(texts: &[&str]) -> Stub {
    let mut stub = Stub::connected();
    let ask = questions(7, texts);
    stub.tell(Fact::Ask {
        tag: tag(0),
        what: AskFact::Opened { ask },
    });
    stub
}

fn answered(question: &str, answers: &[&str]) -> Call {
    let answers = answers.iter().map(|text| text.to_string()).collect();
    Call::AnswerAsk {
        thread: card().id,
        ask: AskId(7),
        answer: Answer::Questions(BTreeMap::from([(question.to_owned(), answers)])),
    }
}

fn unknown(name: &str, request: &str) -> Value {
    let line = format!("[warn] {name} for unknown requestId: {request}");
    json!({ "type": "log", "sessionId": SESSION, "line": line })
}

#[test]
fn an_answer_is_for_the_question_its_request_id_names() {
    let mut stub = asked(&["Which?", "Why?"]);
    answer(&mut stub, "req-7", "this one");
    assert_eq!(stub.call(), &answered("q-Which?", &["this one"]));
    stub.reply(Ok(Reply::Done));
    answer(&mut stub, "req-7-2", "because");
    assert_eq!(stub.call(), &answered("q-Why?", &["because"]));
    assert!(stub.sent.is_empty());
}

#[test]
fn a_skipped_question_is_answered_with_nothing() {
    let mut stub = asked(&["Which?"]);
    answer(&mut stub, "req-7", "[skipped]");
    assert_eq!(stub.call(), &answered("q-Which?", &[]));
}

#[test]
fn a_blank_answer_is_refused_and_the_question_asked_again() {
    let mut stub = asked(&["Which?"]);
    answer(&mut stub, "req-7", " \n");
    assert!(stub.calls.is_empty());
    let expected = [
        json!({
            "type": "error",
            "sessionId": SESSION,
            "message": "Ask response cannot be empty. Reply with text or [skipped] to skip.",
            "code": "validation_failed",
            "source": "session",
        }),
        json!({
            "type": "ask",
            "sessionId": SESSION,
            "requestId": "req-7",
            "question": "Which?",
            "options": ["yes"],
        }),
    ];
    assert_eq!(stub.take(), expected);
    // The engine finds it blank too, should it ever come that far.
    answer(&mut stub, "req-7", "x");
    stub.reply(Err(Refusal::new(Why::BlankAnswer, "blank")));
    assert_eq!(stub.take(), expected);
}

#[test]
fn a_question_that_was_answered_is_unknown() {
    let mut stub = asked(&["Which?", "Why?"]);
    let fact = Fact::Ask {
        tag: tag(1),
        what: AskFact::Progressed {
            ask: AskId(7),
            answers: BTreeMap::from([("q-Which?".to_owned(), vec!["a".to_owned()])]),
            next: match questions(7, &["Why?"]).kind {
                vocabulary::AskKind::Questions(mut questions) => Some(questions.remove(0)),
                vocabulary::AskKind::Approval(_) => unreachable!("it asks"),
            },
            position: 1,
        },
    };
    stub.tell(fact);
    answer(&mut stub, "req-7", "again");
    assert_eq!(stub.take(), [unknown("ask_response", "req-7")]);
}

#[test]
fn answers_to_nothing_get_a_log_line() {
    let mut stub = asked(&["Which?"]);
    for request in ["req-8", "req-7-2", "7d213a89", "req-"] {
        answer(&mut stub, request, "x");
        assert_eq!(stub.take(), [unknown("ask_response", request)]);
    }
    for request in ["req-7", "req-8-2", "da671f0f"] {
        approve(&mut stub, request, true);
        assert_eq!(stub.take(), [unknown("approval_response", request)]);
    }
    assert!(stub.calls.is_empty());
}

#[test]
fn an_approval_says_yes_once_or_no() {
    let mut stub = Stub::connected();
    let ask = approval(3);
    stub.tell(Fact::Ask {
        tag: tag(0),
        what: AskFact::Opened { ask },
    });
    for (approved, expected) in [(true, ApprovalAnswer::Once), (false, ApprovalAnswer::Deny)] {
        approve(&mut stub, "req-3", approved);
        let call = Call::AnswerAsk {
            thread: card().id,
            ask: AskId(3),
            answer: Answer::Approval(expected),
        };
        assert_eq!(stub.call(), &call);
        stub.reply(Ok(Reply::Done));
    }
    answer(&mut stub, "req-3", "yes");
    assert_eq!(stub.take(), [unknown("ask_response", "req-3")]);
}

#[test]
fn an_answer_that_came_too_late_gets_a_log_line() {
    for why in [Why::UnknownAsk, Why::AlreadyAnswered] {
        let mut stub = Stub::connected();
        approve(&mut stub, "req-3", true);
        stub.reply(Err(Refusal::new(why.clone(), "too late")));
        assert_eq!(stub.take(), [unknown("approval_response", "req-3")]);

        let mut stub = asked(&["Which?"]);
        answer(&mut stub, "req-7", "x");
        stub.reply(Err(Refusal::new(why, "too late")));
        assert_eq!(stub.take(), [unknown("ask_response", "req-7")]);
    }
}
