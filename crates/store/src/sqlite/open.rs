//! Opens the database file: makes sure it is ours, gives it its shape, enters this process.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use super::leases::{self, Owner};
use super::presence::{self, OWNERS};
use super::{migrations, search};
use crate::{Result, StoreError};

/// `Drag` in ASCII: says in the file's header that it is ours.
pub const APPLICATION_ID: i32 = 0x4472_6167;
/// Small pages, because most commits change a few bytes on each of a few pages, and every page
/// that changed is written whole. Measured by the example `amplification`.
pub(super) const PAGE_BYTES: u32 = 1024;
/// How much log may gather before it is moved into the database file. Pages that change with
/// every commit are moved once per round, so longer rounds write less.
const CHECKPOINT_BYTES: u32 = 8 * 1024 * 1024;
/// A write-ahead log that grew beyond this behind a slow reader is cut back afterwards.
const LOG_BYTES_KEPT: u32 = 2 * CHECKPOINT_BYTES;
/// How long to wait for another process's transaction; they take milliseconds.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// More than there are different statements, so that each is prepared once.
pub(super) const STATEMENTS_KEPT: usize = 64;

/// Held by whoever opens the database.
pub(super) const GATE: &str = "gate.lock";
pub(super) const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;

pub(super) struct Opened {
    /// Where the file really is.
    pub path: PathBuf,
    pub connection: Connection,
    pub owner: Owner,
    /// Says to other processes that this one lives; to be kept as long as it can write.
    pub lock: File,
}

pub(super) fn open(path: &Path, label: &str) -> Result<Opened> {
    // Before anything is made here, which would look like the beginning of a new one.
    presence::check(path)?;
    let path = place(path)?;
    let home = path.parent().unwrap_or(Path::new("/"));
    let owners = home.join(OWNERS);
    make_directory(&owners)?;
    // One process opens at a time: migrations and the clearing of dead owners race nobody.
    let gate = leases::lock_file(&owners.join(GATE)).map_err(io_failed)?;
    gate.lock().map_err(io_failed)?;

    claim(&path, home)?;
    let mut connection = Connection::open(&path)?;
    configure(&connection)?;
    migrations::run(&mut connection)?;
    search::settle(&connection)?;
    presence::remember(&path).map_err(io_failed)?;
    let (owner, lock) = Owner::enter(&mut connection, owners, label)?;
    Ok(Opened {
        path,
        connection,
        owner,
        lock,
    })
}

pub(super) fn io_failed(error: io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::StorageFull => StoreError::Full,
        _ => StoreError::Failed(error.to_string()),
    }
}

/// Makes the file where there is none and finds its true place: processes that come by different
/// links must meet at the same locks.
fn place(path: &Path) -> Result<PathBuf> {
    if let Some(home) = path.parent().filter(|home| *home != Path::new("")) {
        make_directory(home)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    options.mode(FILE_MODE).open(path).map_err(io_failed)?;
    path.canonicalize().map_err(io_failed)
}

fn make_directory(path: &Path) -> Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(DIRECTORY_MODE);
    builder.create(path).map_err(io_failed)
}

/// Makes sure that the file is ours alone. SQLite gives its side files the same mode.
fn claim(path: &Path, home: &Path) -> Result<()> {
    // Again, now that nobody else is making it.
    presence::check(path)?;
    let file = File::open(path).map_err(io_failed)?;
    file.set_permissions(Permissions::from_mode(FILE_MODE))
        .map_err(io_failed)?;
    if file.metadata().map_err(io_failed)?.len() == 0 {
        // The name must last as long as what will be acknowledged inside it.
        let home = File::open(home).map_err(io_failed)?;
        home.sync_all().map_err(io_failed)?;
    }
    Ok(())
}

fn configure(connection: &Connection) -> Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    let set = |name: &str, value: &dyn rusqlite::ToSql| connection.pragma_update(None, name, value);
    let application_id: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if application_id != APPLICATION_ID {
        // Before the log mode, so that it stands in the file's own header from the start.
        set("page_size", &PAGE_BYTES)?;
        set("application_id", &APPLICATION_ID)?;
    }
    set("journal_mode", &"WAL")?;
    set("synchronous", &"FULL")?;
    set("foreign_keys", &true)?;
    // What a savepoint would undo is kept in memory, not in yet another file.
    set("temp_store", &"MEMORY")?;
    set("journal_size_limit", &LOG_BYTES_KEPT)?;
    // What was deleted, or replaced, is overwritten: it must not be found in a free page.
    set("secure_delete", &true)?;
    let page_bytes: u32 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    set("wal_autocheckpoint", &(CHECKPOINT_BYTES / page_bytes))?;
    Ok(())
}
