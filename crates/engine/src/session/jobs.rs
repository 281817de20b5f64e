//! A session and the commands in its background: people are told of their ends, and they end with it.

use tokio::time::Instant;
use vocabulary::{Fact, NoteFact, Refusal, Status};

use super::Session;

/// Why a job ends that did not end by itself.
pub const WITH_THREAD: &str = "ended with the thread";
pub const WITH_CONVERSATION: &str = "ended with the conversation";
const WITH_SERVER: &str = "ended with the server";

impl Session {
    /// Tells people; the model learns of it at its next step.
    pub(super) fn job_ended(&mut self, line: String) -> Result<(), Refusal> {
        self.resting.idle_since = Instant::now();
        self.record(Fact::Note(NoteFact::Logged { line }))?;
        Ok(())
    }

    /// When the server stops, jobs are there for the running turn as long as that has.
    pub(super) fn end_jobs_of_stopping(&self) {
        let Some(stopping) = &self.resting.stopping else {
            return;
        };
        let is_over = self.turn.is_none() || self.state.thread.status == Status::Waiting;
        if is_over || Instant::now() >= stopping.deadline {
            self.supplies.jobs.end_soon(WITH_SERVER);
        }
    }
}
