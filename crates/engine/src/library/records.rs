//! The library's records as typed values: read at one moment, changed from that moment or again.

use serde::Serialize;
use serde::de::DeserializeOwned;
use store::{RecordChange, RecordKind, SharedStore, StoreError};
use vocabulary::{Folder, Placement, Refusal, TenantId, Why, Workspace};

use super::sections::KeptSection;

use crate::Shared;
use crate::limits::LIBRARY_TRIES_MAX;
use crate::session::storage;

/// What was asked for of a tenant's library, at one moment.
#[derive(Debug, Default)]
pub struct Library {
    revision: u64,
    /// Oldest first.
    pub workspaces: Vec<Workspace>,
    /// By name, then by id.
    pub folders: Vec<Folder>,
    /// By thread.
    pub placements: Vec<Placement>,
    /// Oldest first; the pinned one is among them once it was used.
    pub sections: Vec<KeptSection>,
}

/// What a change writes, and what its caller is told once it is written.
pub struct RecordPlan<T> {
    pub changes: Vec<RecordChange>,
    pub outcome: T,
}

impl Library {
    /// What a change of it is written from.
    pub fn revision(&self) -> u64 {
        self.revision
    }
}

pub async fn read(
    shared: &Shared,
    tenant: &TenantId,
    kinds: &[RecordKind],
) -> Result<Library, Refusal> {
    read_from(&shared.store, tenant, kinds).await
}

/// The same where no engine runs.
pub async fn read_from(
    store: &SharedStore,
    tenant: &TenantId,
    kinds: &[RecordKind],
) -> Result<Library, Refusal> {
    for _ in 0..LIBRARY_TRIES_MAX {
        if let Some(library) = read_once(store, tenant, kinds).await? {
            return Ok(library);
        }
    }
    Err(too_busy())
}

/// `None` when somebody wrote in between.
async fn read_once(
    store: &SharedStore,
    tenant: &TenantId,
    kinds: &[RecordKind],
) -> Result<Option<Library>, Refusal> {
    let mut library = Library::default();
    for (number, kind) in kinds.iter().enumerate() {
        let read = store.records(tenant, *kind).await;
        let read = read.map_err(storage)?;
        if number == 0 {
            library.revision = read.revision;
        } else if library.revision != read.revision {
            return Ok(None);
        }
        match kind {
            RecordKind::Workspace => library.workspaces = decode(&read.records)?,
            RecordKind::Folder => library.folders = decode(&read.records)?,
            RecordKind::Placement => library.placements = decode(&read.records)?,
            RecordKind::Section => library.sections = decode(&read.records)?,
            // Not of the library: see `grants`, and the crate `identity`.
            RecordKind::Grant | RecordKind::Tenant | RecordKind::Member | RecordKind::Token => {}
        }
    }
    let workspaces = &mut library.workspaces;
    workspaces.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    let folders = &mut library.folders;
    folders.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
    library.sections.sort_by(|a, b| a.age().cmp(&b.age()));
    Ok(Some(library))
}

fn decode<T: DeserializeOwned>(records: &[store::Record]) -> Result<Vec<T>, Refusal> {
    let values = records.iter().map(|record| {
        serde_json::from_slice(&record.value).map_err(|error| {
            let message = format!("a record of the library cannot be read: {error}");
            Refusal::new(Why::Storage, message)
        })
    });
    values.collect()
}

/// Changes the library: `plan` is asked again, with fresh reads, when others were quicker.
pub async fn change<T>(
    shared: &Shared,
    tenant: &TenantId,
    kinds: &[RecordKind],
    mut plan: impl FnMut(&Library) -> Result<RecordPlan<T>, Refusal>,
) -> Result<T, Refusal> {
    for _ in 0..LIBRARY_TRIES_MAX {
        let library = read(shared, tenant, kinds).await?;
        let RecordPlan { changes, outcome } = plan(&library)?;
        if changes.is_empty() {
            return Ok(outcome);
        }
        let written = shared
            .store
            .write_records(tenant, library.revision, changes)
            .await;
        match written {
            Ok(_) => return Ok(outcome),
            Err(StoreError::Outdated { .. }) => {}
            Err(error) => return Err(storage(error)),
        }
    }
    Err(too_busy())
}

fn too_busy() -> Refusal {
    let message = "the library is being changed by others all the time; try again";
    Refusal::new(Why::Storage, message)
}

pub fn put(kind: RecordKind, id: &str, value: &impl Serialize) -> Result<RecordChange, Refusal> {
    let value = serde_json::to_vec(value).map_err(|error| {
        let message = format!("a record of the library cannot be written: {error}");
        Refusal::new(Why::Internal, message)
    })?;
    Ok(RecordChange {
        kind,
        id: id.to_owned(),
        value: Some(value.into()),
    })
}
