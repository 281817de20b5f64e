//! The history and the log.

use serde_json::json;
use vocabulary::{
    Call, Entry, Event, EventPage, Fact, MessagePage, Reply, Seq, ThreadFact, TurnId,
};

use super::facts;
use super::stub::Stub;
use crate::cowork::tests::samples::{NOW, SESSION, card};

fn entry(number: u64, fact: Fact) -> Entry {
    let seq = Seq(number);
    Entry {
        ordinal: number,
        message: number,
        event: Event {
            seq,
            at: NOW,
            by: None,
            fact,
        },
    }
}

fn page(entries: Vec<Entry>, total: u64, offset: u64) -> Reply {
    Reply::Messages(MessagePage {
        entries,
        total,
        offset,
        limit: 200,
    })
}

#[test]
fn the_history_is_what_was_said() {
    let mut stub = Stub::connected();
    stub.say(json!({"type": "get_history", "sessionId": SESSION}));
    let entries = vec![
        entry(1, facts::turn_started()),
        entry(2, facts::thought()),
        entry(3, facts::said("Hi.")),
        entry(4, facts::steered()),
    ];
    stub.reply(Ok(page(entries, 4, 0)));
    let ts = NOW.millis();
    assert_eq!(
        stub.take(),
        [json!({"type": "history", "sessionId": SESSION, "items": [
            {"id": "u1", "role": "user", "content": "Hello", "turnId": "t1", "createdAt": ts},
            {"id": "m1", "role": "assistant", "content": "Hi.", "turnId": "t1", "createdAt": ts},
            {"id": "u2", "role": "user", "content": "Left", "turnId": "t1", "createdAt": ts},
        ]})]
    );
}

#[test]
fn a_long_history_is_read_from_its_end_until_there_is_enough() {
    let mut stub = Stub::connected();
    stub.say(json!({"type": "get_history", "sessionId": SESSION, "limit": 2, "requestId": "h"}));
    stub.reply(Ok(page(Vec::new(), 500, 0)));
    let mut offsets = Vec::new();
    for (offset, text) in [(300, "newest"), (100, "before")] {
        let Call::ReadMessages { offset: at, .. } = stub.call() else {
            panic!("{:?}", stub.asked);
        };
        offsets.push(*at);
        let entries = vec![entry(offset, facts::said(text))];
        stub.reply(Ok(page(entries, 500, offset)));
    }
    assert_eq!(offsets, [300, 100]);
    let sent = stub.take();
    assert_eq!(sent[0]["items"][0]["content"], "before");
    assert_eq!(sent[0]["items"][1]["content"], "newest");
    assert_eq!(sent[0]["requestId"], "h");
}

#[test]
fn history_after_a_position_begins_there() {
    let mut stub = Stub::connected();
    stub.say(json!({"type": "get_history", "sessionId": SESSION, "afterSeq": 1, "limit": 1}));
    let entries = (1..=3).map(|number| entry(number, facts::said(&number.to_string())));
    stub.reply(Ok(page(entries.collect(), 3, 0)));
    let sent = stub.take();
    assert_eq!(sent[0]["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(sent[0]["items"][0]["content"], "2");
}

#[test]
fn the_log_is_read_on_until_it_has_told_enough() {
    let mut stub = Stub::connected();
    stub.say(json!({"type": "get_events", "sessionId": SESSION, "limit": 1}));
    let events = |number, fact| {
        Reply::Events(EventPage {
            card: Box::new(card()),
            events: vec![Event {
                seq: Seq(number),
                at: NOW,
                by: None,
                fact,
            }],
            more: true,
        })
    };
    let untold = [
        Fact::Thread(ThreadFact::Reset),
        facts::steered(),
        facts::step_finished(facts::usage(None), None),
        facts::added(Some(TurnId::new("t1"))),
    ];
    for (number, fact) in (1..).zip(untold) {
        stub.reply(Ok(events(number, fact)));
        assert!(matches!(stub.call(), Call::ReadEvents { after, .. } if *after == Seq(number)));
    }
    stub.reply(Ok(events(5, facts::turn_started())));
    let ts = NOW.millis();
    assert_eq!(
        stub.take(),
        [json!({"type": "events", "sessionId": SESSION, "events": [
            {"seq": 5, "type": "turn_started", "createdAt": ts,
             "data": {"sessionId": SESSION, "turnId": "t1", "seq": 5, "ts": ts}},
        ]})]
    );
}
