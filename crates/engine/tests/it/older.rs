//! Threads that an older version left are served, and go on.

use bytes::Bytes;
use engine::{ListenFrom, fold};
use serde_json::Value;
use store::{Batch, EntryRow, Store, StoredEvent};
use vocabulary::{
    Call, Fact, IndexedTurn, MessagePage, NoteFact, Reply, Seq, Subject, Thread, ThreadId,
    Timestamp, ToolEvent, TurnSelection,
};

use crate::house::House;

const LOGS: [&str; 6] = [
    include_str!("../../golden/first/1.jsonl"),
    include_str!("../../golden/first/2.jsonl"),
    include_str!("../../golden/first/3.jsonl"),
    include_str!("../../golden/first/4.jsonl"),
    include_str!("../../golden/first/5.jsonl"),
    include_str!("../../golden/first/6.jsonl"),
];

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

/// Puts a thread into the store as the older version had it there.
async fn put(house: &House, text: &str) -> ThreadId {
    let mut lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let head = lines.next().expect("a head");
    let mut thread: Thread = serde_json::from_value(head["state"]["thread"].clone()).expect("one");
    thread.card.directory = house.directory().to_path_buf();
    let mut state = head["state"].clone();
    state["thread"] = serde_json::to_value(&thread).expect("JSON");
    let events: Vec<_> = lines
        .map(|line| StoredEvent {
            seq: Seq(number(&line["seq"])),
            at: Timestamp(line["at"].as_i64().expect("a time")),
            payload: Bytes::from(line["payload"].to_string()),
        })
        .collect();
    let entries = head["entries"].as_array().expect("entries").iter();
    let entries = entries.map(|row| EntryRow {
        ordinal: number(&row[0]),
        message: number(&row[1]),
        seq: Seq(number(&row[2])),
    });
    let id = thread.card.id;
    let batch = Batch {
        thread: Some(thread),
        high_water: events.last().expect("events").seq,
        entries: entries.collect(),
        events,
        state: Bytes::from(state.to_string()),
        ..Batch::default()
    };
    let lease = house.store.acquire(id).await.expect("a lease");
    house
        .store
        .append(lease, Seq::ZERO, batch)
        .await
        .expect("appended");
    house.store.release(lease).await.expect("released");
    id
}

/// Where the log was reset last.
fn reset_at(text: &str) -> Seq {
    let lines = text.lines().skip(1);
    let lines = lines.map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let resets = lines.filter(|line| line["payload"] == "thread_reset");
    Seq(resets.map(|line| number(&line["seq"])).last().unwrap_or(0))
}

#[tokio::test]
async fn a_thread_of_the_first_version_is_read_replayed_and_goes_on() {
    for text in LOGS {
        let house =
            House::new("turn\n say well\nturn\n say well\nturn\n say well\nturn\n say well");
        let thread = put(&house, text).await;
        // It had no index of turns; one is made when it is first asked for.
        let log = house.store.events(thread, Seq::ZERO, u32::MAX).await;
        let turns = fold(&log.expect("the log")).expect("it folds").turns;
        let hidden = turns.iter().filter(|turn| turn.first_seq <= reset_at(text));
        let shown = turns[hidden.count()..].to_vec();
        let read = Call::ReadTurns {
            thread,
            selection: TurnSelection::Oldest,
            limit: 100,
            entries: false,
        };
        let Ok(Reply::Turns(page)) = house.call(read).await else {
            panic!("no turns")
        };
        assert_eq!(page.turns.len(), shown.len());
        let indexed = house.store.turns(thread, 0, &TurnSelection::Oldest, 100);
        let indexed = indexed.await.expect("turns");
        // What still ran has been closed by waking it.
        for (indexed, turn) in indexed.iter().zip(&turns) {
            let ended = turn.ended.clone().or(indexed.ended.clone());
            let expected = IndexedTurn {
                ended,
                ..turn.clone()
            };
            assert_eq!(*indexed, expected);
        }
        assert_eq!(indexed.len(), turns.len());
        let messages = Call::ReadMessages {
            thread,
            offset: 0,
            limit: 100,
        };
        let Ok(Reply::Messages(MessagePage { entries, total, .. })) = house.call(messages).await
        else {
            panic!("no messages")
        };
        let last = entries
            .iter()
            .map(|entry| entry.message + 1)
            .max()
            .unwrap_or(0);
        assert_eq!(last, total);
        let (_, mut ear) = house.listen(thread, ListenFrom::After(Seq::ZERO)).await;
        house.say(thread, "go on").await.expect("a turn");
        // The ends of its older turns are replayed before.
        while ear.ended().await.1 != "well" {}
        for fact in ear.facts() {
            assert_ne!(*fact, Fact::Note(NoteFact::Unknown));
            if let Fact::Tool(ToolEvent { call, .. }) = fact
                && call.name == "bash"
            {
                let Subject::Command { line, .. } = &call.subject else {
                    panic!("{call:?}")
                };
                assert_eq!(call.input["command"], **line);
            }
        }
        let listed = house
            .call(Call::GetThread { thread })
            .await
            .expect("a thread");
        let Reply::Thread(listed) = listed else {
            panic!("{listed:?}")
        };
        assert_eq!(listed.message_count, total + 2);
    }
}
