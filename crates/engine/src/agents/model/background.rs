//! What the model is told of what happens beside it: its commands in the background, its servers.

use super::Talk;
use crate::turn::{SessionGone, servers};

impl Talk<'_> {
    /// Tells of tools that came since the last step.
    pub(super) async fn tell_of_servers(&mut self) -> Result<(), SessionGone> {
        if self.step == 0 {
            return Ok(());
        }
        match servers::news(self.turn).await? {
            Some(text) => self.inform(text).await,
            None => Ok(()),
        }
    }

    /// Tells of the jobs that have ended and, when a turn begins, of those that run.
    pub(super) async fn tell_of_jobs(&mut self) -> Result<(), SessionGone> {
        let jobs = &self.turn.jobs;
        let mut lines = jobs.take_news();
        if self.step == 0 {
            lines.extend(jobs.still_running());
        }
        match lines.is_empty() {
            true => Ok(()),
            false => {
                self.inform(format!("[in the background]\n{}", lines.join("\n")))
                    .await
            }
        }
    }
}
