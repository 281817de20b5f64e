//! Carries a restore out: away with what must go, then directories, then files and links, then the
//! directories' modes. Each file is there whole, the old one or the new one, at any moment.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use vocabulary::RestoreAction;

use super::{IGNORED, Intent};
use crate::blobs;
use crate::database::{IndexEntry, TreeEntry};
use crate::tree::path_of;
use crate::vault::Vault;
use crate::workspace_root::{DirEntryRef, FileMeta, ParentCache, WorkspaceRoot};
use crate::{Error, FileKind, Result, WorkControl, WorkProgress};

const CHANGED: &str = "it was changed meanwhile";
const NOT_EMPTY: &str = "it has files that are not kept";
const TOLD_EVERY: u64 = 64;
/// Fewer files are not worth a thread of their own.
const ALONE_BELOW: usize = 32;

/// Removes what a restore that died left lying.
pub fn sweep(root: &WorkspaceRoot, stale: BTreeSet<PathBuf>) {
    for path in stale {
        // It is no harm if one stays: it is not kept, and is found again.
        let _ = root
            .entry_ref(&path)
            .and_then(|entry_ref| entry_ref.unlink());
    }
}

pub fn apply(
    vault: &Vault,
    root: &WorkspaceRoot,
    work: &WorkControl<'_>,
    intents: &mut [Intent],
) -> Result<()> {
    let mut run = RestoreRun {
        root,
        work,
        opened: BTreeMap::new(),
        done: 0,
        total: intents.len() as u64,
    };
    // Deepest first, so that directories are empty when it is their turn.
    for intent in intents.iter_mut().rev().filter(|intent| must_go(intent)) {
        let outcome = run.remove(intent);
        run.settle(intent, outcome)?;
    }
    let directory = |intent: &Intent| intent.target.is_some_and(|t| t.is(FileKind::Directory));
    for intent in intents.iter_mut().filter(|intent| directory(intent)) {
        let outcome = run.make_directory(intent);
        run.settle(intent, outcome)?;
    }
    let files: Vec<&mut Intent> = intents
        .iter_mut()
        .filter(|intent| intent.target.is_some() && !directory(intent))
        .collect();
    for intent in &files {
        run.open_above(&path_of(&intent.path));
    }
    let outcomes = write_all(vault, root, work, &files)?;
    for (intent, outcome) in files.into_iter().zip(outcomes) {
        run.settle(intent, outcome)?;
    }
    for intent in intents.iter_mut().rev().filter(|intent| directory(intent)) {
        let outcome = run.set_directory_mode(intent);
        run.settle(intent, outcome)?;
    }
    Ok(())
}

/// Directories that were opened for writing are not left so, however it ends.
impl Drop for RestoreRun<'_> {
    fn drop(&mut self) {
        self.close();
    }
}

/// Whether what lies there has to go before anything else can be done: it goes for good, or a directory
/// is to take its place, or it is one itself.
fn must_go(intent: &Intent) -> bool {
    let was_directory = intent
        .current
        .as_ref()
        .map(|now| now.entry.is(FileKind::Directory));
    match (&intent.how, &intent.target) {
        (RestoreAction::Delete, _) => true,
        (RestoreAction::Replace, Some(target)) => {
            was_directory != Some(target.is(FileKind::Directory))
        }
        _ => false,
    }
}

struct RestoreRun<'a> {
    root: &'a WorkspaceRoot,
    work: &'a WorkControl<'a>,
    /// Directories that had to be opened for writing, and what they were.
    opened: BTreeMap<PathBuf, u32>,
    done: u64,
    total: u64,
}

/// Why a path was not done.
enum StepError {
    Skip(String),
    Io(io::Error),
    Fatal(Error),
}

impl From<io::Error> for StepError {
    fn from(error: io::Error) -> Self {
        StepError::Io(error)
    }
}

type StepResult = std::result::Result<(), StepError>;

impl RestoreRun<'_> {
    /// One path that cannot be done does not keep the others from it; a full disk does.
    fn settle(&mut self, intent: &mut Intent, outcome: StepResult) -> Result<()> {
        self.done += 1;
        if self.done.is_multiple_of(TOLD_EVERY) {
            self.work.check()?;
            (self.work.progress)(WorkProgress {
                done: self.done.min(self.total),
                total: Some(self.total),
                bytes: 0,
            });
        }
        match outcome {
            Ok(()) => {}
            Err(StepError::Skip(why)) => intent.how = RestoreAction::Skip { why },
            Err(StepError::Io(error)) => match Error::from(error) {
                Error::Full => return Err(Error::Full),
                error => {
                    intent.how = RestoreAction::Skip {
                        why: error.to_string(),
                    }
                }
            },
            Err(StepError::Fatal(error)) => return Err(error),
        }
        Ok(())
    }

    fn entry_ref(&mut self, path: &Path) -> io::Result<DirEntryRef> {
        self.open_above(path);
        self.root.entry_ref(path)
    }

    /// Lets us write in the directory of a path that its owner may not write in.
    fn open_above(&mut self, path: &Path) {
        let Some(parent) = path.parent().filter(|parent| *parent != Path::new("")) else {
            return;
        };
        if self.opened.contains_key(parent) {
            return;
        }
        let Ok(entry_ref) = self.root.entry_ref(parent) else {
            return;
        };
        if let Ok(Some(meta)) = entry_ref.meta()
            && meta.what.is_dir()
            && meta.mode & 0o700 != 0o700
            && entry_ref.set_mode(meta.mode | 0o700, true).is_ok()
        {
            self.opened.insert(parent.to_owned(), meta.mode);
        }
    }

    /// Gives directories back the modes that they had, where no other was wanted.
    fn close(&mut self) {
        for (path, mode) in std::mem::take(&mut self.opened).into_iter().rev() {
            // One that is gone by now needs none.
            let _ = self
                .root
                .entry_ref(&path)
                .and_then(|entry_ref| entry_ref.set_mode(mode, true));
        }
    }

    fn remove(&mut self, intent: &Intent) -> StepResult {
        let path = path_of(&intent.path);
        let entry_ref = match self.entry_ref(&path) {
            Err(error) if is_gone(&error) => return Ok(()),
            entry_ref => entry_ref?,
        };
        let Some(meta) = entry_ref.meta()? else {
            return Ok(());
        };
        let Some(now) = &intent.current else {
            return Ok(());
        };
        if !is_as_seen(&meta, now) {
            return Err(StepError::Skip(CHANGED.to_owned()));
        }
        let outcome = match now.entry.is(FileKind::Directory) {
            true => entry_ref.remove_directory(),
            false => entry_ref.unlink(),
        };
        match outcome {
            Err(error) if is_gone(&error) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                Err(StepError::Skip(NOT_EMPTY.to_owned()))
            }
            outcome => Ok(outcome?),
        }
    }

    fn make_directory(&mut self, intent: &Intent) -> StepResult {
        if matches!(intent.how, RestoreAction::Skip { .. }) {
            return Ok(());
        }
        let entry_ref = self.entry_ref(&path_of(&intent.path))?;
        match entry_ref.meta()? {
            Some(meta) if meta.what.is_dir() => Ok(()),
            Some(_) => Err(StepError::Skip(IGNORED.to_owned())),
            None => Ok(entry_ref.make_directory()?),
        }
    }

    fn set_directory_mode(&mut self, intent: &Intent) -> StepResult {
        let (Some(target), false) = (
            &intent.target,
            matches!(intent.how, RestoreAction::Skip { .. }),
        ) else {
            return Ok(());
        };
        let path = path_of(&intent.path);
        self.opened.remove(&path);
        Ok(self.root.entry_ref(&path)?.set_mode(target.mode, true)?)
    }
}

/// Writes files and links on all cores; each takes a run of neighbours.
fn write_all(
    vault: &Vault,
    root: &WorkspaceRoot,
    work: &WorkControl<'_>,
    files: &[&mut Intent],
) -> Result<Vec<StepResult>> {
    let cores = std::thread::available_parallelism().map_or(1, |count| count.get());
    let run = files.len().div_ceil(cores).max(ALONE_BELOW);
    let one_run = |files: &[&mut Intent]| {
        let mut writer = FileWriter {
            vault,
            root,
            parent_cache: ParentCache::default(),
        };
        let mut outcomes = Vec::with_capacity(files.len());
        for intent in files {
            work.check()?;
            outcomes.push(writer.write(intent));
        }
        Ok(outcomes)
    };
    let runs = std::thread::scope(|scope| {
        let one_run = &one_run;
        let threads: Vec<_> = files
            .chunks(run)
            .map(|files| scope.spawn(move || one_run(files)))
            .collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<Vec<StepResult>>>| {
            let panicked = |panic| std::panic::resume_unwind(panic);
            thread.join().unwrap_or_else(panicked)
        };
        threads.into_iter().map(join).collect::<Result<Vec<_>>>()
    })?;
    Ok(runs.into_iter().flatten().collect())
}

/// What each thread writes with.
struct FileWriter<'a> {
    vault: &'a Vault,
    root: &'a WorkspaceRoot,
    parent_cache: ParentCache,
}

impl FileWriter<'_> {
    fn write(&mut self, intent: &Intent) -> StepResult {
        let (Some(target), false) = (
            &intent.target,
            matches!(intent.how, RestoreAction::Skip { .. }),
        ) else {
            return Ok(());
        };
        let path = path_of(&intent.path);
        let entry_ref = self.root.entry_ref_near(&path, &mut self.parent_cache)?;
        let meta = entry_ref.meta()?;
        let over = match (&meta, &intent.current) {
            (None, _) => false,
            (Some(meta), Some(now)) if is_as_seen(meta, now) && !meta.what.is_dir() => true,
            (Some(_), Some(_)) => return Err(StepError::Skip(CHANGED.to_owned())),
            (Some(_), None) => return Err(StepError::Skip(IGNORED.to_owned())),
        };
        let same_content =
            |now: &IndexEntry| now.entry.is(FileKind::File) && now.entry.blob == target.blob;
        // Not where the file has another name: that one was not asked about.
        let alone = meta.is_some_and(|meta| meta.links == 1);
        let same_content = alone && intent.current.as_ref().is_some_and(same_content);
        if over && target.is(FileKind::File) && same_content {
            return Ok(entry_ref.set_mode(target.mode, false)?);
        }
        match target.is(FileKind::Link) {
            true => self.put_link(&entry_ref, target, over),
            false => self.put_file(&entry_ref, target, over),
        }
    }

    fn put_link(&self, entry_ref: &DirEntryRef, target: &TreeEntry, over: bool) -> StepResult {
        let content = self
            .vault
            .content_of(target.blob)
            .map_err(StepError::Fatal)?;
        let temporary = entry_ref.temporary_link(&content)?;
        let outcome = entry_ref.put(&temporary, over);
        if outcome.is_err() {
            entry_ref.drop_temporary(&temporary);
        }
        outcome.map_err(taken)
    }

    fn put_file(&self, entry_ref: &DirEntryRef, target: &TreeEntry, over: bool) -> StepResult {
        let row = blobs::row(&self.vault.db.lock(), target.blob).map_err(StepError::Fatal)?;
        let (temporary, file) = entry_ref.temporary()?;
        let outcome = (|| {
            let mut file = BufWriter::new(file);
            self.vault
                .blobs
                .copy(&row, &mut file)
                .map_err(|error| match error {
                    Error::Io(error) => StepError::Io(error),
                    error => StepError::Fatal(error),
                })?;
            file.flush()?;
            let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            let mode = rustix::fs::Mode::from_raw_mode(target.mode);
            rustix::fs::fchmod(&file, mode).map_err(io::Error::from)?;
            drop(file);
            entry_ref.put(&temporary, over).map_err(taken)
        })();
        if outcome.is_err() {
            entry_ref.drop_temporary(&temporary);
        }
        outcome
    }
}

/// Something came to lie there after the look.
fn taken(error: io::Error) -> StepError {
    match error.kind() {
        io::ErrorKind::AlreadyExists => StepError::Skip(CHANGED.to_owned()),
        _ => StepError::Io(error),
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Whether what lies there is what the last look saw. The time of its last change of any kind does not
/// count: it moves when another name of the same file is replaced.
fn is_as_seen(meta: &FileMeta, now: &IndexEntry) -> bool {
    let (entry, stamp) = (&now.entry, &now.stamp);
    let same = (meta.stamp.modified, meta.stamp.inode) == (stamp.modified, stamp.inode);
    let same_times = stamp.changed == 0 || same;
    match meta.what {
        FileType::Directory => entry.is(FileKind::Directory),
        FileType::Symlink => entry.is(FileKind::Link) && same_times,
        FileType::RegularFile => entry.is(FileKind::File) && meta.size == entry.size && same_times,
        _ => false,
    }
}
