//! The gate of one provider: while it has asked one request to wait, the others wait with it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

#[derive(Debug, Default)]
pub(crate) struct Gate {
    closed_until: Mutex<Option<Instant>>,
}

impl Gate {
    /// Lets nobody through for so long; never shortens a longer wait.
    pub(crate) fn close(&self, wait: Duration) {
        let until = Instant::now() + wait;
        let mut closed = self.lock();
        *closed = Some(closed.map_or(until, |before| before.max(until)));
    }

    /// How long it stays closed.
    pub(crate) fn remaining(&self) -> Option<Duration> {
        let mut closed = self.lock();
        let left = (*closed)?.saturating_duration_since(Instant::now());
        if left.is_zero() {
            *closed = None;
            return None;
        }
        Some(left)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        // What a panic left behind is a time like any other.
        self.closed_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_longest_wait_counts_and_then_it_is_open() {
        let gate = Gate::default();
        assert_eq!(gate.remaining(), None);
        gate.close(Duration::from_secs(5));
        gate.close(Duration::from_secs(2));
        assert_eq!(gate.remaining(), Some(Duration::from_secs(5)));
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(gate.remaining(), None);
    }
}
