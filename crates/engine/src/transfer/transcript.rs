//! A thread as it is read without an engine: how it stands, and what is told of it, page by page.
//!
//! Nothing is woken for it, so that it can be read whoever has it awake.

use store::SharedStore;
use vocabulary::{Event, Seq, Status, ThreadId, TurnSelection};

use super::TransferError;
use crate::codec;
use crate::limits::EVENTS_PER_READ_MAX;
use crate::session::state::{ThreadState, Untold};

/// How a thread stands in the store.
#[derive(Clone, Debug)]
pub struct KeptThread {
    pub state: ThreadState,
    pub last_seq: Seq,
    pub high_water: Seq,
}

pub async fn kept(store: &SharedStore, thread: ThreadId) -> Result<KeptThread, TransferError> {
    let loaded = store.load(thread).await?;
    let loaded = loaded
        .ok_or_else(|| TransferError::Refused(format!("session {thread} is not there any more")))?;
    Ok(KeptThread {
        state: ThreadState::read(&loaded)?,
        last_seq: loaded.last_seq,
        high_water: loaded.high_water,
    })
}

impl KeptThread {
    /// Whether a process is at work on it, or waits for an answer in it.
    pub fn is_open(&self) -> bool {
        matches!(self.state.thread.status, Status::Running | Status::Waiting)
    }
}

/// The events of a thread that anybody is told, oldest first, calls in full.
pub struct ToldTranscript {
    store: SharedStore,
    thread: ThreadId,
    untold: Untold,
    after: Seq,
    upto: Seq,
}

impl ToldTranscript {
    /// Of the whole thread, as it stands.
    pub fn new(store: &SharedStore, kept: &KeptThread) -> Self {
        Self {
            store: SharedStore::clone(store),
            thread: kept.state.thread.card.id,
            untold: kept.state.untold(),
            after: Seq::ZERO,
            upto: kept.last_seq,
        }
    }

    /// Only of its newest turns.
    pub async fn of_newest(
        store: &SharedStore,
        kept: &KeptThread,
        turns: u32,
    ) -> Result<Self, TransferError> {
        let mut transcript = Self::new(store, kept);
        let from = kept.state.history_from;
        let newest = store.turns(transcript.thread, from, &TurnSelection::Newest, turns);
        if let Some(first) = newest.await?.last() {
            transcript.after = Seq(first.first_seq.0.saturating_sub(1));
        }
        Ok(transcript)
    }

    /// The next page; none at the end. A page may be empty where nothing of it is told.
    pub async fn next_page(&mut self) -> Result<Option<Vec<Event>>, TransferError> {
        if self.after >= self.upto {
            return Ok(None);
        }
        let page = self
            .store
            .events(self.thread, self.after, EVENTS_PER_READ_MAX);
        let page = page.await?;
        let Some(last) = page.last() else {
            return Ok(None);
        };
        self.after = last.seq;
        let upto = self.upto;
        let decoded = page.iter().filter(|stored| stored.seq <= upto);
        let mut events = decoded.map(codec::decode).collect::<Result<Vec<_>, _>>()?;
        events.retain(|event| self.untold.tells(event));
        let mut whole: Vec<&mut Event> = events.iter_mut().collect();
        codec::complete(&self.store, self.thread, &mut whole).await?;
        Ok(Some(events))
    }
}
