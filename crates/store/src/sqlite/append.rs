//! What the writer's jobs do: append, draft, delete, count, set.

use rusqlite::{Connection, ErrorCode, OptionalExtension, params};
use vocabulary::{Seq, TenantId, Thread, ThreadId, ThreadSort};

use super::changes::{has_readers, note};
use super::leases::{Owner, check_fence};
use super::{credits, queries, records, search, signed, turns};
use crate::check::LogHead;
use crate::{
    Batch, Draft, InheritedLog, Lease, ListChange, ListEntry, Receipt, Result, RevertedRows,
    StoreError,
};

/// States are padded to a multiple of this; see the table.
const STATE_STEP_BYTES: usize = 512;

pub(super) fn append(
    db: &Connection,
    owner: &Owner,
    lease: Lease,
    expected: Seq,
    batch: &Batch,
) -> Result<()> {
    check_fence(db, owner, lease)?;
    let known = head(db, lease.thread)?;
    let (number, head) = known.unzip();
    let head = head.unwrap_or_default().after(lease, expected, batch)?;
    if let Some(thread) = &batch.thread
        && !thread.card.ephemeral
        && has_readers(db, owner)?
    {
        let (tenant, is_new) = (thread.card.tenant.clone(), number.is_none());
        let what = ListEntry::Thread(lease.thread);
        note(
            db,
            owner,
            &ListChange {
                tenant,
                what,
                is_new,
            },
        )?;
    }
    let number = match (number, &batch.thread) {
        (None, None) => return Err(StoreError::UnknownThread),
        (None, Some(thread)) => insert_thread(db, thread)?,
        (Some(number), None) => number,
        (Some(number), Some(thread)) => {
            update_thread(db, number, thread)?;
            number
        }
    };
    if let (Some(batch), Some(thread)) = (&batch.records, &batch.thread) {
        let tenant = &thread.card.tenant;
        records::write(db, owner, tenant, batch.expected, &batch.changes)?;
    }
    if let Some(reverted) = &batch.reverts {
        take_back(db, number, *reverted)?;
    }
    if let Some(inherited) = &batch.inherits {
        inherit(db, number, *inherited)?;
    }
    insert_events(db, number, batch)?;
    insert_entries(db, number, batch)?;
    turns::write(db, number, batch)?;
    for receipt in &batch.receipts {
        insert_receipt(db, number, receipt)?;
    }
    for item in &batch.drafts_done {
        db.prepare_cached("DELETE FROM drafts WHERE thread = ?1 AND item = ?2")?
            .execute(params![number, item.as_str()])?;
    }
    if let Some(charge) = &batch.charge {
        credits::charge(db, lease.thread, charge)?;
    }
    write_state(db, number, head, batch)
}

/// The thread's number and how its log stands; `None` for one that is not stored.
fn head(db: &Connection, thread: ThreadId) -> Result<Option<(i64, LogHead)>> {
    let mut head = db.prepare_cached(
        "SELECT number, last_seq, high_water FROM threads
         JOIN thread_state ON thread = number WHERE id = ?1",
    )?;
    let found = head.query_row([thread.to_string()], |row| {
        let head = LogHead {
            last_seq: Seq(queries::unsigned(row, 1)?),
            high_water: Seq(queries::unsigned(row, 2)?),
        };
        Ok((row.get(0)?, head))
    });
    Ok(found.optional()?)
}

fn summary(thread: &Thread) -> Result<String> {
    serde_json::to_string(thread).map_err(|error| StoreError::Failed(error.to_string()))
}

fn insert_thread(db: &Connection, thread: &Thread) -> Result<i64> {
    let mut insert = db.prepare_cached(
        "INSERT INTO threads (id, tenant, workspace, client_id, updated_at, archived, summary,
             created_at, active_at, directory)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    let card = &thread.card;
    // Whoever brings it back wants it to be there.
    db.prepare_cached("DELETE FROM deleted WHERE id = ?1")?
        .execute([card.id.to_string()])?;
    let number = insert.insert(params![
        card.id.to_string(),
        card.tenant.as_str(),
        card.workspace.as_str(),
        card.client_id,
        thread.updated_at.millis(),
        thread.archived,
        summary(thread)?,
        card.created_at.millis(),
        ThreadSort::Active.time(thread).millis(),
        card.directory.to_string_lossy(),
    ]);
    number.map_err(taken)
}

/// The card never changes, so its columns and their indexes are left alone.
fn update_thread(db: &Connection, number: i64, thread: &Thread) -> Result<()> {
    let mut update = db.prepare_cached(
        "UPDATE threads SET updated_at = ?2, archived = ?3, summary = ?4, active_at = ?5
         WHERE number = ?1",
    )?;
    let updated_at = thread.updated_at.millis();
    update.execute(params![
        number,
        updated_at,
        thread.archived,
        summary(thread)?,
        ThreadSort::Active.time(thread).millis(),
    ])?;
    Ok(())
}

fn take_back(db: &Connection, number: i64, reverted: RevertedRows) -> Result<()> {
    db.prepare_cached("DELETE FROM entries WHERE thread = ?1 AND ordinal >= ?2")?
        .execute(params![number, signed(reverted.entry)?])?;
    db.prepare_cached("DELETE FROM turns WHERE thread = ?1 AND number >= ?2")?
        .execute(params![number, signed(reverted.turn)?])?;
    Ok(())
}

/// Copied, not shared: so the other thread can be deleted, and reads need not know of it.
fn inherit(db: &Connection, number: i64, inherited: InheritedLog) -> Result<()> {
    let Some((from, _)) = head(db, inherited.from)? else {
        return Err(StoreError::UnknownThread);
    };
    let mut copy = db.prepare_cached(
        "INSERT INTO events (thread, seq, at, payload)
         SELECT ?1, seq, at, payload FROM events WHERE thread = ?2 AND seq > ?3 AND seq <= ?4",
    )?;
    let (after, upto) = (signed(inherited.after.0)?, signed(inherited.upto.0)?);
    copy.execute(params![number, from, after, upto])?;
    Ok(())
}

fn insert_events(db: &Connection, number: i64, batch: &Batch) -> Result<()> {
    let mut insert =
        db.prepare_cached("INSERT INTO events (thread, seq, at, payload) VALUES (?1, ?2, ?3, ?4)")?;
    for event in &batch.events {
        let (seq, at) = (signed(event.seq.0)?, event.at.millis());
        insert.execute(params![number, seq, at, &event.payload[..]])?;
    }
    Ok(())
}

fn insert_entries(db: &Connection, number: i64, batch: &Batch) -> Result<()> {
    let mut insert = db.prepare_cached(
        "INSERT INTO entries (thread, ordinal, message, seq) VALUES (?1, ?2, ?3, ?4)",
    )?;
    for row in &batch.entries {
        let (ordinal, message) = (signed(row.ordinal)?, signed(row.message)?);
        insert.execute(params![number, ordinal, message, signed(row.seq.0)?])?;
    }
    Ok(())
}

fn insert_receipt(db: &Connection, number: i64, receipt: &Receipt) -> Result<()> {
    let mut insert = db.prepare_cached(
        "INSERT INTO receipts (thread, kind, client_id, hash, answer) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    let inserted = insert.execute(params![
        number,
        &*receipt.kind,
        receipt.client_id,
        receipt.hash,
        receipt.answer
    ]);
    inserted.map(drop).map_err(taken)
}

/// In these two tables only an id that a client made up can be there twice.
fn taken(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::ConstraintViolation) => StoreError::Taken,
        _ => error.into(),
    }
}

fn write_state(db: &Connection, number: i64, head: LogHead, batch: &Batch) -> Result<()> {
    let mut write = db.prepare_cached(
        "INSERT INTO thread_state (thread, last_seq, high_water, state_bytes, state, unfinished)
         VALUES (?1, ?2, ?3, ?4, ?5, 0)
         ON CONFLICT (thread) DO UPDATE SET last_seq = excluded.last_seq,
             high_water = excluded.high_water, state_bytes = excluded.state_bytes,
             state = excluded.state",
    )?;
    let mut state = batch.state.to_vec();
    state.resize(state.len().next_multiple_of(STATE_STEP_BYTES), 0);
    write.execute(params![
        number,
        signed(head.last_seq.0)?,
        signed(head.high_water.0)?,
        signed(batch.state.len() as u64)?,
        state,
    ])?;
    // Apart from the rest: naming the column writes its index, changed or not.
    db.prepare_cached(
        "UPDATE thread_state SET unfinished = ?2 WHERE thread = ?1 AND unfinished <> ?2",
    )?
    .execute(params![number, batch.unfinished])?;
    Ok(())
}

pub(super) fn draft(db: &Connection, owner: &Owner, lease: Lease, draft: &Draft) -> Result<()> {
    check_fence(db, owner, lease)?;
    let Some((number, _)) = head(db, lease.thread)? else {
        return Err(StoreError::UnknownThread);
    };
    let mut insert = db.prepare_cached(
        "INSERT INTO drafts (thread, piece, item, about, text)
         SELECT ?1, coalesce(max(piece), 0) + 1, ?2, ?3, ?4 FROM drafts WHERE thread = ?1",
    )?;
    insert.execute(params![
        number,
        draft.item.as_str(),
        draft.about,
        draft.text
    ])?;
    Ok(())
}

/// Everything that points to the thread's number goes with it. The lease stays until released.
pub(super) fn delete(db: &Connection, owner: &Owner, lease: Lease) -> Result<bool> {
    check_fence(db, owner, lease)?;
    credits::forget(db, lease.thread)?;
    search::forget(db, lease.thread)?;
    db.prepare_cached("INSERT OR IGNORE INTO deleted (id) VALUES (?1)")?
        .execute([lease.thread.to_string()])?;
    let listed = "coalesce(json_extract(summary, '$.card.ephemeral'), 0) = 0";
    let delete = format!("DELETE FROM threads WHERE id = ?1 RETURNING tenant, {listed}");
    let mut delete = db.prepare_cached(&delete)?;
    let deleted = delete.query_row([lease.thread.to_string()], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?))
    });
    let Some((tenant, listed)) = deleted.optional()? else {
        return Ok(false);
    };
    search::follow_deletion(db)?;
    let change = ListChange {
        tenant: TenantId::new(tenant),
        what: ListEntry::Thread(lease.thread),
        is_new: false,
    };
    if listed && has_readers(db, owner)? {
        note(db, owner, &change)?;
    }
    Ok(true)
}

/// Gives the last of `count` numbers that are taken for good.
pub(super) fn count_up(db: &Connection, name: &str, count: u64) -> Result<u64> {
    let mut count_up = db.prepare_cached(
        "INSERT INTO counters (name, last) VALUES (?1, ?2)
         ON CONFLICT (name) DO UPDATE SET last = last + excluded.last RETURNING last",
    )?;
    let last = count_up.query_row(params![name, signed(count)?], |row| {
        queries::unsigned(row, 0)
    });
    Ok(last?)
}

pub(super) fn set_setting(
    db: &Connection,
    tenant: &TenantId,
    name: &str,
    value: &str,
) -> Result<()> {
    let mut set = db.prepare_cached(
        "INSERT INTO settings (tenant, name, value) VALUES (?1, ?2, ?3)
         ON CONFLICT (tenant, name) DO UPDATE SET value = excluded.value",
    )?;
    set.execute([tenant.as_str(), name, value])?;
    Ok(())
}

pub(super) fn remove_setting(db: &Connection, tenant: &TenantId, name: &str) -> Result<()> {
    let mut remove = db.prepare_cached("DELETE FROM settings WHERE tenant = ?1 AND name = ?2")?;
    remove.execute([tenant.as_str(), name])?;
    Ok(())
}
