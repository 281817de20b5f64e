//! Changes of lists, told from process to process without asking again and again.
//!
//! A change is written with what changed, in one transaction, if there is another process to read it.
//! Then the writer touches its own lock file, and the kernel wakes those who watch the folder of
//! these files. It does the same when a process dies and its file is closed, so that a change that was
//! written and not announced is read then. A process that is alone writes, touches and reads nothing.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rusqlite::{Connection, params};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tokio::net::unix::pipe;
use vocabulary::{TenantId, ThreadId};

use super::leases::Owner;
use super::open::io_failed;
use crate::{ChangesElsewhere, ListChange, ListEntry, RecordKind, Result};

/// How many changes are kept for others to read.
pub(super) const CHANGES_KEPT: i64 = 1024;
const THREAD: &str = "thread";
/// A thread that its writer would like to have.
const REQUEST: &str = "request";
const CREDIT: &str = "credit";
const EVENTS_BYTES: usize = 4096;

/// Whether there may be somebody to read changes. One that died counts until the next one comes.
pub(super) fn has_readers(db: &Connection, owner: &Owner) -> Result<bool> {
    let mut others = db.prepare_cached("SELECT 1 FROM owners WHERE id <> ?1 LIMIT 1")?;
    Ok(others.exists([owner.id()])?)
}

/// Notes a change in the transaction that makes it.
pub(super) fn note(db: &Connection, owner: &Owner, change: &ListChange) -> Result<()> {
    let (kind, id) = match &change.what {
        ListEntry::Thread(id) => (THREAD, id.to_string()),
        ListEntry::Record(kind, id) => (kind.name(), id.clone()),
        ListEntry::Credit => (CREDIT, String::new()),
    };
    let tenant = change.tenant.as_str();
    write(db, owner, (tenant, kind, &id), change.is_new)
}

fn write(
    db: &Connection,
    owner: &Owner,
    (tenant, kind, id): (&str, &str, &str),
    is_new: bool,
) -> Result<()> {
    let number = db
        .prepare_cached(
            "INSERT INTO changes (owner, tenant, kind, id, is_new) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .insert(params![owner.id(), tenant, kind, id, is_new])?;
    db.prepare_cached("DELETE FROM changes WHERE number <= ?1")?
        .execute([number - CHANGES_KEPT])?;
    owner.has_noted();
    Ok(())
}

/// Notes that this process would like to have a thread. Versions that do not know of this take it for a change
/// of the thread.
pub(super) fn request(db: &Connection, owner: &Owner, thread: ThreadId) -> Result<()> {
    write(db, owner, ("", REQUEST, &thread.to_string()), false)
}

/// The number of the newest change.
pub(super) fn newest(db: &Connection) -> Result<i64> {
    let newest = "SELECT coalesce(max(number), 0) FROM changes";
    Ok(db.query_row(newest, (), |row| row.get(0))?)
}

/// What others changed after a number, and the number to go on from.
pub(super) fn after(db: &Connection, owner: &str, last: i64) -> Result<(ChangesElsewhere, i64)> {
    let oldest = "SELECT coalesce(min(number), 0) FROM changes";
    let oldest: i64 = db.query_row(oldest, (), |row| row.get(0))?;
    let mut found = ChangesElsewhere {
        missed: oldest > last + 1,
        ..ChangesElsewhere::default()
    };
    let mut read = db.prepare_cached(
        "SELECT number, owner, tenant, kind, id, is_new FROM changes
         WHERE number > ?1 ORDER BY number",
    )?;
    let mut rows = read.query([last])?;
    let mut upto = last;
    while let Some(row) = rows.next()? {
        upto = row.get(0)?;
        if row.get_ref(1)?.as_str().is_ok_and(|by| by == owner) {
            continue;
        }
        let (kind, id): (String, String) = (row.get(3)?, row.get(4)?);
        if kind == REQUEST {
            found.requested.extend(ThreadId::parse(&id));
            continue;
        }
        let entry = match RecordKind::named(&kind) {
            Some(kind) => Some(ListEntry::Record(kind, id)),
            None if kind == CREDIT => Some(ListEntry::Credit),
            None => ThreadId::parse(&id).map(ListEntry::Thread),
        };
        // A kind that a newer version has names no thread, and is no list of ours.
        let Some(what) = entry else { continue };
        found.add(ListChange {
            tenant: TenantId::new(row.get::<_, String>(2)?),
            what,
            is_new: row.get(5)?,
        });
    }
    Ok((found, upto))
}

/// Follows what others change. There is one in a process.
pub(super) struct Follower {
    /// The change to go on from.
    pub(super) last: i64,
    /// Made when somebody first waits, because it needs a runtime.
    watch: Option<pipe::Receiver>,
}

impl Follower {
    pub(super) fn new(last: i64) -> Self {
        Self { last, watch: None }
    }

    /// Watches from now on, where it does not yet. To be called before reading.
    pub(super) fn watch(&mut self, directory: &Path) -> Result<()> {
        if self.watch.is_none() {
            let made = watch(directory).map_err(|error| io_failed(error.into()))?;
            // Like a pipe it is waited for and read; there is no type of its own for it.
            let made = pipe::Receiver::from_owned_fd_unchecked(made).map_err(io_failed)?;
            self.watch = Some(made);
        }
        Ok(())
    }

    /// Waits until a process touched its file, or ended. Our own may be the one.
    pub(super) async fn wait(&mut self) -> Result<()> {
        let Some(watch) = &self.watch else {
            return Ok(());
        };
        let (mut events, mut woken) = ([0; EVENTS_BYTES], false);
        while !woken {
            watch.readable().await.map_err(io_failed)?;
            // All at once: what they say is in the database.
            woken = loop {
                match watch.try_read(&mut events) {
                    Ok(_) => woken = true,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break woken,
                    Err(error) => return Err(io_failed(error)),
                }
            };
        }
        Ok(())
    }
}

fn watch(directory: &Path) -> rustix::io::Result<OwnedFd> {
    let made = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    let events = WatchFlags::MODIFY | WatchFlags::CLOSE_WRITE;
    inotify::add_watch(&made, directory, events)?;
    Ok(made)
}
