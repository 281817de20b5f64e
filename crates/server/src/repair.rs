//! Saves what can be read of a damaged database into a new one.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use engine::limits::HIGH_WATER_AHEAD;
use store::sqlite::{self, SalvagedThread, SqliteStore};
use store::{Batch, SharedStore};
use vocabulary::{Seq, Timestamp};

use crate::database;

/// What was saved, and where the damaged file is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    pub threads: usize,
    pub events: u64,
    /// Events that were there and could not be read, with those behind them in their threads.
    pub events_lost: u64,
    /// Threads of which not even the beginning could be read.
    pub threads_lost: usize,
    pub kept_aside: PathBuf,
}

/// What SQLite has beside a database.
const SIDE_FILES: [&str; 2] = ["-wal", "-shm"];

/// Repairs the database of a data directory. Nobody may have it open.
pub async fn repair(home: &Path, now: Timestamp) -> anyhow::Result<Repaired> {
    let path = database::damaged_place(home)
        .with_context(|| format!("there is no database in {}", home.display()))?;
    let locked = sqlite::lock_out(home).context("cannot keep servers from starting meanwhile")?;
    let Some(_locked) = locked else {
        bail!(
            "a server has {} open; stop it first, then repair",
            path.display()
        );
    };
    let found = sqlite::salvage(&path)
        .with_context(|| format!("nothing of {} can be read", path.display()))?;
    if found.threads.is_empty() && found.rows.is_empty() {
        bail!(
            "nothing of {} can be read; it stays as it is",
            path.display()
        );
    }
    // In a directory of its own: a new database makes locks beside it.
    let name = path.file_name().unwrap_or_default();
    let workshop = home.join(format!("repair-{}", std::process::id()));
    std::fs::create_dir(&workshop).context("cannot make a directory for the new database")?;
    let built = build(&workshop.join(name), &found).await;
    let swapped = built.and_then(|(threads, events, events_lost, threads_lost)| {
        let kept_aside = swap(&path, &workshop.join(name), now)?;
        Ok(Repaired {
            threads,
            events,
            events_lost,
            threads_lost,
            kept_aside,
        })
    });
    std::fs::remove_dir_all(&workshop).context("cannot remove what the repair left")?;
    swapped
}

async fn build(path: &Path, found: &sqlite::Salvage) -> anyhow::Result<(usize, u64, u64, usize)> {
    let store: SharedStore = std::sync::Arc::new(SqliteStore::open(path, "dragoman doctor")?);
    let (mut threads, mut events, mut lost, mut threads_lost) = (0, 0, 0, 0);
    for each in &found.threads {
        lost += each.lost;
        match keep(&store, each).await {
            Ok(()) => {
                threads += 1;
                events += each.events.len() as u64;
            }
            Err(error) => {
                threads_lost += 1;
                lost += each.events.len() as u64;
                tracing::warn!("a thread is lost: {error:#}");
            }
        }
    }
    store.ready().await?;
    drop(store);
    sqlite::write_salvaged(path, found)?;
    Ok((threads, events, lost, threads_lost))
}

/// Writes one thread anew: all but its log follows from its log.
async fn keep(store: &SharedStore, thread: &SalvagedThread) -> anyhow::Result<()> {
    let folded = engine::fold(&thread.events)?;
    let lease = store.acquire(folded.state.thread.card.id).await?;
    let last = thread.events.last().map_or(Seq::ZERO, |event| event.seq);
    let batch = Batch {
        thread: Some(folded.state.thread.clone()),
        events: thread.events.clone(),
        entries: folded.entries,
        turns: folded.turns,
        state: serde_json::to_vec(&folded.state)?.into(),
        // Whoever wakes it ends a turn whose end is lost.
        unfinished: folded.state.turn.is_some(),
        // Clients may have seen numbers behind what was saved.
        high_water: Seq(last.0 + 2 * HIGH_WATER_AHEAD + thread.lost),
        ..Batch::default()
    };
    store.append(lease, Seq::ZERO, batch).await?;
    Ok(store.release(lease).await?)
}

/// Puts the new file in the place of the damaged one, which is kept under another name.
fn swap(path: &Path, new: &Path, now: Timestamp) -> anyhow::Result<PathBuf> {
    let date = now.iso().replace([':', '.'], "-");
    let aside = with_ending(path, &format!(".damaged-{date}"));
    for ending in SIDE_FILES {
        let (from, to) = (with_ending(path, ending), with_ending(&aside, ending));
        if from.exists() {
            std::fs::rename(&from, &to).context("cannot move the damaged database aside")?;
        }
    }
    std::fs::rename(path, &aside).context("cannot move the damaged database aside")?;
    std::fs::rename(new, path).context("cannot put the new database in its place")?;
    Ok(aside)
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
