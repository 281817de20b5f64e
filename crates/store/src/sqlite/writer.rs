//! The one thread that writes, and its group commit.
//!
//! Whatever waits is done in one transaction and made durable by one flush; only then is anyone
//! answered. Each job has a savepoint of its own, so that one which fails undoes only itself.

use std::fs::File;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::leases::Owner;
use super::open::{BUSY_TIMEOUT, io_failed};
use crate::{Result, StoreError};

/// How many jobs may wait; more callers wait for a place.
const QUEUE_LENGTH: usize = 1024;
/// How long the log is waited for when it is to be emptied; appends wait meanwhile.
const EMPTY_LOG_WAIT: Duration = Duration::from_millis(100);
/// How many jobs share one commit at most.
const GROUP_LENGTH: usize = 256;

pub(super) struct Writer {
    /// `None` only while dropping.
    jobs: Option<mpsc::Sender<Box<dyn WriteJob>>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// `lock` is kept exactly as long as this thread can write.
    pub(super) fn start(connection: Connection, lock: File, owner: Arc<Owner>) -> Result<Writer> {
        let (jobs, waiting) = mpsc::channel(QUEUE_LENGTH);
        let work = move || {
            write(&connection, waiting, || owner.wake_others(&lock));
            drop(connection);
            drop(lock);
        };
        let thread = thread::Builder::new().name("store-writer".to_owned());
        Ok(Writer {
            jobs: Some(jobs),
            thread: Some(thread.spawn(work).map_err(io_failed)?),
        })
    }

    /// Does `work` in a transaction; what it returns is durable when this returns.
    pub(super) async fn run<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T> + Send + 'static,
    {
        self.queue(work, false).await
    }

    /// The same for what removes something for good: the log, which still has it, is emptied.
    pub(super) async fn erase<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T> + Send + 'static,
    {
        self.queue(work, true).await
    }

    async fn queue<T, F>(&self, work: F, erases: bool) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job = Box::new(QueuedWrite {
            work: Some(work),
            outcome: None,
            erases,
            reply,
        });
        let jobs = self.jobs.as_ref().ok_or_else(stopped)?;
        jobs.send(job).await.map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }
}

impl Writer {
    /// How many jobs wait.
    pub(super) fn waiting(&self) -> usize {
        let jobs = self.jobs.as_ref();
        jobs.map_or(0, |jobs| jobs.max_capacity() - jobs.capacity())
    }
}

impl Drop for Writer {
    /// Waits for the thread, so that the leases of a dropped store are free.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the store's writer had panicked");
        }
    }
}

fn stopped() -> StoreError {
    StoreError::Failed("the writer has stopped; restart the server".to_owned())
}

/// One caller's wish.
trait WriteJob: Send {
    /// Whether it did what it should; else what it wrote must be undone.
    fn run(&mut self, db: &Connection) -> bool;
    /// Whether nothing of what it removed may be left in the log.
    fn erases(&self) -> bool;
    fn answer(self: Box<Self>, committed: &Result<()>);
}

struct QueuedWrite<T, F> {
    work: Option<F>,
    outcome: Option<Result<T>>,
    erases: bool,
    reply: oneshot::Sender<Result<T>>,
}

impl<T, F> WriteJob for QueuedWrite<T, F>
where
    T: Send,
    F: FnOnce(&Connection) -> Result<T> + Send,
{
    fn run(&mut self, db: &Connection) -> bool {
        self.outcome = self.work.take().map(|work| work(db));
        matches!(self.outcome, Some(Ok(_)))
    }

    fn erases(&self) -> bool {
        self.erases
    }

    fn answer(self: Box<Self>, committed: &Result<()>) {
        let answer = match (self.outcome, committed) {
            (Some(Err(own)), _) => Err(own),
            (_, Err(shared)) => Err(shared.clone()),
            (Some(Ok(done)), Ok(())) => Ok(done),
            (None, Ok(())) => Err(stopped()),
        };
        // Whoever asked may have gone away meanwhile; what was written stays written.
        let _ = self.reply.send(answer);
    }
}

fn write(
    db: &Connection,
    mut waiting: mpsc::Receiver<Box<dyn WriteJob>>,
    committed_to_all: impl Fn(),
) {
    let mut to_erase = false;
    while let Some(first) = waiting.blocking_recv() {
        let mut group = vec![first];
        while group.len() < GROUP_LENGTH
            && let Ok(next) = waiting.try_recv()
        {
            group.push(next);
        }
        let committed = commit(db, &mut group);
        if let Err(error) = &committed {
            tracing::error!(%error, jobs = group.len(), "a group could not be committed");
        }
        to_erase |= group.iter().any(|job| job.erases());
        // Somebody may be reading from the log; then it is tried again after the next write.
        to_erase = to_erase && !empty_log(db);
        for job in group {
            job.answer(&committed);
        }
        committed_to_all();
    }
}

/// Moves everything from the log into the database and cuts the log to nothing; whether that was
/// possible now.
fn empty_log(db: &Connection) -> bool {
    let emptied = db.busy_timeout(EMPTY_LOG_WAIT).and_then(|()| {
        db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| {
            row.get::<_, i64>(0)
        })
    });
    if let Err(error) = db.busy_timeout(BUSY_TIMEOUT) {
        tracing::error!(%error, "the writer waits less for other processes from now on");
    }
    matches!(emptied, Ok(0))
}

fn commit(db: &Connection, group: &mut [Box<dyn WriteJob>]) -> Result<()> {
    execute(db, "BEGIN IMMEDIATE")?;
    let done = group
        .iter_mut()
        .try_for_each(|job| run_alone(db, job.as_mut()))
        .and_then(|()| execute(db, "COMMIT"));
    if done.is_err() && !db.is_autocommit() {
        execute(db, "ROLLBACK")?;
    }
    done
}

/// Fails only when the whole transaction is lost.
fn run_alone(db: &Connection, job: &mut dyn WriteJob) -> Result<()> {
    execute(db, "SAVEPOINT job")?;
    if !job.run(db) {
        if db.is_autocommit() {
            // A full disk or a broken one: SQLite has undone the whole group.
            return Err(StoreError::Failed(
                "another write failed and took this one with it; try again".to_owned(),
            ));
        }
        execute(db, "ROLLBACK TO job")?;
    }
    execute(db, "RELEASE job")
}

fn execute(db: &Connection, sql: &str) -> Result<()> {
    db.prepare_cached(sql)?.execute([])?;
    Ok(())
}
