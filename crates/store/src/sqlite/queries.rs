//! Reads of one thread: its state, its log, its entries, its receipts.

use std::ops::Range;

use bytes::Bytes;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};
use vocabulary::{ItemId, Seq, TenantId, ThreadId, Timestamp};

use super::{bound, listing};
use crate::{Draft, EntryRow, LoadedThread, Receipt, Result, StoredEvent};

pub(super) fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get(column).map(i64::cast_unsigned)
}

pub(super) fn thread_id(row: &Row<'_>, column: usize) -> rusqlite::Result<ThreadId> {
    let text = row.get_ref(column)?.as_str()?;
    ThreadId::parse(text).ok_or_else(|| {
        let error = format!("{text:?} is not a thread id");
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
    })
}

fn bytes(row: &Row<'_>, column: usize) -> rusqlite::Result<Bytes> {
    Ok(Bytes::copy_from_slice(row.get_ref(column)?.as_blob()?))
}

/// From three columns: seq, at, payload.
pub(super) fn event(row: &Row<'_>, first: usize) -> rusqlite::Result<StoredEvent> {
    Ok(StoredEvent {
        seq: Seq(unsigned(row, first)?),
        at: Timestamp(row.get(first + 1)?),
        payload: bytes(row, first + 2)?,
    })
}

pub(super) fn load(db: &Connection, id: ThreadId) -> Result<Option<LoadedThread>> {
    let Some(thread) = listing::thread(db, id)? else {
        return Ok(None);
    };
    let mut state = db.prepare_cached(
        "SELECT state, last_seq, high_water, state_bytes FROM thread_state
         WHERE thread = (SELECT number FROM threads WHERE id = ?1)",
    )?;
    let drafts = drafts(db, id)?;
    let loaded = state.query_row([id.to_string()], |row| {
        let mut state = bytes(row, 0)?;
        state.truncate(row.get::<_, u32>(3)? as usize);
        Ok(LoadedThread {
            thread,
            state,
            last_seq: Seq(unsigned(row, 1)?),
            high_water: Seq(unsigned(row, 2)?),
            drafts,
        })
    })?;
    Ok(Some(loaded))
}

fn drafts(db: &Connection, id: ThreadId) -> Result<Vec<Draft>> {
    let mut pieces = db.prepare_cached(
        "SELECT item, about, text FROM drafts
         WHERE thread = (SELECT number FROM threads WHERE id = ?1) ORDER BY piece",
    )?;
    let mut pieces = pieces.query([id.to_string()])?;
    let mut drafts: Vec<Draft> = Vec::new();
    while let Some(piece) = pieces.next()? {
        let item = piece.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
        let text = piece.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?;
        match drafts.iter_mut().find(|draft| draft.item.as_str() == item) {
            Some(draft) => draft.text.push_str(text),
            None => drafts.push(Draft {
                item: ItemId::new(item),
                about: piece.get(1)?,
                text: text.to_owned(),
            }),
        }
    }
    Ok(drafts)
}

pub(super) fn events(
    db: &Connection,
    id: ThreadId,
    after: Seq,
    limit: u32,
) -> Result<Vec<StoredEvent>> {
    let mut events = db.prepare_cached(
        "SELECT seq, at, payload FROM events
         WHERE thread = (SELECT number FROM threads WHERE id = ?1) AND seq > ?2
         ORDER BY seq LIMIT ?3",
    )?;
    let found = events.query_map(params![id.to_string(), bound(after.0), limit], |row| {
        event(row, 0)
    })?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn events_before(
    db: &Connection,
    id: ThreadId,
    upto: Seq,
    limit: u32,
) -> Result<Vec<StoredEvent>> {
    let mut events = db.prepare_cached(
        "SELECT seq, at, payload FROM events
         WHERE thread = (SELECT number FROM threads WHERE id = ?1) AND seq <= ?2
         ORDER BY seq DESC LIMIT ?3",
    )?;
    let found = events.query_map(params![id.to_string(), bound(upto.0), limit], |row| {
        event(row, 0)
    })?;
    let mut found: Vec<StoredEvent> = found.collect::<rusqlite::Result<_>>()?;
    found.reverse();
    Ok(found)
}

pub(super) fn entries(
    db: &Connection,
    id: ThreadId,
    from: u64,
    messages: Range<u64>,
    limit: u32,
) -> Result<Vec<(EntryRow, StoredEvent)>> {
    let Some(first) = first_of_message(db, id, bound(from), bound(messages.start))? else {
        return Ok(Vec::new());
    };
    let mut entries = db.prepare_cached(
        "SELECT ordinal, message, entries.seq, at, payload FROM entries
         CROSS JOIN events ON events.thread = entries.thread AND events.seq = entries.seq
         WHERE entries.thread = (SELECT number FROM threads WHERE id = ?1) AND ordinal >= ?2
         ORDER BY ordinal LIMIT ?3",
    )?;
    let mut rows = entries.query(params![id.to_string(), first, limit])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let message = unsigned(row, 1)?;
        if message >= messages.end {
            break;
        }
        let event = event(row, 2)?;
        let entry = EntryRow {
            ordinal: unsigned(row, 0)?,
            message,
            seq: event.seq,
        };
        found.push((entry, event));
    }
    Ok(found)
}

/// The first ordinal from `from` on whose message is `message` or later, found by halving.
fn first_of_message(db: &Connection, id: ThreadId, from: i64, message: i64) -> Result<Option<i64>> {
    let mut next = db.prepare_cached(
        "SELECT ordinal, message FROM entries
         WHERE thread = (SELECT number FROM threads WHERE id = ?1) AND ordinal >= ?2
         ORDER BY ordinal LIMIT 1",
    )?;
    let mut last = db.prepare_cached(
        "SELECT max(ordinal) FROM entries
         WHERE thread = (SELECT number FROM threads WHERE id = ?1)",
    )?;
    let thread = id.to_string();
    let Some(last): Option<i64> = last.query_row([&thread], |row| row.get(0))? else {
        return Ok(None);
    };
    let (mut low, mut high) = (from, last.saturating_add(1));
    while low < high {
        let middle = low.midpoint(high);
        let (ordinal, found): (i64, i64) = next.query_row(params![thread, middle], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
        if found < message {
            low = ordinal + 1;
        } else {
            high = middle;
        }
    }
    Ok((low <= last).then_some(low))
}

pub(super) fn receipt(
    db: &Connection,
    id: ThreadId,
    kind: String,
    client_id: String,
) -> Result<Option<Receipt>> {
    let mut receipt = db.prepare_cached(
        "SELECT hash, answer FROM receipts
         WHERE thread = (SELECT number FROM threads WHERE id = ?1) AND kind = ?2
            AND client_id = ?3",
    )?;
    let found = receipt.query_row(params![id.to_string(), kind, client_id], |row| {
        Ok((row.get(0)?, row.get(1)?))
    });
    Ok(found.optional()?.map(|(hash, answer)| Receipt {
        kind: kind.into(),
        client_id,
        hash,
        answer,
    }))
}

pub(super) fn receipts(
    db: &Connection,
    id: ThreadId,
    (kind, client_id): (String, String),
    limit: u32,
) -> Result<Vec<Receipt>> {
    let mut receipts = db.prepare_cached(
        "SELECT kind, client_id, hash, answer FROM receipts
         WHERE thread = (SELECT number FROM threads WHERE id = ?1)
            AND (kind, client_id) > (?2, ?3)
         ORDER BY kind, client_id LIMIT ?4",
    )?;
    let rows = receipts.query_map(params![id.to_string(), kind, client_id, limit], |row| {
        Ok(Receipt {
            kind: row.get::<_, String>(0)?.into(),
            client_id: row.get(1)?,
            hash: row.get(2)?,
            answer: row.get(3)?,
        })
    })?;
    Ok(rows.collect::<std::result::Result<_, _>>()?)
}

pub(super) fn setting(db: &Connection, tenant: &TenantId, name: &str) -> Result<Option<String>> {
    let mut setting =
        db.prepare_cached("SELECT value FROM settings WHERE tenant = ?1 AND name = ?2")?;
    let value = setting.query_row([tenant.as_str(), name], |row| row.get(0));
    Ok(value.optional()?)
}

pub(super) fn settings_of(
    db: &Connection,
    tenant: &TenantId,
    prefix: &str,
) -> Result<Vec<(String, String)>> {
    // By its letters: in a pattern some of them would mean something.
    let mut settings = db.prepare_cached(
        "SELECT name, value FROM settings
         WHERE tenant = ?1 AND substr(name, 1, length(?2)) = ?2 ORDER BY name",
    )?;
    let rows = settings.query_map([tenant.as_str(), prefix], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })?;
    Ok(rows.collect::<std::result::Result<_, _>>()?)
}

pub(super) fn is_deleted(db: &Connection, thread: ThreadId) -> Result<bool> {
    let mut deleted = db.prepare_cached("SELECT 1 FROM deleted WHERE id = ?1")?;
    Ok(deleted.exists([thread.to_string()])?)
}

pub(super) fn ready(db: &Connection) -> Result<()> {
    db.prepare_cached("SELECT count(*) FROM owners")?
        .query_row([], |_| Ok(()))?;
    Ok(())
}
