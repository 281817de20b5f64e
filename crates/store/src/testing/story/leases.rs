//! Chapters about several processes on one home, and about their ends.

use vocabulary::{ItemId, Seq, ThreadId};

use super::log::created;
use super::props::{a_batch, a_thread, an_entry};
use crate::{Batch, Draft, SharedStore, StoreError};

pub(super) async fn a_thread_is_awake_in_one_process_only(open: &impl Fn() -> SharedStore) {
    let (desk, sofa) = (open(), open());
    let thread = a_thread(301);
    let id = thread.card.id;
    let lease = created(&desk, &thread, &[1]).await;

    let held = sofa.acquire(id).await;
    let Err(StoreError::Held { owner }) = held else {
        panic!("two processes have the same thread: {held:?}");
    };
    assert!(!owner.is_empty(), "it says who has the thread");
    // Reading needs no lease, and sees what was just acknowledged.
    let read = sofa.events(id, Seq::ZERO, 10).await.expect("reads");
    assert_eq!(read.len(), 1);
    // Another thread is another matter.
    created(&sofa, &a_thread(302), &[1]).await;

    desk.release(lease).await.expect("given back");
    let lease = sofa.acquire(id).await.expect("free after the release");
    let batch = a_batch(&[2]);
    sofa.append(lease, Seq(1), batch).await.expect("in step");
    drop(sofa);
    desk.acquire(id).await.expect("free after the owner's end");
}

pub(super) async fn an_older_lease_can_no_longer_write(open: &impl Fn() -> SharedStore) {
    let (desk, sofa) = (open(), open());
    let thread = a_thread(303);
    let id = thread.card.id;
    let first = created(&desk, &thread, &[1]).await;
    let second = desk.acquire(id).await.expect("one's own thread again");
    assert!(second.fence > first.fence);

    let draft = Draft {
        item: ItemId::new("a"),
        about: String::new(),
        text: "late".to_owned(),
    };
    let before = desk.load(id).await;
    let late = desk.append(first, Seq(1), a_batch(&[2])).await;
    assert_eq!(late, Err(StoreError::Fenced));
    let late = desk.draft(first, draft).await;
    assert_eq!(late, Err(StoreError::Fenced));
    assert_eq!(desk.delete(first).await, Err(StoreError::Fenced));
    assert_eq!(desk.load(id).await, before);
    // Giving back what is lost takes nothing from the one who has it.
    desk.release(first).await.expect("nothing to give back");
    assert!(matches!(
        sofa.acquire(id).await,
        Err(StoreError::Held { .. })
    ));

    desk.release(second).await.expect("given back");
    let after_release = desk.append(second, Seq(1), a_batch(&[2])).await;
    assert_eq!(after_release, Err(StoreError::Fenced));
    let third = sofa.acquire(id).await.expect("free");
    assert!(third.fence > second.fence, "fences only grow");
}

pub(super) async fn everything_is_there_after_a_restart(open: &impl Fn() -> SharedStore) {
    let thread = a_thread(304);
    let id = thread.card.id;
    let store = open();
    let lease = created(&store, &thread, &[1]).await;
    let batch = Batch {
        entries: vec![an_entry(0, 0, 3)],
        high_water: Seq(65_536),
        ..a_batch(&[2, 3])
    };
    store.append(lease, Seq(1), batch).await.expect("in step");
    let draft = Draft {
        item: ItemId::new("a"),
        about: "text".to_owned(),
        text: "half a sen".to_owned(),
    };
    store.draft(lease, draft).await.expect("kept");
    let loaded = store.load(id).await;
    let events = store.events(id, Seq::ZERO, 10).await;
    let entries = store.entries(id, 0, 0..u64::MAX, 10).await;
    drop(store);

    let store = open();
    assert_eq!(store.load(id).await, loaded);
    assert_eq!(store.events(id, Seq::ZERO, 10).await, events);
    assert_eq!(store.entries(id, 0, 0..u64::MAX, 10).await, entries);
    let ghost = store.append(lease, Seq(3), a_batch(&[4])).await;
    assert_eq!(ghost, Err(StoreError::Fenced), "the dead write no more");
}

pub(super) async fn unfinished_threads_are_found_when_nobody_has_them(
    open: &impl Fn() -> SharedStore,
) {
    let (desk, sofa) = (open(), open());
    let among_ours = async |store: &SharedStore| -> Vec<ThreadId> {
        let mut found = store.unfinished().await.expect("reads");
        found.retain(|id| (305..=306).any(|number| a_thread(number).card.id == *id));
        found
    };
    let (running, resting) = (a_thread(305), a_thread(306));
    let lease = created(&desk, &running, &[1]).await;
    let started = Batch {
        unfinished: true,
        ..a_batch(&[2])
    };
    let append = desk.append(lease, Seq(1), started.clone()).await;
    append.expect("in step");
    let rest = created(&desk, &resting, &[1]).await;
    let append = desk.append(rest, Seq(1), started).await;
    append.expect("in step");
    desk.append(rest, Seq(2), a_batch(&[3]))
        .await
        .expect("in step");

    assert_eq!(among_ours(&desk).await, [], "its owner looks after it");
    assert_eq!(among_ours(&sofa).await, [], "its owner is alive");
    drop(desk);
    assert_eq!(among_ours(&sofa).await, [running.card.id]);
    sofa.acquire(running.card.id).await.expect("free");
    assert_eq!(among_ours(&sofa).await, [], "it is looked after again");
    drop(sofa);
    assert_eq!(among_ours(&open()).await, [running.card.id]);
}
