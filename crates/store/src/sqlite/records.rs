//! A tenant's records and the revision of its library.

use rusqlite::{Connection, OptionalExtension, params};
use vocabulary::TenantId;

use super::changes::{has_readers, note};
use super::leases::Owner;
use super::{queries, signed};
use crate::{ListChange, ListEntry, Record, RecordChange, RecordKind, Records, Result, StoreError};

pub(super) fn read(db: &Connection, tenant: &TenantId, kind: RecordKind) -> Result<Records> {
    let mut read = db.prepare_cached(
        "SELECT id, value FROM records WHERE tenant = ?1 AND kind = ?2 ORDER BY id",
    )?;
    let found = read.query_map([tenant.as_str(), kind.name()], |row| {
        Ok(Record {
            id: row.get(0)?,
            value: row.get::<_, Vec<u8>>(1)?.into(),
        })
    })?;
    Ok(Records {
        records: found.collect::<rusqlite::Result<_>>()?,
        revision: revision(db, tenant)?,
    })
}

pub(super) fn named(
    db: &Connection,
    tenant: &TenantId,
    kind: RecordKind,
    ids: Vec<String>,
) -> Result<Vec<Record>> {
    let mut read =
        db.prepare_cached("SELECT value FROM records WHERE tenant = ?1 AND kind = ?2 AND id = ?3")?;
    let mut found = Vec::new();
    for id in ids {
        let value = read.query_row([tenant.as_str(), kind.name(), &id], |row| {
            row.get::<_, Vec<u8>>(0)
        });
        if let Some(value) = value.optional()? {
            let value = value.into();
            found.push(Record { id, value });
        }
    }
    Ok(found)
}

fn revision(db: &Connection, tenant: &TenantId) -> Result<u64> {
    let mut revision = db.prepare_cached("SELECT revision FROM libraries WHERE tenant = ?1")?;
    let found = revision.query_row([tenant.as_str()], |row| queries::unsigned(row, 0));
    Ok(found.optional()?.unwrap_or_default())
}

pub(super) fn write(
    db: &Connection,
    owner: &Owner,
    tenant: &TenantId,
    expected: u64,
    changes: &[RecordChange],
) -> Result<u64> {
    let found = revision(db, tenant)?;
    if found != expected {
        return Err(StoreError::Outdated { expected, found });
    }
    let is_told = has_readers(db, owner)?;
    for change in changes {
        if is_told {
            tell(db, owner, tenant, change)?;
        }
        let (tenant, kind) = (tenant.as_str(), change.kind.name());
        match &change.value {
            Some(value) => {
                db.prepare_cached(
                    "INSERT INTO records (tenant, kind, id, value) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT (tenant, kind, id) DO UPDATE SET value = excluded.value",
                )?
                .execute(params![tenant, kind, change.id, &value[..]])?;
            }
            None => {
                db.prepare_cached(
                    "DELETE FROM records WHERE tenant = ?1 AND kind = ?2 AND id = ?3",
                )?
                .execute(params![tenant, kind, change.id])?;
            }
        }
    }
    let next = found + 1;
    db.prepare_cached(
        "INSERT INTO libraries (tenant, revision) VALUES (?1, ?2)
         ON CONFLICT (tenant) DO UPDATE SET revision = excluded.revision",
    )?
    .execute(params![tenant.as_str(), signed(next)?])?;
    Ok(next)
}

fn tell(db: &Connection, owner: &Owner, tenant: &TenantId, change: &RecordChange) -> Result<()> {
    let known = named(db, tenant, change.kind, vec![change.id.clone()])?;
    let change = ListChange {
        tenant: tenant.clone(),
        what: ListEntry::Record(change.kind, change.id.clone()),
        is_new: known.is_empty(),
    };
    note(db, owner, &change)
}
