//! What a connection does at a time: wakes its dialect, pings a client that is silent, reads on after a pause.

use std::time::Duration;

use tokio::time::Instant;
use tungstenite::Message;
use vocabulary::Timestamp;

use super::ending::End;
use super::{Connection, Flow, now};
use crate::limits::PING_EVERY;

impl Connection {
    /// When something is to be done, whatever comes.
    pub(super) fn due(&self, now: Instant, pause: Duration, may_hear: bool) -> Instant {
        let mut due = now + PING_EVERY;
        if let Some(at) = self.wake_at {
            due = due.min(at);
        }
        if !pause.is_zero() {
            due = due.min(now + pause);
        }
        if may_hear {
            due = due.min(self.ping_at());
        }
        due
    }

    fn ping_at(&self) -> Instant {
        self.heard_at + PING_EVERY * if self.pinged { 3 } else { 1 }
    }

    /// Does what has its time now; a pause that is over needs nothing.
    pub(super) async fn alarmed(&mut self, may_hear: bool) -> Flow {
        let now = Instant::now();
        if self.wake_at.is_some_and(|at| now >= at) {
            self.woke().await?;
        }
        // Who is not read cannot be blamed for silence.
        if may_hear && now >= self.ping_at() {
            self.ping().await?;
        }
        Ok(())
    }

    async fn woke(&mut self) -> Flow {
        self.wake_at = None;
        self.with_dialect(|dialect, cx, out| dialect.woke(cx, out))
            .await
    }

    async fn ping(&mut self) -> Flow {
        if self.pinged {
            return Err(End::Gone);
        }
        self.pinged = true;
        self.feed(Message::Ping(Default::default())).await
    }
}

pub(super) fn until(at: Timestamp) -> Duration {
    Duration::from_millis((at.0 - now().0).max(0).unsigned_abs())
}
