//! The jobs of a thread: commands that live longer than the call that started them. They keep the fence
//! that they were started in, and end with the thread.

mod job;
mod network;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;
use vocabulary::{BackgroundTerminal, ToolCall};

use crate::bash::command::{self, RunningCommand};
use crate::{Sandbox, Scope};
pub use job::JobEnd;
pub(crate) use job::{BackgroundJob, JobFence, JobReach, JobStart};
pub(crate) use network::ThreadNetwork;
use network::ThreadNetworks;

/// Jobs of one thread, those that have ended and can still be looked at among them.
const JOBS_MAX: usize = 16;
/// A job that was forgotten must not hold the machine for ever.
const JOB_TIME_MAX: Duration = Duration::from_secs(24 * 3_600);
/// Why a job ended that a person stopped.
const BY_USER: &str = "stopped by the user";
const TOO_OLD: &str = "ended after 24 hours";
pub(crate) const FULL: &str =
    "16 jobs run already; end one that is not needed with the tool job, action stop";

/// The jobs of one thread. When this is dropped, they end at once.
#[derive(Default)]
pub struct Jobs {
    table: Arc<JobTable>,
    networks: ThreadNetworks,
}

#[derive(Default)]
struct JobTable {
    rows: Mutex<JobRows>,
    /// A job has ended.
    ended: Notify,
}

#[derive(Default)]
struct JobRows {
    last: u32,
    jobs: Vec<Arc<BackgroundJob>>,
    /// What people are still to be told.
    ends: VecDeque<JobEnd>,
}

impl JobTable {
    fn rows(&self) -> MutexGuard<'_, JobRows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, id: u32) -> Option<Arc<BackgroundJob>> {
        let rows = self.rows();
        rows.jobs.iter().find(|job| job.id == id).cloned()
    }
}

impl JobRows {
    fn running(&self) -> usize {
        self.jobs.iter().filter(|job| job.is_running()).count()
    }
}

impl Jobs {
    /// Whether a further job can be started; if not, why.
    pub(crate) fn has_room(&self) -> Result<(), String> {
        match self.table.rows().running() < JOBS_MAX {
            true => Ok(()),
            false => Err(format!("bash: nothing has run: {FULL}")),
        }
    }

    /// Takes a command over from the call that started it; gives it back where there is no room.
    pub(crate) fn adopt(
        &self,
        command: RunningCommand,
        start: JobStart,
    ) -> Result<Arc<BackgroundJob>, RunningCommand> {
        let mut rows = self.table.rows();
        if rows.running() >= JOBS_MAX {
            return Err(command);
        }
        // The oldest that has ended makes room.
        if rows.jobs.len() >= JOBS_MAX
            && let Some(at) = rows.jobs.iter().position(|job| !job.is_running())
        {
            rows.jobs.remove(at);
        }
        rows.last += 1;
        let id = rows.last;
        let watch = watch(id, Arc::downgrade(&self.table), command.progress());
        let watch = AbortOnDropHandle::new(tokio::spawn(watch));
        let job = Arc::new(BackgroundJob::new(id, command, start, watch));
        rows.jobs.push(Arc::clone(&job));
        Ok(job)
    }

    pub(crate) fn find(&self, id: u32) -> Option<Arc<BackgroundJob>> {
        self.table.find(id)
    }

    /// All that can be looked at, the oldest first.
    pub(crate) fn all(&self) -> Vec<Arc<BackgroundJob>> {
        self.table.rows().jobs.clone()
    }

    /// The network that commands have in common, where there can be one.
    pub(crate) async fn network(&self, sandbox: &Sandbox) -> ThreadNetwork {
        self.networks.of(sandbox).await
    }

    /// Lets go of what only running commands need. Call it where none is being started.
    pub fn shrink(&self) {
        if self.table.rows().running() == 0 {
            self.networks.let_go();
        }
    }

    /// Whether none runs and people were told of all that ended.
    pub fn at_rest(&self) -> bool {
        let rows = self.table.rows();
        rows.running() == 0 && rows.ends.is_empty()
    }

    /// The next that people are to be told: how a job ended.
    pub async fn next_end(&self) -> JobEnd {
        loop {
            let ended = self.table.ended.notified();
            if let Some(end) = self.table.rows().ends.pop_front() {
                return end;
            }
            ended.await;
        }
    }

    /// What the model has not been told yet: which jobs have ended.
    pub fn take_news(&self) -> Vec<String> {
        let jobs = self.all();
        let typed = jobs.iter().flat_map(|job| job.take_typed());
        let news = jobs.iter().filter_map(|job| job.take_news());
        typed.chain(news).collect()
    }

    /// Those that run, for people.
    pub fn terminals(&self) -> Vec<BackgroundTerminal> {
        let jobs = self.all();
        let running = jobs.iter().filter(|job| job.is_running());
        running.map(|job| job.as_terminal()).collect()
    }

    /// Ends one, or all that run, because a person wants it; gives how many that were.
    pub fn stop(&self, id: Option<u32>) -> usize {
        let jobs = self.all();
        let wanted = jobs.iter().filter(|job| id.is_none_or(|id| job.id == id));
        let running = wanted.filter(|job| job.is_running());
        running.map(|job| job.ask_to_end(BY_USER)).count()
    }

    /// A person types to one. Gives the call that started it.
    pub async fn type_to(&self, id: u32, text: &str) -> Result<Option<Arc<ToolCall>>, String> {
        let job = self.find(id).filter(|job| job.is_running());
        let job = job.ok_or_else(|| "it does not run".to_owned())?;
        job.type_to(text).await?;
        Ok(job.started_by().cloned())
    }

    /// Which jobs run, for a model that begins a turn.
    pub fn still_running(&self) -> Vec<String> {
        let jobs = self.all();
        let running = jobs.iter().filter(|job| job.is_running());
        running.map(|job| job.listed()).collect()
    }

    /// Ends all of them without waiting for it.
    pub fn end_soon(&self, why: &'static str) {
        for job in self.all() {
            job.ask_to_end(why);
        }
    }

    /// Ends all of them.
    pub async fn end(&self, why: &'static str) {
        self.end_soon(why);
        for job in self.all() {
            // How it ended is told like any other end.
            let _ = job.command.ended().await;
        }
    }
}

/// Sees a job to its end, so that people are told.
async fn watch(
    id: u32,
    table: Weak<JobTable>,
    progress: tokio::sync::watch::Receiver<command::CommandProgress>,
) {
    let end = command::ended(progress.clone());
    if tokio::time::timeout(JOB_TIME_MAX, end).await.is_err() {
        let job = table.upgrade().and_then(|table| table.find(id));
        if let Some(job) = job {
            job.ask_to_end(TOO_OLD);
        }
        // The job itself must not be held here: it goes with its thread.
        let _ = command::ended(progress).await;
    }
    let Some(table) = table.upgrade() else {
        return;
    };
    if let Some(job) = table.find(id) {
        table.rows().ends.push_back(job.end());
    }
    table.ended.notify_waiters();
}

/// Whether writing to a job needs a person's word, and why.
///
/// What a fenced job does with its input is held by its fence, as the command was that started it. One
/// that a person let out, or that may do more than a command of this thread may now, would do anything
/// that is typed to it: so they see each word.
pub(crate) fn why_writing_asks(scope: &Scope, fence: &JobFence) -> Option<&'static str> {
    match fence.reach {
        JobReach::Escalated => Some("this is typed to a job that was let out of the sandbox"),
        JobReach::NoSandbox => Some("this is typed to a job, and no sandbox holds it"),
        JobReach::Fenced if scope.read_only && !fence.scope.read_only => {
            Some("this is typed to a job that may change files, in a thread that may only read")
        }
        JobReach::Fenced => None,
    }
}

#[cfg(test)]
mod tests;
