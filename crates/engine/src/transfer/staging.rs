//! Events on their way in. A few are held in memory; many go to a thread that nobody sees, from which the
//! real one takes its log in one step. What a killed import left of it goes at the next start of a server.

use bytes::Bytes;
use store::{Batch, InheritedLog, Lease, SharedStore, StoredEvent};
use vocabulary::{Seq, Thread, ThreadId};

use super::TransferError;
use crate::Clock;

/// How many events, and how many bytes of them, are held in memory.
const HELD_EVENTS_MAX: usize = 2_000;
const HELD_BYTES_MAX: usize = 8 << 20;

pub struct Staging {
    store: SharedStore,
    /// Nobody sees it: an ephemeral one is in no list.
    hidden: Thread,
    /// Once something of it is in the store.
    staged: Option<(Lease, Seq)>,
    held: Vec<StoredEvent>,
    held_bytes: usize,
    /// Only looked at, and kept nowhere.
    dry_run: bool,
}

/// Where the log of the new thread comes from.
pub enum StagedLog {
    Held(Vec<StoredEvent>),
    Inherited(InheritedLog),
}

impl Staging {
    pub fn new(store: &SharedStore, clock: &dyn Clock, like: &Thread, dry_run: bool) -> Self {
        let mut hidden = like.clone();
        hidden.card.id = ThreadId(clock.new_id());
        hidden.card.client_id = None;
        hidden.card.ephemeral = true;
        Self {
            store: SharedStore::clone(store),
            hidden,
            staged: None,
            held: Vec::new(),
            held_bytes: 0,
            dry_run,
        }
    }

    pub async fn push(&mut self, event: StoredEvent) -> Result<(), TransferError> {
        if self.dry_run {
            return Ok(());
        }
        self.held_bytes += event.payload.len();
        self.held.push(event);
        match self.held.len() >= HELD_EVENTS_MAX || self.held_bytes >= HELD_BYTES_MAX {
            true => self.flush().await,
            false => Ok(()),
        }
    }

    async fn flush(&mut self) -> Result<(), TransferError> {
        let Some(last) = self.held.last().map(|event| event.seq) else {
            return Ok(());
        };
        let is_new = self.staged.is_none();
        let (lease, before) = match self.staged {
            Some(staged) => staged,
            None => (self.store.acquire(self.hidden.card.id).await?, Seq::ZERO),
        };
        // From here on there is something to take away.
        self.staged = Some((lease, before));
        let batch = Batch {
            thread: is_new.then(|| self.hidden.clone()),
            events: std::mem::take(&mut self.held),
            state: Bytes::from_static(b"{}"),
            unfinished: true,
            high_water: last,
            ..Batch::default()
        };
        self.held_bytes = 0;
        self.store.append(lease, before, batch).await?;
        self.staged = Some((lease, last));
        Ok(())
    }

    pub async fn finish(&mut self) -> Result<StagedLog, TransferError> {
        if self.staged.is_none() {
            return Ok(StagedLog::Held(std::mem::take(&mut self.held)));
        }
        self.flush().await?;
        let upto = self.staged.map_or(Seq::ZERO, |(_, last)| last);
        Ok(StagedLog::Inherited(InheritedLog {
            from: self.hidden.card.id,
            after: Seq::ZERO,
            upto,
        }))
    }

    /// Takes away what was staged, whatever became of it.
    pub async fn clear(self) {
        let Some((lease, _)) = self.staged else {
            return;
        };
        let cleared = async {
            self.store.delete(lease).await?;
            self.store.release(lease).await
        };
        if let Err(error) = cleared.await {
            tracing::warn!(%error, "what an import staged goes at the next start of a server");
        }
    }
}
