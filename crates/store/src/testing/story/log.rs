//! Chapters about one thread: its log, its state, its receipts and drafts.

use vocabulary::{ItemId, Seq, Thread};

use super::props::{a_batch, a_thread, an_entry, an_event};
use crate::{Batch, Draft, Lease, Receipt, SharedStore, StoreError, StoredEvent};

/// Acquires the thread and writes its first batch, with these events.
pub(super) async fn created(store: &SharedStore, thread: &Thread, seqs: &[u64]) -> Lease {
    let lease = store.acquire(thread.card.id).await.expect("it is free");
    let batch = Batch {
        thread: Some(thread.clone()),
        ..a_batch(seqs)
    };
    let created = store.append(lease, Seq::ZERO, batch).await;
    created.expect("the first batch is accepted");
    lease
}

fn seqs(events: &[StoredEvent]) -> Vec<u64> {
    events.iter().map(|event| event.seq.0).collect()
}

pub(super) async fn a_thread_is_kept_from_its_first_batch(store: &SharedStore) {
    let thread = a_thread(101);
    let id = thread.card.id;
    store.ready().await.expect("an open store is ready");
    assert_eq!(store.load(id).await, Ok(None));
    assert_eq!(store.thread(id).await, Ok(None));
    assert_eq!(store.events(id, Seq::ZERO, 10).await, Ok(vec![]));

    let lease = store.acquire(id).await.expect("leased before it is stored");
    let without_thread = store.append(lease, Seq::ZERO, a_batch(&[1])).await;
    assert_eq!(without_thread, Err(StoreError::UnknownThread));

    let lease = created(store, &thread, &[1, 4]).await;
    let loaded = store.load(id).await.expect("loads").expect("is there");
    assert_eq!(loaded.thread, thread);
    assert_eq!(&loaded.state[..], b"state at 4");
    assert_eq!(loaded.last_seq, Seq(4));
    assert_eq!(loaded.high_water, Seq(4));
    assert_eq!(loaded.drafts, []);

    // A batch may carry only a new state; the number line never goes back.
    let high = Batch {
        high_water: Seq(70_000),
        ..a_batch(&[])
    };
    store.append(lease, Seq(4), high).await.expect("in step");
    store
        .append(lease, Seq(4), a_batch(&[9]))
        .await
        .expect("in step");
    let loaded = store.load(id).await.expect("loads").expect("is there");
    assert_eq!(loaded.last_seq, Seq(9));
    assert_eq!(loaded.high_water, Seq(70_000));

    let renamed = Thread {
        preview: "Say goodbye".to_owned(),
        ..thread
    };
    let batch = Batch {
        thread: Some(renamed.clone()),
        ..a_batch(&[])
    };
    store.append(lease, Seq(9), batch).await.expect("in step");
    assert_eq!(store.thread(id).await, Ok(Some(renamed)));
}

pub(super) async fn a_log_is_read_in_pages(store: &SharedStore) {
    let thread = a_thread(102);
    let id = thread.card.id;
    created(store, &thread, &[2, 3, 5, 7, 11]).await;
    // A neighbour's events are never mixed in.
    created(store, &a_thread(103), &[1, 2, 3]).await;

    let page = store.events(id, Seq::ZERO, 2).await.expect("reads");
    assert_eq!(page, [an_event(2), an_event(3)]);
    let page = store.events(id, Seq(3), 10).await.expect("reads");
    assert_eq!(seqs(&page), [5, 7, 11]);
    let page = store.events(id, Seq(u64::MAX), 10).await.expect("reads");
    assert!(page.is_empty());

    let page = store.events_before(id, Seq(7), 2).await.expect("reads");
    assert_eq!(seqs(&page), [5, 7]);
    let page = store.events_before(id, Seq(u64::MAX), 2).await;
    assert_eq!(seqs(&page.expect("reads")), [7, 11]);
    let page = store.events_before(id, Seq(1), 2).await.expect("reads");
    assert!(page.is_empty());
}

pub(super) async fn entries_are_found_by_place_and_by_message(store: &SharedStore) {
    let thread = a_thread(104);
    let id = thread.card.id;
    let lease = created(store, &thread, &[1]).await;
    // Messages count from 0 again after a reset, which happened before ordinal 3.
    let batch = Batch {
        entries: vec![
            an_entry(0, 0, 2),
            an_entry(1, 1, 3),
            an_entry(2, 1, 4),
            an_entry(3, 0, 6),
            an_entry(4, 1, 7),
            an_entry(5, 2, 8),
        ],
        ..a_batch(&[2, 3, 4, 5, 6, 7, 8])
    };
    store.append(lease, Seq(1), batch).await.expect("in step");

    let ordinals = async |from, messages, limit| -> Vec<u64> {
        let found = store.entries(id, from, messages, limit).await;
        let found = found.expect("reads");
        for (row, event) in &found {
            assert_eq!(*event, an_event(row.seq.0), "an entry carries its event");
        }
        found.iter().map(|(row, _)| row.ordinal).collect()
    };
    assert_eq!(ordinals(3, 0..u64::MAX, 2).await, [3, 4]);
    assert_eq!(ordinals(3, 1..3, 10).await, [4, 5]);
    assert_eq!(ordinals(4, 0..2, 10).await, [4]);
    assert!(ordinals(3, 3..9, 10).await.is_empty());
    assert!(ordinals(3, 1..1, 10).await.is_empty());
    assert!(ordinals(6, 0..u64::MAX, 10).await.is_empty());
}

pub(super) async fn a_batch_that_is_refused_changes_nothing(store: &SharedStore) {
    let thread = a_thread(105);
    let id = thread.card.id;
    let lease = created(store, &thread, &[1, 2]).await;
    let before = store.load(id).await;

    let out_of_step = store.append(lease, Seq(1), a_batch(&[3])).await;
    let found = StoreError::OutOfStep {
        expected: Seq(1),
        found: Seq(2),
    };
    assert_eq!(out_of_step, Err(found));
    let malformed = [
        a_batch(&[2]),
        a_batch(&[4, 3]),
        Batch {
            entries: vec![an_entry(0, 0, 99)],
            ..a_batch(&[3])
        },
        Batch {
            thread: Some(a_thread(106)),
            ..a_batch(&[3])
        },
    ];
    for batch in malformed {
        let refused = store.append(lease, Seq(2), batch).await;
        assert!(matches!(refused, Err(StoreError::Failed(_))), "{refused:?}");
    }
    assert_eq!(store.load(id).await, before);
    let log = store.events(id, Seq::ZERO, 10).await.expect("reads");
    assert_eq!(seqs(&log), [1, 2]);
}

pub(super) async fn receipts_answer_a_repeated_request(store: &SharedStore) {
    let thread = a_thread(107);
    let id = thread.card.id;
    let lease = created(store, &thread, &[1]).await;
    let receipt = Receipt {
        kind: "message".into(),
        client_id: "mine".to_owned(),
        hash: [7; 32],
        answer: "turn 1".to_owned(),
    };
    let batch = Batch {
        receipts: vec![receipt.clone()],
        ..a_batch(&[2])
    };
    let accepted = store.append(lease, Seq(1), batch.clone()).await;
    accepted.expect("in step");
    let found = store.receipt(id, "message", "mine").await;
    assert_eq!(found, Ok(Some(receipt)));
    assert_eq!(store.receipt(id, "turn", "mine").await, Ok(None));
    assert_eq!(store.receipt(id, "message", "yours").await, Ok(None));
    let elsewhere = a_thread(108).card.id;
    assert_eq!(store.receipt(elsewhere, "message", "mine").await, Ok(None));

    let again = Batch {
        receipts: batch.receipts,
        ..a_batch(&[3])
    };
    let again = store.append(lease, Seq(2), again).await;
    assert_eq!(again, Err(StoreError::Taken));
    let log = store.events(id, Seq(1), 10).await.expect("reads");
    assert_eq!(seqs(&log), [2]);
}

pub(super) async fn receipts_are_read_in_pages(store: &SharedStore) {
    let thread = a_thread(112);
    let id = thread.card.id;
    let lease = created(store, &thread, &[1]).await;
    let receipt = |(kind, client_id): (&'static str, &str)| Receipt {
        kind: kind.into(),
        client_id: client_id.to_owned(),
        hash: [3; 32],
        answer: client_id.to_owned(),
    };
    let in_order = [
        ("message", "b"),
        ("steer", "a"),
        ("turn", "a"),
        ("turn", "c"),
    ];
    let in_order = in_order.map(receipt);
    let batch = Batch {
        receipts: in_order.iter().rev().cloned().collect(),
        ..a_batch(&[2])
    };
    store.append(lease, Seq(1), batch).await.expect("in step");
    let (mut read, mut last) = (Vec::new(), None);
    loop {
        let page = store.receipts(id, last.as_ref(), 3).await.expect("reads");
        let Some(newest) = page.last() else { break };
        last = Some(newest.clone());
        read.extend(page);
    }
    assert_eq!(read, in_order);
    let elsewhere = a_thread(113).card.id;
    assert_eq!(store.receipts(elsewhere, None, 3).await, Ok(vec![]));
}

pub(super) async fn drafts_grow_until_their_item_is_done(store: &SharedStore) {
    let thread = a_thread(109);
    let id = thread.card.id;
    let piece = |item: &str, about: &str, text: &str| Draft {
        item: ItemId::new(item),
        about: about.to_owned(),
        text: text.to_owned(),
    };
    let lease = store.acquire(id).await.expect("it is free");
    let too_early = store.draft(lease, piece("a", "", "x")).await;
    assert_eq!(too_early, Err(StoreError::UnknownThread));

    let lease = created(store, &thread, &[1]).await;
    for piece in [
        piece("a", "text", "Hel"),
        piece("b", "reasoning", "hm"),
        piece("a", "ignored", "lo"),
    ] {
        store.draft(lease, piece).await.expect("kept");
    }
    let loaded = store.load(id).await.expect("loads").expect("is there");
    let expected = [piece("a", "text", "Hello"), piece("b", "reasoning", "hm")];
    assert_eq!(loaded.drafts, expected);

    let done = Batch {
        drafts_done: vec![ItemId::new("a")],
        ..a_batch(&[2])
    };
    store.append(lease, Seq(1), done).await.expect("in step");
    let loaded = store.load(id).await.expect("loads").expect("is there");
    assert_eq!(loaded.drafts, [piece("b", "reasoning", "hm")]);
}

pub(super) async fn a_deleted_thread_leaves_nothing(store: &SharedStore) {
    let thread = a_thread(110);
    let id = thread.card.id;
    let lease = created(store, &thread, &[1]).await;
    let full = Batch {
        entries: vec![an_entry(0, 0, 2)],
        receipts: vec![Receipt {
            kind: "message".into(),
            client_id: "mine".to_owned(),
            hash: [0; 32],
            answer: String::new(),
        }],
        unfinished: true,
        ..a_batch(&[2])
    };
    store.append(lease, Seq(1), full).await.expect("in step");
    assert_eq!(store.delete(lease).await, Ok(true));
    assert_eq!(store.delete(lease).await, Ok(false));
    store.release(lease).await.expect("given back");

    assert_eq!(store.load(id).await, Ok(None));
    assert_eq!(store.events(id, Seq::ZERO, 10).await, Ok(vec![]));
    assert_eq!(store.entries(id, 0, 0..u64::MAX, 10).await, Ok(vec![]));
    assert_eq!(store.receipt(id, "message", "mine").await, Ok(None));
    let unfinished = store.unfinished().await.expect("reads");
    assert!(!unfinished.contains(&id));
    assert_eq!(store.is_deleted(id).await, Ok(true));
    // The same id may live again, from an empty log.
    created(store, &thread, &[1]).await;
    assert_eq!(store.is_deleted(id).await, Ok(false));
    let log = store.events(id, Seq::ZERO, 10).await.expect("reads");
    assert_eq!(seqs(&log), [1]);
}
