//! Sessions that another program of the cowork family kept, taken in: from its database, or from the
//! snapshots that its older versions wrote.

mod snapshot;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use engine::SystemClock;
use engine::import::{ForeignThread, ImportOutcome, import, is_imported};
use serde_json::{Map, Value};
use store::SharedStore;
use store::sqlite::{self, DatabasePresence};
use vocabulary::{Caller, TenantId};

/// Where older versions kept a file for each session, in the data directory.
const SNAPSHOTS: &str = "sessions";
const DATABASE: &str = "sessions.db";
/// More files than anybody has, and longer ones.
const SNAPSHOTS_MAX: usize = 10_000;
const SNAPSHOT_BYTES_MAX: u64 = 256 << 20;

/// One session that was found, where it was found, or why it cannot be read.
pub struct FoundSession {
    pub name: String,
    pub found: Result<ForeignThread, String>,
}

/// What became of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionImport {
    Taken,
    /// Was taken before.
    Known,
    Failed(String),
}

/// All sessions at a place: a database, a data directory, or a directory of snapshots. Nothing is changed
/// there.
pub fn find(path: &Path) -> anyhow::Result<Vec<FoundSession>> {
    if path.is_file() {
        return match path.extension().is_some_and(|ending| ending == "json") {
            true => Ok(vec![read_snapshot(path)]),
            false => read_database(path),
        };
    }
    if !path.is_dir() {
        bail!("{} is neither a file nor a directory", path.display());
    }
    let (database, snapshots) = (path.join(DATABASE), path.join(SNAPSHOTS));
    let mut found = Vec::new();
    let is_foreign = matches!(sqlite::find(&database), Ok(DatabasePresence::Other(_)));
    if is_foreign {
        found.extend(read_database(&database)?);
    }
    if snapshots.is_dir() {
        found.extend(read_snapshots(&snapshots)?);
    } else if !is_foreign {
        found.extend(read_snapshots(path)?);
    }
    Ok(found)
}

fn read_database(path: &Path) -> anyhow::Result<Vec<FoundSession>> {
    if let Ok(DatabasePresence::Ours) = sqlite::find(path) {
        bail!("{} is a database of this program already", path.display());
    }
    let rows = sqlite::foreign_sessions(path)
        .with_context(|| format!("cannot read sessions from {}", path.display()))?;
    let found = rows.iter().map(|row| FoundSession {
        name: snapshot::name(row).unwrap_or_else(|| "a session without an id".to_owned()),
        found: snapshot::parse(row),
    });
    Ok(found.collect())
}

/// The files of a directory, in order.
fn snapshot_files(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let reading = directory.read_dir();
    let reading = reading.with_context(|| format!("cannot read {}", directory.display()))?;
    let files = reading.filter_map(|file| Some(file.ok()?.path()));
    let is_snapshot = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "json");
    let mut files: Vec<PathBuf> = files.filter(is_snapshot).take(SNAPSHOTS_MAX).collect();
    files.sort();
    Ok(files)
}

fn read_snapshots(directory: &Path) -> anyhow::Result<Vec<FoundSession>> {
    let files = snapshot_files(directory)?;
    Ok(files.iter().map(|file| read_snapshot(file)).collect())
}

fn read_snapshot(file: &Path) -> FoundSession {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    FoundSession {
        name: name.into_owned(),
        found: snapshot_of(file),
    }
}

fn snapshot_of(file: &Path) -> Result<ForeignThread, String> {
    let bytes = std::fs::metadata(file)
        .map_err(|error| error.to_string())?
        .len();
    if bytes > SNAPSHOT_BYTES_MAX {
        return Err(format!(
            "it has {bytes} bytes; {SNAPSHOT_BYTES_MAX} are the most"
        ));
    }
    let text = std::fs::read(file).map_err(|error| error.to_string())?;
    let mut fields: Map<String, Value> =
        serde_json::from_slice(&text).map_err(|error| format!("it is no JSON object: {error}"))?;
    if snapshot::name(&fields).is_none() {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        fields.insert("sessionId".to_owned(), Value::from(stem));
    }
    snapshot::parse(&fields)
}

/// The tenant of a lone user, who had the other program.
fn tenant() -> TenantId {
    Caller::local().tenant
}

/// Takes one in. With `dry_run` it is only said what would become of it.
pub async fn take_in(store: &SharedStore, session: &FoundSession, dry_run: bool) -> SessionImport {
    let foreign = match &session.found {
        Ok(foreign) => foreign,
        Err(problem) => return SessionImport::Failed(problem.clone()),
    };
    let tenant = tenant();
    let outcome = match dry_run {
        true => is_imported(store, &tenant, &foreign.id).await,
        false => {
            let taken = import(store, &tenant, &SystemClock, foreign).await;
            taken.map(|outcome| outcome == ImportOutcome::Known)
        }
    };
    match outcome {
        Ok(true) => SessionImport::Known,
        Ok(false) => SessionImport::Taken,
        Err(refusal) => SessionImport::Failed(refusal.message),
    }
}

/// Takes in the snapshots of the data directory that were not taken in before, and says so in the log. Each
/// is read on its own, so that little is in memory at once.
pub async fn at_start(store: SharedStore, home: PathBuf) {
    let directory = home.join(SNAPSHOTS);
    if !directory.is_dir() {
        return;
    }
    let files = match snapshot_files(&directory) {
        Ok(files) => files,
        Err(error) => {
            tracing::warn!("older sessions are not imported: {error:#}");
            return;
        }
    };
    let (mut taken, mut failed) = (0_usize, 0_usize);
    for file in files {
        let id = file.file_stem().unwrap_or_default().to_string_lossy();
        // Mostly its name, and then it need not be read.
        if is_imported(&store, &tenant(), &id).await.unwrap_or(false) {
            continue;
        }
        let reading = tokio::task::spawn_blocking(move || read_snapshot(&file)).await;
        let Ok(session) = reading else { return };
        match take_in(&store, &session, false).await {
            SessionImport::Taken => taken += 1,
            SessionImport::Known => {}
            SessionImport::Failed(problem) => {
                failed += 1;
                tracing::warn!(
                    "{}/{} is not imported: {problem}",
                    directory.display(),
                    session.name
                );
            }
        }
    }
    if taken + failed > 0 {
        let directory = directory.display();
        tracing::info!(taken, failed, "imported sessions from {directory}");
    }
}
