//! The vault's database: what lay where from when to when, and where its content is.
//!
//! `head` is the last known state of the workspace and, by the stat data in it, the index that tells
//! unchanged files without reading them. `past` has what lay there before, each row from the moment it
//! came (`since`) to the moment it was gone (`until`). So a new moment costs a row for each path that
//! changed, and the history of a path is its rows. Every row carries a checksum of the others of its
//! columns, and every moment one over all its entries: damage is an error, never a wrong file.

mod entries;
mod moments;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};

use crate::{Error, Result};

pub use entries::{
    EntryKind, HEAD, IndexEntry, PAST, StatStamp, TreeEntry, read_head, read_past, write_head,
    write_past,
};
pub use moments::{
    MOMENT, MomentRow, insert_moment, last_moment, moment, read_moment, write_moment,
};

const FORMAT: i64 = 1;
/// "DrgC"; says that a file is a vault's.
const APPLICATION_ID: i64 = 0x4472_6743;
/// How long another process's commit is waited for.
const BUSY_LIMIT: Duration = Duration::from_secs(20);
/// The log of a large first commit is not kept at its size.
const WAL_BYTES_KEPT: i64 = 1 << 20;

const SCHEMA: &str = "
CREATE TABLE meta (workspace BLOB NOT NULL);
CREATE TABLE moment (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL,
    entries INTEGER NOT NULL, digest INTEGER NOT NULL, whole INTEGER NOT NULL,
    sum INTEGER NOT NULL);
CREATE TABLE head (
    path BLOB PRIMARY KEY, since INTEGER NOT NULL, kind INTEGER NOT NULL, mode INTEGER NOT NULL,
    size INTEGER NOT NULL, blob INTEGER NOT NULL, iteration INTEGER NOT NULL,
    modified INTEGER NOT NULL, changed INTEGER NOT NULL, inode INTEGER NOT NULL,
    sum INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX head_since ON head (since);
CREATE TABLE past (
    path BLOB NOT NULL, since INTEGER NOT NULL, until INTEGER NOT NULL, kind INTEGER NOT NULL,
    mode INTEGER NOT NULL, size INTEGER NOT NULL, blob INTEGER NOT NULL,
    iteration INTEGER NOT NULL, sum INTEGER NOT NULL, PRIMARY KEY (path, since)) WITHOUT ROWID;
CREATE INDEX past_since ON past (since);
CREATE INDEX past_until ON past (until);
CREATE TABLE blob (
    id INTEGER PRIMARY KEY AUTOINCREMENT, hash BLOB NOT NULL UNIQUE, size INTEGER NOT NULL,
    pack INTEGER NOT NULL, offset INTEGER NOT NULL, stored INTEGER NOT NULL,
    since INTEGER NOT NULL, sum INTEGER NOT NULL, refs INTEGER NOT NULL,
    tested INTEGER NOT NULL);
CREATE INDEX blob_since ON blob (since);
CREATE TABLE pack (
    id INTEGER PRIMARY KEY AUTOINCREMENT, bytes INTEGER NOT NULL, sum INTEGER NOT NULL);
CREATE TABLE thread (
    name TEXT PRIMARY KEY, original INTEGER NOT NULL, at INTEGER NOT NULL, partial INTEGER NOT NULL,
    next INTEGER NOT NULL, sum INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE checkpoint (
    thread TEXT NOT NULL, number INTEGER NOT NULL, moment INTEGER NOT NULL, at INTEGER NOT NULL,
    manual INTEGER NOT NULL, changed INTEGER NOT NULL, changed_from_original INTEGER NOT NULL,
    bytes INTEGER NOT NULL, sum INTEGER NOT NULL, PRIMARY KEY (thread, number)) WITHOUT ROWID;
";

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Error::Full,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Error::Damaged(error.to_string())
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Error::Busy("another process writes them")
            }
            _ => match error {
                // A value that is not of its column's type was not written by us.
                rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
                | rusqlite::Error::FromSqlConversionFailure(..) => {
                    Error::Damaged(error.to_string())
                }
                error => Error::Database(error),
            },
        }
    }
}

pub fn open(path: &Path, workspace: &Path) -> Result<Connection> {
    let mut db = connect(path)?;
    db.pragma_update(None, "journal_mode", "wal")?;
    let transaction = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let format = format(&transaction)?;
    match format {
        0 => {
            transaction.execute_batch(SCHEMA)?;
            let bytes = bytes_of(workspace);
            transaction.execute("INSERT INTO meta (workspace) VALUES (?1)", params![bytes])?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", FORMAT)?;
        }
        FORMAT => {}
        newer => return Err(Error::Newer(newer)),
    }
    transaction.commit()?;
    Ok(db)
}

/// How the tables were made that are not made as they should be.
pub fn strange_schema(db: &Connection) -> Result<Vec<String>> {
    let made = |db: &Connection| -> Result<BTreeSet<String>> {
        let sql = "SELECT type || ' ' || name || ' of ' || tbl_name || ': ' || coalesce(sql, '')
                   FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%'";
        let mut statement = db.prepare(sql)?;
        let rows = statement.query_map([], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    };
    let expected = Connection::open_in_memory()?;
    expected.execute_batch(SCHEMA)?;
    let (expected, found) = (made(&expected)?, made(db)?);
    Ok(expected.symmetric_difference(&found).cloned().collect())
}

/// The workspace that the vault at `path` is for.
pub fn workspace_of(path: &Path) -> Result<Option<Vec<u8>>> {
    if !path.exists() {
        return Ok(None);
    }
    let db = connect(path)?;
    if format(&db)? != FORMAT {
        return Ok(None);
    }
    let workspace = db.query_row("SELECT workspace FROM meta", [], |row| row.get(0));
    Ok(workspace.optional()?)
}

fn connect(path: &Path) -> Result<Connection> {
    let db = Connection::open(path)?;
    db.busy_timeout(BUSY_LIMIT)?;
    db.pragma_update(None, "synchronous", "full")?;
    db.pragma_update(None, "journal_size_limit", WAL_BYTES_KEPT)?;
    db.set_prepared_statement_cache_capacity(32);
    Ok(db)
}

/// Does something that reaches the disk some time later.
pub fn hastily<T>(
    db: &mut Connection,
    work: impl FnOnce(&mut Connection) -> Result<T>,
) -> Result<T> {
    db.pragma_update(None, "synchronous", "normal")?;
    let done = work(db);
    db.pragma_update(None, "synchronous", "full")?;
    done
}

fn format(db: &Connection) -> Result<i64> {
    Ok(db.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

pub fn bytes_of(path: &Path) -> &[u8] {
    std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str())
}

/// A checksum over columns: eight bytes of BLAKE3.
pub struct Checksum(blake3::Hasher);

impl Checksum {
    pub fn new() -> Self {
        Checksum(blake3::Hasher::new())
    }

    pub fn number(mut self, number: i64) -> Self {
        self.0.update(&number.to_le_bytes());
        self
    }

    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    pub fn end(self) -> i64 {
        let mut eight = [0; 8];
        self.0.finalize_xof().fill(&mut eight);
        i64::from_le_bytes(eight)
    }
}

pub fn check(sum: i64, expected: Checksum, what: impl FnOnce() -> String) -> Result<()> {
    if sum == expected.end() {
        return Ok(());
    }
    Err(Error::Damaged(what()))
}
