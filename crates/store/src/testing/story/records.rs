//! Chapters about records: what a library keeps beside its threads.

use bytes::Bytes;
use vocabulary::{Seq, TenantId};

use super::props::{a_batch, a_thread};
use crate::{
    Batch, Record, RecordBatch, RecordChange, RecordKind, Records, SharedStore, StoreError,
};

fn put(kind: RecordKind, id: &str, value: &str) -> RecordChange {
    let value = Some(Bytes::from(value.to_owned()));
    let id = id.to_owned();
    RecordChange { kind, id, value }
}

fn remove(kind: RecordKind, id: &str) -> RecordChange {
    let id = id.to_owned();
    RecordChange {
        kind,
        id,
        value: None,
    }
}

async fn read(store: &SharedStore, tenant: &TenantId, kind: RecordKind) -> Records {
    store.records(tenant, kind).await.expect("reads")
}

fn all(revision: u64, records: &[(&str, &str)]) -> Records {
    let record = |(id, value): &(&str, &str)| Record {
        id: (*id).to_owned(),
        value: Bytes::from((*value).to_owned()),
    };
    Records {
        revision,
        records: records.iter().map(record).collect(),
    }
}

pub(super) async fn records_are_written_in_batches(open: &impl Fn() -> SharedStore) {
    use RecordKind::{Folder, Grant, Placement, Workspace};
    let (one, two) = (TenantId::new("librarian"), TenantId::new("reader"));
    let store = open();
    assert_eq!(read(&store, &one, Workspace).await, all(0, &[]));

    let batch = vec![
        put(Workspace, "w", "work"),
        put(Folder, "b", "bees"),
        put(Folder, "a", "ants"),
    ];
    assert_eq!(store.write_records(&one, 0, batch).await, Ok(1));
    assert_eq!(read(&store, &two, Folder).await, all(0, &[]));

    let batch = vec![
        put(Folder, "a", "apes"),
        remove(Folder, "b"),
        remove(Folder, "never there"),
        put(Placement, "b", "a thread"),
    ];
    assert_eq!(store.write_records(&one, 1, batch).await, Ok(2));
    drop(store);

    let store = open();
    assert_eq!(
        read(&store, &one, Folder).await,
        all(2, &[("a", "apes")]),
        "a revision counts for all kinds, and outlives the process"
    );
    assert_eq!(
        read(&store, &one, Workspace).await,
        all(2, &[("w", "work")])
    );
    assert_eq!(
        read(&store, &one, Placement).await,
        all(2, &[("b", "a thread")])
    );
    let batch = vec![put(Grant, "z", "last"), put(Grant, "y", "first")];
    assert_eq!(store.write_records(&one, 2, batch).await, Ok(3));
    let ids = ["z", "b", "y"].map(str::to_owned);
    let named = store.records_named(&one, Grant, &ids).await;
    let wanted = all(0, &[("z", "last"), ("y", "first")]).records;
    assert_eq!(named, Ok(wanted), "of one kind, as they were asked for");
    assert_eq!(store.records_named(&two, Grant, &ids).await, Ok(vec![]));
}

pub(super) async fn a_batch_from_an_older_picture_is_refused(open: &impl Fn() -> SharedStore) {
    let tenant = TenantId::new("late librarian");
    let (first, second) = (open(), open());
    let batch = |value| vec![put(RecordKind::Workspace, "w", value)];
    assert_eq!(first.write_records(&tenant, 0, batch("mine")).await, Ok(1));
    let refused = second.write_records(&tenant, 0, batch("yours")).await;
    let outdated = StoreError::Outdated {
        expected: 0,
        found: 1,
    };
    assert_eq!(refused, Err(outdated));
    let kept = read(&second, &tenant, RecordKind::Workspace).await;
    assert_eq!(kept, all(1, &[("w", "mine")]));
    assert_eq!(
        second.write_records(&tenant, 1, batch("yours")).await,
        Ok(2)
    );
}

/// Many writers that read again when they are refused lose nothing of each other's.
pub(super) async fn concurrent_writers_lose_nothing(open: &impl Fn() -> SharedStore) {
    const WRITERS: u64 = 8;
    let tenant = TenantId::new("many librarians");
    let mut writers = tokio::task::JoinSet::new();
    let stores = [open(), open()];
    for number in 0..WRITERS {
        let store = stores[number as usize % stores.len()].clone();
        let tenant = tenant.clone();
        writers.spawn(async move {
            loop {
                let known = read(&store, &tenant, RecordKind::Folder).await;
                let mut batch = vec![put(RecordKind::Folder, &number.to_string(), "here")];
                // What everyone writes tells how many came before.
                let count = known.records.iter().filter(|each| each.id != "count");
                batch.push(put(
                    RecordKind::Folder,
                    "count",
                    &(count.count() + 1).to_string(),
                ));
                match store.write_records(&tenant, known.revision, batch).await {
                    Ok(_) => return,
                    Err(StoreError::Outdated { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        });
    }
    while let Some(ended) = writers.join_next().await {
        ended.expect("a writer that ends well");
    }
    let kept = read(&stores[0], &tenant, RecordKind::Folder).await;
    assert_eq!(kept.revision, WRITERS);
    assert_eq!(kept.records.len() as u64, WRITERS + 1);
    let count = kept.records.iter().find(|each| each.id == "count");
    let count = count.map(|each| each.value.clone());
    assert_eq!(count, Some(Bytes::from(WRITERS.to_string())));
}

pub(super) async fn records_are_written_with_a_thread_or_not_at_all(store: &SharedStore) {
    use RecordKind::Placement;
    let thread = a_thread(710);
    let (id, tenant) = (thread.card.id, thread.card.tenant.clone());
    let revision = read(store, &tenant, Placement).await.revision;
    let batch = |expected: u64| Batch {
        thread: Some(thread.clone()),
        records: Some(RecordBatch {
            expected,
            changes: vec![put(Placement, "placed with it", "here")],
        }),
        ..a_batch(&[1])
    };
    let lease = store.acquire(id).await.expect("it is free");
    let refused = store.append(lease, Seq::ZERO, batch(revision + 1)).await;
    assert!(
        matches!(refused, Err(StoreError::Outdated { .. })),
        "{refused:?}"
    );
    assert_eq!(store.load(id).await, Ok(None));
    let nobodys = Batch {
        thread: None,
        ..batch(revision)
    };
    let refused = store.append(lease, Seq::ZERO, nobodys).await;
    assert!(matches!(refused, Err(StoreError::Failed(_))), "{refused:?}");

    let accepted = store.append(lease, Seq::ZERO, batch(revision)).await;
    accepted.expect("in step");
    let found = read(store, &tenant, Placement).await;
    assert_eq!(found.revision, revision + 1);
    assert!(found.records.iter().any(|it| it.id == "placed with it"));
}
