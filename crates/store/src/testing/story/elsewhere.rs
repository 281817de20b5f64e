//! A chapter about what processes on one home tell each other.

use bytes::Bytes;
use vocabulary::{Seq, TenantId};

use super::log::created;
use super::props::{a_batch, a_thread};
use crate::{Batch, ListChange, ListEntry, RecordChange, RecordKind, SharedStore};

async fn told(store: &SharedStore) -> Vec<(ListEntry, bool)> {
    let found = store.changed_elsewhere().await.expect("changes");
    assert!(!found.missed);
    let told = |change: ListChange| (change.what, change.is_new);
    found.changes.into_iter().map(told).collect()
}

pub(super) async fn what_changes_in_one_process_is_told_in_the_others(
    open: &impl Fn() -> SharedStore,
) {
    let before = a_thread(501);
    let desk = open();
    created(&desk, &before, &[1]).await;
    let sofa = open();
    let thread = a_thread(502);
    let entry = ListEntry::Thread(thread.card.id);
    let lease = created(&desk, &thread, &[1]).await;
    assert_eq!(told(&sofa).await, [(entry.clone(), true)], "a new one");

    let renamed = Batch {
        thread: Some(thread.clone()),
        ..a_batch(&[2])
    };
    desk.append(lease, Seq(1), renamed).await.expect("renamed");
    assert_eq!(told(&sofa).await, [(entry.clone(), false)], "a changed one");

    let quiet = desk.append(lease, Seq(2), a_batch(&[3])).await;
    quiet.expect("nothing that a list shows");
    let id = thread.card.id;
    assert!(!sofa.is_deleted(id).await.expect("reads"));
    assert!(desk.delete(lease).await.expect("deleted"));
    assert_eq!(told(&sofa).await, [(entry, false)], "one that is gone");
    assert!(sofa.is_deleted(id).await.expect("reads"));
    assert!(!desk.delete(lease).await.expect("nothing left"));

    sofa.request(before.card.id).await.expect("asked for");
    let asked = desk.changed_elsewhere().await.expect("a request");
    assert_eq!(asked.requested, [before.card.id]);
    assert_eq!(asked.changes, []);

    let tenant = TenantId::new("elsewhere");
    let change = RecordChange {
        kind: RecordKind::Folder,
        id: "f".to_owned(),
        value: Some(Bytes::from_static(b"{}")),
    };
    // The other way round: nobody is told of what they did themselves.
    let written = sofa.write_records(&tenant, 0, vec![change.clone()]).await;
    let revision = written.expect("written");
    let folder = ListEntry::Record(RecordKind::Folder, "f".to_owned());
    assert_eq!(told(&desk).await, [(folder.clone(), true)]);
    let removed = RecordChange {
        value: None,
        ..change
    };
    let written = desk.write_records(&tenant, revision, vec![removed]).await;
    written.expect("written");
    assert_eq!(told(&sofa).await, [(folder, false)]);
}
