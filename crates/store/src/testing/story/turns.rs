//! Chapters about the index of a thread's turns.

use vocabulary::{IndexedTurn, Seq, TurnError, TurnErrorKind, TurnId, TurnOutcome, TurnSelection};

use super::log::created;
use super::props::{a_batch, a_thread, a_turn, ended};
use crate::{Batch, SharedStore, StoreError};

const ALL: u32 = 100;

fn failed() -> TurnOutcome {
    TurnOutcome::Failed(TurnError {
        kind: TurnErrorKind::Provider,
        message: "the \"model\" went away".to_owned(),
    })
}

pub(super) async fn a_turn_is_indexed_from_its_start_to_its_end(open: &impl Fn() -> SharedStore) {
    let store = open();
    let thread = a_thread(401);
    let id = thread.card.id;
    let lease = created(&store, &thread, &[1]).await;
    let read = async |store: &SharedStore| {
        let found = store.turns(id, 0, &TurnSelection::Oldest, ALL).await;
        found.expect("reads")
    };
    assert_eq!(read(&store).await, []);

    let running = a_turn(1, 0, 2);
    let started = Batch {
        turns: vec![running.clone()],
        ..a_batch(&[2])
    };
    // With the append, or not at all.
    let refused = store.append(lease, Seq(7), started.clone()).await;
    assert!(matches!(refused, Err(StoreError::OutOfStep { .. })));
    assert_eq!(read(&store).await, []);
    store.append(lease, Seq(1), started).await.expect("in step");
    assert_eq!(read(&store).await, std::slice::from_ref(&running));

    // One that starts and ends in the same batch, after the first has failed.
    let over = ended(running, 3, 5, failed());
    let next = a_turn(2, 4, 6);
    let brief = ended(next.clone(), 5, 7, TurnOutcome::Cancelled);
    let batch = Batch {
        turns: vec![over.clone(), next, brief.clone()],
        ..a_batch(&[5, 6, 7])
    };
    store.append(lease, Seq(2), batch).await.expect("in step");
    drop(store);
    let store = open();
    assert_eq!(read(&store).await, [over, brief]);

    let lease = store.acquire(id).await.expect("it is free");
    assert_eq!(store.delete(lease).await, Ok(true));
    assert_eq!(read(&store).await, []);
}

pub(super) async fn turns_are_paged_both_ways_from_the_last_reset(store: &SharedStore) {
    let thread = a_thread(402);
    let id = thread.card.id;
    let lease = created(store, &thread, &[1]).await;
    // Turn n has the entries 2n - 2 and 2n - 1. The ids of the fourth and the fifth are the same.
    let turn = |number: u64| {
        let mut turn = a_turn(number, 2 * number - 2, 2 * number);
        if number == 5 {
            turn.turn = TurnId::new("turn 4");
        }
        ended(turn, 2 * number - 1, 2 * number + 1, TurnOutcome::Completed)
    };
    let batch = Batch {
        turns: (1..=6).map(turn).collect(),
        ..a_batch(&(2..=13).collect::<Vec<_>>())
    };
    store.append(lease, Seq(1), batch).await.expect("in step");
    // A neighbour's turns are never mixed in.
    let neighbour = a_thread(403);
    let lease = created(store, &neighbour, &[1]).await;
    let batch = Batch {
        turns: vec![a_turn(1, 0, 2)],
        ..a_batch(&[2])
    };
    store.append(lease, Seq(1), batch).await.expect("in step");

    let numbers = async |from: u64, selection: TurnSelection, limit: u32| -> Vec<u64> {
        let found = store.turns(id, from, &selection, limit).await;
        let found: Vec<IndexedTurn> = found.expect("reads");
        found
            .iter()
            .for_each(|row| assert_eq!(*row, turn(row.number)));
        found.iter().map(|row| row.number).collect()
    };
    // The conversation began anew behind the second turn.
    let reset = 4;
    assert_eq!(numbers(reset, TurnSelection::Newest, 2).await, [6, 5]);
    assert_eq!(numbers(reset, TurnSelection::Before(5), 2).await, [4, 3]);
    assert!(numbers(reset, TurnSelection::Before(3), 2).await.is_empty());
    assert_eq!(numbers(reset, TurnSelection::Oldest, 2).await, [3, 4]);
    assert_eq!(numbers(reset, TurnSelection::After(4), 9).await, [5, 6]);
    assert!(numbers(reset, TurnSelection::After(6), 9).await.is_empty());
    assert_eq!(numbers(0, TurnSelection::Oldest, 1).await, [1]);
    let one = |id: &str| TurnSelection::One(TurnId::new(id));
    assert_eq!(numbers(reset, one("turn 3"), 9).await, [3]);
    assert_eq!(numbers(reset, one("turn 4"), 9).await, [5]);
    assert!(numbers(reset, one("turn 2"), 9).await.is_empty());
}
