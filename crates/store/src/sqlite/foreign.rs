//! What another program keeps in a database of its own, read from a copy of it.
//!
//! Reading a database in SQLite's log mode makes files beside it, and without its log the newest of it
//! would be missing. So it is copied with its log, and the copy is read.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::open::io_failed;
use crate::{Result, StoreError};

/// How often it is copied while its owner writes to it.
const COPIES_MAX: usize = 5;
const LOG_ENDING: &str = "-wal";

/// The sessions of a database of the cowork family, each as its columns have it.
pub fn foreign_sessions(path: &Path) -> Result<Vec<Map<String, Value>>> {
    let copy = DatabaseCopy::of(path)?;
    let db = Connection::open_with_flags(&copy.file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let mut tables = db.prepare("SELECT 1 FROM sqlite_master WHERE name = ?1")?;
    if !tables.exists(["sessions"])? || !tables.exists(["session_state"])? {
        let what = "it has no tables \"sessions\" and \"session_state\"";
        return Err(StoreError::Failed(what.to_owned()));
    }
    let all = "SELECT sessions.*, session_state.* FROM sessions
               LEFT JOIN session_state USING (session_id) ORDER BY sessions.rowid";
    let mut read = db.prepare(all)?;
    let names: Vec<String> = read.column_names().map(str::to_owned).collect();
    let mut rows = read.query(())?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let mut columns = Map::new();
        for (place, name) in names.iter().enumerate() {
            let value = match row.get_ref(place)? {
                ValueRef::Null | ValueRef::Blob(_) => continue,
                ValueRef::Integer(number) => Value::from(number),
                ValueRef::Real(number) => Value::from(number),
                ValueRef::Text(text) => Value::from(String::from_utf8_lossy(text)),
            };
            columns.insert(name.clone(), value);
        }
        found.push(columns);
    }
    Ok(found)
}

/// A copy that goes with this.
pub(super) struct DatabaseCopy {
    directory: PathBuf,
    pub(super) file: PathBuf,
}

impl DatabaseCopy {
    pub(super) fn of(path: &Path) -> Result<Self> {
        let directory = std::env::temp_dir().join(format!("dragoman-{}", Uuid::new_v4()));
        let file = directory.join("copy.db");
        DirBuilder::new()
            .mode(0o700)
            .create(&directory)
            .map_err(io_failed)?;
        let copy = Self { directory, file };
        for _ in 0..COPIES_MAX {
            let before = stamp(path).map_err(io_failed)?;
            fs::copy(path, &copy.file).map_err(io_failed)?;
            let (log, copied) = (beside(path), beside(&copy.file));
            match fs::copy(&log, &copied) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let _ = fs::remove_file(&copied);
                }
                Err(error) => return Err(io_failed(error)),
            }
            if stamp(path).map_err(io_failed)? == before {
                return Ok(copy);
            }
        }
        let busy = "its program writes to it; stop that program and try again";
        Err(StoreError::Failed(busy.to_owned()))
    }
}

impl Drop for DatabaseCopy {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.directory) {
            tracing::warn!(%error, "a copy of a database is left in the temporary directory");
        }
    }
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(LOG_ENDING);
    PathBuf::from(name)
}

/// Changes when either file does.
fn stamp(path: &Path) -> io::Result<[Option<(u64, i64, i64)>; 2]> {
    let of = |found: fs::Metadata| (found.len(), found.mtime(), found.mtime_nsec());
    let log = fs::metadata(beside(path)).ok().map(of);
    Ok([Some(of(fs::metadata(path)?)), log])
}
