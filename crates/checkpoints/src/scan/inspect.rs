//! Sees what may be different from the index: by a stat pass where one can tell, else by a walk.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::Connection;

use super::is_same;
use super::stat_pass::{self, IndexRow, StatPass, WorkspaceStamp};
use crate::blobs;
use crate::database::{self, HEAD, IndexEntry, MomentRow, bytes_of, read_head};
use crate::vault::Vault;
use crate::walk::{self, ScanScope, Walked, WalkedEntry};
use crate::workspace_root::WorkspaceRoot;
use crate::{Error, Result, SnapshotLimits, WorkControl};

/// What the vault knew before.
pub struct KnownIndex {
    /// What lay where, of the part that is looked at.
    pub head: HashMap<Vec<u8>, IndexEntry>,
    pub last: Option<MomentRow>,
    /// Whether any content is kept at all.
    pub any: bool,
}

/// What a look begins with.
pub struct ScanInput {
    pub known: KnownIndex,
    pub walked: Walked,
    /// Whether it went through everything.
    pub whole: bool,
}

/// Reads the index and sees what may be different from it.
pub fn inspect(
    vault: &Vault,
    root: &WorkspaceRoot,
    work: &WorkControl<'_>,
    part: ScanScope<'_>,
    stamps: (Option<WorkspaceStamp>, WorkspaceStamp),
) -> Result<ScanInput> {
    let options = &vault.options;
    let device = root.device().map_err(Error::Workspace)?;
    let walk = |part: ScanScope<'_>| {
        let (workspace, apart) = (&options.workspace, &options.apart);
        walk::walk(workspace, apart, &options.limits, device, part, work)
    };
    let load = || load(&vault.db.lock(), part);
    if let (ScanScope::All, Some(_)) = (part, stamps.0) {
        let loaded = load()?;
        let stat_pass = stat_pass::stat_pass(root, &loaded.rows, &options.limits, stamps, work);
        work.check()?;
        if let Some(stat_pass) = stat_pass
            && let Some(begun) = after_stat_pass(&loaded, &options.limits, stat_pass, walk)?
        {
            return Ok(begun);
        }
        let walked = walk(part)?;
        return Ok(ScanInput {
            known: loaded.into(),
            walked,
            whole: true,
        });
    }
    // The walk does not need the index.
    std::thread::scope(|scope| {
        let loading = scope.spawn(load);
        let walked = walk(part);
        let panicked = |panic| std::panic::resume_unwind(panic);
        let loaded = loading.join().unwrap_or_else(panicked);
        Ok(ScanInput {
            known: loaded?.into(),
            walked: walked?,
            whole: true,
        })
    })
}

/// Walks only where the stat pass could not tell. `None` if what it finds may change what counts elsewhere.
fn after_stat_pass(
    loaded: &LoadedIndex,
    limits: &SnapshotLimits,
    stat_pass: StatPass,
    walk: impl FnOnce(ScanScope<'_>) -> Result<Walked>,
) -> Result<Option<ScanInput>> {
    let mut walked = match stat_pass.dirty_dirs.all_clean() {
        true => Walked::default(),
        false => walk(ScanScope::DirtyDirs(&stat_pass.dirty_dirs))?,
    };
    let StatPass {
        same, seen, bytes, ..
    } = stat_pass.after(&loaded.rows, &walked.seen);
    walked.seen.extend(seen);
    let doubtful = loaded.rows.iter().zip(&same).filter(|(_, same)| !**same);
    let head: HashMap<Vec<u8>, IndexEntry> = doubtful.map(|(row, _)| row.clone()).collect();
    let walked_bytes: u64 = walked.seen.iter().map(|seen| seen.size).sum();
    let entries = same.iter().filter(|same| **same).count() + walked.seen.len();
    if rules_changed(&head, &walked.seen)
        || bytes + walked_bytes > limits.total_bytes
        || entries as u64 > limits.entries
    {
        return Ok(None);
    }
    let known = KnownIndex {
        head,
        last: loaded.last,
        any: loaded.any,
    };
    Ok(Some(ScanInput {
        known,
        walked,
        whole: false,
    }))
}

/// Whether a file with ignore rules is among what may be different.
fn rules_changed(head: &HashMap<Vec<u8>, IndexEntry>, seen: &[WalkedEntry]) -> bool {
    let seen: HashMap<&[u8], &WalkedEntry> = seen
        .iter()
        .filter(|seen| walk::has_rules(&seen.path))
        .map(|seen| (seen.path.as_slice(), seen))
        .collect();
    let known = head.iter().filter(|(path, _)| walk::has_rules(path));
    let known: HashMap<&[u8], &IndexEntry> =
        known.map(|(path, row)| (path.as_slice(), row)).collect();
    let same =
        |(path, row): (&&[u8], &&IndexEntry)| seen.get(path).is_some_and(|seen| is_same(row, seen));
    known.len() != seen.len() || !known.iter().all(same)
}

/// The index as it is read.
struct LoadedIndex {
    /// Sorted by path, where it is the whole index.
    rows: Vec<IndexRow>,
    last: Option<MomentRow>,
    any: bool,
}

impl From<LoadedIndex> for KnownIndex {
    fn from(loaded: LoadedIndex) -> Self {
        KnownIndex {
            head: loaded.rows.into_iter().collect(),
            last: loaded.last,
            any: loaded.any,
        }
    }
}

fn load(db: &Connection, part: ScanScope<'_>) -> Result<LoadedIndex> {
    let mut rows = Vec::new();
    let mut take = |sql: &str, values: &[&[u8]]| -> Result<()> {
        let mut statement = db.prepare_cached(sql)?;
        let mut found = statement.query(rusqlite::params_from_iter(values))?;
        while let Some(row) = found.next()? {
            let (path, indexed) = read_head(row)?;
            rows.push((path.to_vec(), indexed));
        }
        Ok(())
    };
    match part {
        ScanScope::All | ScanScope::DirtyDirs(_) => {
            take(&format!("SELECT {HEAD} FROM head ORDER BY path"), &[])?;
        }
        ScanScope::Paths(paths) => {
            let one = format!("SELECT {HEAD} FROM head WHERE path = ?1");
            let below = format!("SELECT {HEAD} FROM head WHERE path >= ?1 AND path < ?2");
            for path in paths {
                for above in path.ancestors().filter(|path| *path != Path::new("")) {
                    take(&one, &[bytes_of(above)])?;
                }
                // Everything that begins with `path/`: `0` is what follows `/`.
                let (from, to) = (
                    [bytes_of(path), b"/"].concat(),
                    [bytes_of(path), b"0"].concat(),
                );
                take(&below, &[&from, &to])?;
            }
        }
    }
    Ok(LoadedIndex {
        rows,
        last: database::last_moment(db)?,
        any: blobs::highest(db, "blob")? > 0,
    })
}
