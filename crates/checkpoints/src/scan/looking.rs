//! Sees what may be different from the index: by a glance where one can tell, else by a walk.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::Connection;

use super::glance::{self, Frame, Glance, Row};
use super::is_same;
use crate::blobs;
use crate::database::{self, HEAD, Lying, MomentRow, bytes_of, read_head};
use crate::ground::Ground;
use crate::vault::Vault;
use crate::walk::{self, Part, Seen, Walked};
use crate::{Error, Result, SnapshotLimits, WorkControl};

/// What the vault knew before.
pub struct Known {
    /// What lay where, of the part that is looked at.
    pub head: HashMap<Vec<u8>, Lying>,
    pub last: Option<MomentRow>,
    /// Whether any content is kept at all.
    pub any: bool,
}

/// What a look begins with.
pub struct Begun {
    pub known: Known,
    pub walked: Walked,
    /// Whether it went through everything.
    pub whole: bool,
}

/// Reads the index and sees what may be different from it.
pub fn look(
    vault: &Vault,
    ground: &Ground,
    work: &WorkControl<'_>,
    part: Part<'_>,
    frames: (Option<Frame>, Frame),
) -> Result<Begun> {
    let options = &vault.options;
    let device = ground.device().map_err(Error::Workspace)?;
    let walk = |part: Part<'_>| {
        let (workspace, apart) = (&options.workspace, &options.apart);
        walk::walk(workspace, apart, &options.limits, device, part, work)
    };
    let load = || load(&vault.db.lock(), part);
    if let (Part::All, Some(_)) = (part, frames.0) {
        let loaded = load()?;
        let glance = glance::glance(ground, &loaded.rows, &options.limits, frames, work);
        work.check()?;
        if let Some(glance) = glance
            && let Some(begun) = at_a_glance(&loaded, &options.limits, glance, walk)?
        {
            return Ok(begun);
        }
        let walked = walk(part)?;
        return Ok(Begun {
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
        Ok(Begun {
            known: loaded?.into(),
            walked: walked?,
            whole: true,
        })
    })
}

/// Walks only where a glance could not tell. `None` if what it finds may change what counts elsewhere.
fn at_a_glance(
    loaded: &Loaded,
    limits: &SnapshotLimits,
    glance: Glance,
    walk: impl FnOnce(Part<'_>) -> Result<Walked>,
) -> Result<Option<Begun>> {
    let mut walked = match glance.places.all_clean() {
        true => Walked::default(),
        false => walk(Part::Places(&glance.places))?,
    };
    let Glance {
        same, seen, bytes, ..
    } = glance.after(&loaded.rows, &walked.seen);
    walked.seen.extend(seen);
    let doubtful = loaded.rows.iter().zip(&same).filter(|(_, same)| !**same);
    let head: HashMap<Vec<u8>, Lying> = doubtful.map(|(row, _)| row.clone()).collect();
    let met: u64 = walked.seen.iter().map(|seen| seen.size).sum();
    let entries = same.iter().filter(|same| **same).count() + walked.seen.len();
    if rules_changed(&head, &walked.seen)
        || bytes + met > limits.total_bytes
        || entries as u64 > limits.entries
    {
        return Ok(None);
    }
    let known = Known {
        head,
        last: loaded.last,
        any: loaded.any,
    };
    Ok(Some(Begun {
        known,
        walked,
        whole: false,
    }))
}

/// Whether a file with ignore rules is among what may be different.
fn rules_changed(head: &HashMap<Vec<u8>, Lying>, seen: &[Seen]) -> bool {
    let seen: HashMap<&[u8], &Seen> = seen
        .iter()
        .filter(|seen| walk::has_rules(&seen.path))
        .map(|seen| (seen.path.as_slice(), seen))
        .collect();
    let known = head.iter().filter(|(path, _)| walk::has_rules(path));
    let known: HashMap<&[u8], &Lying> = known.map(|(path, row)| (path.as_slice(), row)).collect();
    let same =
        |(path, row): (&&[u8], &&Lying)| seen.get(path).is_some_and(|seen| is_same(row, seen));
    known.len() != seen.len() || !known.iter().all(same)
}

/// The index as it is read.
struct Loaded {
    /// Sorted by path, where it is the whole index.
    rows: Vec<Row>,
    last: Option<MomentRow>,
    any: bool,
}

impl From<Loaded> for Known {
    fn from(loaded: Loaded) -> Self {
        Known {
            head: loaded.rows.into_iter().collect(),
            last: loaded.last,
            any: loaded.any,
        }
    }
}

fn load(db: &Connection, part: Part<'_>) -> Result<Loaded> {
    let mut rows = Vec::new();
    let mut take = |sql: &str, values: &[&[u8]]| -> Result<()> {
        let mut statement = db.prepare_cached(sql)?;
        let mut found = statement.query(rusqlite::params_from_iter(values))?;
        while let Some(row) = found.next()? {
            let (path, lying) = read_head(row)?;
            rows.push((path.to_vec(), lying));
        }
        Ok(())
    };
    match part {
        Part::All | Part::Places(_) => {
            take(&format!("SELECT {HEAD} FROM head ORDER BY path"), &[])?;
        }
        Part::Paths(paths) => {
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
    Ok(Loaded {
        rows,
        last: database::last_moment(db)?,
        any: blobs::highest(db, "blob")? > 0,
    })
}
