//! What a batch must be to enter any log, whichever store keeps it.

use vocabulary::Seq;

use crate::{Batch, InheritedLog, Lease, Result, StoreError};

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
        if batch.inherits.is_some() && self != LogHead::default() {
            return Err(malformed("only a new thread begins with another's log"));
        }
        let mut last_seq = self.last_seq;
        for event in &batch.events {
            if event.seq <= last_seq {
                return Err(malformed("its events do not follow the log in order"));
            }
            last_seq = event.seq;
        }
        let overlaps = |log: &InheritedLog| {
            let mut seqs = batch.events.iter().map(|event| event.seq);
            seqs.any(|seq| seq > log.after && seq <= log.upto)
        };
        if batch.inherits.as_ref().is_some_and(overlaps) {
            return Err(malformed("its own events are among those it takes over"));
        }
        last_seq = last_seq.max(batch.inherits.map_or(last_seq, |log| log.upto));
        if !batch.entries.is_sorted_by(|a, b| a.ordinal < b.ordinal) {
            return Err(malformed("its entries are not in order"));
        }
        let inherited = |seq: Seq| {
            let log = batch.inherits.as_ref();
            log.is_some_and(|log| seq > log.after && seq <= log.upto)
        };
        if batch.records.is_some() && batch.thread.is_none() {
            return Err(malformed("its records are nobody's without a thread row"));
        }
        for entry in &batch.entries {
            // They are in order, as was seen above; a whole log may come at once.
            let by_seq = |seq: Seq| batch.events.binary_search_by_key(&seq, |event| event.seq);
            let in_batch = |seq: Seq| by_seq(seq).is_ok();
            if !inherited(entry.seq) && !in_batch(entry.seq) {
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
