//! Keeps strangers from filling the log.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::limits::LOG_EVERY;

/// Lets a line of one kind through now and then, and counts the others.
#[derive(Default)]
pub struct LogLimiter(Mutex<LimiterState>);

#[derive(Default)]
struct LimiterState {
    last: Option<Instant>,
    left_out: u64,
}

/// A line may be written.
#[derive(Debug, PartialEq, Eq)]
pub struct LogPermit {
    /// How many were not, since the last one; none is worth no word.
    pub left_out: Option<u64>,
}

impl LogLimiter {
    pub fn due(&self, now: Instant) -> Option<LogPermit> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = |last: Instant| now.saturating_duration_since(last) < LOG_EVERY;
        if state.last.is_some_and(recent) {
            state.left_out += 1;
            return None;
        }
        state.last = Some(now);
        let left_out = std::mem::take(&mut state.left_out);
        Some(LogPermit {
            left_out: (left_out > 0).then_some(left_out),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_one_line_and_the_next_counts_what_was_left_out() {
        let (limiter, start) = (LogLimiter::default(), Instant::now());
        assert_eq!(limiter.due(start), Some(LogPermit { left_out: None }));
        for _ in 0..1_000 {
            assert_eq!(limiter.due(start), None);
        }
        let next = limiter.due(start + LOG_EVERY);
        let left_out = Some(1_000);
        assert_eq!(next, Some(LogPermit { left_out }));
    }
}
