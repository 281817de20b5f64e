//! Joining and leaving a session.

use serde_json::json;
use vocabulary::{
    Call, Fact, Growing, LiveItem, OpenAsk, Reply, RunningTurn, Seq, ThreadFact, TurnId, UserInput,
    Why,
};

use super::facts;
use super::stub::{Asked, Stub};
use crate::cowork::tests::samples::{
    NOW, SESSION, approval, event, questions, tag, thread_id, view,
};
use crate::{Ending, Heard, StartAt};

fn open(id: u64, is_question: bool) -> OpenAsk {
    OpenAsk {
        ask: match is_question {
            true => questions(id, &["Which?"]),
            false => approval(id),
        },
        seq: Seq(5),
        at: NOW,
        tag: tag(0),
        answers: Default::default(),
    }
}

fn running() -> RunningTurn {
    RunningTurn {
        turn: TurnId::new("t1"),
        started_at: NOW,
        input: UserInput {
            images: Vec::new(),
            item: vocabulary::ItemId::new("u1"),
            text: "Go".to_owned(),
            display: None,
            client_id: None,
            pieces: Vec::new(),
        },
        text: vec!["One.".to_owned()],
        reasoning: Vec::new(),
        calls: Vec::new(),
        step: Some(tag(0)),
        live: vec![Growing {
            began: None,
            tag: tag(2),
            part: 3,
            item: LiveItem::Text {
                item: vocabulary::ItemId::new("m2"),
                content: 0,
                text: "Tw".to_owned(),
            },
        }],
        events: Vec::new(),
        unplaced: Vec::new(),
    }
}

#[test]
fn a_joiner_sees_the_state_the_stream_the_end_and_what_waits_in_this_order() {
    let mut stub = Stub::connected();
    stub.say(json!({"type": "join_session", "sessionId": SESSION, "requestId": "j"}));
    let asked = Asked::Listen {
        thread: thread_id(SESSION),
        from: StartAt::Head,
    };
    assert_eq!(stub.asked[0].1, asked);
    let mut joined = view();
    joined.turn = Some(running());
    joined.asks = vec![open(1, true), open(2, false)];
    joined.listeners = 2;
    stub.reply(Ok(Reply::View(Box::new(joined))));
    let sent = stub.take();
    let kinds: Vec<_> = sent.iter().map(|frame| frame["type"].clone()).collect();
    assert_eq!(
        kinds,
        [
            "state_snapshot",
            "stream_snapshot",
            "replay_complete",
            "question_requested",
            "permission_requested"
        ]
    );
    assert_eq!(sent[0]["requestId"], "j");
    assert_eq!(sent[0]["subscriberCount"], 3);
    assert_eq!(sent[1]["text"], "One.Tw");
    assert_eq!(sent[2]["lastSeq"], 9);
    assert_eq!(sent[4]["seq"], 5);
}

#[test]
fn who_is_there_when_a_session_is_reset_gets_its_state_again() {
    for fact in [ThreadFact::Reset, reverted()] {
        gets_its_state_again(event(Fact::Thread(fact)));
    }
}

/// The same holds where turns were taken back.
fn reverted() -> ThreadFact {
    ThreadFact::Reverted {
        point: Box::new(vocabulary::RevertPoint {
            turn: vocabulary::TurnId::new("t2"),
            number: 2,
            seq: vocabulary::Seq(7),
            entry: 4,
            message_count: 2,
            preview: String::new(),
            plan: Vec::new(),
            plan_turn: None,
            context_tokens: 0,
            compacted: None,
        }),
    }
}

fn gets_its_state_again(reset: vocabulary::Event) {
    let read = Call::ReadThread {
        thread: thread_id(SESSION),
        recent: 50,
    };
    let mut stub = Stub::joined(view());
    stub.hear(Heard::Live(&reset));
    assert_eq!(*stub.call(), read);
    let mut now = view();
    now.recent.clear();
    now.listeners = 2;
    stub.reply(Ok(Reply::View(Box::new(now.clone()))));
    let sent = stub.take();
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert_eq!(sent[0]["type"], "state_snapshot");
    assert_eq!(sent[0]["recentHistory"], json!([]));
    assert_eq!(sent[0]["subscriberCount"], 2, "this one is counted once");

    // Nor is it told to who has left meanwhile, nor that it could not be read.
    stub.hear(Heard::Live(&reset));
    stub.reply(Err(vocabulary::Refusal::new(Why::Internal, "no")));
    stub.hear(Heard::Live(&reset));
    stub.say(json!({"type": "leave_session", "sessionId": SESSION}));
    stub.take();
    stub.reply(Ok(Reply::View(Box::new(now))));
    assert_eq!(stub.take(), Vec::<serde_json::Value>::new());
}

#[test]
fn a_cursor_that_cannot_be_is_refused() {
    let mut stub = Stub::connected();
    stub.say(json!({"type": "join_session", "sessionId": SESSION, "afterSeq": -1}));
    assert_eq!(stub.take_error(), "InvalidCursor");
    stub.say(json!({"type": "join_session", "sessionId": SESSION, "afterSeq": 10}));
    let why = Why::invalid("after");
    stub.reply(Err(vocabulary::Refusal::new(why, "past the head")));
    assert_eq!(stub.take_error(), "InvalidCursor");
}

#[test]
fn a_session_that_ends_ends_nothing_else() {
    let state = |state: &str, reason: &str| json!({"type": "session_state", "sessionId": SESSION, "state": state, "reason": reason});
    let removed =
        |reason: &str| json!({"type": "sandbox_removed", "sessionId": SESSION, "reason": reason});
    let let_go = |reason: &str| {
        vec![
            state("deactivating", reason),
            removed(reason),
            state("inactive", reason),
        ]
    };
    for (ending, told) in [
        (Ending::Deleted, vec![]),
        (Ending::Failed, let_go("session_failed")),
        (Ending::HandedOver, let_go("handed_over")),
    ] {
        let mut stub = Stub::joined(view());
        stub.hear(Heard::Ended(ending));
        assert_eq!(stub.take(), told);
        assert_eq!(stub.closed, None);
        stub.hear(Heard::Live(&event(facts::turn_started())));
        assert!(stub.take().is_empty(), "it is not joined any more");
    }
}

#[test]
fn whoever_leaves_hears_no_more() {
    let mut stub = Stub::joined(view());
    stub.hear(Heard::Live(&event(facts::turn_started())));
    assert_eq!(stub.take_types(), ["turn_started"]);
    stub.say(json!({"type": "leave_session", "sessionId": SESSION}));
    assert_eq!(stub.unlistened, [thread_id(SESSION)]);
    stub.hear(Heard::Live(&event(facts::turn_started())));
    assert!(stub.take().is_empty());
}

#[test]
fn leaving_before_being_in_ends_the_join_with_its_answer() {
    let mut stub = Stub::connected();
    stub.say(json!({"type": "join_session", "sessionId": SESSION, "afterSeq": 2}));
    stub.say(json!({"type": "leave_session", "sessionId": SESSION}));
    stub.unlistened.clear();
    stub.reply(Ok(Reply::View(Box::new(view()))));
    assert_eq!(stub.take_types(), ["state_snapshot", "replay_complete"]);
    assert_eq!(stub.unlistened, [thread_id(SESSION)]);
    stub.hear(Heard::Live(&event(facts::turn_started())));
    assert!(stub.take().is_empty());
}
