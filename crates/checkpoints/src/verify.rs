//! Reads everything that a vault holds and compares it with what was stored.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{BufReader, Read};

use rusqlite::Connection;

use crate::blobs::{self, BLOB, BlobRow, MAGIC, PackRow, hex, read_record};
use crate::database::{self, HEAD, MOMENT, PAST, read_head, read_moment, read_past};
use crate::lock::Lock;
use crate::vault::Vault;
use crate::{Error, Moment, Result, VerifyReport, WorkControl, WorkProgress, threads, tree};

/// Complaints of one kind beyond this are not listed.
const COMPLAINTS_MAX: usize = 100;

pub fn verify(vault: &Vault, _alone: &Lock, work: &WorkControl<'_>) -> Result<VerifyReport> {
    let mut verdict = VerifyReport::default();
    // What was read is checked outside the lock of the database: it takes long.
    let (blobs, packs) = {
        let db = vault.db.lock();
        let damage = &mut verdict.damage;
        structure(&db, damage)?;
        let blobs = rows(&db, damage)?;
        trees(&db, work, damage)?;
        let packs = found(blobs::packs(&db), damage)?.unwrap_or_default();
        (blobs, packs)
    };
    let total = Some(blobs.len() as u64);
    let mut by_pack: HashMap<i64, HashMap<u64, &BlobRow>> = HashMap::new();
    for row in blobs.iter().filter(|row| row.location.pack != 0) {
        by_pack
            .entry(row.location.pack)
            .or_default()
            .insert(row.location.offset, row);
    }
    let tell = |verdict: &VerifyReport| {
        (work.progress)(WorkProgress {
            done: verdict.blobs,
            total,
            bytes: verdict.bytes,
        });
        work.check()
    };
    for pack in packs {
        let expected = by_pack.remove(&pack.id).unwrap_or_default();
        one_pack(vault, pack, expected, &mut verdict);
        tell(&verdict)?;
    }
    for pack in by_pack.keys() {
        verdict.damage.push(format!("pack {pack} is missing"));
    }
    for row in blobs.iter().filter(|row| row.location.pack == 0) {
        if let Err(error) = vault.blobs.copy(row, &mut std::io::sink()) {
            verdict.damage.push(error.to_string());
        }
        if vault
            .blobs
            .is_untouched(&row.location)
            .is_ok_and(|untouched| !untouched)
        {
            let hash = hex(&row.location.hash);
            verdict
                .damage
                .push(format!("the file of content {hash} is damaged"));
        }
        verdict.blobs += 1;
        verdict.bytes += row.location.bytes();
        tell(&verdict)?;
    }
    Ok(verdict)
}

/// Notes damage and goes on; other errors end the verification.
fn found<T>(outcome: Result<T>, damage: &mut Vec<String>) -> Result<Option<T>> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(Error::Damaged(what)) => {
            if damage.len() < COMPLAINTS_MAX {
                damage.push(what);
            }
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn structure(db: &Connection, damage: &mut Vec<String>) -> Result<()> {
    let check = || -> Result<Vec<String>> {
        let mut statement = db.prepare("PRAGMA integrity_check(20)")?;
        let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
        Ok(lines.collect::<Result<_, _>>()?)
    };
    let lines = found(check(), damage)?.unwrap_or_default();
    let complaints = lines.into_iter().filter(|line| line != "ok");
    damage.extend(complaints.map(|line| format!("the database: {line}")));
    let strange = found(database::strange_schema(db), damage)?.unwrap_or_default();
    damage.extend(
        strange
            .into_iter()
            .map(|line| format!("the database: not as made: {line}")),
    );
    Ok(())
}

/// Checks every row; gives those of contents.
fn rows(db: &Connection, damage: &mut Vec<String>) -> Result<Vec<BlobRow>> {
    let mut refs: HashMap<i64, i64> = HashMap::new();
    let mut count = |entry: &database::TreeEntry| {
        if entry.blob != 0 {
            *refs.entry(entry.blob).or_default() += 1;
        }
    };
    each(db, &format!("SELECT {HEAD} FROM head"), damage, |row| {
        read_head(row).map(|(_, indexed)| count(&indexed.entry))
    })?;
    each(db, &format!("SELECT {PAST} FROM past"), damage, |row| {
        read_past(row).map(|(_, indexed, _)| count(&indexed.entry))
    })?;
    each(db, &format!("SELECT {MOMENT} FROM moment"), damage, |row| {
        read_moment(row).map(|_| ())
    })?;
    let mut blobs = Vec::new();
    each(
        db,
        &format!("SELECT {BLOB}, refs FROM blob"),
        damage,
        |row| {
            let blob = blobs::read_row(row)?;
            let expected = refs.remove(&blob.id).unwrap_or(0);
            blobs.push(blob);
            match row.get::<_, i64>(9)? {
                counted if counted == expected => Ok(()),
                counted => Err(Error::Damaged(format!(
                    "content {} is referred to {expected} times, not {counted}",
                    blob.id
                ))),
            }
        },
    )?;
    for id in refs.keys() {
        damage.push(format!("content {id} is missing"));
    }
    Ok(blobs)
}

fn each(
    db: &Connection,
    sql: &str,
    damage: &mut Vec<String>,
    mut check: impl FnMut(&rusqlite::Row<'_>) -> Result<()>,
) -> Result<()> {
    let mut all = || -> Result<Vec<String>> {
        let mut damage = Vec::new();
        let mut statement = db.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            found(check(row), &mut damage)?;
        }
        Ok(damage)
    };
    let more = found(all(), damage)?.unwrap_or_default();
    damage.extend(more);
    Ok(())
}

/// Checks that every state which anybody can go back to is whole.
fn trees(db: &Connection, work: &WorkControl<'_>, damage: &mut Vec<String>) -> Result<()> {
    let mut moments: BTreeSet<Moment> = BTreeSet::new();
    let checkpoints = found(threads::checkpoints(db, None), damage)?.unwrap_or_default();
    moments.extend(checkpoints.iter().map(|(_, checkpoint)| checkpoint.moment));
    let originals = found(threads::originals(db), damage)?.unwrap_or_default();
    moments.extend(originals.iter().map(|(_, original, _)| *original));
    let last = found(database::last_moment(db), damage)?.flatten();
    moments.extend(last.map(|last| last.moment));
    for moment in moments {
        work.check()?;
        found(tree::load(db, moment), damage)?;
    }
    Ok(())
}

/// Reads a pack from its beginning to its end: every byte of it belongs to something.
fn one_pack(
    vault: &Vault,
    pack: PackRow,
    mut expected: HashMap<u64, &BlobRow>,
    verdict: &mut VerifyReport,
) {
    let mut complain = |what: String| {
        if verdict.damage.len() < COMPLAINTS_MAX {
            verdict.damage.push(format!("pack {}: {what}", pack.id));
        }
    };
    let file = match File::open(vault.blobs.pack_path(pack.id)) {
        Ok(file) => file,
        Err(error) => return complain(error.to_string()),
    };
    let mut file = BufReader::with_capacity(1 << 18, file).take(pack.bytes);
    let mut magic = [0; MAGIC.len()];
    if file.read_exact(&mut magic).is_err() || magic != *MAGIC {
        return complain("it does not begin as a pack does".to_owned());
    }
    let mut offset = MAGIC.len() as u64;
    while offset < pack.bytes {
        let (record, sound) = match read_record(&mut file) {
            Ok(read) => read,
            Err(error) => return complain(format!("at {offset}: {error}")),
        };
        if !sound {
            complain(format!(
                "content {} at {offset} is damaged",
                hex(&record.hash)
            ));
        }
        if let Some(row) = expected.remove(&offset) {
            verdict.blobs += 1;
            let same = (row.location.hash, row.location.size, row.location.bytes());
            if same != (record.hash, record.size, record.bytes()) {
                complain(format!("at {offset} lies another content than should"));
            }
        }
        offset += record.bytes();
        verdict.bytes += record.bytes();
    }
    for offset in expected.keys() {
        complain(format!(
            "nothing begins at {offset}, where a content should"
        ));
    }
}
