//! The thread list: pages by index, whatever the number of threads.

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};
use vocabulary::{ArchivedThreads, TenantId, Thread, ThreadId, ThreadPage, ThreadQuery};

use super::queries;
use crate::Result;
use crate::cursor::Cursor;

/// `archived` is the index's second column, so each kind is one walk along the index.
const OF_A_KIND: &str = "
    SELECT updated_at, id, summary FROM threads
    WHERE tenant = ?1 AND archived = ?5
        AND updated_at <= ?2 AND (updated_at < ?2 OR id > ?3)
        AND (?4 IS NULL OR workspace = ?4)
    ORDER BY updated_at DESC, id";

/// Two walks, merged; neither is sorted.
const ALL: &str = "
    SELECT updated_at, id, summary FROM threads
    WHERE tenant = ?1 AND archived = ?5
        AND updated_at <= ?2 AND (updated_at < ?2 OR id > ?3)
        AND (?4 IS NULL OR workspace = ?4)
    UNION ALL
    SELECT updated_at, id, summary FROM threads
    WHERE tenant = ?1 AND archived = 1 - ?5
        AND updated_at <= ?2 AND (updated_at < ?2 OR id > ?3)
        AND (?4 IS NULL OR workspace = ?4)
    ORDER BY updated_at DESC, id";

pub(super) fn threads(
    db: &Connection,
    tenant: &TenantId,
    query: &ThreadQuery,
) -> Result<ThreadPage> {
    let after = query.cursor.as_deref().map(Cursor::parse).transpose()?;
    let (updated_at, id) = match after {
        Some(after) => (after.updated_at.millis(), after.id.to_string()),
        None => (i64::MAX, String::new()),
    };
    let workspace = query.workspace.as_ref().map(|id| id.as_str());
    let (sql, archived) = match query.archived {
        ArchivedThreads::LeftOut => (OF_A_KIND, false),
        ArchivedThreads::Only => (OF_A_KIND, true),
        ArchivedThreads::Included => (ALL, false),
    };
    let mut list = db.prepare_cached(sql)?;
    let mut rows = list.query(params![
        tenant.as_str(),
        updated_at,
        id,
        workspace,
        archived
    ])?;
    let wanted = query.limit.map_or(usize::MAX, |limit| limit as usize);
    let mut threads: Vec<Thread> = Vec::new();
    // One more than wanted tells whether there is a next page. What a row has no column for is
    // looked for in it, so that a page is full whatever is left out.
    while threads.len() <= wanted
        && let Some(row) = rows.next()?
    {
        let thread = summary(row, 2)?;
        if query.matches(&thread) {
            threads.push(thread);
        }
    }
    let more = threads.len() > wanted;
    threads.truncate(wanted);
    let last = threads.last().filter(|_| more);
    Ok(ThreadPage {
        next: last.map(|thread| Cursor::of(thread).text()),
        threads,
    })
}

fn summary(row: &Row<'_>, column: usize) -> rusqlite::Result<Thread> {
    let text = row.get_ref(column)?.as_str()?;
    serde_json::from_str(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
    })
}

pub(super) fn thread(db: &Connection, id: ThreadId) -> Result<Option<Thread>> {
    let mut thread = db.prepare_cached("SELECT summary FROM threads WHERE id = ?1")?;
    let found = thread.query_row([id.to_string()], |row| summary(row, 0));
    Ok(found.optional()?)
}

pub(super) fn by_client_id(
    db: &Connection,
    tenant: &TenantId,
    client_id: &str,
) -> Result<Option<ThreadId>> {
    let mut thread =
        db.prepare_cached("SELECT id FROM threads WHERE tenant = ?1 AND client_id = ?2")?;
    let found = thread.query_row([tenant.as_str(), client_id], |row| {
        queries::thread_id(row, 0)
    });
    Ok(found.optional()?)
}
