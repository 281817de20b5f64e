//! The history and the log.

use serde_json::json;
use vocabulary::{
    Call, Entry, Event, EventPage, Fact, MessagePage, Reply, Seq, ThreadFact, TurnId,
};

use super::facts;
use super::stub::{Asked, Stub};
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

/// Answers reads of a history of so many messages, each said by the agent, until there is an answer.
fn read_history(total: u64, fields: serde_json::Value) -> (Vec<u64>, serde_json::Value) {
    let mut message = fields;
    message["type"] = json!("get_history");
    message["sessionId"] = json!(SESSION);
    let mut stub = Stub::connected();
    stub.say(message);
    let mut offsets = Vec::new();
    while let Some((_, Asked::Call(call))) = stub.asked.first() {
        let Call::ReadMessages { offset, limit, .. } = *call else {
            panic!("{call:?}");
        };
        offsets.push(offset);
        let numbers = offset..total.min(offset + limit);
        let entries = numbers.map(|number| entry(number + 1, facts::said(&number.to_string())));
        stub.reply(Ok(page(entries.collect(), total, offset)));
    }
    let mut sent = stub.take();
    assert_eq!(sent.len(), 1);
    (offsets, sent.remove(0))
}

fn contents(history: &serde_json::Value) -> Vec<u64> {
    let items = history["items"].as_array().expect("items").iter();
    let content = |item: &serde_json::Value| item["content"].as_str()?.parse().ok();
    items.map(|item| content(item).expect("a number")).collect()
}

#[test]
fn a_history_without_a_limit_is_whole() {
    let (offsets, history) = read_history(450, json!({"requestId": "h"}));
    assert_eq!(offsets, [0, 200, 400]);
    assert_eq!(contents(&history), (0..450).collect::<Vec<_>>());
    assert_eq!(history["hasMore"], json!(null));
    assert_eq!(history["nextAfterSeq"], json!(null));
    assert_eq!(history["requestId"], "h");
}

#[test]
fn a_limit_gives_the_newest_and_says_that_there_are_older_ones() {
    let (offsets, history) = read_history(500, json!({"limit": 250}));
    assert_eq!(offsets, [0, 300, 100, 100, 300]);
    assert_eq!(contents(&history), (250..500).collect::<Vec<_>>());
    assert_eq!(history["hasMore"], true);
    let (_, all) = read_history(30, json!({"limit": 30}));
    assert_eq!(contents(&all).len(), 30);
    assert_eq!(all["hasMore"], false);
    let (_, most) = read_history(30, json!({"limit": 29}));
    assert_eq!(contents(&most), (1..30).collect::<Vec<_>>());
    assert_eq!(most["hasMore"], true);
}

#[test]
fn pages_after_positions_make_the_whole_history() {
    let (mut after, mut all) = (0, Vec::new());
    loop {
        let (_, history) = read_history(450, json!({"limit": 120, "afterSeq": after}));
        all.extend(contents(&history));
        match history["nextAfterSeq"].as_u64() {
            Some(next) => after = next,
            None => break assert_eq!(history["hasMore"], false),
        }
    }
    assert_eq!(all, (0..450).collect::<Vec<_>>());
    let (offsets, rest) = read_history(450, json!({"afterSeq": 440}));
    assert_eq!(offsets, [0, 250, 250], "only the end is read");
    assert_eq!(contents(&rest), (440..450).collect::<Vec<_>>());
    let (_, none) = read_history(450, json!({"afterSeq": 450}));
    assert_eq!(contents(&none), Vec::<u64>::new());
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
    // Whether there is more is known when the next one is met that has a word.
    stub.reply(Ok(events(6, facts::steered())));
    stub.reply(Ok(events(7, facts::turn_started())));
    let ts = NOW.millis();
    assert_eq!(
        stub.take(),
        [json!({"type": "events", "sessionId": SESSION, "events": [
            {"seq": 5, "type": "turn_started", "createdAt": ts,
             "data": {"sessionId": SESSION, "turnId": "t1", "seq": 5, "ts": ts}},
        ], "hasMore": true, "nextAfterSeq": 5})]
    );
}

#[test]
fn a_log_without_a_limit_is_whole_and_answered_in_its_turn() {
    let mut stub = Stub::connected();
    stub.say(json!({"type": "get_events", "sessionId": SESSION, "requestId": "e"}));
    stub.say(json!({"type": "list_sessions"}));
    for first in (1..=3_000).step_by(1_000) {
        let Asked::Call(Call::ReadEvents { after, limit, .. }) = &stub.asked[0].1 else {
            panic!("what came later is asked first: {:?}", stub.asked);
        };
        assert_eq!((after.0, *limit), (first - 1, 1_000));
        let events =
            (first..first + 1_000).map(|number| entry(number, facts::turn_started()).event);
        stub.reply(Ok(Reply::Events(EventPage {
            card: Box::new(card()),
            events: events.collect(),
            more: first < 2_001,
        })));
    }
    let sent = stub.take();
    let events = sent[0]["events"].as_array().expect("events");
    let numbers: Vec<_> = events.iter().map(|event| event["seq"].as_u64()).collect();
    assert_eq!(numbers, (1..=3_000).map(Some).collect::<Vec<_>>());
    assert_eq!(
        (&sent[0]["hasMore"], &sent[0]["requestId"]),
        (&json!(null), &json!("e"))
    );
    assert_eq!(stub.asked.len(), 1);
}
