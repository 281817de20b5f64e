//! Records as typed values: read at one moment, changed from that moment or again.

use serde::Serialize;
use serde::de::DeserializeOwned;
use store::{Record, RecordChange, RecordKind, SharedStore, StoreError};
use vocabulary::TenantId;

use crate::IdentityError;
use crate::limits::CHANGE_TRIES_MAX;

/// What a change writes, and what its caller is told once it is written.
pub(crate) struct Planned<T> {
    pub changes: Vec<RecordChange>,
    pub outcome: T,
}

/// Changes records of a tenant. `plan` sees all of one kind, and is asked again with fresh ones when
/// somebody else wrote in between: what it decided from them holds when it is written.
pub(crate) async fn change<R: DeserializeOwned, T>(
    store: &SharedStore,
    tenant: &TenantId,
    kind: RecordKind,
    mut plan: impl FnMut(Vec<R>) -> Result<Planned<T>, IdentityError>,
) -> Result<T, IdentityError> {
    for _ in 0..CHANGE_TRIES_MAX {
        let read = store.records(tenant, kind).await?;
        let Planned { changes, outcome } = plan(decode(&read.records)?)?;
        if changes.is_empty() {
            return Ok(outcome);
        }
        match store.write_records(tenant, read.revision, changes).await {
            Ok(_) => return Ok(outcome),
            Err(StoreError::Outdated { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(IdentityError::Busy)
}

pub(crate) fn decode<R: DeserializeOwned>(records: &[Record]) -> Result<Vec<R>, IdentityError> {
    let values = records.iter().map(|record| {
        let broken = |error: serde_json::Error| IdentityError::Broken(error.to_string());
        serde_json::from_slice(&record.value).map_err(broken)
    });
    values.collect()
}

pub(crate) fn put(
    kind: RecordKind,
    id: &str,
    value: &impl Serialize,
) -> Result<RecordChange, IdentityError> {
    let value =
        serde_json::to_vec(value).map_err(|error| IdentityError::Broken(error.to_string()))?;
    Ok(RecordChange {
        kind,
        id: id.to_owned(),
        value: Some(value.into()),
    })
}

pub(crate) fn removed(kind: RecordKind, id: &str) -> RecordChange {
    RecordChange {
        kind,
        id: id.to_owned(),
        value: None,
    }
}
