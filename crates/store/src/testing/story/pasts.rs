//! Chapters about a thread's past: taken back, or taken over by another thread.

use vocabulary::{Seq, TurnOutcome, TurnSelection};

use super::log::created;
use super::props::{a_batch, a_thread, a_turn, an_entry, an_event, ended};
use crate::{Batch, InheritedLog, RevertedRows, SharedStore, StoreError};

/// Three turns of two entries each, from the event 2 on.
fn three_turns() -> Batch {
    let turn = |number: u64| {
        let turn = a_turn(number, 2 * number - 2, 2 * number);
        ended(turn, 2 * number - 1, 2 * number + 1, TurnOutcome::Completed)
    };
    Batch {
        turns: (1..=3).map(turn).collect(),
        entries: (0..6).map(|n| an_entry(n, n, n + 2)).collect(),
        ..a_batch(&(2..=7).collect::<Vec<_>>())
    }
}

async fn ordinals(store: &SharedStore, thread: u64) -> Vec<(u64, u64)> {
    let id = a_thread(thread).card.id;
    let entries = store.entries(id, 0, 0..u64::MAX, 99).await.expect("reads");
    let rows = entries.iter().map(|(row, event)| (row, event));
    rows.inspect(|(row, event)| assert_eq!(**event, an_event(row.seq.0)))
        .map(|(row, _)| (row.ordinal, row.seq.0))
        .collect()
}

async fn numbers(store: &SharedStore, thread: u64) -> Vec<(u64, u64)> {
    let id = a_thread(thread).card.id;
    let turns = store.turns(id, 0, &TurnSelection::Oldest, 99).await;
    let turns = turns.expect("reads");
    turns.iter().map(|it| (it.number, it.first_seq.0)).collect()
}

pub(super) async fn turns_are_taken_back_and_their_places_given_again(store: &SharedStore) {
    let thread = a_thread(701);
    let lease = created(store, &thread, &[1]).await;
    store
        .append(lease, Seq(1), three_turns())
        .await
        .expect("it can be done");
    // The second turn goes, and in the same batch another one has its place.
    let batch = Batch {
        reverts: Some(RevertedRows { entry: 2, turn: 2 }),
        entries: vec![an_entry(2, 2, 9)],
        turns: vec![a_turn(2, 2, 9)],
        ..a_batch(&[8, 9])
    };
    store
        .append(lease, Seq(7), batch)
        .await
        .expect("it can be done");
    assert_eq!(ordinals(store, 701).await, [(0, 2), (1, 3), (2, 9)]);
    assert_eq!(numbers(store, 701).await, [(1, 2), (2, 9)]);
    let log = store
        .events(thread.card.id, Seq::ZERO, 99)
        .await
        .expect("it can be done");
    assert_eq!(log.len(), 9, "the log keeps what was taken back");
}

pub(super) async fn a_thread_begins_with_the_past_of_another(open: &impl Fn() -> SharedStore) {
    let store = open();
    let parent = a_thread(702);
    let lease = created(&store, &parent, &[1]).await;
    store
        .append(lease, Seq(1), three_turns())
        .await
        .expect("it can be done");

    let child = a_thread(703);
    let id = child.card.id;
    let first = Batch {
        thread: Some(child.clone()),
        entries: three_turns().entries.into_iter().take(4).collect(),
        turns: three_turns().turns.into_iter().take(2).collect(),
        inherits: Some(InheritedLog {
            from: parent.card.id,
            after: Seq(1),
            upto: Seq(5),
        }),
        ..a_batch(&[1, 6])
    };
    let own = store.acquire(id).await.expect("it can be done");
    // A batch that cannot enter leaves nothing of the thread.
    for wrong in [a_batch(&[1, 3, 6]), a_batch(&[1, 6, 5])] {
        let batch = Batch {
            events: wrong.events,
            ..first.clone()
        };
        assert!(store.append(own, Seq::ZERO, batch).await.is_err());
    }
    let nobody = Batch {
        inherits: first.inherits.map(|log| InheritedLog {
            from: a_thread(704).card.id,
            ..log
        }),
        ..first.clone()
    };
    let refused = store.append(own, Seq::ZERO, nobody).await;
    assert_eq!(refused, Err(StoreError::UnknownThread));
    assert_eq!(store.thread(id).await, Ok(None));

    store
        .append(own, Seq::ZERO, first.clone())
        .await
        .expect("it can be done");
    let again = store.append(own, Seq(6), first).await;
    assert!(
        again.is_err(),
        "only a new thread begins with another's log"
    );
    assert_eq!(store.delete(lease).await, Ok(true));
    drop(store);

    let store = open();
    let log = store
        .events(id, Seq::ZERO, 99)
        .await
        .expect("it can be done");
    let whole: Vec<_> = (1..=6).map(an_event).collect();
    assert_eq!(log, whole, "it outlives the thread that it came from");
    assert_eq!(
        ordinals(&store, 703).await,
        [(0, 2), (1, 3), (2, 4), (3, 5)]
    );
    assert_eq!(numbers(&store, 703).await, [(1, 2), (2, 4)]);
    let loaded = store
        .load(id)
        .await
        .expect("it can be done")
        .expect("it can be done");
    assert_eq!((loaded.last_seq, loaded.high_water), (Seq(6), Seq(6)));
    assert_eq!(loaded.drafts, []);
}
