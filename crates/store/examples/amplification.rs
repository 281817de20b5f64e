//! Measures how many bytes reach the disk for each byte of history: 150 turns, each with one
//! event of 30 KB and small ones around it, in five commits.
//!
//! `cargo run -p store --features testing --example amplification [page bytes]`

use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use store::sqlite::SqliteStore;
use store::testing::story::{a_batch, a_thread, a_turn, an_entry, ended};
use store::{Batch, Store, StoredEvent};
use vocabulary::{IndexedTurn, Seq, Thread, Timestamp, TurnOutcome};

const TURNS: u64 = 150;
const COMMITS_PER_TURN: u64 = 5;
const SMALL_BYTES: usize = 400;
const LARGE_BYTES: usize = 30_000;
const STATE_BYTES: usize = 1_000;
/// Which commit of a turn brings the large event: a tool's result.
const LARGE_COMMIT: u64 = 2;
const TURN_MILLIS: i64 = 60_000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Where there is a disk: a file in memory is not counted by the kernel.
    let home = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR"))?;
    let path = home.path().join("sessions.db");
    if let Some(page_bytes) = std::env::args().nth(1) {
        with_pages_of(&path, page_bytes.parse()?)?;
    }
    let before = written_bytes()?;
    let store = SqliteStore::open(&path, "measuring")?;
    let mut run = Run::start(&store).await?;
    let started = Instant::now();
    for turn in 0..TURNS {
        run.turn(turn).await?;
    }
    let took = started.elapsed();
    let (history, commits) = (run.history_bytes, TURNS * COMMITS_PER_TURN);
    drop(store);
    let written = written_bytes()? - before;
    let file = std::fs::metadata(&path)?.len();
    report(history, written, file, took, u32::try_from(commits)?);
    Ok(())
}

fn report(history: u64, written: u64, file: u64, took: Duration, commits: u32) {
    let per_byte = |bytes: u64| bytes as f64 / history as f64;
    println!("history            {history:>10} bytes");
    println!(
        "database file      {file:>10} bytes, {:.2} per byte",
        per_byte(file)
    );
    println!(
        "written to disk    {written:>10} bytes, {:.2} per byte",
        per_byte(written)
    );
    println!(
        "commits            {commits:>10}, {:?} each",
        took / commits
    );
}

struct Run<'a> {
    store: &'a SqliteStore,
    lease: store::Lease,
    thread: Thread,
    last: Seq,
    entries: u64,
    history_bytes: u64,
}

impl<'a> Run<'a> {
    async fn start(store: &'a SqliteStore) -> store::Result<Self> {
        let thread = a_thread(1);
        let lease = store.acquire(thread.card.id).await?;
        let first = Batch {
            thread: Some(thread.clone()),
            ..a_batch(&[1])
        };
        store.append(lease, Seq::ZERO, first).await?;
        Ok(Self {
            store,
            lease,
            thread,
            last: Seq(1),
            entries: 0,
            history_bytes: 0,
        })
    }

    /// The thread's row and the turn's change when a turn starts and when it ends; each commit is one
    /// entry.
    async fn turn(&mut self, turn: u64) -> store::Result<()> {
        for commit in 0..COMMITS_PER_TURN {
            let large = commit == LARGE_COMMIT;
            let payload = vec![b'x'; if large { LARGE_BYTES } else { SMALL_BYTES }];
            self.history_bytes += payload.len() as u64;
            let ends = commit == 0 || commit == COMMITS_PER_TURN - 1;
            self.thread.updated_at = self.thread.updated_at.plus_millis(TURN_MILLIS);
            let seq = Seq(self.last.0 + 10);
            let batch = Batch {
                thread: ends.then(|| self.thread.clone()),
                events: vec![StoredEvent {
                    seq,
                    at: Timestamp(0),
                    payload: payload.into(),
                }],
                entries: vec![an_entry(self.entries, turn * 2, seq.0)],
                turns: self.turn_rows(turn, commit, seq),
                state: state(seq),
                unfinished: commit + 1 < COMMITS_PER_TURN,
                high_water: Seq(seq.0 + 65_536),
                ..Batch::default()
            };
            self.store.append(self.lease, self.last, batch).await?;
            self.last = seq;
            self.entries += 1;
        }
        Ok(())
    }

    fn turn_rows(&self, turn: u64, commit: u64, seq: Seq) -> Vec<IndexedTurn> {
        let row = a_turn(turn + 1, turn * COMMITS_PER_TURN, seq.0 - 10 * commit);
        match commit {
            0 => vec![row],
            _ if commit == COMMITS_PER_TURN - 1 => {
                vec![ended(row, self.entries, seq.0, TurnOutcome::Completed)]
            }
            _ => Vec::new(),
        }
    }
}

/// Never the same bytes and seldom the same length, like the engine's: SQLite writes no page
/// that stays as it was.
fn state(seq: Seq) -> Bytes {
    let spare = usize::try_from(seq.0 % 7).unwrap_or_default();
    Bytes::from(format!("{:01$}", seq.0, STATE_BYTES + spare))
}

/// Makes the file beforehand as the store would, but for the size of its pages.
fn with_pages_of(path: &Path, page_bytes: u32) -> rusqlite::Result<()> {
    let connection = rusqlite::Connection::open(path)?;
    connection.pragma_update(None, "page_size", page_bytes)?;
    connection.pragma_update(None, "application_id", store::sqlite::APPLICATION_ID)
}

fn written_bytes() -> Result<u64, Box<dyn std::error::Error>> {
    let io = std::fs::read_to_string("/proc/self/io")?;
    let line = io
        .lines()
        .find_map(|line| line.strip_prefix("write_bytes: "));
    Ok(line.ok_or("the kernel does not count")?.parse()?)
}
