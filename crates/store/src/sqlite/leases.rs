//! Who may write to which thread, without timeouts.
//!
//! Every process that opens the database holds a lock on a file of its own for as long as it
//! lives. The kernel frees the lock however the process ends, so a lease is void the moment its
//! owner is dead and never before.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use uuid::Uuid;
use vocabulary::ThreadId;

use super::append::count_up;
use super::open::io_failed;
use super::{changes, credits, queries, signed};
use crate::{Lease, Result, StoreError};

const LOCK_MODE: u32 = 0o600;
const LOCK_EXTENSION: &str = "lock";
/// Fences come from one counter for all threads, so that a freed lease leaves nothing behind.
const FENCE_COUNTER: &str = "fence";

/// This process, as leases name it.
pub(super) struct Owner {
    id: String,
    directory: PathBuf,
    /// The newest change of lists when this process came.
    changes_before: i64,
    /// Whether there are changes for others to read since they were told so.
    noted: AtomicBool,
}

impl Owner {
    /// Enters this process among the owners and clears away the dead ones. The caller holds the
    /// gate: nobody else enters or clears meanwhile.
    pub(super) fn enter(
        connection: &mut Connection,
        directory: PathBuf,
        label: &str,
    ) -> Result<(Owner, File)> {
        let id = Uuid::now_v7().to_string();
        let mut owner = Owner {
            id,
            directory,
            changes_before: 0,
            noted: AtomicBool::new(false),
        };
        let lock = lock_file(&owner.lock_path(&owner.id)).map_err(io_failed)?;
        lock.try_lock().map_err(|error| {
            StoreError::Failed(format!("cannot lock the owner's file: {error}"))
        })?;
        let enter = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        owner.clear_dead_owners(&enter)?;
        enter.execute(
            "INSERT INTO owners (id, label) VALUES (?1, ?2)",
            [owner.id.as_str(), label],
        )?;
        owner.changes_before = changes::newest(&enter)?;
        enter.commit()?;
        owner.clear_dead_files().map_err(io_failed)?;
        Ok((owner, lock))
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Where all owners have their files.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn changes_before(&self) -> i64 {
        self.changes_before
    }

    pub(super) fn has_noted(&self) {
        self.noted.store(true, Ordering::Relaxed);
    }

    /// Wakes the other processes, if there is something for them. They see it by now.
    pub(super) fn wake_others(&self, lock: &File) {
        if self.noted.swap(false, Ordering::Relaxed)
            && let Err(error) = lock.write_all_at(b".", 0)
        {
            tracing::warn!(%error, "other processes hear late of what changed here");
        }
    }

    fn clear_dead_owners(&self, db: &Connection) -> Result<()> {
        let mut known = db.prepare("SELECT id FROM owners")?;
        let known: Vec<String> = known
            .query_map([], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        for dead in known.iter().filter(|id| !self.is_alive(id)) {
            clear(db, dead)?;
        }
        Ok(())
    }

    fn clear_dead_files(&self) -> io::Result<()> {
        for file in self.directory.read_dir()? {
            let path = file?.path();
            let id = path.file_stem().and_then(|stem| stem.to_str());
            let owner = id.filter(|id| Uuid::try_parse(id).is_ok());
            if owner.is_some_and(|id| !self.is_alive(id)) {
                std::fs::remove_file(&path)?;
            }
        }
        Ok(())
    }

    fn lock_path(&self, id: &str) -> PathBuf {
        self.directory.join(id).with_extension(LOCK_EXTENSION)
    }

    /// Probes with a shared lock, so that two who probe do not take each other for the owner.
    /// What cannot be probed counts as alive: better to refuse than to write twice.
    pub(super) fn is_alive(&self, id: &str) -> bool {
        if id == self.id {
            return true;
        }
        match File::open(self.lock_path(id)) {
            Ok(file) => match file.try_lock_shared() {
                Ok(()) => false,
                Err(TryLockError::WouldBlock) => true,
                Err(TryLockError::Error(error)) => {
                    tracing::warn!(%error, "cannot probe the lock of another process");
                    true
                }
            },
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }
}

pub(super) fn lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.mode(LOCK_MODE).open(path)
}

/// Nothing is left of a dead owner, so that nobody waits for it or writes for it to read.
fn clear(db: &Connection, dead: &str) -> Result<()> {
    db.execute("DELETE FROM leases WHERE owner = ?1", [dead])?;
    db.execute("DELETE FROM credit_reservations WHERE owner = ?1", [dead])?;
    db.execute("DELETE FROM owners WHERE id = ?1", [dead])?;
    Ok(())
}

pub(super) fn acquire(db: &Connection, owner: &Owner, thread: ThreadId) -> Result<Lease> {
    let mut holder = db.prepare_cached(
        "SELECT leases.owner, owners.label FROM leases
         LEFT JOIN owners ON owners.id = leases.owner WHERE leases.thread = ?1",
    )?;
    let holder: Option<(String, Option<String>)> = holder
        .query_row([thread.to_string()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    if let Some((id, label)) = holder
        && id != owner.id
    {
        if owner.is_alive(&id) {
            return Err(StoreError::Held {
                owner: label.unwrap_or_else(|| "unknown".to_owned()),
            });
        }
        clear(db, &id)?;
    }
    let fence = count_up(db, FENCE_COUNTER, 1)?;
    let mut lease = db.prepare_cached(
        "INSERT INTO leases (thread, owner, fence) VALUES (?1, ?2, ?3)
         ON CONFLICT (thread) DO UPDATE SET owner = excluded.owner, fence = excluded.fence",
    )?;
    lease.execute(params![thread.to_string(), owner.id, signed(fence)?])?;
    Ok(Lease { thread, fence })
}

/// A lease that was lost is no longer this process's to give back.
pub(super) fn release(db: &Connection, lease: Lease) -> Result<()> {
    let mut release = db.prepare_cached("DELETE FROM leases WHERE thread = ?1 AND fence = ?2")?;
    let released = release.execute(params![lease.thread.to_string(), signed(lease.fence)?])?;
    match released {
        0 => Ok(()),
        _ => credits::forget(db, lease.thread),
    }
}

/// To be called in the transaction that writes.
pub(super) fn check_fence(db: &Connection, owner: &Owner, lease: Lease) -> Result<()> {
    let mut held =
        db.prepare_cached("SELECT 1 FROM leases WHERE thread = ?1 AND fence = ?2 AND owner = ?3")?;
    let thread = lease.thread.to_string();
    if held.exists(params![thread, signed(lease.fence)?, owner.id])? {
        Ok(())
    } else {
        Err(StoreError::Fenced)
    }
}

pub(super) fn unfinished(db: &Connection, owner: &Owner) -> Result<Vec<ThreadId>> {
    let mut unfinished = db.prepare_cached(
        "SELECT threads.id, leases.owner FROM thread_state
         JOIN threads ON threads.number = thread_state.thread
         LEFT JOIN leases ON leases.thread = threads.id
         WHERE thread_state.unfinished = 1 ORDER BY threads.id",
    )?;
    let mut rows = unfinished.query([])?;
    let mut alive: HashMap<String, bool> = HashMap::new();
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let held = match row.get::<_, Option<String>>(1)? {
            Some(id) => *alive.entry(id).or_insert_with_key(|id| owner.is_alive(id)),
            None => false,
        };
        if !held {
            found.push(queries::thread_id(row, 0)?);
        }
    }
    Ok(found)
}
