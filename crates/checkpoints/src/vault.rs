//! The vault: the history of one workspace's files, in a directory of its own.

use std::collections::BTreeSet;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use rusqlite::Connection;
use vocabulary::{FileIteration, Timestamp, Trigger};

use crate::blobs::{self, Blobs};
use crate::lock::{self, Lock};
use crate::pre_images::PreImages;
use crate::walk::ScanScope;
use crate::{
    EntryChange, Error, FileKind, KeptCheckpoint, LeftOut, Millis, Moment, Pruned, RestoreStep,
    Restored, Result, RetentionPolicy, ScanOutcome, ThreadHistory, ThreadOutline, VaultOptions,
    VaultSize, VerifyReport, WorkControl, copy, database, diff, prune, restore, scan, threads,
    tree, verify,
};

const DATABASE: &str = "vault.db";
/// Characters of the workspace's own name in that of its vault.
const NAME_CHARS_MAX: usize = 40;

/// The history of one workspace's files.
pub struct Vault {
    directory: PathBuf,
    pub(crate) options: VaultOptions,
    pub(crate) db: Mutex<Connection>,
    pub(crate) blobs: Blobs,
    /// What the last look leaves for the next.
    pub(crate) last_scan: Mutex<Option<scan::LastScan>>,
    /// What a restore that died left lying; the next one takes it away.
    pub(crate) stale: Mutex<BTreeSet<PathBuf>>,
}

/// Somebody changes files here as long as this lives; no restore meanwhile.
pub struct WorkGuard {
    _lock: Lock,
}

pub fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
}

impl Vault {
    /// Where the vault of a workspace lies under `root`.
    pub fn place(root: &Path, workspace: &Path) -> PathBuf {
        let workspace = canonical(workspace);
        let hash = blake3::hash(database::bytes_of(&workspace)).to_hex();
        let name = workspace.file_name().map(|name| name.to_string_lossy());
        let name: String = name
            .unwrap_or_default()
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
            .take(NAME_CHARS_MAX)
            .collect();
        root.join(format!("{name}-{}", &hash[..12]))
    }

    /// Opens the vault in `directory`, making it where there is none.
    pub fn open(directory: &Path, mut options: VaultOptions) -> Result<Vault> {
        let workspace = options.workspace.canonicalize().map_err(Error::Workspace)?;
        if !workspace.is_dir() {
            let kind = std::io::ErrorKind::NotADirectory;
            return Err(Error::Workspace(kind.into()));
        }
        if workspace.parent().is_none() {
            return Err(Error::NotAProject(workspace));
        }
        if std::env::home_dir().is_some_and(|home| canonical(&home) == workspace) {
            options.limits = options.limits.of_home();
        }
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(directory)?;
        let directory = directory.canonicalize()?;
        options.apart.push(directory.clone());
        options.apart = options.apart.iter().map(|path| canonical(path)).collect();
        let blobs = Blobs::open(&directory)?;
        // One at a time: who comes second finds it made, not half made.
        let (cancel, progress) = (AtomicBool::new(false), |_| {});
        let work = WorkControl {
            cancel: &cancel,
            progress: &progress,
        };
        let _opening = lock::alone(&directory.join("open.lock"), &work)?;
        let db = database::open(&directory.join(DATABASE), &workspace)?;
        options.workspace = workspace;
        Ok(Vault {
            directory,
            options,
            db: Mutex::new(db),
            blobs,
            last_scan: Mutex::default(),
            stale: Mutex::default(),
        })
    }

    /// The vaults under `root`, with the workspaces they are for.
    pub fn all(root: &Path) -> Result<Vec<(PathBuf, PathBuf)>> {
        let entries = match std::fs::read_dir(root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let mut found = Vec::new();
        for entry in entries {
            let directory = entry?.path();
            if let Some(workspace) = Vault::workspace_of(&directory)? {
                found.push((directory, workspace));
            }
        }
        found.sort();
        Ok(found)
    }

    /// The workspace that the vault in `directory` is for; none if there is no vault.
    pub fn workspace_of(directory: &Path) -> Result<Option<PathBuf>> {
        let workspace = database::workspace_of(&directory.join(DATABASE))?;
        Ok(workspace.map(|workspace| tree::path_of(&workspace)))
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    pub fn workspace(&self) -> &Path {
        &self.options.workspace
    }

    pub fn size(&self) -> Result<VaultSize> {
        let mut size = VaultSize::default();
        for directory in [&*self.directory]
            .into_iter()
            .chain(self.blobs.directories())
        {
            for entry in std::fs::read_dir(directory)? {
                // One that goes meanwhile takes nothing.
                if let Ok(metadata) = entry?.metadata()
                    && metadata.is_file()
                {
                    size.bytes += metadata.len();
                }
            }
        }
        let db = self.db.lock();
        size.files = db.query_row("SELECT count(*) FROM head WHERE kind < 2", [], |r| r.get(0))?;
        (size.threads, size.checkpoints) = threads::count(&db)?;
        Ok(size)
    }

    /// Looks at the whole workspace and keeps what changed. One at a time, over all processes;
    /// others wait.
    pub fn scan(&self, work: &WorkControl<'_>, before: Option<&PreImages>) -> Result<ScanOutcome> {
        let alone = self.alone(work)?;
        scan::scan(self, &alone, work, ScanScope::All, before)
    }

    /// As [`Vault::scan`], but looks at these paths (relative to the workspace) only.
    pub fn record(&self, work: &WorkControl<'_>, paths: &[PathBuf]) -> Result<ScanOutcome> {
        for path in paths {
            inside(path)?;
        }
        let alone = self.alone(work)?;
        // The first look is at everything, or there would be moments that lack most of it.
        let part = match database::last_moment(&self.db.lock())? {
            Some(_) => ScanScope::Paths(paths),
            None => ScanScope::All,
        };
        scan::scan(self, &alone, work, part, None)
    }

    /// Notes the original of a thread; the first one stays.
    pub fn begin(&self, thread: &str, original: Moment, at: Millis, partial: bool) -> Result<()> {
        threads::begin(&mut self.db.lock(), thread, original, at, partial)
    }

    /// Makes a moment a thread's next checkpoint. The thread must have begun.
    pub fn note(&self, thread: &str, moment: Moment, trigger: Trigger) -> Result<KeptCheckpoint> {
        let mut db = self.db.lock();
        // One that says that nothing changed is not waited for: should the power fail, nothing is lost
        // with it. A killed process loses nothing either way.
        if threads::last(&db, thread)? == Some(moment) {
            return database::hastily(&mut db, |db| threads::note(db, thread, moment, trigger));
        }
        threads::note(&mut db, thread, moment, trigger)
    }

    pub fn kept(&self, thread: &str) -> Result<Option<ThreadHistory>> {
        threads::kept(&self.db.lock(), thread)
    }

    /// The same without the checkpoints: what it costs does not grow with their number.
    pub fn outline(&self, thread: &str) -> Result<Option<ThreadOutline>> {
        threads::outline(&self.db.lock(), thread)
    }

    /// All threads that have something here.
    pub fn threads(&self) -> Result<Vec<String>> {
        threads::names(&self.db.lock())
    }

    pub fn delete(&self, thread: &str, number: u64) -> Result<()> {
        threads::delete(&self.db.lock(), thread, number)
    }

    /// Lets go of all that a thread has here.
    pub fn forget(&self, thread: &str) -> Result<()> {
        threads::forget(&mut self.db.lock(), thread)
    }

    /// How the files of two moments differ.
    pub fn changes(&self, from: Moment, to: Moment) -> Result<Vec<EntryChange>> {
        let differences = self.differences(from, to)?;
        Ok(differences
            .iter()
            .filter_map(tree::TreeDifference::change)
            .collect())
    }

    /// The same as unified diffs one after the other, at most about `max` bytes; what does not fit is
    /// counted.
    pub fn diff(&self, from: Moment, to: Moment, max: usize) -> Result<String> {
        diff::diff(self, from, to, max)
    }

    /// What is not in a snapshot of this moment.
    pub fn left_out(&self, moment: Moment) -> Result<Vec<LeftOut>> {
        tree::left_out(&self.db.lock(), moment)
    }

    /// The versions of a file that are still kept, oldest first.
    pub fn history(&self, path: &Path) -> Result<Vec<FileIteration>> {
        inside(path)?;
        let db = self.db.lock();
        let versions = tree::versions(&db, path)?;
        if versions.is_empty() {
            return Err(Error::UnknownPath(path.to_owned()));
        }
        versions
            .iter()
            .map(|indexed| iteration(&db, indexed))
            .collect()
    }

    /// The directories that were there at the last look, but for those of these names and what lies in
    /// them; so many at most, the upper ones first.
    pub fn directories(&self, but_for: &[&str], most: usize) -> Result<Vec<PathBuf>> {
        let db = self.db.lock();
        let kind = database::EntryKind::Kept(FileKind::Directory).code();
        let sql = "SELECT path FROM head WHERE kind = ?1 ORDER BY length(path)";
        let mut statement = db.prepare_cached(sql)?;
        let mut rows = statement.query([kind])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let path = tree::path_of(&row.get::<_, Vec<u8>>(0)?);
            let is_left_out = |part: Component<'_>| {
                let name = part.as_os_str();
                but_for.iter().any(|left_out| name == *left_out)
            };
            if !path.components().any(is_left_out) {
                found.push(path);
            }
            if found.len() >= most {
                break;
            }
        }
        Ok(found)
    }

    /// The content of a version.
    pub fn content(&self, path: &Path, number: u64) -> Result<(FileIteration, Vec<u8>)> {
        inside(path)?;
        let (found, blob) = {
            let db = self.db.lock();
            let mut versions = tree::versions(&db, path)?.into_iter();
            let indexed = versions.find(|indexed| indexed.iteration == number);
            let indexed = indexed.ok_or_else(|| Error::UnknownPath(path.to_owned()))?;
            (iteration(&db, &indexed)?, indexed.entry.blob)
        };
        Ok((found, self.content_of(blob)?))
    }

    /// What a restore would do, sorted by path. Looks at the workspace first.
    pub fn preview(
        &self,
        work: &WorkControl<'_>,
        to: Moment,
        path: Option<&Path>,
    ) -> Result<Vec<RestoreStep>> {
        if let Some(path) = path {
            inside(path)?;
        }
        let alone = self.alone(work)?;
        restore::preview(self, &alone, work, to, path)
    }

    /// Puts the files of a moment back, all or what lies at `path`. Takes an automatic checkpoint of
    /// the thread first. Refused while anybody holds a [`WorkGuard`] here.
    pub fn restore(
        &self,
        work: &WorkControl<'_>,
        thread: &str,
        to: Moment,
        path: Option<&Path>,
    ) -> Result<Restored> {
        if let Some(path) = path {
            inside(path)?;
        }
        let nobody_works = lock::alone_now(&self.directory.join("work.lock"))?;
        let _nobody_works = nobody_works.ok_or(Error::TurnRunning)?;
        let alone = self.alone(work)?;
        restore::restore(self, &alone, work, thread, to, path)
    }

    /// Writes the files of a moment into a directory that is not there yet, or empty. Nothing of the
    /// workspace is touched.
    pub fn copy(&self, work: &WorkControl<'_>, of: Moment, to: &Path) -> Result<()> {
        // What it reads is not pruned meanwhile.
        let _alone = self.alone(work)?;
        copy::copy(self, work, of, to)
    }

    /// Says that files will be changed here. Waits for a restore that is under way.
    pub fn working(&self, work: &WorkControl<'_>) -> Result<WorkGuard> {
        let lock = lock::shared(&self.directory.join("work.lock"), work)?;
        Ok(WorkGuard { _lock: lock })
    }

    /// Lets go of what the policy does not keep. What any checkpoint needs stays.
    pub fn prune(&self, work: &WorkControl<'_>, policy: &RetentionPolicy) -> Result<Pruned> {
        let alone = self.alone(work)?;
        prune::prune(self, &alone, work, policy)
    }

    /// Reads everything and compares it with what was stored.
    pub fn verify(&self, work: &WorkControl<'_>) -> Result<VerifyReport> {
        let alone = self.alone(work)?;
        verify::verify(self, &alone, work)
    }

    pub(crate) fn differences(
        &self,
        from: Moment,
        to: Moment,
    ) -> Result<Vec<tree::TreeDifference>> {
        let db = self.db.lock();
        // One state of the database for all that is asked of it, and one lock on it.
        let db = db.unchecked_transaction()?;
        tree::differences(&db, from, to)
    }

    /// One at a time changes what is kept, over all processes.
    fn alone(&self, work: &WorkControl<'_>) -> Result<Lock> {
        lock::alone(&self.directory.join("scan.lock"), work)
    }
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Only names that lead down: a path of the workspace.
fn inside(path: &Path) -> Result<()> {
    let down = |component| matches!(component, Component::Normal(_));
    if path.components().all(down) && path != Path::new("") {
        return Ok(());
    }
    Err(Error::BadPath(path.to_owned()))
}

fn iteration(db: &Connection, indexed: &database::IndexEntry) -> Result<FileIteration> {
    let row = blobs::row(db, indexed.entry.blob)?;
    let moment = database::moment(db, indexed.since)?;
    Ok(FileIteration {
        iteration: indexed.iteration,
        at: Timestamp(moment.map_or(0, |moment| moment.at)),
        size: indexed.entry.size,
        hash: blobs::hex(&row.location.hash),
    })
}
