//! The index of turns for threads that older versions left without one.
//!
//! It is made once, when such a thread wakes, and written together with the state row that says so:
//! a process that dies before has changed nothing.

use bytes::Bytes;
use store::{Batch, Lease, LoadedThread, SharedStore};
use vocabulary::{EndedTurn, Fact, IndexedTurn, Refusal, ThreadId, TurnFact, Why};

use super::state::ThreadState;
use super::storage;
use crate::codec;
use crate::limits::ENTRIES_PER_PAGE;

pub async fn complete(
    store: &SharedStore,
    lease: Lease,
    loaded: &LoadedThread,
    state: &mut ThreadState,
) -> Result<(), Refusal> {
    if state.turn_count.is_some() {
        return Ok(());
    }
    let turns = of_transcript(store, lease.thread).await?;
    state.turn_count = Some(turns.len() as u64);
    if let (Some(running), Some(last)) = (&mut state.turn, turns.last()) {
        running.number = last.number;
    }
    let state_row = serde_json::to_vec(state).map_err(|error| {
        Refusal::new(Why::Internal, format!("state cannot be written: {error}"))
    })?;
    let batch = Batch {
        turns,
        state: Bytes::from(state_row),
        unfinished: state.turn.is_some(),
        high_water: loaded.high_water,
        ..Batch::default()
    };
    let written = store.append(lease, loaded.last_seq, batch).await;
    written.map_err(storage)
}

/// The turns that the transcript tells of, page by page; those before a reset count, too.
async fn of_transcript(store: &SharedStore, thread: ThreadId) -> Result<Vec<IndexedTurn>, Refusal> {
    let (mut turns, mut from) = (Vec::new(), 0);
    loop {
        let page = store.entries(thread, from, 0..u64::MAX, ENTRIES_PER_PAGE);
        let page = page.await.map_err(storage)?;
        let Some((last, _)) = page.last() else {
            return Ok(turns);
        };
        from = last.ordinal + 1;
        for (row, stored) in &page {
            // An event that cannot be understood does not keep the thread from waking.
            if let Ok(event) = codec::decode(stored)
                && let Fact::Turn(what) = &event.fact
            {
                take_in(&mut turns, row.ordinal, stored, what);
            }
        }
    }
}

fn take_in(
    turns: &mut Vec<IndexedTurn>,
    ordinal: u64,
    stored: &store::StoredEvent,
    what: &TurnFact,
) {
    match what {
        TurnFact::Started { turn, .. } => turns.push(IndexedTurn {
            number: turns.len() as u64 + 1,
            turn: turn.clone(),
            first_seq: stored.seq,
            first_ordinal: ordinal,
            started_at: stored.at,
            ended: None,
        }),
        TurnFact::Finished { outcome, .. } => {
            if let Some(last) = turns.last_mut() {
                last.ended = Some(EndedTurn {
                    last_seq: stored.seq,
                    last_ordinal: ordinal,
                    at: stored.at,
                    outcome: outcome.clone(),
                });
            }
        }
        TurnFact::Steered { .. }
        | TurnFact::SteerPlaced { .. }
        | TurnFact::PlanChanged { .. }
        | TurnFact::UsageAdded { .. } => {}
    }
}
