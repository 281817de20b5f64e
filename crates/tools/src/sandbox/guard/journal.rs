//! What was recorded, on disk for as long as a command runs.

use std::fs::{File, OpenOptions};
use std::io::{Result, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::told::GuardReport;
use super::{CallDirectory, TAKEN};
use crate::sandbox::placeholder::Placeholder;
use crate::sandbox::record::RecordedPath;
use crate::sandbox::temp;

const DIRECTORY: &str = "journal";
const ENDING: &str = "json";
/// A command of a server that was killed ends with it, but for this long may still write.
const LAST_BREATH: Duration = Duration::from_millis(500);

/// A file that is locked by the process that will put back what it says.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    locked: Mutex<File>,
}

impl Journal {
    pub fn write(own: &Path, items: &[RecordedPath]) -> Result<Journal> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let directory = own.join(DIRECTORY);
        temp::make_private(&directory)?;
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!("{}-{next}.{ENDING}", std::process::id()));
        let locked = Mutex::new(write_locked(&path, items)?);
        Ok(Journal { path, locked })
    }

    /// What other processes on the same data have recorded: a command of theirs may run in the same
    /// workspace.
    pub fn of_others(own: &Path) -> Vec<RecordedPath> {
        let ours = format!("{}-", std::process::id());
        let others = files(&own.join(DIRECTORY)).into_iter();
        let others = others.filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            !name.starts_with(&ours)
        });
        others.filter_map(|path| read(&path)).flatten().collect()
    }

    /// Says something else from now on; whenever we are killed, it says one or the other.
    pub fn rewrite(&self, items: &[RecordedPath]) -> Result<()> {
        let mut locked = self.locked.lock().unwrap_or_else(PoisonError::into_inner);
        *locked = write_locked(&self.path, items)?;
        Ok(())
    }

    pub fn remove(&self) {
        // If it stays, it says what is so already.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// It has its name only when it says all and is locked.
fn write_locked(path: &Path, items: &[RecordedPath]) -> Result<File> {
    let new = path.with_extension("new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(&new)?;
    file.lock()?;
    file.write_all(&serde_json::to_vec(items)?)?;
    std::fs::rename(&new, path)?;
    Ok(file)
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let is_whole = |path: &PathBuf| path.extension().is_some_and(|ending| ending == ENDING);
    paths.filter(is_whole).collect()
}

fn read(path: &Path) -> Option<Vec<RecordedPath>> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// Puts back what commands of servers changed that were killed, and removes what held places for them.
/// To be called when a server starts on its data; gives what there is to tell.
pub fn recover(home: &Path) -> Vec<String> {
    temp::sweep(home);
    let own = temp::of_home(home);
    let left = left(&own.join(DIRECTORY));
    if left.is_empty() {
        return Vec::new();
    }
    let mut told = GuardReport::default();
    let mut taken = CallDirectory::below(&own.join(TAKEN));
    put_back(&left, &mut taken, &mut told);
    std::thread::sleep(LAST_BREATH);
    let failed = put_back(&left, &mut taken, &mut told);
    if !failed {
        for (path, _, _) in &left {
            let _ = std::fs::remove_file(path);
        }
    }
    told.into_notes(taken.directory())
}

/// The journals of processes that are no more, with their locks.
fn left(directory: &Path) -> Vec<(PathBuf, File, Vec<RecordedPath>)> {
    let mut left = Vec::new();
    for path in files(directory) {
        let Ok(file) = File::open(&path) else {
            continue;
        };
        if file.try_lock().is_err() {
            continue;
        }
        match read(&path) {
            Some(items) => left.push((path, file, items)),
            None => {
                tracing::warn!(path = %path.display(), "a journal of protected paths is broken");
                let _ = std::fs::remove_file(&path);
            }
        }
    }
    left
}

/// Whether something could not be put back.
fn put_back(
    left: &[(PathBuf, File, Vec<RecordedPath>)],
    taken: &mut CallDirectory,
    told: &mut GuardReport,
) -> bool {
    let mut failed = false;
    for item in left.iter().flat_map(|(_, _, items)| items) {
        let parent = item.path.parent().unwrap_or(&item.path);
        if !item.was_there() {
            Placeholder::sweep(&item.path);
        }
        match item.put_back(taken) {
            Ok(changes) => told.put_back(parent, changes),
            // The workspace itself may be gone.
            Err(_) if !parent.exists() => {}
            Err(error) => {
                failed = true;
                told.failed(parent, &item.path, &error);
            }
        }
    }
    failed
}
