//! Erases what a tenant leaves that was shut: its threads with their logs, its library, its balance and
//! settings, and its directory.

use std::path::Path;
use std::time::Duration;

use store::{CreditChange, RecordChange, RecordKind, SharedStore, StoreError};
use tokio::time::Instant;
use vocabulary::{ArchivedThreads, TenantId, Thread, ThreadQuery};

use crate::library::remains;
use crate::limits::HAND_OVER_LOOK;

/// How long a server may need to end a turn of somebody who was just shut out, and to give the thread back.
const GIVEN_BACK_WAIT: Duration = Duration::from_secs(15);
/// How often the library may change under one who erases it.
const TRIES_MAX: usize = 8;
/// What a tenant's library is made of. Who its members were is not erased here: they went when it was shut.
const LIBRARY: [RecordKind; 5] = [
    RecordKind::Placement,
    RecordKind::Section,
    RecordKind::Folder,
    RecordKind::Workspace,
    RecordKind::Grant,
];

/// How many threads are gone, and how many a server still has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErasedTenant {
    pub threads: usize,
    pub held: usize,
}

/// For a tenant that nobody can come into any more. Doing it again goes on where it ended.
pub async fn erase_tenant(
    store: &SharedStore,
    home: &Path,
    tenant: &TenantId,
) -> Result<ErasedTenant, StoreError> {
    let query = ThreadQuery {
        hidden: true,
        archived: ArchivedThreads::Included,
        ..ThreadQuery::default()
    };
    let until = Instant::now() + GIVEN_BACK_WAIT;
    let mut erased = ErasedTenant::default();
    for thread in store.threads(tenant, &query).await?.threads {
        match erase_thread(store, home, &thread, until).await? {
            true => erased.threads += 1,
            false => erased.held += 1,
        }
    }
    if erased.held > 0 {
        return Ok(erased);
    }
    for kind in LIBRARY {
        erase_records(store, tenant, kind).await?;
    }
    store.change_credit(tenant, CreditChange::Remove).await?;
    for (name, _) in store.settings_of(tenant, "").await? {
        store.remove_setting(tenant, &name).await?;
    }
    let place = remains::of_tenant(home, tenant);
    let removing = tokio::task::spawn_blocking(move || remains::remove_directory(&place));
    if removing.await.is_err() {
        tracing::warn!("files of an erased tenant are left");
    }
    Ok(erased)
}

/// Whether it is gone; a server may have it, and is asked for it until then.
async fn erase_thread(
    store: &SharedStore,
    home: &Path,
    thread: &Thread,
    until: Instant,
) -> Result<bool, StoreError> {
    let id = thread.card.id;
    let lease = loop {
        match store.acquire(id).await {
            Ok(lease) => break lease,
            Err(StoreError::Held { .. }) if Instant::now() < until => {
                store.request(id).await?;
                tokio::time::sleep(HAND_OVER_LOOK).await;
            }
            Err(StoreError::Held { .. }) => return Ok(false),
            Err(error) => return Err(error),
        }
    };
    store.delete(lease).await?;
    store.release(lease).await?;
    remains::remove_places(home, &thread.card).await;
    Ok(true)
}

async fn erase_records(
    store: &SharedStore,
    tenant: &TenantId,
    kind: RecordKind,
) -> Result<(), StoreError> {
    for _ in 0..TRIES_MAX {
        let found = store.records(tenant, kind).await?;
        if found.records.is_empty() {
            return Ok(());
        }
        let removed = found.records.into_iter().map(|record| RecordChange {
            kind,
            id: record.id,
            value: None,
        });
        match store
            .write_records(tenant, found.revision, removed.collect())
            .await
        {
            Ok(_) => return Ok(()),
            Err(StoreError::Outdated { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
