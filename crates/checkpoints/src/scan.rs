//! Brings the vault up to date with the workspace: look, compare, read what changed, commit.

mod commit;
mod glance;
mod looking;
mod reading;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::blobs::{self, Writer};
use crate::database::{EntryKind, Lying, Stamp};
use crate::ground::Ground;
use crate::lock::Lock;
use crate::pre_images::{PreImage, PreImages};
use crate::vault::Vault;
use crate::walk::{self, Part, Seen};
use crate::{Error, FileKind, LeftOutReason, Result, ScanOutcome, SnapshotLimits, WorkControl};

use commit::New;
use glance::Frame;
use looking::look;

pub use glance::{Places, parent};

/// Everything is walked through this often, whatever a glance would tell: rules may have changed in ways
/// that it does not see.
const WALK_EVERY: Duration = Duration::from_secs(600);

/// A path that is not as it was, or may not be.
struct Doubt {
    seen: Seen,
    old: Option<Lying>,
}

/// What one look leaves for the next.
#[derive(Clone, Copy)]
pub struct Remembered {
    frame: Frame,
    /// When everything was last walked through.
    walked_at: Instant,
}

/// Nobody else may be at it: the lock says so.
pub fn scan(
    vault: &Vault,
    _alone: &Lock,
    work: &WorkControl<'_>,
    part: Part<'_>,
    before: Option<&PreImages>,
) -> Result<ScanOutcome> {
    let ground = Ground::open(&vault.options.workspace).map_err(Error::Workspace)?;
    let began = reading::nanos();
    let frame = Frame {
        root: ground.itself().map_err(Error::Workspace)?.stamp,
        rules: walk::outer_rules(&vault.options.workspace),
    };
    // Taken out: a look that fails leaves nothing that a glance could trust.
    let remembered = match part {
        Part::All => vault.remembered.lock().take(),
        Part::Paths(_) | Part::Places(_) => None,
    };
    let fresh = remembered.filter(|last| last.walked_at.elapsed() < WALK_EVERY);
    let frames = (fresh.map(|last| last.frame), frame);
    let begun = look(vault, &ground, work, part, frames)?;
    let (mut known, walked) = (begun.known, begun.walked);
    vault.stale.lock().extend(walked.stale);
    let limits = &vault.options.limits;
    let seen = within(
        limits,
        matches!(part, Part::All) && begun.whole,
        walked.seen,
    );
    let doubts = compare(&mut known.head, seen);
    let writer = {
        let db = vault.db.lock();
        let last = blobs::packs(&db)?.pop();
        Writer::new(&vault.blobs, last, blobs::highest(&db, "pack")?)
    };
    let reader = reading::Reader {
        ground: &ground,
        limits,
        writer: &writer,
        db: known.any.then_some(&vault.db),
        work,
        directories: matches!(part, Part::All).then_some(began),
    };
    let mut new = reader.read(doubts)?;
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
        let directory = |new: &&mut New| new.kind == EntryKind::Kept(FileKind::Directory);
        for directory in new.iter_mut().filter(directory) {
            directory.stamp = Stamp::default();
        }
    }
    let removed = match part {
        Part::All | Part::Places(_) => known.head.into_iter().collect(),
        // A directory above a path that was asked for is not what is asked about.
        Part::Paths(paths) => known
            .head
            .into_iter()
            .filter(|(path, _)| {
                let path = crate::tree::path_of(path);
                paths.iter().any(|wanted| path.starts_with(wanted))
            })
            .collect(),
    };
    work.check()?;
    let found = commit::Found {
        new,
        removed,
        last: known.last,
    };
    let mut scan = commit::commit(vault, &writer, found)?;
    writer.keep();
    scan.partial = partial;
    if let (Part::All, true) = (part, as_found) {
        let settled = reading::is_settled_at(&frame.root, began);
        let root = if settled {
            frame.root
        } else {
            Stamp::default()
        };
        let walked_at = match (begun.whole, fresh) {
            (false, Some(last)) => last.walked_at,
            _ => Instant::now(),
        };
        let frame = Frame { root, ..frame };
        *vault.remembered.lock() = Some(Remembered { frame, walked_at });
    }
    Ok(scan)
}

/// Leaves out what is too large. The largest go first when all is too much.
fn within(limits: &SnapshotLimits, all: bool, mut seen: Vec<Seen>) -> Vec<Seen> {
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
        let mut files: Vec<&mut Seen> = seen
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
fn compare(head: &mut HashMap<Vec<u8>, Lying>, seen: Vec<Seen>) -> Vec<Doubt> {
    let mut doubts: Vec<Doubt> = Vec::new();
    // A directory that could not be read was seen before as a directory.
    let mut unreadable = Vec::new();
    for seen in seen {
        if seen.kind == EntryKind::LeftOut(LeftOutReason::Unreadable) {
            unreadable.push(seen);
            continue;
        }
        let old = head.remove(&seen.path);
        if !old.as_ref().is_some_and(|old| is_same(old, &seen)) {
            doubts.push(Doubt { seen, old });
        }
    }
    for seen in unreadable {
        match doubts.iter_mut().find(|doubt| doubt.seen.path == seen.path) {
            Some(doubt) => doubt.seen = seen,
            None => {
                let old = head.remove(&seen.path);
                doubts.push(Doubt { seen, old });
            }
        }
    }
    doubts
}

fn is_same(old: &Lying, seen: &Seen) -> bool {
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
    reader: &reading::Reader<'_>,
    images: std::collections::BTreeMap<Vec<u8>, PreImage>,
    head: &mut HashMap<Vec<u8>, Lying>,
    new: &mut Vec<New>,
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
                new.push(New {
                    path,
                    kind: EntryKind::Kept(kind),
                    mode,
                    size: if kind == FileKind::Directory { 0 } else { size },
                    content: hash,
                    stamp: Stamp::default(),
                    old,
                });
            }
        }
    }
    Ok(())
}
