//! Makes what was found the vault's new head, in one transaction.

use std::collections::HashMap;

use rusqlite::{Connection, TransactionBehavior};

use crate::blobs::{self, BlobLocation, BlobRow, BlobWriter, Hash};
use crate::database::{
    self, EntryKind, IndexEntry, MomentRow, PAST, StatStamp, TreeEntry, read_past, write_head,
    write_past,
};
use crate::vault::{Vault, now};
use crate::{Error, FileKind, Moment, Result, ScanOutcome, tree};

/// A path as it was found.
pub struct NewEntry {
    pub path: Vec<u8>,
    pub kind: EntryKind,
    pub mode: u32,
    pub size: u64,
    /// Of a file its content, of a link its target.
    pub content: Option<Hash>,
    pub stamp: StatStamp,
    pub old: Option<IndexEntry>,
}

pub struct ScanDelta {
    pub new: Vec<NewEntry>,
    pub removed: Vec<(Vec<u8>, IndexEntry)>,
    pub last: Option<MomentRow>,
}

/// As [`NewEntry`], its content found or given a number.
struct ResolvedEntry {
    path: Vec<u8>,
    entry: TreeEntry,
    stamp: StatStamp,
    old: Option<IndexEntry>,
}

pub fn commit(vault: &Vault, writer: &BlobWriter<'_>, found: ScanDelta) -> Result<ScanOutcome> {
    let (added, packs) = writer.finish()?;
    if let (true, true, Some(last)) = (found.new.is_empty(), found.removed.is_empty(), found.last) {
        return Ok(unchanged(last.moment));
    }
    let mut db = vault.db.lock();
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for pack in packs {
        blobs::write_pack(&transaction, pack)?;
    }
    let mut commit = Commit {
        db: &transaction,
        added,
        next_blob: blobs::highest(&transaction, "blob")? + 1,
        ids: HashMap::new(),
        fresh: Vec::new(),
        refs: HashMap::new(),
    };
    let new = commit.resolve(found.new)?;
    let (touched, changed): (Vec<_>, Vec<_>) = new
        .into_iter()
        .partition(|new| new.old.as_ref().is_some_and(|old| old.entry == new.entry));
    for ResolvedEntry {
        path, stamp, old, ..
    } in touched
    {
        if let Some(old) = old.filter(|old| old.stamp != stamp) {
            write_head(&transaction, &path, &IndexEntry { stamp, ..old })?;
        }
    }
    let scan = match found.last {
        Some(last) if changed.is_empty() && found.removed.is_empty() => unchanged(last.moment),
        last => commit.new_moment(last, changed, found.removed)?,
    };
    transaction.commit()?;
    Ok(scan)
}

fn unchanged(moment: Moment) -> ScanOutcome {
    ScanOutcome {
        moment,
        changes: Vec::new(),
        bytes: 0,
        partial: false,
    }
}

struct Commit<'a> {
    db: &'a Connection,
    /// What the writer has put down.
    added: HashMap<Hash, BlobLocation>,
    next_blob: i64,
    ids: HashMap<Hash, i64>,
    /// Contents that the database does not know yet.
    fresh: Vec<(i64, BlobLocation)>,
    refs: HashMap<i64, i64>,
}

impl Commit<'_> {
    fn resolve(&mut self, new: Vec<NewEntry>) -> Result<Vec<ResolvedEntry>> {
        let resolve = |new: NewEntry| {
            let blob = new.content.map_or(Ok(0), |hash| self.blob(&hash))?;
            Ok(ResolvedEntry {
                path: new.path,
                entry: TreeEntry {
                    kind: new.kind,
                    mode: new.mode,
                    size: new.size,
                    blob,
                },
                stamp: new.stamp,
                old: new.old,
            })
        };
        new.into_iter().map(resolve).collect()
    }

    fn blob(&mut self, hash: &Hash) -> Result<i64> {
        if let Some(id) = self.ids.get(hash) {
            return Ok(*id);
        }
        let id = match blobs::id_of(self.db, hash)? {
            Some(id) => id,
            None => {
                let location = self.added.get(hash).copied();
                let location =
                    location.ok_or_else(|| Error::Damaged("a content was lost".to_owned()))?;
                let id = self.next_blob;
                self.next_blob += 1;
                self.fresh.push((id, location));
                id
            }
        };
        self.ids.insert(*hash, id);
        Ok(id)
    }

    fn new_moment(
        mut self,
        last: Option<MomentRow>,
        changed: Vec<ResolvedEntry>,
        removed: Vec<(Vec<u8>, IndexEntry)>,
    ) -> Result<ScanOutcome> {
        let (mut entries, mut digest) = last.map_or((0, 0), |last| (last.entries, last.digest));
        let mut changes = Vec::new();
        let row = database::insert_moment(self.db, now(), |moment| {
            for new in changed {
                let ResolvedEntry {
                    path,
                    entry,
                    stamp,
                    old,
                } = new;
                let indexed = IndexEntry {
                    entry,
                    since: moment,
                    iteration: self.iteration(last.is_none(), &path, &entry, old.as_ref())?,
                    stamp,
                };
                if let Some(old) = &old {
                    write_past(self.db, &path, old, moment)?;
                    digest = digest.wrapping_sub(old.entry.digest(&path));
                } else {
                    entries += 1;
                }
                digest = digest.wrapping_add(entry.digest(&path));
                write_head(self.db, &path, &indexed)?;
                if entry.blob != 0 {
                    *self.refs.entry(entry.blob).or_default() += 1;
                }
                changes.extend(tree::change(&path, old.as_ref(), Some(&indexed)));
            }
            for (path, old) in removed {
                write_past(self.db, &path, &old, moment)?;
                self.db
                    .prepare_cached("DELETE FROM head WHERE path = ?1")?
                    .execute([&path])?;
                digest = digest.wrapping_sub(old.entry.digest(&path));
                entries -= 1;
                changes.extend(tree::change(&path, Some(&old), None));
            }
            Ok((entries, digest))
        })?;
        let bytes = self.keep_contents(row.moment)?;
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(ScanOutcome {
            moment: row.moment,
            changes,
            bytes,
            partial: false,
        })
    }

    /// The number of a version: one more than the last, where the content is another.
    fn iteration(
        &self,
        first: bool,
        path: &[u8],
        entry: &TreeEntry,
        old: Option<&IndexEntry>,
    ) -> Result<u64> {
        let last = match old {
            Some(old) => old.iteration,
            None if first => 0,
            None => self.last_iteration(path)?,
        };
        let same =
            old.is_some_and(|old| old.entry.kind == entry.kind && old.entry.blob == entry.blob);
        // That a file is gone, and a directory in its place, has a number, too.
        let counts = entry.has_versions()
            || (entry.is(FileKind::Directory) && old.is_some_and(|old| old.entry.has_versions()));
        Ok(if counts && !same { last + 1 } else { last })
    }

    /// The last number of a path where nothing lies: what was removed there took one, too.
    fn last_iteration(&self, path: &[u8]) -> Result<u64> {
        let sql = format!("SELECT {PAST} FROM past WHERE path = ?1 ORDER BY since DESC LIMIT 1");
        let mut statement = self.db.prepare_cached(&sql)?;
        let mut rows = statement.query([path])?;
        let Some(row) = rows.next()? else {
            return Ok(0);
        };
        let (_, last, _) = read_past(row)?;
        Ok(last.iteration_gone())
    }

    fn keep_contents(&mut self, since: Moment) -> Result<u64> {
        let mut bytes = 0;
        for (id, location) in std::mem::take(&mut self.fresh) {
            let Some(refs) = self.refs.remove(&id) else {
                continue;
            };
            bytes += location.bytes();
            blobs::insert(
                self.db,
                &BlobRow {
                    id,
                    location,
                    since,
                },
                refs.unsigned_abs(),
            )?;
        }
        for (id, refs) in std::mem::take(&mut self.refs) {
            blobs::add_refs(self.db, id, refs)?;
        }
        Ok(bytes)
    }
}
