//! Carries a restore out: away with what must go, then directories, then files and links, then the
//! directories' modes. Each file is there whole, the old one or the new one, at any moment.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::{IGNORED, Intent};
use crate::blobs;
use crate::database::{Entry, Lying};
use crate::ground::{Ground, Met, Nearby, Spot};
use crate::tree::path_of;
use crate::vault::Vault;
use crate::{Error, FileKind, RestoreAction, Result, WorkControl, WorkProgress};

const CHANGED: &str = "it was changed meanwhile";
const NOT_EMPTY: &str = "it has files that are not kept";
const TOLD_EVERY: u64 = 64;
/// Fewer files are not worth a thread of their own.
const ALONE_BELOW: usize = 32;

/// Removes what a restore that died left lying.
pub fn sweep(ground: &Ground, stale: BTreeSet<PathBuf>) {
    for path in stale {
        // It is no harm if one stays: it is not kept, and is found again.
        let _ = ground.spot(&path).and_then(|spot| spot.unlink());
    }
}

pub fn carry_out(
    vault: &Vault,
    ground: &Ground,
    work: &WorkControl<'_>,
    intents: &mut [Intent],
) -> Result<()> {
    let mut doing = Doing {
        ground,
        work,
        opened: BTreeMap::new(),
        done: 0,
        total: intents.len() as u64,
    };
    // Deepest first, so that directories are empty when it is their turn.
    for intent in intents.iter_mut().rev().filter(|intent| must_go(intent)) {
        let outcome = doing.remove(intent);
        doing.settle(intent, outcome)?;
    }
    let directory = |intent: &Intent| intent.target.is_some_and(|t| t.is(FileKind::Directory));
    for intent in intents.iter_mut().filter(|intent| directory(intent)) {
        let outcome = doing.make_directory(intent);
        doing.settle(intent, outcome)?;
    }
    let files: Vec<&mut Intent> = intents
        .iter_mut()
        .filter(|intent| intent.target.is_some() && !directory(intent))
        .collect();
    for intent in &files {
        doing.open_above(&path_of(&intent.path));
    }
    let outcomes = write_all(vault, ground, work, &files)?;
    for (intent, outcome) in files.into_iter().zip(outcomes) {
        doing.settle(intent, outcome)?;
    }
    for intent in intents.iter_mut().rev().filter(|intent| directory(intent)) {
        let outcome = doing.set_directory_mode(intent);
        doing.settle(intent, outcome)?;
    }
    Ok(())
}

/// Directories that were opened for writing are not left so, however it ends.
impl Drop for Doing<'_> {
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

struct Doing<'a> {
    ground: &'a Ground,
    work: &'a WorkControl<'a>,
    /// Directories that had to be opened for writing, and what they were.
    opened: BTreeMap<PathBuf, u32>,
    done: u64,
    total: u64,
}

/// Why a path was not done.
enum Trouble {
    Skip(String),
    Io(io::Error),
    Fatal(Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Trouble::Io(error)
    }
}

type Done = std::result::Result<(), Trouble>;

impl Doing<'_> {
    /// One path that cannot be done does not keep the others from it; a full disk does.
    fn settle(&mut self, intent: &mut Intent, outcome: Done) -> Result<()> {
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
            Err(Trouble::Skip(why)) => intent.how = RestoreAction::Skip(why),
            Err(Trouble::Io(error)) => match Error::from(error) {
                Error::Full => return Err(Error::Full),
                error => intent.how = RestoreAction::Skip(error.to_string()),
            },
            Err(Trouble::Fatal(error)) => return Err(error),
        }
        Ok(())
    }

    fn spot(&mut self, path: &Path) -> io::Result<Spot> {
        self.open_above(path);
        self.ground.spot(path)
    }

    /// Lets us write in the directory of a path that its owner may not write in.
    fn open_above(&mut self, path: &Path) {
        let Some(parent) = path.parent().filter(|parent| *parent != Path::new("")) else {
            return;
        };
        if self.opened.contains_key(parent) {
            return;
        }
        let Ok(spot) = self.ground.spot(parent) else {
            return;
        };
        if let Ok(Some(met)) = spot.met()
            && met.what.is_dir()
            && met.mode & 0o700 != 0o700
            && spot.set_mode(met.mode | 0o700, true).is_ok()
        {
            self.opened.insert(parent.to_owned(), met.mode);
        }
    }

    /// Gives directories back the modes that they had, where no other was wanted.
    fn close(&mut self) {
        for (path, mode) in std::mem::take(&mut self.opened).into_iter().rev() {
            // One that is gone by now needs none.
            let _ = self
                .ground
                .spot(&path)
                .and_then(|spot| spot.set_mode(mode, true));
        }
    }

    fn remove(&mut self, intent: &Intent) -> Done {
        let path = path_of(&intent.path);
        let spot = match self.spot(&path) {
            Err(error) if is_gone(&error) => return Ok(()),
            spot => spot?,
        };
        let Some(met) = spot.met()? else {
            return Ok(());
        };
        let Some(now) = &intent.current else {
            return Ok(());
        };
        if !is_as_seen(&met, now) {
            return Err(Trouble::Skip(CHANGED.to_owned()));
        }
        let outcome = match now.entry.is(FileKind::Directory) {
            true => spot.remove_directory(),
            false => spot.unlink(),
        };
        match outcome {
            Err(error) if is_gone(&error) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                Err(Trouble::Skip(NOT_EMPTY.to_owned()))
            }
            outcome => Ok(outcome?),
        }
    }

    fn make_directory(&mut self, intent: &Intent) -> Done {
        if matches!(intent.how, RestoreAction::Skip(_)) {
            return Ok(());
        }
        let spot = self.spot(&path_of(&intent.path))?;
        match spot.met()? {
            Some(met) if met.what.is_dir() => Ok(()),
            Some(_) => Err(Trouble::Skip(IGNORED.to_owned())),
            None => Ok(spot.make_directory()?),
        }
    }

    fn set_directory_mode(&mut self, intent: &Intent) -> Done {
        let (Some(target), false) = (&intent.target, matches!(intent.how, RestoreAction::Skip(_)))
        else {
            return Ok(());
        };
        let path = path_of(&intent.path);
        self.opened.remove(&path);
        Ok(self.ground.spot(&path)?.set_mode(target.mode, true)?)
    }
}

/// Writes files and links on all cores; each takes a run of neighbours.
fn write_all(
    vault: &Vault,
    ground: &Ground,
    work: &WorkControl<'_>,
    files: &[&mut Intent],
) -> Result<Vec<Done>> {
    let cores = std::thread::available_parallelism().map_or(1, |count| count.get());
    let run = files.len().div_ceil(cores).max(ALONE_BELOW);
    let one_run = |files: &[&mut Intent]| {
        let mut hand = Hand {
            vault,
            ground,
            nearby: Nearby::default(),
        };
        let mut outcomes = Vec::with_capacity(files.len());
        for intent in files {
            work.check()?;
            outcomes.push(hand.write(intent));
        }
        Ok(outcomes)
    };
    let runs = std::thread::scope(|scope| {
        let one_run = &one_run;
        let threads: Vec<_> = files
            .chunks(run)
            .map(|files| scope.spawn(move || one_run(files)))
            .collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<Vec<Done>>>| {
            let panicked = |panic| std::panic::resume_unwind(panic);
            thread.join().unwrap_or_else(panicked)
        };
        threads.into_iter().map(join).collect::<Result<Vec<_>>>()
    })?;
    Ok(runs.into_iter().flatten().collect())
}

/// What each thread writes with.
struct Hand<'a> {
    vault: &'a Vault,
    ground: &'a Ground,
    nearby: Nearby,
}

impl Hand<'_> {
    fn write(&mut self, intent: &Intent) -> Done {
        let (Some(target), false) = (&intent.target, matches!(intent.how, RestoreAction::Skip(_)))
        else {
            return Ok(());
        };
        let path = path_of(&intent.path);
        let spot = self.ground.spot_near(&path, &mut self.nearby)?;
        let met = spot.met()?;
        let over = match (&met, &intent.current) {
            (None, _) => false,
            (Some(met), Some(now)) if is_as_seen(met, now) && !met.what.is_dir() => true,
            (Some(_), Some(_)) => return Err(Trouble::Skip(CHANGED.to_owned())),
            (Some(_), None) => return Err(Trouble::Skip(IGNORED.to_owned())),
        };
        let same_content =
            |now: &Lying| now.entry.is(FileKind::File) && now.entry.blob == target.blob;
        // Not where the file has another name: that one was not asked about.
        let alone = met.is_some_and(|met| met.links == 1);
        let same_content = alone && intent.current.as_ref().is_some_and(same_content);
        if over && target.is(FileKind::File) && same_content {
            return Ok(spot.set_mode(target.mode, false)?);
        }
        match target.is(FileKind::Link) {
            true => self.put_link(&spot, target, over),
            false => self.put_file(&spot, target, over),
        }
    }

    fn put_link(&self, spot: &Spot, target: &Entry, over: bool) -> Done {
        let content = self.vault.content_of(target.blob).map_err(Trouble::Fatal)?;
        let temporary = spot.temporary_link(&content)?;
        let outcome = spot.put(&temporary, over);
        if outcome.is_err() {
            spot.drop_temporary(&temporary);
        }
        outcome.map_err(taken)
    }

    fn put_file(&self, spot: &Spot, target: &Entry, over: bool) -> Done {
        let row = blobs::row(&self.vault.db.lock(), target.blob).map_err(Trouble::Fatal)?;
        let (temporary, file) = spot.temporary()?;
        let outcome = (|| {
            let mut file = BufWriter::new(file);
            self.vault
                .blobs
                .copy(&row, &mut file)
                .map_err(|error| match error {
                    Error::Io(error) => Trouble::Io(error),
                    error => Trouble::Fatal(error),
                })?;
            file.flush()?;
            let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            let mode = rustix::fs::Mode::from_raw_mode(target.mode);
            rustix::fs::fchmod(&file, mode).map_err(io::Error::from)?;
            drop(file);
            spot.put(&temporary, over).map_err(taken)
        })();
        if outcome.is_err() {
            spot.drop_temporary(&temporary);
        }
        outcome
    }
}

/// Something came to lie there after the look.
fn taken(error: io::Error) -> Trouble {
    match error.kind() {
        io::ErrorKind::AlreadyExists => Trouble::Skip(CHANGED.to_owned()),
        _ => Trouble::Io(error),
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
fn is_as_seen(met: &Met, now: &Lying) -> bool {
    let (entry, stamp) = (&now.entry, &now.stamp);
    let same = (met.stamp.modified, met.stamp.inode) == (stamp.modified, stamp.inode);
    let same_times = stamp.changed == 0 || same;
    match met.what {
        FileType::Directory => entry.is(FileKind::Directory),
        FileType::Symlink => entry.is(FileKind::Link) && same_times,
        FileType::RegularFile => entry.is(FileKind::File) && met.size == entry.size && same_times,
        _ => false,
    }
}
