//! Puts files back as they were at a moment. Only what is kept now is ever replaced or removed: what
//! lies there and is not kept (ignored, left out, changed since the look) stays as it is, and is told.

pub mod apply;

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use vocabulary::{RestoreAction, Trigger};

use crate::database::{self, EntryKind, IndexEntry, TreeEntry, bytes_of};
use crate::lock::Lock;
use crate::tree::{self, TreeDifference, path_of};
use crate::vault::Vault;
use crate::walk::ScanScope;
use crate::workspace_root::WorkspaceRoot;
use crate::{
    Error, FileKind, LeftOutReason, Moment, RestoreStep, Restored, Result, ScanOutcome,
    WorkControl, scan, threads,
};

/// Up to this many paths are looked at one by one after a restore, more with all the others.
const FEW: usize = 32;

/// What is to happen at a path: what should lie there, and what lies there by the last look.
pub struct Intent {
    pub path: Vec<u8>,
    pub target: Option<TreeEntry>,
    pub current: Option<IndexEntry>,
    pub how: RestoreAction,
}

pub fn preview(
    vault: &Vault,
    alone: &Lock,
    work: &WorkControl<'_>,
    to: Moment,
    path: Option<&Path>,
) -> Result<Vec<RestoreStep>> {
    scan::scan(vault, alone, work, ScanScope::All, None)?;
    let intents = plan(vault, to, path)?;
    Ok(steps(&intents))
}

pub fn restore(
    vault: &Vault,
    alone: &Lock,
    work: &WorkControl<'_>,
    thread: &str,
    to: Moment,
    path: Option<&Path>,
) -> Result<Restored> {
    let looked = scan::scan(vault, alone, work, ScanScope::All, None)?;
    let mut intents = plan(vault, to, path)?;
    let note = |moment| threads::note(&mut vault.db.lock(), thread, moment, Trigger::Automatic);
    let before = note(looked.moment)?;
    let root = WorkspaceRoot::open(&vault.options.workspace).map_err(Error::Workspace)?;
    apply::sweep(&root, std::mem::take(&mut *vault.stale.lock()));
    apply::apply(vault, &root, work, &mut intents)?;
    let scan = look_again(vault, alone, work, &intents)?;
    Ok(Restored {
        before,
        steps: steps(&intents),
        scan,
    })
}

/// Takes in what the restore has changed; few paths are looked at one by one.
fn look_again(
    vault: &Vault,
    alone: &Lock,
    work: &WorkControl<'_>,
    intents: &[Intent],
) -> Result<ScanOutcome> {
    let paths: Vec<PathBuf> = intents.iter().map(|intent| path_of(&intent.path)).collect();
    let part = if paths.len() <= FEW {
        ScanScope::Paths(&paths)
    } else {
        ScanScope::All
    };
    scan::scan(vault, alone, work, part, None)
}

fn steps(intents: &[Intent]) -> Vec<RestoreStep> {
    let step = |intent: &Intent| RestoreStep {
        path: path_of(&intent.path),
        how: intent.how.clone(),
    };
    intents.iter().map(step).collect()
}

/// What has to be done, sorted by path.
fn plan(vault: &Vault, to: Moment, path: Option<&Path>) -> Result<Vec<Intent>> {
    let db = vault.db.lock();
    // One state of the database for all that is asked of it, and one lock on it.
    let db = db.unchecked_transaction()?;
    let now = database::last_moment(&db)?.map_or(to, |last| last.moment);
    if let Some(path) = path {
        let bytes = bytes_of(path);
        if tree::at(&db, bytes, to)?
            .or(tree::at(&db, bytes, now)?)
            .is_none()
        {
            return Err(Error::UnknownPath(path.to_owned()));
        }
    }
    let root = WorkspaceRoot::open(&vault.options.workspace).map_err(Error::Workspace)?;
    let planner = Planner {
        db: &db,
        root: &root,
        now,
        to,
    };
    let mut intents = Vec::new();
    for difference in tree::differences(&db, now, to)? {
        let TreeDifference {
            path: name,
            old,
            new,
        } = difference;
        let target = new.map(|new| new.entry);
        if !concerns(path, &name, target.as_ref(), old.as_ref()) {
            continue;
        }
        let how = match &target {
            Some(target) => planner.how_to_make(&name, target, old.as_ref())?,
            None => planner.how_to_remove(&name, old.as_ref())?,
        };
        if let Some(how) = how {
            intents.push(Intent {
                path: name,
                target,
                current: old,
                how,
            });
        }
    }
    Ok(intents)
}

/// Whether a change belongs to what is put back: it lies at the path or below it, or is a directory on
/// the way to it that is not there now.
fn concerns(
    path: Option<&Path>,
    name: &[u8],
    target: Option<&TreeEntry>,
    now: Option<&IndexEntry>,
) -> bool {
    let name = path_of(name);
    let is_directory = |entry: &TreeEntry| entry.is(FileKind::Directory);
    path.is_none_or(|path| {
        let missing =
            target.is_some_and(is_directory) && !now.is_some_and(|now| is_directory(&now.entry));
        name.starts_with(path) || (path.starts_with(&name) && missing)
    })
}

struct Planner<'a> {
    db: &'a Connection,
    root: &'a WorkspaceRoot,
    now: Moment,
    to: Moment,
}

impl Planner<'_> {
    /// What has to be done for `wanted` to lie at a path; nothing if it was not kept.
    fn how_to_make(
        &self,
        name: &[u8],
        wanted: &TreeEntry,
        now: Option<&IndexEntry>,
    ) -> Result<Option<RestoreAction>> {
        if !wanted.is_kept() {
            return Ok(None);
        }
        let why = match now.and_then(left_out) {
            Some(why) => Some(why),
            None => self.covered(name, self.now)?,
        };
        if let Some(why) = why {
            return Ok(Some(RestoreAction::Skip {
                why: excuse(why).to_owned(),
            }));
        }
        if now.is_some() {
            return Ok(Some(RestoreAction::Replace));
        }
        let meta = self
            .root
            .entry_ref(&path_of(name))
            .and_then(|entry_ref| entry_ref.meta());
        Ok(Some(match meta {
            Ok(Some(meta)) if !(meta.what.is_dir() && wanted.is(FileKind::Directory)) => {
                RestoreAction::Skip {
                    why: IGNORED.to_owned(),
                }
            }
            _ => RestoreAction::Create,
        }))
    }

    /// What was not kept then was there perhaps, and what is not kept now would be lost.
    fn how_to_remove(
        &self,
        name: &[u8],
        now: Option<&IndexEntry>,
    ) -> Result<Option<RestoreAction>> {
        let kept = now.is_some_and(|now| now.entry.is_kept());
        if !kept || self.covered(name, self.to)?.is_some() {
            return Ok(None);
        }
        Ok(Some(RestoreAction::Delete))
    }

    /// Whether something above the path was left out as a whole.
    fn covered(&self, name: &[u8], moment: Moment) -> Result<Option<LeftOutReason>> {
        let path = path_of(name);
        let above = path.ancestors().skip(1);
        for above in above.filter(|above| *above != Path::new("")) {
            let indexed = tree::at(self.db, bytes_of(above), moment)?;
            if let Some(why) = indexed.as_ref().and_then(left_out) {
                return Ok(Some(why));
            }
        }
        Ok(None)
    }
}

pub const IGNORED: &str = "what lies there now is ignored, so it is not kept";

fn left_out(indexed: &IndexEntry) -> Option<LeftOutReason> {
    match indexed.entry.kind {
        EntryKind::LeftOut(why) => Some(why),
        EntryKind::Kept(_) => None,
    }
}

fn excuse(why: LeftOutReason) -> &'static str {
    match why {
        LeftOutReason::TooLarge => "what lies there now is too large to be kept",
        LeftOutReason::TooMuch => {
            "what lies there now is not kept, because the workspace is too large"
        }
        LeftOutReason::Unreadable => "what lies there now cannot be read",
        LeftOutReason::Special => "a pipe, socket or device lies there now",
        LeftOutReason::Mounted => "another file system is mounted there",
    }
}
