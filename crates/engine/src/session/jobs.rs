//! A session and the commands in its background: people are told of their ends, and they end with it.

use tokio::time::Instant;
use tools::PlacedCall;
use vocabulary::{Fact, NoteFact, Refusal, Status, ToolFact};

use super::Session;

/// Why a job ends that did not end by itself.
pub const WITH_THREAD: &str = "ended with the thread";
pub const WITH_CONVERSATION: &str = "ended with the conversation";
const WITH_SERVER: &str = "ended with the server";

impl Session {
    /// Tells people; the model learns of it at its next step.
    pub(super) fn job_ended(&mut self, end: tools::JobEnd) -> Result<(), Refusal> {
        self.resting.idle_since = Instant::now();
        if let Some((PlacedCall { tag, call }, outcome)) = end.call {
            self.record(Fact::tool(tag, call, ToolFact::JobEnded { outcome }))?;
        }
        let line = end.note;
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
