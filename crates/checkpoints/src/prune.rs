//! Lets go of what the policy does not keep, and gives the disk back.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use vocabulary::Trigger;

use crate::blobs::{self, BLOB, BlobRow, BlobWriter, HEADER_BYTES, MAGIC, PackRow};
use crate::database::{self, MOMENT, PAST, read_moment, read_past};
use crate::lock::Lock;
use crate::vault::{Vault, now};
use crate::{
    KeptCheckpoint, Millis, Moment, Pruned, Result, RetentionPolicy, WorkControl, WorkProgress,
    threads,
};

/// States younger than this stay, even if no checkpoint names them: somebody may be about to.
const GRACE: Millis = 3_600_000;
/// The share of checkpoints that go at a time when there is too much.
const SHARE: usize = 10;

pub fn prune(
    vault: &Vault,
    _alone: &Lock,
    work: &WorkControl<'_>,
    policy: &RetentionPolicy,
) -> Result<Pruned> {
    let age = i64::try_from(policy.age.as_millis()).unwrap_or(i64::MAX);
    let oldest = now().saturating_sub(age);
    let before = vault.size()?.bytes;
    let mut pruned = Pruned::default();
    {
        let mut db = vault.db.lock();
        let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        pruned.checkpoints += overdue(&transaction, oldest, policy.count)?;
        pruned.versions += versions(&transaction, oldest, age)?;
        // First the versions that no checkpoint needs, then checkpoints, the oldest first.
        let mut all_versions = false;
        while live_bytes(&transaction)? > policy.bytes {
            work.check()?;
            if all_versions {
                match thin_out(&transaction)? {
                    0 => break,
                    gone => pruned.checkpoints += gone,
                }
            }
            all_versions = true;
            pruned.versions += versions(&transaction, i64::MAX, age)?;
        }
        transaction.commit()?;
    }
    (work.progress)(WorkProgress::default());
    sweep(vault, work)?;
    pruned.bytes = before.saturating_sub(vault.size()?.bytes);
    Ok(pruned)
}

/// Checkpoints that are too old or too many.
fn overdue(db: &Connection, oldest: Millis, count: u64) -> Result<u64> {
    let mut of_thread: BTreeMap<String, Vec<KeptCheckpoint>> = BTreeMap::new();
    for (thread, checkpoint) in threads::checkpoints(db, None)? {
        of_thread.entry(thread).or_default().push(checkpoint);
    }
    let mut gone = 0;
    for (thread, _, at) in threads::originals(db)? {
        let mut kept = of_thread.remove(&thread).unwrap_or_default();
        let last = kept.last().map_or(at, |last| last.at);
        if last < oldest {
            gone += kept.len() as u64;
            threads::lapse(db, &thread)?;
            continue;
        }
        // Automatic ones before manual ones, the oldest first.
        kept.sort_by_key(|each| (each.trigger == Trigger::Manual, each.at));
        let too_many = (kept.len() as u64).saturating_sub(count);
        for (place, checkpoint) in kept.iter().enumerate() {
            if (place as u64) < too_many || checkpoint.at < oldest {
                threads::delete(db, &thread, checkpoint.number)?;
                gone += 1;
            }
        }
    }
    Ok(gone)
}

/// Lets the oldest checkpoints of all threads go, and at last the threads; gives how many went.
fn thin_out(db: &Connection) -> Result<u64> {
    let mut all = threads::checkpoints(db, None)?;
    all.sort_by_key(|(_, each)| (each.trigger == Trigger::Manual, each.at));
    if all.is_empty() {
        let mut originals = threads::originals(db)?;
        originals.sort_by_key(|(_, _, at)| *at);
        let Some((oldest, ..)) = originals.first() else {
            return Ok(0);
        };
        threads::lapse(db, oldest)?;
        return Ok(1);
    }
    let count = all.len().div_ceil(SHARE);
    for (thread, checkpoint) in &all[..count] {
        threads::delete(db, thread, checkpoint.number)?;
    }
    Ok(count as u64)
}

fn live_bytes(db: &Connection) -> Result<u64> {
    let sql = "SELECT coalesce(sum(stored), 0) FROM blob WHERE refs > 0";
    Ok(db.query_row(sql, [], |row| row.get(0))?)
}

/// Removes past entries that no state needs any more: none that somebody can go back to lies in the time
/// in which they were there, and they went before `oldest`.
fn versions(db: &Transaction<'_>, oldest: Millis, age: Millis) -> Result<u64> {
    let recent = now().saturating_sub(GRACE.min(age));
    let mut at: HashMap<Moment, Millis> = HashMap::new();
    let mut needed: Vec<Moment> = Vec::new();
    let mut moments = Vec::new();
    {
        let mut statement = db.prepare(&format!("SELECT {MOMENT} FROM moment ORDER BY id"))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let row = read_moment(row)?;
            at.insert(row.moment, row.at);
            if row.whole && row.at >= recent {
                needed.push(row.moment);
            }
            moments.push(row);
        }
    }
    let checkpoints = threads::checkpoints(db, None)?;
    needed.extend(checkpoints.iter().map(|(_, each)| each.moment));
    needed.extend(
        threads::originals(db)?
            .iter()
            .map(|(_, original, _)| *original),
    );
    needed.extend(moments.last().map(|last| last.moment));
    needed.sort_unstable();
    needed.dedup();
    let within = |since: Moment, until: Moment| {
        let first = needed.partition_point(|moment| *moment < since);
        needed.get(first).is_some_and(|moment| *moment < until)
    };
    let mut gone = Vec::new();
    {
        let mut statement = db.prepare(&format!("SELECT {PAST} FROM past"))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (path, indexed, until) = read_past(row)?;
            let went = at.get(&until).copied().unwrap_or(Millis::MIN);
            if went < oldest && !within(indexed.since, until) {
                gone.push((path.to_vec(), indexed, until));
            }
        }
    }
    for (path, indexed, _) in &gone {
        db.prepare_cached("DELETE FROM past WHERE path = ?1 AND since = ?2")?
            .execute(params![path, indexed.since.0])?;
        if indexed.entry.blob != 0 {
            blobs::add_refs(db, indexed.entry.blob, -1)?;
        }
    }
    // A state that lacks an entry cannot be gone back to.
    for mut row in moments {
        let lacks = |(_, indexed, until): &(Vec<u8>, database::IndexEntry, Moment)| {
            indexed.since <= row.moment && row.moment < *until
        };
        if row.whole && gone.iter().any(lacks) {
            row.whole = false;
            database::write_moment(db, &row)?;
        }
    }
    // Times of states are only needed where something came or went.
    db.execute(
        "DELETE FROM moment WHERE NOT whole
         AND id NOT IN (SELECT since FROM head) AND id NOT IN (SELECT since FROM past)
         AND id NOT IN (SELECT until FROM past)",
        [],
    )?;
    Ok(gone.len() as u64)
}

/// Gives back the disk of contents that nothing refers to.
fn sweep(vault: &Vault, work: &WorkControl<'_>) -> Result<()> {
    let mut db = vault.db.lock();
    let dead = all_blobs(&db, "refs <= 0")?;
    let packs = blobs::packs(&db)?;
    let mut live: BTreeMap<i64, Vec<BlobRow>> = BTreeMap::new();
    for row in all_blobs(&db, "refs > 0 AND pack <> 0")? {
        live.entry(row.location.pack).or_default().push(row);
    }
    let empty = Vec::new();
    let (mut thin, mut stay) = (Vec::new(), None);
    for pack in packs {
        let rows = live.get(&pack.id).unwrap_or(&empty);
        match is_thin(pack, rows) {
            true => thin.push(pack),
            false => stay = Some(pack),
        }
    }
    let writer = BlobWriter::new(&vault.blobs, stay, blobs::highest(&db, "pack")?);
    let mut moves = Vec::new();
    for row in thin
        .iter()
        .flat_map(|pack| live.get(&pack.id).unwrap_or(&empty))
    {
        work.check()?;
        moves.push((
            *row,
            vault
                .blobs
                .record(row)
                .and_then(|record| writer.append(&record))?,
        ));
    }
    let (_, written) = writer.finish()?;
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for pack in written {
        blobs::write_pack(&transaction, pack)?;
    }
    for (row, location) in moves {
        blobs::moved(&transaction, row, location)?;
    }
    for pack in &thin {
        transaction.execute("DELETE FROM pack WHERE id = ?1", [pack.id])?;
    }
    transaction.execute("DELETE FROM blob WHERE refs <= 0", [])?;
    transaction.commit()?;
    writer.keep();
    // Only now: before, the database still named them.
    for row in dead.iter().filter(|row| row.location.pack == 0) {
        remove(vault.blobs.large_path(&row.location.hash));
    }
    for pack in &thin {
        remove(vault.blobs.pack_path(pack.id));
    }
    strays(vault, &db)
}

/// Whether more than half of a pack is not needed any more.
fn is_thin(pack: PackRow, live: &[BlobRow]) -> bool {
    let bytes: u64 = live
        .iter()
        .map(|row| row.location.stored + HEADER_BYTES as u64)
        .sum();
    bytes < (pack.bytes - (MAGIC.len() as u64).min(pack.bytes)) / 2 || live.is_empty()
}

fn all_blobs(db: &Connection, which: &str) -> Result<Vec<BlobRow>> {
    let sql = format!("SELECT {BLOB} FROM blob WHERE {which} ORDER BY pack, offset");
    let mut statement = db.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(blobs::read_row(row)?);
    }
    Ok(found)
}

/// Removes files that the database does not know: a crash left them.
fn strays(vault: &Vault, db: &Connection) -> Result<()> {
    let packs = blobs::packs(db)?
        .into_iter()
        .map(|pack| vault.blobs.pack_path(pack.id));
    let large = all_blobs(db, "pack = 0")?;
    let large = large
        .iter()
        .map(|row| vault.blobs.large_path(&row.location.hash));
    let known: std::collections::HashSet<PathBuf> = packs.chain(large).collect();
    for directory in vault.blobs.directories() {
        for entry in std::fs::read_dir(directory)? {
            let path = entry?.path();
            if !known.contains(&path) {
                remove(path);
            }
        }
    }
    Ok(())
}

fn remove(path: PathBuf) {
    // One that stays costs disk, and is tried again with the next pruning.
    if let Err(error) = std::fs::remove_file(&path) {
        tracing::warn!(path = %path.display(), %error, "not removed");
    }
}
