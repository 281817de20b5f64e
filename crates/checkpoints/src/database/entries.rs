//! What lies at a path: rows of `head` and `past`.

use rusqlite::{Connection, Row, params};

use super::{Checksum, check};
use crate::{Error, FileKind, LeftOutReason, Moment, Result};

/// What lies at a path, without where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    pub kind: EntryKind,
    pub mode: u32,
    pub size: u64,
    /// The content of a file, the target of a link; 0 for the rest.
    pub blob: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    Kept(FileKind),
    LeftOut(LeftOutReason),
}

impl EntryKind {
    pub fn code(self) -> i64 {
        match self {
            EntryKind::Kept(FileKind::File) => 0,
            EntryKind::Kept(FileKind::Link) => 1,
            EntryKind::Kept(FileKind::Directory) => 2,
            EntryKind::LeftOut(LeftOutReason::TooLarge) => 10,
            EntryKind::LeftOut(LeftOutReason::TooMuch) => 11,
            EntryKind::LeftOut(LeftOutReason::Unreadable) => 12,
            EntryKind::LeftOut(LeftOutReason::Special) => 13,
            EntryKind::LeftOut(LeftOutReason::Mounted) => 14,
        }
    }

    fn from_code(code: i64) -> Result<Self> {
        Ok(match code {
            0 => EntryKind::Kept(FileKind::File),
            1 => EntryKind::Kept(FileKind::Link),
            2 => EntryKind::Kept(FileKind::Directory),
            10 => EntryKind::LeftOut(LeftOutReason::TooLarge),
            11 => EntryKind::LeftOut(LeftOutReason::TooMuch),
            12 => EntryKind::LeftOut(LeftOutReason::Unreadable),
            13 => EntryKind::LeftOut(LeftOutReason::Special),
            14 => EntryKind::LeftOut(LeftOutReason::Mounted),
            other => return Err(Error::Damaged(format!("an entry of the kind {other}"))),
        })
    }
}

impl TreeEntry {
    pub fn is_kept(&self) -> bool {
        matches!(self.kind, EntryKind::Kept(_))
    }

    pub fn is(&self, kind: FileKind) -> bool {
        self.kind == EntryKind::Kept(kind)
    }

    /// Whether each of its contents has a number.
    pub fn has_versions(&self) -> bool {
        self.is(FileKind::File) || self.is(FileKind::Link)
    }

    /// What this entry adds to the digest of its moment. Sizes of what is not kept are not told.
    pub fn digest(&self, path: &[u8]) -> i64 {
        Checksum::new()
            .bytes(path)
            .number(self.kind.code())
            .number(self.mode.into())
            .number(self.size as i64)
            .number(self.blob)
            .end()
    }
}

/// What tells one state of a file from another without reading it. `changed` 0: not to be trusted,
/// because the file could have changed again in the same tick of the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatStamp {
    pub modified: i64,
    pub changed: i64,
    pub inode: i64,
}

/// A row of `head`, or of `past`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    pub entry: TreeEntry,
    pub since: Moment,
    pub iteration: u64,
    /// Of `head` only.
    pub stamp: StatStamp,
}

impl IndexEntry {
    /// The number that its removal has.
    pub fn iteration_gone(&self) -> u64 {
        self.iteration + u64::from(self.entry.has_versions())
    }
}

fn index_sum(path: &[u8], indexed: &IndexEntry, until: Option<Moment>) -> Checksum {
    let IndexEntry {
        entry,
        since,
        iteration,
        stamp,
    } = indexed;
    let sum = Checksum::new()
        .bytes(path)
        .number(since.0)
        .number(entry.kind.code())
        .number(entry.mode.into())
        .number(entry.size as i64)
        .number(entry.blob)
        .number(*iteration as i64);
    match until {
        Some(until) => sum.number(until.0),
        None => sum
            .number(stamp.modified)
            .number(stamp.changed)
            .number(stamp.inode),
    }
}

/// The columns that `read_head` takes, in order.
pub const HEAD: &str =
    "path, since, kind, mode, size, blob, iteration, sum, modified, changed, inode";
/// The columns that `read_past` takes, in order.
pub const PAST: &str = "path, since, kind, mode, size, blob, iteration, sum, until";

fn read_indexed<'a>(row: &'a Row<'_>) -> Result<(&'a [u8], IndexEntry, i64)> {
    let path = row
        .get_ref(0)?
        .as_blob()
        .map_err(|error| Error::Damaged(format!("a path: {error}")))?;
    let entry = TreeEntry {
        kind: EntryKind::from_code(row.get(2)?)?,
        mode: row.get(3)?,
        size: row.get(4)?,
        blob: row.get(5)?,
    };
    let indexed = IndexEntry {
        entry,
        since: Moment(row.get(1)?),
        iteration: row.get(6)?,
        stamp: StatStamp::default(),
    };
    Ok((path, indexed, row.get(7)?))
}

pub fn read_head<'a>(row: &'a Row<'_>) -> Result<(&'a [u8], IndexEntry)> {
    let (path, mut indexed, sum) = read_indexed(row)?;
    indexed.stamp = StatStamp {
        modified: row.get(8)?,
        changed: row.get(9)?,
        inode: row.get(10)?,
    };
    check(sum, index_sum(path, &indexed, None), || damaged(path))?;
    Ok((path, indexed))
}

pub fn read_past<'a>(row: &'a Row<'_>) -> Result<(&'a [u8], IndexEntry, Moment)> {
    let (path, indexed, sum) = read_indexed(row)?;
    let until = Moment(row.get(8)?);
    check(sum, index_sum(path, &indexed, Some(until)), || {
        damaged(path)
    })?;
    Ok((path, indexed, until))
}

fn damaged(path: &[u8]) -> String {
    let path = String::from_utf8_lossy(path);
    format!("the entry of {path:?} does not match its checksum")
}

pub fn write_head(db: &Connection, path: &[u8], indexed: &IndexEntry) -> Result<()> {
    let sum = index_sum(path, indexed, None).end();
    let IndexEntry {
        entry,
        since,
        iteration,
        stamp,
    } = indexed;
    db.prepare_cached(
        "INSERT OR REPLACE INTO head
         (path, since, kind, mode, size, blob, iteration, modified, changed, inode, sum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?
    .execute(params![
        path,
        since.0,
        entry.kind.code(),
        entry.mode,
        entry.size,
        entry.blob,
        iteration,
        stamp.modified,
        stamp.changed,
        stamp.inode,
        sum,
    ])?;
    Ok(())
}

pub fn write_past(db: &Connection, path: &[u8], indexed: &IndexEntry, until: Moment) -> Result<()> {
    let sum = index_sum(path, indexed, Some(until)).end();
    let IndexEntry {
        entry,
        since,
        iteration,
        ..
    } = indexed;
    db.prepare_cached(
        "INSERT INTO past (path, since, until, kind, mode, size, blob, iteration, sum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute(params![
        path,
        since.0,
        until.0,
        entry.kind.code(),
        entry.mode,
        entry.size,
        entry.blob,
        iteration,
        sum,
    ])?;
    Ok(())
}
