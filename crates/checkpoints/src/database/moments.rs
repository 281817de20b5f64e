//! Moments: when they were, and what all their entries come to.

use rusqlite::{Connection, Row, params};

use super::{Checksum, check};
use crate::{Millis, Moment, Result};

/// When a moment was, and what all its entries come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MomentRow {
    pub moment: Moment,
    pub at: Millis,
    pub entries: u64,
    pub digest: i64,
    /// Whether all its entries are still kept.
    pub whole: bool,
}

fn moment_sum(row: &MomentRow) -> Checksum {
    Checksum::new()
        .number(row.moment.0)
        .number(row.at)
        .number(row.entries as i64)
        .number(row.digest)
        .number(row.whole.into())
}

pub fn read_moment(row: &Row<'_>) -> Result<MomentRow> {
    let read = MomentRow {
        moment: Moment(row.get(0)?),
        at: row.get(1)?,
        entries: row.get(2)?,
        digest: row.get(3)?,
        whole: row.get(4)?,
    };
    let id = read.moment.0;
    check(row.get(5)?, moment_sum(&read), || {
        format!("moment {id} does not match its checksum")
    })?;
    Ok(read)
}

pub const MOMENT: &str = "id, at, entries, digest, whole, sum";

pub fn moment(db: &Connection, moment: Moment) -> Result<Option<MomentRow>> {
    let sql = format!("SELECT {MOMENT} FROM moment WHERE id = ?1");
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query([moment.0])?;
    rows.next()?.map(read_moment).transpose()
}

pub fn last_moment(db: &Connection) -> Result<Option<MomentRow>> {
    let sql = format!("SELECT {MOMENT} FROM moment ORDER BY id DESC LIMIT 1");
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query([])?;
    rows.next()?.map(read_moment).transpose()
}

pub fn insert_moment(
    db: &Connection,
    at: Millis,
    complete: impl FnOnce(Moment) -> Result<(u64, i64)>,
) -> Result<MomentRow> {
    db.execute(
        "INSERT INTO moment (at, entries, digest, whole, sum) VALUES (?1, 0, 0, 1, 0)",
        [at],
    )?;
    let moment = Moment(db.last_insert_rowid());
    let (entries, digest) = complete(moment)?;
    let row = MomentRow {
        moment,
        at,
        entries,
        digest,
        whole: true,
    };
    write_moment(db, &row)?;
    Ok(row)
}

pub fn write_moment(db: &Connection, row: &MomentRow) -> Result<()> {
    let sum = moment_sum(row).end();
    db.prepare_cached(
        "UPDATE moment SET entries = ?2, digest = ?3, whole = ?4, sum = ?5 WHERE id = ?1",
    )?
    .execute(params![
        row.moment.0,
        row.entries,
        row.digest,
        row.whole,
        sum
    ])?;
    Ok(())
}
