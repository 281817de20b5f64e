//! The files of a moment, and how two moments differ.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use vocabulary::FileChangeKind;

use crate::database::{
    self, EntryKind, HEAD, IndexEntry, MomentRow, PAST, bytes_of, read_head, read_past,
};
use crate::{EntryChange, Error, FileKind, LeftOut, Moment, Result};

/// By path.
pub type FileTree = BTreeMap<Vec<u8>, IndexEntry>;

pub fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// All entries of a moment; an error if any is damaged or missing.
pub fn load(db: &Connection, moment: Moment) -> Result<FileTree> {
    let row = whole(db, moment)?;
    let mut tree = FileTree::new();
    let sql = format!("SELECT {HEAD} FROM head WHERE since <= ?1");
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query([moment.0])?;
    while let Some(row) = rows.next()? {
        let (path, indexed) = read_head(row)?;
        tree.insert(path.to_vec(), indexed);
    }
    let sql = format!("SELECT {PAST} FROM past WHERE until > ?1 AND since <= ?1");
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query([moment.0])?;
    while let Some(row) = rows.next()? {
        let (path, indexed, _) = read_past(row)?;
        tree.insert(path.to_vec(), indexed);
    }
    let digest = tree.iter().fold(0i64, |digest, (path, indexed)| {
        digest.wrapping_add(indexed.entry.digest(path))
    });
    if tree.len() as u64 != row.entries || digest != row.digest {
        let message = format!("entries of moment {} are missing", moment.0);
        return Err(Error::Damaged(message));
    }
    Ok(tree)
}

/// A moment whose entries are all kept.
pub fn whole(db: &Connection, moment: Moment) -> Result<MomentRow> {
    let row = database::moment(db, moment)?.filter(|row| row.whole);
    row.ok_or_else(|| Error::Damaged(format!("moment {} is not kept any more", moment.0)))
}

/// What lay at a path at a moment.
pub fn at(db: &Connection, path: &[u8], moment: Moment) -> Result<Option<IndexEntry>> {
    let sql = format!("SELECT {HEAD} FROM head WHERE path = ?1 AND since <= ?2");
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query(rusqlite::params![path, moment.0])?;
    if let Some(row) = rows.next()? {
        return Ok(Some(read_head(row)?.1));
    }
    let sql = format!("SELECT {PAST} FROM past WHERE path = ?1 AND since <= ?2 AND until > ?2");
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query(rusqlite::params![path, moment.0])?;
    match rows.next()? {
        Some(row) => Ok(Some(read_past(row)?.1)),
        None => Ok(None),
    }
}

/// The paths that were touched after `from` and up to `to`.
fn touched(db: &Connection, from: Moment, to: Moment) -> Result<BTreeSet<Vec<u8>>> {
    let mut statement = db.prepare_cached(
        "SELECT path FROM head WHERE since > ?1 AND since <= ?2
         UNION ALL SELECT path FROM past WHERE since > ?1 AND since <= ?2
         UNION ALL SELECT path FROM past WHERE until > ?1 AND until <= ?2",
    )?;
    let paths = statement.query_map([from.0, to.0], |row| row.get(0))?;
    Ok(paths.collect::<Result<_, _>>()?)
}

/// A path whose entry is not the same at two moments.
pub struct TreeDifference {
    pub path: Vec<u8>,
    pub old: Option<IndexEntry>,
    pub new: Option<IndexEntry>,
}

impl TreeDifference {
    /// `None` if nothing that is kept changed.
    pub fn change(&self) -> Option<EntryChange> {
        change(&self.path, self.old.as_ref(), self.new.as_ref())
    }
}

/// The paths at which two moments differ, sorted; an error if anything of it is damaged or missing.
pub fn differences(db: &Connection, from: Moment, to: Moment) -> Result<Vec<TreeDifference>> {
    let (one, other) = (whole(db, from)?, whole(db, to)?);
    let (mut entries, mut digest) = (one.entries as i64, one.digest);
    let mut found = Vec::new();
    for path in touched(db, from.min(to), from.max(to))? {
        let (old, new) = (at(db, &path, from)?, at(db, &path, to)?);
        if let Some(old) = &old {
            entries -= 1;
            digest = digest.wrapping_sub(old.entry.digest(&path));
        }
        if let Some(new) = &new {
            entries += 1;
            digest = digest.wrapping_add(new.entry.digest(&path));
        }
        if old.as_ref().map(|old| old.entry) != new.as_ref().map(|new| new.entry) {
            found.push(TreeDifference { path, old, new });
        }
    }
    if entries != other.entries as i64 || digest != other.digest {
        let message = format!(
            "what lies between moments {} and {} is missing",
            from.0, to.0
        );
        return Err(Error::Damaged(message));
    }
    Ok(found)
}

/// Whether any kept file differs.
pub fn differ(db: &Connection, from: Moment, to: Moment) -> Result<bool> {
    if from == to {
        return Ok(false);
    }
    let differences = differences(db, from, to)?;
    Ok(differences
        .iter()
        .any(|difference| difference.change().is_some()))
}

/// What happened to a path; `None` if nothing that is kept did.
pub fn change(
    path: &[u8],
    old: Option<&IndexEntry>,
    new: Option<&IndexEntry>,
) -> Option<EntryChange> {
    let kind = |indexed: Option<&IndexEntry>| match indexed?.entry.kind {
        EntryKind::Kept(kind) => Some(kind),
        EntryKind::LeftOut(_) => None,
    };
    let was = kind(old);
    let (what, shown, kind) = match (was, kind(new)) {
        (None, None) => return None,
        (None, Some(kind)) => (FileChangeKind::Add, new, kind),
        // One that is there but is kept no more did change.
        (Some(kind), None) if new.is_some() => (FileChangeKind::Update, new, kind),
        (Some(kind), None) => (FileChangeKind::Delete, old, kind),
        (Some(_), Some(kind)) if old?.entry != new?.entry => (FileChangeKind::Update, new, kind),
        (Some(_), Some(_)) => return None,
    };
    let shown = shown?;
    let iteration = match new {
        Some(_) => shown.iteration,
        None => shown.iteration_gone(),
    };
    Some(EntryChange {
        path: path_of(path),
        what,
        iteration,
        size: if what == FileChangeKind::Delete {
            0
        } else {
            shown.entry.size
        },
        kind,
        was,
    })
}

pub fn left_out(db: &Connection, moment: Moment) -> Result<Vec<LeftOut>> {
    let tree = load(db, moment)?;
    let left = tree
        .iter()
        .filter_map(|(path, indexed)| match indexed.entry.kind {
            EntryKind::LeftOut(why) => Some(LeftOut {
                path: path_of(path),
                why,
            }),
            EntryKind::Kept(_) => None,
        });
    Ok(left.collect())
}

/// All versions of a file that are still kept, oldest first, each once.
pub fn versions(db: &Connection, path: &Path) -> Result<Vec<IndexEntry>> {
    let path = bytes_of(path);
    let mut versions: Vec<IndexEntry> = Vec::new();
    let mut add = |indexed: IndexEntry| {
        let again = versions
            .last()
            .is_some_and(|last| last.iteration == indexed.iteration);
        if indexed.entry.is(FileKind::File) && !again {
            versions.push(indexed);
        }
    };
    let sql = format!("SELECT {PAST} FROM past WHERE path = ?1 ORDER BY since");
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query([path])?;
    while let Some(row) = rows.next()? {
        add(read_past(row)?.1);
    }
    let sql = format!("SELECT {HEAD} FROM head WHERE path = ?1");
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query([path])?;
    if let Some(row) = rows.next()? {
        add(read_head(row)?.1);
    }
    Ok(versions)
}
