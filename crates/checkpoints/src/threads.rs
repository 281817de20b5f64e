//! What threads have kept: an original each, and checkpoints with numbers of their own.

use rusqlite::{Connection, OptionalExtension, Row, params};
use vocabulary::Trigger;

use crate::database::{self, Checksum, check};
use crate::vault::now;
use crate::{Error, KeptCheckpoint, Millis, Moment, Result, ThreadHistory, ThreadOutline, tree};

/// The original of a thread of which nothing is kept any more.
const NONE: Moment = Moment(0);

struct ThreadRow {
    original: Moment,
    at: Millis,
    partial: bool,
    /// The number of the next checkpoint.
    next: u64,
}

impl ThreadRow {
    fn has_lapsed(&self) -> bool {
        self.original == NONE
    }
}

fn thread_sum(name: &str, row: &ThreadRow) -> Checksum {
    Checksum::new()
        .bytes(name.as_bytes())
        .number(row.original.0)
        .number(row.at)
        .number(row.partial.into())
        .number(row.next as i64)
}

fn thread(db: &Connection, name: &str) -> Result<Option<ThreadRow>> {
    let sql = "SELECT original, at, partial, next, sum FROM thread WHERE name = ?1";
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query([name])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let read = ThreadRow {
        original: Moment(row.get(0)?),
        at: row.get(1)?,
        partial: row.get(2)?,
        next: row.get(3)?,
    };
    check(row.get(4)?, thread_sum(name, &read), || {
        format!("thread {name} does not match its checksum")
    })?;
    Ok(Some(read))
}

fn write_thread(db: &Connection, name: &str, row: &ThreadRow) -> Result<()> {
    db.execute(
        "INSERT OR REPLACE INTO thread (name, original, at, partial, next, sum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            name,
            row.original.0,
            row.at,
            row.partial,
            row.next,
            thread_sum(name, row).end()
        ],
    )?;
    Ok(())
}

fn checkpoint_sum(thread: &str, row: &KeptCheckpoint) -> Checksum {
    Checksum::new()
        .bytes(thread.as_bytes())
        .number(row.number as i64)
        .number(row.moment.0)
        .number(row.at)
        .number((row.trigger == Trigger::Manual).into())
        .number(row.changed.into())
        .number(row.changed_from_original.into())
        .number(row.bytes as i64)
}

pub const CHECKPOINT: &str =
    "thread, number, moment, at, manual, changed, changed_from_original, bytes, sum";

pub fn read_checkpoint(row: &Row<'_>) -> Result<(String, KeptCheckpoint)> {
    let thread: String = row.get(0)?;
    let read = KeptCheckpoint {
        number: row.get(1)?,
        moment: Moment(row.get(2)?),
        at: row.get(3)?,
        trigger: match row.get(4)? {
            true => Trigger::Manual,
            false => Trigger::Automatic,
        },
        changed: row.get(5)?,
        changed_from_original: row.get(6)?,
        bytes: row.get(7)?,
    };
    check(row.get(8)?, checkpoint_sum(&thread, &read), || {
        format!(
            "checkpoint {} of thread {thread} does not match its checksum",
            read.number
        )
    })?;
    Ok((thread, read))
}

/// Checkpoints, oldest first: of one thread or of all.
pub fn checkpoints(db: &Connection, thread: Option<&str>) -> Result<Vec<(String, KeptCheckpoint)>> {
    let sql = format!(
        "SELECT {CHECKPOINT} FROM checkpoint WHERE ?1 IS NULL OR thread = ?1
         ORDER BY at, thread, number"
    );
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query([thread])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read_checkpoint(row)?);
    }
    Ok(found)
}

/// The state at a thread's last checkpoint.
pub fn last(db: &Connection, thread: &str) -> Result<Option<Moment>> {
    let sql = format!(
        "SELECT {CHECKPOINT} FROM checkpoint WHERE thread = ?1 ORDER BY number DESC LIMIT 1"
    );
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query([thread])?;
    let last = rows.next()?.map(read_checkpoint).transpose()?;
    Ok(last.map(|(_, checkpoint)| checkpoint.moment))
}

pub fn begin(
    db: &mut Connection,
    name: &str,
    original: Moment,
    at: Millis,
    partial: bool,
) -> Result<()> {
    let transaction = immediate(db)?;
    let known = thread(&transaction, name)?;
    if known.as_ref().is_none_or(ThreadRow::has_lapsed) {
        // One that waited too long for its first checkpoint may be pruned by now.
        let whole = database::moment(&transaction, original)?.is_some_and(|row| row.whole);
        let (original, partial) = match (whole, database::last_moment(&transaction)?) {
            (false, Some(last)) => (last.moment, true),
            _ => (original, partial),
        };
        let row = ThreadRow {
            original,
            at,
            partial,
            // Numbers of one that lapsed were used.
            next: known.map_or(1, |known| known.next),
        };
        write_thread(&transaction, name, &row)?;
    }
    Ok(transaction.commit()?)
}

/// Lets go of all that a thread has, but not of the numbers it has used.
pub fn lapse(db: &Connection, name: &str) -> Result<()> {
    db.execute("DELETE FROM checkpoint WHERE thread = ?1", [name])?;
    if let Some(row) = thread(db, name)? {
        let row = ThreadRow {
            original: NONE,
            ..row
        };
        write_thread(db, name, &row)?;
    }
    Ok(())
}

pub fn note(
    db: &mut Connection,
    name: &str,
    moment: Moment,
    trigger: Trigger,
) -> Result<KeptCheckpoint> {
    let transaction = immediate(db)?;
    tree::whole(&transaction, moment)?;
    let row = thread(&transaction, name)?.filter(|row| !row.has_lapsed());
    let Some(mut row) = row else {
        return Err(Error::NotBegun);
    };
    let before = last(&transaction, name)?.unwrap_or(row.original);
    let stored: Option<u64> = transaction.query_row(
        "SELECT sum(stored) FROM blob WHERE since > ?1 AND since <= ?2",
        [before.0, moment.0],
        |row| row.get(0),
    )?;
    let checkpoint = KeptCheckpoint {
        number: row.next,
        moment,
        at: now(),
        trigger,
        changed: tree::differ(&transaction, before, moment)?,
        changed_from_original: tree::differ(&transaction, row.original, moment)?,
        bytes: stored.unwrap_or(0),
    };
    transaction.execute(
        "INSERT INTO checkpoint
         (thread, number, moment, at, manual, changed, changed_from_original, bytes, sum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            name,
            checkpoint.number,
            moment.0,
            checkpoint.at,
            trigger == Trigger::Manual,
            checkpoint.changed,
            checkpoint.changed_from_original,
            checkpoint.bytes,
            checkpoint_sum(name, &checkpoint).end(),
        ],
    )?;
    row.next += 1;
    write_thread(&transaction, name, &row)?;
    transaction.commit()?;
    Ok(checkpoint)
}

pub fn kept(db: &Connection, name: &str) -> Result<Option<ThreadHistory>> {
    let row = thread(db, name)?.filter(|row| !row.has_lapsed());
    let Some(row) = row else {
        return Ok(None);
    };
    let checkpoints = checkpoints(db, Some(name))?;
    Ok(Some(ThreadHistory {
        original: row.original,
        at: row.at,
        partial: row.partial,
        checkpoints: checkpoints.into_iter().map(|(_, each)| each).collect(),
    }))
}

/// What `kept` would tell, without reading the checkpoints.
pub fn outline(db: &Connection, name: &str) -> Result<Option<ThreadOutline>> {
    let row = thread(db, name)?.filter(|row| !row.has_lapsed());
    let Some(row) = row else {
        return Ok(None);
    };
    let sql = "SELECT count(*), max(number) FROM checkpoint WHERE thread = ?1";
    let mut statement = db.prepare_cached(sql)?;
    let (count, last) = statement.query_row([name], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(Some(ThreadOutline {
        original: row.original,
        at: row.at,
        partial: row.partial,
        count,
        last,
    }))
}

pub fn names(db: &Connection) -> Result<Vec<String>> {
    let mut statement = db.prepare("SELECT name FROM thread WHERE original <> 0 ORDER BY name")?;
    let names = statement.query_map([], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

/// The originals of all threads, checked.
pub fn originals(db: &Connection) -> Result<Vec<(String, Moment, Millis)>> {
    let mut found = Vec::new();
    for name in names(db)? {
        if let Some(row) = thread(db, &name)? {
            found.push((name, row.original, row.at));
        }
    }
    Ok(found)
}

pub fn delete(db: &Connection, name: &str, number: u64) -> Result<()> {
    let sql = "DELETE FROM checkpoint WHERE thread = ?1 AND number = ?2";
    match db.execute(sql, params![name, number])? {
        0 => Err(Error::UnknownCheckpoint(number)),
        _ => Ok(()),
    }
}

pub fn forget(db: &mut Connection, name: &str) -> Result<()> {
    let transaction = immediate(db)?;
    transaction.execute("DELETE FROM checkpoint WHERE thread = ?1", [name])?;
    transaction.execute("DELETE FROM thread WHERE name = ?1", [name])?;
    Ok(transaction.commit()?)
}

/// How many threads and checkpoints there are.
pub fn count(db: &Connection) -> Result<(u64, u64)> {
    let sql = "SELECT (SELECT count(*) FROM thread WHERE original <> 0), (SELECT count(*) FROM checkpoint)";
    let counts = db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)));
    Ok(counts.optional()?.unwrap_or_default())
}

fn immediate(db: &mut Connection) -> Result<rusqlite::Transaction<'_>> {
    Ok(db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?)
}
