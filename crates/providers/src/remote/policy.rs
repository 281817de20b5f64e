//! How patient a request is: attempts, waits and limits, in one place so that tests can shrink them.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// The most of an error's body that is read.
pub(crate) const ERROR_BODY_BYTES_MAX: usize = 64 * 1024;
/// The most of what `Remote::get` reads; the longest list of models known is about a megabyte.
pub(crate) const GET_BODY_BYTES_MAX: usize = 8 * 1024 * 1024;

#[derive(Clone, Copy, Debug)]
pub struct RetryPolicy {
    /// How often a request is made at most.
    pub attempts_max: u32,
    /// The wait after the first failure; it doubles with each one.
    pub backoff: Duration,
    pub backoff_max: Duration,
    /// How long all attempts and waits may take together, up to the first part of the answer.
    pub total_max: Duration,
    /// A provider that asks for a longer wait than this is not waited for.
    pub retry_after_max: Duration,
    /// How long nothing at all may come before the answer begins. Long, because a model may think
    /// first.
    pub first_byte: Duration,
    /// How long nothing at all may come once it has begun. Not much shorter: some services say
    /// nothing while their model thinks between two blocks.
    pub idle: Duration,
    /// How long only signs of life may come, and nothing of the answer.
    pub wordless: Duration,
    /// The largest server-sent event. The last one of a Responses stream repeats the whole answer.
    pub event_bytes_max: usize,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts_max: 10,
            backoff: Duration::from_millis(500),
            backoff_max: Duration::from_secs(30),
            total_max: Duration::from_secs(600),
            retry_after_max: Duration::from_secs(300),
            first_byte: Duration::from_secs(300),
            idle: Duration::from_secs(240),
            wordless: Duration::from_secs(30 * 60),
            event_bytes_max: 16 * 1024 * 1024,
        }
    }
}

/// What a person decided of it; the rest is as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestLimits {
    pub attempts: Option<u32>,
    /// The longest wait that a service may ask for.
    pub wait: Option<Duration>,
    /// See `RetryPolicy::first_byte`.
    pub first_byte: Option<Duration>,
    /// See `RetryPolicy::idle`.
    pub idle: Option<Duration>,
}

/// The most that can be asked for; the engine's own patience lasts longer.
pub const ATTEMPTS_LIMIT: u32 = 30;
pub const WAIT_LIMIT: Duration = Duration::from_secs(24 * 3600);
pub const SILENCE_LIMIT: Duration = Duration::from_secs(3600);

/// A machine of one's own may read a long conversation for minutes before it says a word.
const LOCAL_FIRST_BYTE: Duration = Duration::from_secs(30 * 60);

impl RequestLimits {
    /// `local`: a server of the person's own, which takes no key.
    pub fn policy(&self, local: bool) -> RetryPolicy {
        let usual = RetryPolicy::default();
        let first_byte = if local {
            LOCAL_FIRST_BYTE
        } else {
            usual.first_byte
        };
        let first_byte = self.first_byte.unwrap_or(first_byte).min(SILENCE_LIMIT);
        let wait = self.wait.unwrap_or(usual.retry_after_max).min(WAIT_LIMIT);
        RetryPolicy {
            attempts_max: self
                .attempts
                .unwrap_or(usual.attempts_max)
                .clamp(1, ATTEMPTS_LIMIT),
            retry_after_max: wait,
            // Who lets a service ask for longer waits means to wait for it.
            total_max: usual.total_max.max(wait * 2),
            first_byte,
            idle: self.idle.unwrap_or(usual.idle).min(SILENCE_LIMIT),
            wordless: usual.wordless.max(first_byte),
            ..usual
        }
    }
}

/// The longest time by which those who wait for the same moment are spread.
const SPREAD_MAX: Duration = Duration::from_secs(2);

impl RetryPolicy {
    /// How long to wait after so many failures, from 1: more than half of the back-off and at most
    /// all of it, so that no wait is shorter than the one before.
    pub(crate) fn backoff(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(16);
        let full = self
            .backoff
            .saturating_mul(1 << doublings)
            .min(self.backoff_max);
        full.mul_f64(0.6 + 0.4 * chance())
    }

    /// How long to wait when the provider said how long: that long and a little more, different for
    /// everyone who waits, so that they do not come back all at once.
    pub(crate) fn after(&self, asked: Duration) -> Duration {
        let spread = (asked / 4).max(self.backoff).min(SPREAD_MAX);
        asked + spread.mul_f64(chance())
    }
}

/// A number from 0 up to 1.
fn chance() -> f64 {
    (random() >> 11) as f64 / (1u64 << 53) as f64
}

/// The keys of a hasher are random: enough to spread requests and to tell them apart.
pub(crate) fn random() -> u64 {
    RandomState::new().hash_one(0u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_back_off_doubles_up_to_its_cap() {
        let policy = RetryPolicy::default();
        for (failures, full_ms) in [(1, 500), (2, 1000), (4, 4000), (7, 30_000), (900, 30_000)] {
            let full = Duration::from_millis(full_ms);
            for _ in 0..50 {
                let delay = policy.backoff(failures);
                assert!(delay >= full / 2 && delay <= full, "{failures}: {delay:?}");
            }
        }
    }

    #[test]
    fn what_a_person_decided_counts_within_bounds() {
        let usual = RequestLimits::default();
        assert_eq!(usual.policy(false).first_byte, Duration::from_secs(300));
        assert_eq!(usual.policy(true).first_byte, LOCAL_FIRST_BYTE);
        let own = RequestLimits {
            attempts: Some(0),
            wait: Some(Duration::from_secs(7200)),
            first_byte: Some(Duration::from_secs(20)),
            idle: Some(Duration::from_secs(1_000_000)),
        };
        let policy = own.policy(true);
        assert_eq!(policy.attempts_max, 1);
        assert_eq!(policy.first_byte, Duration::from_secs(20));
        assert_eq!(policy.idle, SILENCE_LIMIT);
        assert!(policy.total_max >= policy.retry_after_max);
    }

    #[test]
    fn what_was_asked_for_is_waited_at_least_and_spread() {
        let policy = RetryPolicy::default();
        let asked = Duration::from_secs(4);
        let delays: Vec<Duration> = (0..50).map(|_| policy.after(asked)).collect();
        assert!(delays.iter().all(|delay| *delay >= asked));
        assert!(delays.iter().all(|delay| *delay <= asked + SPREAD_MAX));
        let different: std::collections::BTreeSet<_> = delays.into_iter().collect();
        assert!(different.len() > 40);
    }
}
