//! The story on every backend, and what only some backends can do.

mod credits;
mod measures;
mod property;
mod search;
mod sqlite;

use std::sync::Arc;

use vocabulary::Seq;

use crate::sqlite::SqliteStore;
use crate::testing::faulty::{Fault, Faulty};
use crate::testing::memory::{MemoryStore, MemoryWorld};
use crate::testing::story::{a_batch, a_thread, tell};
use crate::{Batch, SharedStore, Store, StoreError};

#[tokio::test]
async fn memory_tells_the_story() {
    let world = MemoryWorld::new();
    tell(|| Arc::new(world.open())).await;
}

#[tokio::test]
async fn sqlite_tells_the_story() {
    let home = tempfile::tempdir().expect("a scratch directory");
    let path = home.path().join("sessions.db");
    let open = || -> SharedStore { Arc::new(SqliteStore::open(&path, "a test").expect("opens")) };
    tell(open).await;
}

#[tokio::test]
async fn a_faulty_store_fails_when_told() {
    let store = Faulty::new(MemoryStore::new());
    let thread = a_thread(1);
    let lease = store.acquire(thread.card.id).await.expect("free");
    store.fail_append(2, Fault::Refused(StoreError::Full));
    let lost = StoreError::Failed("the word got lost".to_owned());
    store.fail_append(3, Fault::Unacknowledged(lost.clone()));
    let first = Batch {
        thread: Some(thread.clone()),
        ..a_batch(&[1])
    };
    assert_eq!(store.append(lease, Seq(0), first).await, Ok(()));
    let second = store.append(lease, Seq(1), a_batch(&[2])).await;
    assert_eq!(second, Err(StoreError::Full));
    let third = store.append(lease, Seq(1), a_batch(&[3])).await;
    assert_eq!(third, Err(lost));
    store.fail_from_now_on(StoreError::Full);
    let fourth = store.append(lease, Seq(3), a_batch(&[4])).await;
    assert_eq!(fourth, Err(StoreError::Full));
    store.heal();

    assert_eq!(store.appends(), 4);
    let log = store.events(thread.card.id, Seq(0), 10).await;
    let seqs: Vec<u64> = log
        .expect("reads")
        .iter()
        .map(|event| event.seq.0)
        .collect();
    assert_eq!(seqs, [1, 3]);
}
