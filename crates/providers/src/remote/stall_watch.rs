//! How long a response may say nothing, and how long nothing that is an answer.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// When an answer has said that it ends, only its counts may still come.
const TAIL_TIME_MAX: Duration = Duration::from_secs(5);

/// Notices when nothing came for too long. Whatever comes is a sign of life, be it a comment or a
/// ping, but signs of life alone are no answer. One timer for the whole answer, moved only when it
/// fires, so that a chunk costs a look at the clock and no more.
pub(super) struct StallWatch {
    sleep: Pin<Box<Sleep>>,
    /// When anything came last, and how long nothing may come.
    last: Instant,
    pub limit: Duration,
    /// When something of the answer came last, and how long nothing of it may come.
    worded: Instant,
    pub wordless: Duration,
    in_tail: bool,
}

impl StallWatch {
    pub fn new(limit: Duration, wordless: Duration) -> Self {
        let now = Instant::now();
        Self {
            sleep: Box::pin(tokio::time::sleep(limit)),
            last: now,
            limit,
            worded: now,
            wordless,
            in_tail: false,
        }
    }

    /// Something came.
    pub fn heard(&mut self) {
        self.last = Instant::now();
    }

    /// Of what came last, something was of the answer.
    pub fn word(&mut self) {
        self.worded = self.last;
    }

    /// The answer has ended but for its counts.
    pub fn tail(&mut self) {
        if !std::mem::replace(&mut self.in_tail, true) {
            self.worded = self.last;
            self.wordless = TAIL_TIME_MAX;
        }
    }

    pub fn is_silent(&self) -> bool {
        self.last.elapsed() >= self.limit
    }

    fn due(&self) -> Instant {
        (self.last + self.limit).min(self.worded + self.wordless)
    }

    pub async fn expired(&mut self) {
        loop {
            let due = self.due();
            // A limit that became shorter brings the timer forward.
            if self.sleep.is_elapsed() || self.sleep.deadline() > due {
                if Instant::now() >= due {
                    return;
                }
                self.sleep.as_mut().reset(due);
            }
            self.sleep.as_mut().await;
        }
    }
}
