//! How long things take that must not take long; printed, not judged: `cargo nextest run -p store --release
//! --run-ignored only --no-capture measures`.

use std::time::{Duration, Instant};

use bytes::Bytes;
use vocabulary::{Seq, TenantId, ThreadQuery, ThreadSort, Timestamp, TurnOutcome};

use crate::sqlite::SqliteStore;
use crate::testing::story::{a_batch, a_thread, a_turn, an_entry, ended};
use crate::{Batch, InheritedLog, Store, StoredEvent};

#[tokio::test]
#[ignore = "a measure"]
async fn a_page_of_25_out_of_10_000() {
    let home = tempfile::tempdir().expect("it can be done");
    let store = SqliteStore::open(&home.path().join("a.db"), "measures").expect("it can be done");
    for number in 1..=10_000 {
        let mut thread = a_thread(number);
        thread.card.created_at = Timestamp((number * 7_919 % 10_000).cast_signed());
        thread.card.directory = format!("/home/user/project-{}", number % 100).into();
        thread.preview = "words ".repeat(30);
        let lease = store.acquire(thread.card.id).await.expect("it can be done");
        let batch = Batch {
            thread: Some(thread),
            ..a_batch(&[1])
        };
        store
            .append(lease, Seq::ZERO, batch)
            .await
            .expect("it can be done");
    }
    let all = ThreadQuery {
        limit: Some(25),
        ..ThreadQuery::default()
    };
    let of_directory = ThreadQuery {
        directories: vec!["/home/user/project-7".into()],
        ..all.clone()
    };
    for (name, query) in [("all", all), ("one directory", of_directory)] {
        for sort in [ThreadSort::Updated, ThreadSort::Created, ThreadSort::Active] {
            let query = ThreadQuery {
                sort,
                ..query.clone()
            };
            let mut times: Vec<Duration> = Vec::new();
            for _ in 0..200 {
                let since = Instant::now();
                let page = store.threads(&TenantId::new("local"), &query).await;
                times.push(since.elapsed());
                assert_eq!(page.expect("it can be done").threads.len(), 25);
            }
            times.sort();
            println!(
                "{name}, {sort:?}: p50 {:?}, p99 {:?}",
                times[100], times[198]
            );
        }
    }
}

/// A turn of eight events and six entries, some 12 kB.
#[tokio::test]
#[ignore = "a measure"]
async fn a_fork_of_2_000_turns() {
    let home = tempfile::tempdir().expect("it can be done");
    let store = SqliteStore::open(&home.path().join("a.db"), "measures").expect("it can be done");
    let parent = a_thread(1);
    let lease = store.acquire(parent.card.id).await.expect("it can be done");
    let first = Batch {
        thread: Some(parent.clone()),
        ..a_batch(&[1])
    };
    store
        .append(lease, Seq::ZERO, first)
        .await
        .expect("it can be done");
    let (mut entries, mut turns) = (Vec::new(), Vec::new());
    for turn in 0..2_000_u64 {
        let (seq, ordinal) = (2 + turn * 8, turn * 6);
        let event = |seq: u64| StoredEvent {
            seq: Seq(seq),
            at: Timestamp(0),
            payload: Bytes::from(vec![b'x'; 1_500]),
        };
        let rows: Vec<_> = (0..6)
            .map(|n| an_entry(ordinal + n, ordinal + n, seq + n))
            .collect();
        let row = ended(
            a_turn(turn + 1, ordinal, seq),
            ordinal + 5,
            seq + 7,
            TurnOutcome::Completed,
        );
        let batch = Batch {
            events: (seq..seq + 8).map(event).collect(),
            entries: rows.clone(),
            turns: vec![row.clone()],
            ..a_batch(&[])
        };
        store
            .append(lease, Seq(seq - 1), batch)
            .await
            .expect("it can be done");
        entries.extend(rows);
        turns.push(row);
    }
    for number in 2..7 {
        let child = a_thread(number);
        let lease = store.acquire(child.card.id).await.expect("it can be done");
        let batch = Batch {
            thread: Some(child),
            entries: entries.clone(),
            turns: turns.clone(),
            inherits: Some(InheritedLog {
                from: parent.card.id,
                after: Seq(1),
                upto: Seq(16_001),
            }),
            ..a_batch(&[1, 16_002])
        };
        let since = Instant::now();
        store
            .append(lease, Seq::ZERO, batch)
            .await
            .expect("it can be done");
        println!(
            "a fork of 2,000 turns holds the writer for {:?}",
            since.elapsed()
        );
    }
}
