//! The stat pass over what is known: which directories have the names they had, and which of the files in them
//! are as they were. Only what it cannot tell is walked through.
//!
//! A directory's times change when a name in it comes or goes. So where they are the same, the names are
//! the same, and with the same rules the same of them count: it need not be read.

use std::collections::HashSet;
use std::path::Path;

use rustix::fs::FileType;

use crate::blobs::Hash;
use crate::database::{EntryKind, IndexEntry, StatStamp};
use crate::tree::path_of;
use crate::walk::WalkedEntry;
use crate::workspace_root::{FileMeta, WorkspaceRoot};
use crate::{FileKind, LeftOutReason, SnapshotLimits, WorkControl};

/// Fewer rows are not worth a second thread.
const ALONE_BELOW: usize = 512;
const THREADS_MAX: usize = 4;

/// A row of the index, by its path.
pub type IndexRow = (Vec<u8>, IndexEntry);

/// What holds for the whole workspace at a look; kept from one to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkspaceStamp {
    /// Of the workspace's own directory.
    pub root: StatStamp,
    /// Of the ignore rules that lie outside of the workspace.
    pub rules: Hash,
}

/// What the pass could tell.
pub struct StatPass {
    /// Which rows are still true.
    pub same: Vec<bool>,
    /// What lies where a row says something else.
    pub seen: Vec<WalkedEntry>,
    pub dirty_dirs: DirtyDirs,
    /// The bytes of all files that are as they were.
    pub bytes: u64,
    /// Directories with the same names, where something became something else.
    again: Vec<Vec<u8>>,
}

/// Which directories have to be read.
#[derive(Clone, Default)]
pub struct DirtyDirs {
    /// Have the names they had.
    clean: HashSet<Vec<u8>>,
    /// Have not, or may not have; with all directories above them.
    on_the_way: HashSet<Vec<u8>>,
    dirty: HashSet<Vec<u8>>,
}

impl DirtyDirs {
    pub fn is_clean(&self, path: &[u8]) -> bool {
        self.clean.contains(path)
    }

    /// Whether a directory that has to be read lies here or below.
    pub fn leads_on(&self, path: &[u8]) -> bool {
        self.on_the_way.contains(path)
    }

    pub fn is_dirty(&self, path: &[u8]) -> bool {
        self.dirty.contains(path)
    }

    pub fn all_clean(&self) -> bool {
        self.dirty.is_empty()
    }

    fn mark_dirty(&mut self, path: &[u8]) {
        self.clean.remove(path);
        self.dirty.insert(path.to_vec());
        let mut above = Some(path);
        while let Some(path) = above {
            self.on_the_way.insert(path.to_vec());
            above = parent(path);
        }
    }
}

/// The directory that a path lies in; the workspace's own is empty.
pub fn parent(path: &[u8]) -> Option<&[u8]> {
    if path.is_empty() {
        return None;
    }
    let slash = path.iter().rposition(|byte| *byte == b'/');
    Some(slash.map_or(&[], |slash| &path[..slash]))
}

/// `None`: everything has to be walked through.
pub fn stat_pass(
    root: &WorkspaceRoot,
    rows: &[IndexRow],
    limits: &SnapshotLimits,
    (before, now): (Option<WorkspaceStamp>, WorkspaceStamp),
    work: &WorkControl<'_>,
) -> Option<StatPass> {
    let before = before.filter(|before| before.rules == now.rules)?;
    let device = root.device().ok()?;
    let meta = look_at(root, rows, work)?;
    let mut dirty_dirs = DirtyDirs::default();
    dirty_dirs.clean.insert(Vec::new());
    if before.root.changed == 0 || before.root != now.root {
        dirty_dirs.mark_dirty(b"");
    }
    // Directories first: what lies in one that is not as it was is not looked at one by one. Rows are
    // sorted, so that each comes after the one it lies in.
    let mut lost: HashSet<&[u8]> = HashSet::new();
    for ((path, indexed), meta) in rows.iter().zip(&meta) {
        if !indexed.entry.is(FileKind::Directory) {
            continue;
        }
        let is_there = |meta: &FileMeta| meta.what == FileType::Directory && meta.device == device;
        let meta = meta.as_ref().filter(|meta| is_there(meta));
        match meta {
            // Nothing below it is where it was, whatever the same path leads to now. The times of the
            // directory above say otherwise where it was moved just now, so that one is read.
            None => {
                lost.insert(path);
                let above = parent(path).unwrap_or_default();
                if dirty_dirs.is_clean(above) {
                    dirty_dirs.mark_dirty(above);
                }
            }
            Some(_) if parent(path).is_some_and(|above| lost.contains(above)) => {
                lost.insert(path);
            }
            Some(meta) if indexed.stamp.changed != 0 && meta.stamp == indexed.stamp => {
                dirty_dirs.clean.insert(path.clone());
            }
            Some(_) => dirty_dirs.mark_dirty(path),
        }
    }
    let mut stat_pass = StatPass {
        same: vec![false; rows.len()],
        seen: Vec::new(),
        dirty_dirs,
        bytes: 0,
        again: Vec::new(),
    };
    for (place, ((path, indexed), meta)) in rows.iter().zip(&meta).enumerate() {
        let above = parent(path).unwrap_or_default();
        if indexed.entry.is(FileKind::Directory) {
            // Its mode is part of its times, so a clean one is the same in all.
            stat_pass.same[place] = stat_pass.dirty_dirs.is_clean(path);
        } else if stat_pass.dirty_dirs.is_clean(above) {
            stat_pass.file(place, path, indexed, meta.as_ref(), limits)?;
        }
    }
    stat_pass.walk_again(rows);
    Some(stat_pass)
}

impl StatPass {
    /// What lies in a directory that is to be walked through after all is not known by the stat pass.
    fn walk_again(&mut self, rows: &[IndexRow]) {
        if self.again.is_empty() {
            return;
        }
        for path in std::mem::take(&mut self.again) {
            self.dirty_dirs.mark_dirty(&path);
        }
        let dirty = |path: &[u8]| self.dirty_dirs.is_dirty(parent(path).unwrap_or_default());
        for (place, (path, indexed)) in rows.iter().enumerate() {
            let own = indexed.entry.is(FileKind::Directory) && self.dirty_dirs.is_dirty(path);
            if own || (!indexed.entry.is(FileKind::Directory) && dirty(path)) {
                self.same[place] = false;
            }
        }
        self.seen.retain(|seen| !dirty(&seen.path));
    }

    /// What is still true after a walk: a directory that was there and is not any more takes with it
    /// what lay in it, though that was there, too.
    pub fn after(mut self, rows: &[IndexRow], walked: &[WalkedEntry]) -> StatPass {
        if self.dirty_dirs.all_clean() {
            return self;
        }
        let directory = |seen: &&WalkedEntry| seen.kind == EntryKind::Kept(FileKind::Directory);
        let walked: HashSet<&[u8]> = walked
            .iter()
            .filter(directory)
            .map(|seen| seen.path.as_slice())
            .collect();
        let mut lost: HashSet<&[u8]> = HashSet::new();
        for (place, (path, indexed)) in rows.iter().enumerate() {
            let above = parent(path).unwrap_or_default();
            let is_directory = indexed.entry.is(FileKind::Directory);
            if lost.contains(above) {
                self.same[place] = false;
            }
            let there = self.same[place] || walked.contains(path.as_slice());
            if is_directory && (!there || lost.contains(above)) {
                lost.insert(path);
            }
        }
        self.seen
            .retain(|seen| !lost.contains(parent(&seen.path).unwrap_or_default()));
        self
    }

    /// `None` where one path says that everything may be different.
    fn file(
        &mut self,
        place: usize,
        path: &[u8],
        indexed: &IndexEntry,
        meta: Option<&FileMeta>,
        limits: &SnapshotLimits,
    ) -> Option<()> {
        let entry = &indexed.entry;
        let same = match (entry.kind, meta) {
            (EntryKind::Kept(kind), Some(meta)) => {
                let what = match meta.what {
                    FileType::RegularFile => Some(FileKind::File),
                    FileType::Symlink => Some(FileKind::Link),
                    _ => None,
                };
                what == Some(kind) && meta.size == entry.size && meta.stamp == indexed.stamp
            }
            (EntryKind::LeftOut(LeftOutReason::TooLarge), Some(meta)) => {
                meta.what == FileType::RegularFile && meta.size > limits.file_bytes
            }
            (EntryKind::LeftOut(LeftOutReason::Special), Some(meta)) => !matches!(
                meta.what,
                FileType::RegularFile | FileType::Symlink | FileType::Directory
            ),
            // Whether it still is so only a walk can tell, or one through everything.
            (EntryKind::LeftOut(LeftOutReason::TooMuch), _) => return None,
            (EntryKind::LeftOut(LeftOutReason::Unreadable | LeftOutReason::Mounted), _)
            | (_, None) => false,
        };
        if same {
            self.same[place] = true;
            self.bytes += entry.size;
            return Some(());
        }
        match meta.and_then(|meta| plain(path, meta)) {
            Some(seen) if entry.is(FileKind::File) => self.seen.push(seen),
            _ => self.again.push(parent(path).unwrap_or_default().to_vec()),
        }
        Some(())
    }
}

/// A file as a walk would have seen it.
fn plain(path: &[u8], meta: &FileMeta) -> Option<WalkedEntry> {
    (meta.what == FileType::RegularFile).then(|| WalkedEntry {
        path: path.to_vec(),
        kind: EntryKind::Kept(FileKind::File),
        mode: meta.mode & 0o777,
        size: meta.size,
        stamp: meta.stamp,
    })
}

/// What lies at every path now. `None`: the work was given up.
fn look_at(
    root: &WorkspaceRoot,
    rows: &[IndexRow],
    work: &WorkControl<'_>,
) -> Option<Vec<Option<FileMeta>>> {
    let cores = std::thread::available_parallelism().map_or(1, |count| count.get());
    let share = rows.len().div_ceil(cores.min(THREADS_MAX)).max(ALONE_BELOW);
    let one_share = |rows: &[IndexRow]| -> Vec<Option<FileMeta>> {
        let look = |(path, _): &IndexRow| root.meta(Path::new(&path_of(path)));
        rows.iter().map(look).collect()
    };
    let meta = std::thread::scope(|scope| {
        let one_share = &one_share;
        let mut shares = rows.chunks(share);
        let first = shares.next().unwrap_or_default();
        let others: Vec<_> = shares
            .map(|rows| scope.spawn(move || one_share(rows)))
            .collect();
        let mut meta = one_share(first);
        for thread in others {
            let panicked = |panic| std::panic::resume_unwind(panic);
            meta.extend(thread.join().unwrap_or_else(panicked));
        }
        meta
    });
    work.check().ok()?;
    Some(meta)
}
