//! How fast one connection is read.

use std::time::{Duration, Instant};

use crate::limits::{MESSAGES_BURST, MESSAGES_PER_SECOND};

const EACH: Duration = Duration::from_nanos(1_000_000_000 / MESSAGES_PER_SECOND as u64);

/// A token bucket, kept as the moment at which it will be full again.
pub struct Pace {
    full_at: Instant,
}

impl Pace {
    pub fn new(now: Instant) -> Self {
        Self { full_at: now }
    }

    /// One message was read.
    pub fn spend(&mut self, now: Instant) {
        self.full_at = self.full_at.max(now) + EACH;
    }

    /// How long to wait before the next one is read.
    pub fn wait(&self, now: Instant) -> Duration {
        let empty = EACH * (MESSAGES_BURST - 1);
        let missing = self.full_at.saturating_duration_since(now);
        missing.saturating_sub(empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_free_and_a_flood_is_slowed_to_the_rate() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        for _ in 0..MESSAGES_BURST {
            assert_eq!(pace.wait(start), Duration::ZERO);
            pace.spend(start);
        }
        assert_eq!(pace.wait(start), EACH);
        assert_eq!(pace.wait(start + EACH), Duration::ZERO);
        // Who was quiet for long has a whole burst again, and not more.
        let later = start + Duration::from_secs(3_600);
        for _ in 0..MESSAGES_BURST {
            assert_eq!(pace.wait(later), Duration::ZERO);
            pace.spend(later);
        }
        assert!(pace.wait(later) > Duration::ZERO);
    }
}
