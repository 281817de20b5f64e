//! Brings the vault up to date with the workspace: look, compare, read what changed, commit.

mod commit;
mod content_reader;
mod inspect;
mod stat_pass;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::blobs::{self, BlobWriter};
use crate::database::{EntryKind, IndexEntry, StatStamp};
use crate::lock::Lock;
use crate::pre_images::{PreImage, PreImages};
use crate::vault::Vault;
use crate::walk::{self, ScanScope, WalkedEntry};
use crate::workspace_root::WorkspaceRoot;
use crate::{Error, FileKind, LeftOutReason, Result, ScanOutcome, SnapshotLimits, WorkControl};

use commit::NewEntry;
use inspect::inspect;
use stat_pass::WorkspaceStamp;

pub use stat_pass::{DirtyDirs, parent};

/// Everything is walked through this often, whatever a stat pass would tell: rules may have changed in ways
/// that it does not see.
const WALK_EVERY: Duration = Duration::from_secs(600);

/// A path that is not as it was, or may not be.
struct ReadCandidate {
    seen: WalkedEntry,
    old: Option<IndexEntry>,
}

/// What one look leaves for the next.
#[derive(Clone, Copy)]
pub struct LastScan {
    workspace_stamp: WorkspaceStamp,
    /// When everything was last walked through.
    walked_at: Instant,
}

/// Nobody else may be at it: the lock says so.
pub fn scan(
    vault: &Vault,
    _alone: &Lock,
    work: &WorkControl<'_>,
    part: ScanScope<'_>,
    before: Option<&PreImages>,
) -> Result<ScanOutcome> {
    let root = WorkspaceRoot::open(&vault.options.workspace).map_err(Error::Workspace)?;
    let began = content_reader::nanos();
    let workspace_stamp = WorkspaceStamp {
        root: root.itself().map_err(Error::Workspace)?.stamp,
        rules: walk::outer_rules(&vault.options.workspace),
    };
    // Taken out: a scan that fails leaves nothing that a stat pass could trust.
    let last_scan = match part {
        ScanScope::All => vault.last_scan.lock().take(),
        ScanScope::Paths(_) | ScanScope::DirtyDirs(_) => None,
    };
    let fresh = last_scan.filter(|last| last.walked_at.elapsed() < WALK_EVERY);
    let stamps = (fresh.map(|last| last.workspace_stamp), workspace_stamp);
    let begun = inspect(vault, &root, work, part, stamps)?;
    let (mut known, walked) = (begun.known, begun.walked);
    vault.stale.lock().extend(walked.stale);
    let mut missed = walked.missed;
    let limits = &vault.options.limits;
    let seen = within(
        limits,
        matches!(part, ScanScope::All) && begun.whole,
        walked.seen,
    );
    let candidates = compare(&mut known.head, seen);
    let writer = {
        let db = vault.db.lock();
        let last = blobs::packs(&db)?.pop();
        BlobWriter::new(&vault.blobs, last, blobs::highest(&db, "pack")?)
    };
    let reader = content_reader::ContentReader {
        root: &root,
        limits,
        writer: &writer,
        db: known.any.then_some(&vault.db),
        work,
        directories: matches!(part, ScanScope::All).then_some(began),
        missed: AtomicBool::new(false),
    };
    let mut new = reader.read(candidates)?;
    missed |= reader.missed.load(Ordering::Relaxed);
    let mut partial = false;
    let mut as_found = true;
    if let Some(before) = before {
        let (images, incomplete) = before.images();
        partial = incomplete;
        as_found = images.is_empty();
        overlay(&reader, images, &mut known.head, &mut new)?;
    }
    if !as_found {
        // What was put in place of what lies there is not known by its directory.
        let directory = |new: &&mut NewEntry| new.kind == EntryKind::Kept(FileKind::Directory);
        for directory in new.iter_mut().filter(directory) {
            directory.stamp = StatStamp::default();
        }
    }
    let removed = match part {
        ScanScope::All | ScanScope::DirtyDirs(_) => known.head.into_iter().collect(),
        // A directory above a path that was asked for is not what is asked about.
        ScanScope::Paths(paths) => known
            .head
            .into_iter()
            .filter(|(path, _)| {
                let path = crate::tree::path_of(path);
                paths.iter().any(|wanted| path.starts_with(wanted))
            })
            .collect(),
    };
    work.check()?;
    let found = commit::ScanDelta {
        new,
        removed,
        last: known.last,
    };
    // What one look missed the next one looks for everywhere: a stat pass would trust the directory. So
    // it is where a path is gone and nobody looked at its directory.
    let looks_everywhere =
        missed || matches!(part, ScanScope::Paths(_)) && !found.removed.is_empty();
    let mut scan = commit::commit(vault, &writer, found)?;
    writer.keep();
    scan.partial = partial;
    if looks_everywhere {
        *vault.last_scan.lock() = None;
    } else if let (ScanScope::All, true) = (part, as_found) {
        let settled = content_reader::is_settled_at(&workspace_stamp.root, began);
        let root = if settled {
            workspace_stamp.root
        } else {
            StatStamp::default()
        };
        let walked_at = match (begun.whole, fresh) {
            (false, Some(last)) => last.walked_at,
            _ => Instant::now(),
        };
        let workspace_stamp = WorkspaceStamp {
            root,
            ..workspace_stamp
        };
        *vault.last_scan.lock() = Some(LastScan {
            workspace_stamp,
            walked_at,
        });
    }
    Ok(scan)
}

/// Leaves out what is too large. The largest go first when all is too much.
fn within(limits: &SnapshotLimits, all: bool, mut seen: Vec<WalkedEntry>) -> Vec<WalkedEntry> {
    let mut total = 0;
    for each in &mut seen {
        if each.kind != EntryKind::Kept(FileKind::File) {
            continue;
        }
        if each.size > limits.file_bytes {
            each.kind = EntryKind::LeftOut(LeftOutReason::TooLarge);
        } else {
            total += each.size;
        }
    }
    if all && total > limits.total_bytes {
        let mut files: Vec<&mut WalkedEntry> = seen
            .iter_mut()
            .filter(|each| each.kind == EntryKind::Kept(FileKind::File))
            .collect();
        files.sort_by(|a, b| b.size.cmp(&a.size).then_with(|| a.path.cmp(&b.path)));
        for file in files {
            if total <= limits.total_bytes {
                break;
            }
            total -= file.size;
            file.kind = EntryKind::LeftOut(LeftOutReason::TooMuch);
        }
    }
    seen
}

/// Takes what was seen out of `head` and gives what has to be looked at more closely; what stays in
/// `head` is gone from the workspace.
fn compare(head: &mut HashMap<Vec<u8>, IndexEntry>, seen: Vec<WalkedEntry>) -> Vec<ReadCandidate> {
    let mut candidates: Vec<ReadCandidate> = Vec::new();
    // A directory that could not be read was seen before as a directory.
    let mut unreadable = Vec::new();
    for seen in seen {
        if seen.kind == EntryKind::LeftOut(LeftOutReason::Unreadable) {
            unreadable.push(seen);
            continue;
        }
        let old = head.remove(&seen.path);
        if !old.as_ref().is_some_and(|old| is_same(old, &seen)) {
            candidates.push(ReadCandidate { seen, old });
        }
    }
    for seen in unreadable {
        match candidates
            .iter_mut()
            .find(|candidate| candidate.seen.path == seen.path)
        {
            Some(candidate) => candidate.seen = seen,
            None => {
                let old = head.remove(&seen.path);
                candidates.push(ReadCandidate { seen, old });
            }
        }
    }
    candidates
}

fn is_same(old: &IndexEntry, seen: &WalkedEntry) -> bool {
    let same = old.entry.kind == seen.kind;
    match seen.kind {
        EntryKind::LeftOut(_) => same,
        EntryKind::Kept(FileKind::Directory) => {
            same && old.entry.mode == seen.mode && old.stamp == seen.stamp
        }
        EntryKind::Kept(FileKind::File | FileKind::Link) => {
            same && old.entry.mode == seen.mode
                && old.entry.size == seen.size
                && old.stamp == seen.stamp
        }
    }
}

/// Puts in what lay there before somebody changed it. Its stat data is not that of the file which lies
/// there now, so the next look reads it.
fn overlay(
    reader: &content_reader::ContentReader<'_>,
    images: std::collections::BTreeMap<Vec<u8>, PreImage>,
    head: &mut HashMap<Vec<u8>, IndexEntry>,
    new: &mut Vec<NewEntry>,
) -> Result<()> {
    for (path, state) in images {
        let found = new.iter().position(|each| each.path == path);
        let found = found.map(|place| new.swap_remove(place));
        let old = match found {
            Some(found) => found.old,
            None => reader.old(&path)?,
        };
        match state {
            PreImage::Absent => {
                if let Some(old) = old {
                    head.insert(path, old);
                }
            }
            PreImage::Present {
                kind,
                mode,
                content,
            } => {
                let size = content.len() as u64;
                let hash = match kind {
                    FileKind::Directory => None,
                    FileKind::File | FileKind::Link => Some(reader.keep(&content)?),
                };
                head.remove(&path);
                new.push(NewEntry {
                    path,
                    kind: EntryKind::Kept(kind),
                    mode,
                    size: if kind == FileKind::Directory { 0 } else { size },
                    content: hash,
                    stamp: StatStamp::default(),
                    old,
                });
            }
        }
    }
    Ok(())
}
