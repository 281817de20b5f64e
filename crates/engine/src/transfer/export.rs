//! Writes a thread, page by page: however long it is, little of it is in memory.

use std::io::Write;

use serde_json::json;
use serde_json::value::RawValue;
use store::{SharedStore, StoredEvent};
use vocabulary::{Seq, Status, ThreadId};

use super::TransferError;
use super::format::{KIND, KeptReceipt, ThreadHeader, TransferEnd, VERSION};
use super::place::LibraryPlace;
use super::transcript::kept;
use crate::limits::EVENTS_PER_READ_MAX;

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExportedThread {
    pub events: u64,
    pub receipts: u64,
    /// In the middle of a turn, or before an answer: what comes later is not in it.
    pub is_open: bool,
}

/// Writes a thread as it is now. What others append meanwhile is not in it.
pub async fn export(
    store: &SharedStore,
    thread: ThreadId,
    out: &mut (dyn Write + Send),
) -> Result<ExportedThread, TransferError> {
    let kept = kept(store, thread).await?;
    if kept.state.thread.card.ephemeral {
        let message = "an ephemeral thread goes with its last client, and is not exported";
        return Err(TransferError::Refused(message.to_owned()));
    }
    let header = ThreadHeader {
        dragoman: KIND.to_owned(),
        version: VERSION,
        place: LibraryPlace::read(store, &kept.state.thread.card).await?,
        thread: kept.state.thread.clone(),
        last_seq: kept.last_seq,
        high_water: kept.high_water,
        plan: kept.state.plan.clone(),
        usage: kept.state.usage,
    };
    write_line(out, &header)?;
    let events = write_events(store, thread, kept.last_seq, out).await?;
    let receipts = write_receipts(store, thread, out).await?;
    write_line(out, &json!({ "end": TransferEnd { events, receipts } }))?;
    let status = kept.state.thread.status;
    Ok(ExportedThread {
        events,
        receipts,
        is_open: matches!(status, Status::Running | Status::Waiting),
    })
}

fn write_line(
    out: &mut (dyn Write + Send),
    line: &impl serde::Serialize,
) -> Result<(), TransferError> {
    serde_json::to_writer(&mut *out, line).map_err(std::io::Error::from)?;
    Ok(out.write_all(b"\n")?)
}

async fn write_events(
    store: &SharedStore,
    thread: ThreadId,
    upto: Seq,
    out: &mut (dyn Write + Send),
) -> Result<u64, TransferError> {
    let (mut after, mut events) = (Seq::ZERO, 0);
    while after < upto {
        let page = store.events(thread, after, EVENTS_PER_READ_MAX).await?;
        for stored in page.iter().take_while(|stored| stored.seq <= upto) {
            write_event(stored, out)?;
            events += 1;
        }
        let Some(last) = page.last() else {
            let message = format!("its log ends at {after}, not at {upto}: it was just deleted");
            return Err(TransferError::Refused(message));
        };
        after = last.seq;
    }
    Ok(events)
}

fn write_event(stored: &StoredEvent, out: &mut (dyn Write + Send)) -> Result<(), TransferError> {
    let StoredEvent { seq, at, payload } = stored;
    let is_one_line = !payload.contains(&b'\n');
    let whole = serde_json::from_slice::<&RawValue>(payload).ok();
    let Some(whole) = whole.filter(|_| is_one_line) else {
        let message = format!("event {seq} of its log cannot be read");
        return Err(TransferError::Refused(message));
    };
    let at = at.millis();
    writeln!(out, "{{\"seq\":{seq},\"at\":{at},\"event\":{whole}}}")?;
    Ok(())
}

async fn write_receipts(
    store: &SharedStore,
    thread: ThreadId,
    out: &mut (dyn Write + Send),
) -> Result<u64, TransferError> {
    let (mut last, mut receipts) = (None, 0);
    loop {
        let page = store.receipts(thread, last.as_ref(), EVENTS_PER_READ_MAX);
        let page = page.await?;
        let Some(newest) = page.last() else {
            return Ok(receipts);
        };
        last = Some(newest.clone());
        for receipt in page {
            write_line(out, &json!({ "receipt": KeptReceipt::from(receipt) }))?;
            receipts += 1;
        }
    }
}
