//! A look at a database from outside, by whoever takes no part in it.

use std::fs::{File, TryLockError};
use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use uuid::Uuid;
use vocabulary::IndexingProgress;

use super::open::GATE;
use super::presence::OWNERS;
use super::{leases, migrations, search};
use crate::Result;

/// Problems that are told of one database; more would only repeat them.
const PROBLEMS_MAX: u32 = 20;

/// How a database of ours stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatabaseReport {
    /// Which shape it has, and which one this program gives it.
    pub shape: u32,
    pub known_shape: u32,
    pub threads: u64,
    /// How far the search index has come, while it has not come to the end.
    pub indexing: Option<IndexingProgress>,
    /// What SQLite finds wrong with it, in its words.
    pub problems: Vec<String>,
}

/// Looks through the whole file. Takes a while where it is large; nothing is changed.
pub fn inspect(path: &Path) -> Result<DatabaseReport> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    let mut report = DatabaseReport {
        shape: db.pragma_query_value(None, "user_version", |row| row.get(0))?,
        known_shape: migrations::count(),
        ..DatabaseReport::default()
    };
    let mut check = db.prepare(&format!("PRAGMA integrity_check({PROBLEMS_MAX})"))?;
    let found = check.query_map((), |row| row.get::<_, String>(0));
    for line in found? {
        match line {
            Ok(line) if line == "ok" => {}
            Ok(line) => report.problems.push(line),
            Err(error) => {
                report.problems.push(error.to_string());
                break;
            }
        }
    }
    let count = db.query_row("SELECT count(*) FROM threads", (), |row| row.get(0));
    match count {
        Ok(count) => report.threads = count,
        Err(error) => report.problems.push(error.to_string()),
    }
    // Older shapes have no index.
    if let Ok(standing) = search::standing(&db) {
        report.indexing = standing.indexing;
    }
    Ok(report)
}

/// Whether a process has a database of this data directory open.
pub fn is_in_use(home: &Path) -> bool {
    let Ok(files) = home.join(OWNERS).read_dir() else {
        return false;
    };
    let mut files = files.filter_map(|file| Some(file.ok()?.path()));
    files.any(|path| {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let is_owner = stem.is_some_and(|stem| Uuid::try_parse(stem).is_ok());
        is_owner && File::open(&path).is_ok_and(|file| is_locked(&file))
    })
}

/// Keeps other processes from opening a database of this data directory for as long as it is held. `None`: one
/// has it open.
pub fn lock_out(home: &Path) -> std::io::Result<Option<File>> {
    let gate = leases::lock_file(&home.join(OWNERS).join(GATE))?;
    gate.lock()?;
    Ok((!is_in_use(home)).then_some(gate))
}

fn is_locked(file: &File) -> bool {
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}
