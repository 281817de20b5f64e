//! What lies where a database should be, and whether one of ours was there before.
//!
//! A file that is gone, empty or overwritten looks like one that was never there. So that a damaged
//! database is not taken for a new one, a mark beside it says that there was one.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::open::{APPLICATION_ID, FILE_MODE};
use crate::{Result, StoreError};

const HEADER_BYTES: usize = 100;
const HEADER_MAGIC: &[u8] = b"SQLite format 3\0";
const HEADER_APPLICATION_ID: std::ops::Range<usize> = 68..72;

/// Where the processes that have a database open leave their locks, beside it.
pub const OWNERS: &str = "owners";

/// What lies at a database's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabasePresence {
    Nothing,
    /// A file without a byte: one that is just being made.
    Empty,
    Ours,
    /// Another program's file; in words.
    Other(String),
    /// There was one of ours; what became of it, in words.
    Lost(&'static str),
}

pub const GONE: &str = "the file is gone";
const CUT_OFF: &str = "the file is empty";
pub const OVERWRITTEN: &str = "the file was overwritten: it is no database of Dragoman any more";

/// Reads the bytes themselves: opening another program's database with SQLite could change it.
pub fn find(path: &Path) -> io::Result<DatabasePresence> {
    // Before the file: while one is made its mark comes last, so that with a mark there is a file.
    let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let marked = mark(&place).exists();
    let log = std::fs::metadata(beside(&place, "-wal"));
    let logged = log.is_ok_and(|log| log.len() > 0);
    let mut header = Vec::with_capacity(HEADER_BYTES);
    let found = match File::open(path) {
        Ok(file) => {
            Read::take(file, HEADER_BYTES as u64).read_to_end(&mut header)?;
            recognise(&header)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => DatabasePresence::Nothing,
        Err(error) => return Err(error),
    };
    Ok(match found {
        // Its log would be thrown away by a new one.
        DatabasePresence::Nothing if marked || logged => DatabasePresence::Lost(GONE),
        DatabasePresence::Empty if marked || logged => DatabasePresence::Lost(CUT_OFF),
        DatabasePresence::Other(_) if marked => DatabasePresence::Lost(OVERWRITTEN),
        found => found,
    })
}

fn recognise(header: &[u8]) -> DatabasePresence {
    if header.is_empty() {
        return DatabasePresence::Empty;
    }
    if header.len() < HEADER_BYTES || !header.starts_with(HEADER_MAGIC) {
        return DatabasePresence::Other("not a SQLite file".to_owned());
    }
    let found = &header[HEADER_APPLICATION_ID];
    if found == APPLICATION_ID.to_be_bytes() {
        return DatabasePresence::Ours;
    }
    let id = found
        .iter()
        .fold(0_u32, |id, byte| (id << 8) | u32::from(*byte));
    DatabasePresence::Other(format!("a SQLite file with the application id {id:#x}"))
}

/// Refuses what is not ours, and what only looks new.
pub(super) fn check(path: &Path) -> Result<()> {
    match find(path).map_err(super::open::io_failed)? {
        DatabasePresence::Nothing | DatabasePresence::Empty | DatabasePresence::Ours => Ok(()),
        DatabasePresence::Other(what) => Err(StoreError::Foreign(format!("it is {what}"))),
        DatabasePresence::Lost(what) => Err(StoreError::Damaged(what.to_owned())),
    }
}

/// Leaves the mark. The database is on disk by now, so that a mark never stands for nothing.
pub(super) fn remember(place: &Path) -> io::Result<()> {
    let mark = mark(place);
    if mark.exists() {
        return Ok(());
    }
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    options.mode(FILE_MODE).open(&mark)?;
    match mark.parent() {
        Some(owners) => File::open(owners)?.sync_all(),
        None => Ok(()),
    }
}

fn mark(place: &Path) -> PathBuf {
    let home = place.parent().unwrap_or(Path::new("/"));
    let name = place.file_name().unwrap_or_default();
    beside(&home.join(OWNERS).join(name), ".made")
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
