//! What a batch must be to enter any log, whichever store keeps it.

use vocabulary::Seq;

use crate::{Batch, Lease, Result, StoreError};

/// How one thread's log stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogHead {
    pub last_seq: Seq,
    pub high_water: Seq,
}

impl LogHead {
    /// How the log will stand once `batch` is in it, or why the batch cannot enter.
    pub(crate) fn after(self, lease: Lease, expected: Seq, batch: &Batch) -> Result<LogHead> {
        if expected != self.last_seq {
            return Err(StoreError::OutOfStep {
                expected,
                found: self.last_seq,
            });
        }
        if let Some(thread) = &batch.thread
            && thread.card.id != lease.thread
        {
            return Err(malformed("its thread row is another thread's"));
        }
        let mut last_seq = self.last_seq;
        for event in &batch.events {
            if event.seq <= last_seq {
                return Err(malformed("its events do not follow the log in order"));
            }
            last_seq = event.seq;
        }
        if !batch.entries.is_sorted_by(|a, b| a.ordinal < b.ordinal) {
            return Err(malformed("its entries are not in order"));
        }
        for entry in &batch.entries {
            if !batch.events.iter().any(|event| event.seq == entry.seq) {
                return Err(malformed("an entry points to none of its events"));
            }
        }
        Ok(LogHead {
            last_seq,
            high_water: self.high_water.max(batch.high_water).max(last_seq),
        })
    }
}

fn malformed(what: &str) -> StoreError {
    StoreError::Failed(format!("the batch is malformed: {what}"))
}
