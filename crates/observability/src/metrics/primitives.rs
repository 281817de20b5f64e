//! What counts: an addition each, without a lock.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

#[derive(Debug, Default)]
pub struct MetricCounter(AtomicU64);

impl MetricCounter {
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
pub struct Gauge(AtomicI64);

impl Gauge {
    pub fn add(&self, change: i64) {
        self.0.fetch_add(change, Ordering::Relaxed);
    }

    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The upper ends of a histogram's buckets, in microseconds; one more has the rest.
pub(super) const BUCKET_ENDS_US: [u64; 14] = [
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    50_000,
    100_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    15_000_000,
    60_000_000,
    300_000_000,
];

/// How long something took, from half a millisecond to five minutes.
#[derive(Debug, Default)]
pub struct Histogram {
    buckets: [MetricCounter; BUCKET_ENDS_US.len()],
    count: MetricCounter,
    sum_us: MetricCounter,
}

impl Histogram {
    pub fn observe(&self, time: Duration) {
        let time_us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let place = BUCKET_ENDS_US.iter().position(|end| time_us <= *end);
        if let Some(bucket) = place.and_then(|place| self.buckets.get(place)) {
            bucket.add(1);
        }
        self.count.add(1);
        self.sum_us.add(time_us);
    }

    /// Upper ends in seconds, each with how many were at most that long.
    pub(super) fn up_to(&self) -> impl Iterator<Item = (f64, u64)> {
        let mut below = 0;
        let ends = BUCKET_ENDS_US.iter().zip(&self.buckets);
        ends.map(move |(end_us, bucket)| {
            below += bucket.get();
            (*end_us as f64 / 1e6, below)
        })
    }

    pub fn count(&self) -> u64 {
        self.count.get()
    }

    pub fn sum_seconds(&self) -> f64 {
        self.sum_us.get() as f64 / 1e6
    }
}
