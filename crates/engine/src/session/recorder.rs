//! The recorder: numbers facts, folds them, and gets the durable ones to disk, one append at a time.
//!
//! Numbers and folds at once, but shows listeners only what is committed: the visible head stops
//! before the first durable event that is not on disk yet, and never passes the high-water mark
//! that is. Replies and other after-effects wait behind the same head.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use store::{
    Batch, CreditCharge, EntryRow, Lease, Receipt, RevertedRows, SharedStore, StoreError,
    StoredEvent,
};
use vocabulary::{
    Event, Fact, FileVersion, FilesFact, IndexedTurn, ItemFact, ItemId, Person, Refusal, Seq,
    TenantId, Timestamp, ToolEvent, ToolFact, TurnFact, Why,
};

use super::outbox::Outbox;
use super::state::{ThreadState, changes_list_row};
use crate::codec;
use crate::credits::{self, KnownBalances};
use crate::limits::{CHECKPOINT_TOLD_BYTES, HIGH_WATER_AHEAD, HIGH_WATER_RENEW};

/// Something to do once everything up to a position is on disk, or to drop if that fails.
type Deferred = Box<dyn FnOnce(Result<(), Refusal>) + Send>;

/// Who waits for the disk.
struct DiskWaiter {
    /// Until everything up to here is on it.
    at: Seq,
    /// Listeners see nothing past this before: a reply goes before the effects of its own call,
    /// those that are not kept included.
    holds: Option<Seq>,
    then: Deferred,
}

pub struct Recorder {
    store: SharedStore,
    pub outbox: Arc<Outbox>,
    lease: Option<Lease>,
    /// The last number given.
    last: Seq,
    /// The last durable event that is on disk.
    committed: Seq,
    appending: Option<Appending>,
    /// Numbers up to here are reserved on disk; after the append under way, up to `high_water_next`.
    high_water: Seq,
    high_water_next: Seq,
    pending: Unwritten,
    fresh: Vec<(Event, usize)>,
    deferred: VecDeque<DiskWaiter>,
    /// A thread that is not kept yet has everything pending and nothing on disk.
    pub kept: bool,
}

#[derive(Default)]
struct Unwritten {
    list_row: bool,
    events: Vec<StoredEvent>,
    entries: Vec<EntryRow>,
    turns: Vec<IndexedTurn>,
    reverts: Option<RevertedRows>,
    receipts: Vec<Receipt>,
    drafts_done: Vec<ItemId>,
    /// What the events say was spent, and whether the turn has ended.
    micro_dollars: u64,
    turn_over: bool,
    renew: bool,
}

/// What the append under way writes.
struct Appending {
    first: Option<Seq>,
    last: Seq,
    /// The store does not know these yet.
    receipts: Vec<Receipt>,
}

/// An append on its way; `Recorder::appended` must hear how it ended.
pub struct Append {
    store: SharedStore,
    lease: Lease,
    expected: Seq,
    batch: Batch,
}

impl Append {
    pub fn has_list_row(&self) -> bool {
        self.batch.thread.is_some()
    }

    pub async fn run(self) -> Result<(), StoreError> {
        self.store
            .append(self.lease, self.expected, self.batch)
            .await
    }
}

/// Where the log of a thread stands on disk.
pub struct LogStanding {
    pub lease: Option<Lease>,
    pub last_seq: Seq,
    pub high_water: Seq,
    pub kept: bool,
}

impl Recorder {
    /// Numbers start past the high-water mark: clients may have seen any number below it.
    pub fn new(store: SharedStore, outbox: Arc<Outbox>, standing: LogStanding) -> Self {
        Self {
            store,
            outbox,
            lease: standing.lease,
            last: standing.high_water.max(standing.last_seq),
            committed: standing.last_seq,
            appending: None,
            high_water: standing.high_water,
            high_water_next: standing.high_water,
            pending: Unwritten::default(),
            fresh: Vec::new(),
            deferred: VecDeque::new(),
            kept: standing.kept,
        }
    }

    pub fn last(&self) -> Seq {
        self.last
    }

    pub fn lease(&self) -> Option<Lease> {
        self.lease
    }

    pub fn set_lease(&mut self, lease: Lease) {
        self.lease = Some(lease);
    }

    /// Numbers a fact and folds it.
    pub fn record(
        &mut self,
        state: &mut ThreadState,
        at: Timestamp,
        by: Option<Arc<Person>>,
        fact: Fact,
    ) -> Result<Seq, Refusal> {
        self.last = self.last.next();
        let event = Event {
            seq: self.last,
            at,
            by,
            fact,
        };
        let text_bytes = match event.fact.durable() {
            true => self.keep(state, &event)?,
            false => passing_bytes(&event.fact),
        };
        self.fresh.push((event, text_bytes));
        Ok(self.last)
    }

    fn keep(&mut self, state: &mut ThreadState, event: &Event) -> Result<usize, Refusal> {
        let payload = codec::encode(event)?;
        let text_bytes = payload.len();
        self.pending.list_row |= changes_list_row(&event.fact);
        self.pending.micro_dollars += credits::spent(&event.fact);
        self.pending.turn_over |= matches!(&event.fact, Fact::Turn(TurnFact::Finished { .. }));
        let rows = state.apply(event);
        if let Some(reverted) = rows.reverted {
            self.pending.take_back(reverted);
        }
        self.pending.entries.extend(rows.entry);
        self.pending.turns.extend(rows.turn);
        if let Fact::Item {
            item,
            what: ItemFact::Finished { .. },
            ..
        } = &event.fact
        {
            self.pending.drafts_done.push(item.clone());
        }
        self.pending.events.push(StoredEvent {
            seq: event.seq,
            at: event.at,
            payload,
        });
        Ok(text_bytes)
    }

    pub fn receipt(&mut self, receipt: Receipt) {
        self.pending.receipts.push(receipt);
    }

    /// A receipt that is still on its way to disk. It counts as one that is there: whoever is
    /// answered by it waits for the same append.
    pub fn receipt_under_way(&self, kind: &str, client_id: &str) -> Option<&Receipt> {
        let written = self.appending.iter().flat_map(|each| &each.receipts);
        let mut all = written.chain(&self.pending.receipts);
        all.find(|known| known.kind == kind && known.client_id == client_id)
    }

    pub fn forget_draft(&mut self, item: ItemId) {
        self.pending.drafts_done.push(item);
    }

    /// Runs `then` once everything recorded so far is on disk.
    pub fn after_commit(&mut self, then: impl FnOnce(Result<(), Refusal>) + Send + 'static) {
        self.deferred.push_back(DiskWaiter {
            at: self.last,
            holds: None,
            then: Box::new(then),
        });
    }

    /// The same for a reply; what was recorded after `as_of` is shown behind it.
    pub fn reply_after_commit(
        &mut self,
        as_of: Seq,
        then: impl FnOnce(Result<(), Refusal>) + Send + 'static,
    ) {
        self.deferred.push_back(DiskWaiter {
            at: self.last,
            holds: Some(as_of),
            then: Box::new(then),
        });
    }

    /// Whether everything that is to be kept is on disk.
    pub fn is_clean(&self) -> bool {
        let written = self.appending.is_none() && self.pending.is_empty();
        (written || !self.kept) && self.deferred.is_empty()
    }

    /// Gives back the room that a turn needed.
    pub fn shrink(&mut self) {
        self.fresh.shrink_to_fit();
        self.deferred.shrink_to_fit();
    }

    /// Hands fresh events to the ring and shows what may be seen. Call after each round of records.
    pub fn publish(&mut self) {
        if !self.fresh.is_empty() {
            self.outbox.push(self.fresh.drain(..));
        }
        let left = self.high_water_next.0.saturating_sub(self.last.0);
        self.pending.renew |= self.kept && left < HIGH_WATER_RENEW;
        self.settle();
    }

    /// The next append, if there is something to write and none is under way.
    pub fn next_append(
        &mut self,
        state: &ThreadState,
        balances: &KnownBalances,
    ) -> Result<Option<Append>, Refusal> {
        let Some(lease) = self.lease else {
            return Ok(None);
        };
        if self.appending.is_some() || !self.kept || self.pending.is_empty() {
            return Ok(None);
        }
        let pending = std::mem::take(&mut self.pending);
        let state_row = serde_json::to_vec(state)
            .map(Bytes::from)
            .map_err(|error| {
                Refusal::new(Why::Internal, format!("state cannot be written: {error}"))
            })?;
        let charge = pending.charge(&state.thread.card.tenant, balances);
        self.high_water_next = Seq(self.last.0 + HIGH_WATER_AHEAD);
        self.appending = Some(Appending {
            first: pending.events.first().map(|event| event.seq),
            last: pending
                .events
                .last()
                .map_or(self.committed, |event| event.seq),
            receipts: pending.receipts.clone(),
        });
        Ok(Some(Append {
            store: Arc::clone(&self.store),
            lease,
            expected: self.committed,
            batch: Batch {
                thread: pending.list_row.then(|| state.thread.clone()),
                events: pending.events,
                entries: pending.entries,
                turns: pending.turns,
                reverts: pending.reverts,
                inherits: None,
                state: state_row,
                // What is ephemeral goes with its process, if with nothing else.
                unfinished: state.turn.is_some() || state.thread.card.ephemeral,
                high_water: self.high_water_next,
                receipts: pending.receipts,
                drafts_done: pending.drafts_done,
                charge,
                records: None,
            },
        }))
    }

    /// The append under way is on disk.
    pub fn appended(&mut self) {
        if let Some(appending) = self.appending.take() {
            self.committed = appending.last;
            self.high_water = self.high_water_next;
        }
        self.settle();
    }

    /// Everything that is not on disk did not happen: tells whoever waits.
    pub fn refuse_all(&mut self, refusal: &Refusal) {
        for waiting in self.deferred.drain(..) {
            (waiting.then)(Err(refusal.clone()));
        }
    }

    /// The last position listeners may see.
    fn visible(&self) -> Seq {
        if !self.kept {
            return self.last;
        }
        let under_way = self
            .appending
            .as_ref()
            .and_then(|appending| appending.first);
        let waiting = self.pending.events.first().map(|event| event.seq);
        let first_uncommitted = under_way.or(waiting);
        let by_commit = first_uncommitted.map_or(self.last, |seq| Seq(seq.0 - 1));
        by_commit.min(self.high_water)
    }

    /// Shows what may be seen, and does what waited for it: replies leave before the events behind
    /// them become visible.
    fn settle(&mut self) {
        let on_disk = self.visible();
        while self
            .deferred
            .front()
            .is_some_and(|waiting| waiting.at <= on_disk)
        {
            if let Some(waiting) = self.deferred.pop_front() {
                // What goes before a reply must be there when the reply is.
                if let Some(before) = waiting.holds {
                    self.outbox.show(before);
                }
                (waiting.then)(Ok(()));
            }
        }
        let held = self
            .deferred
            .iter()
            .filter_map(|waiting| waiting.holds)
            .min();
        let visible = held.map_or(on_disk, |held| on_disk.min(held));
        self.outbox.show(visible);
    }
}

impl Unwritten {
    /// Rows that never came to the disk need not be taken from it; of several places the first counts.
    fn take_back(&mut self, reverted: RevertedRows) {
        self.entries.retain(|row| row.ordinal < reverted.entry);
        self.turns.retain(|row| row.number < reverted.turn);
        let before = self.reverts.unwrap_or(reverted);
        self.reverts = Some(RevertedRows {
            entry: before.entry.min(reverted.entry),
            turn: before.turn.min(reverted.turn),
        });
    }

    fn is_empty(&self) -> bool {
        self.events.is_empty()
            && self.receipts.is_empty()
            && self.drafts_done.is_empty()
            && !self.renew
            && !self.list_row
    }

    /// What is to be charged with it, unless the tenant is known to have no balance.
    fn charge(&self, tenant: &TenantId, balances: &KnownBalances) -> Option<CreditCharge> {
        let is_due = self.micro_dollars > 0 || self.turn_over;
        (is_due && !balances.has_none(tenant)).then(|| CreditCharge {
            tenant: tenant.clone(),
            micro_dollars: self.micro_dollars,
            turn_over: self.turn_over,
        })
    }
}

/// How much text a fact carries that the log does not keep.
fn passing_bytes(fact: &Fact) -> usize {
    match fact {
        Fact::Item {
            what: ItemFact::Grew { delta, .. },
            ..
        }
        | Fact::Tool(ToolEvent {
            what: ToolFact::Wrote { delta, .. },
            ..
        }) => delta.len(),
        Fact::Files(FilesFact::TurnDiffed { diff, .. }) => diff.len(),
        Fact::Files(FilesFact::Changed { files, .. }) => {
            let bytes = |file: &FileVersion| size_of::<FileVersion>() + file.path.len();
            files.iter().map(bytes).sum()
        }
        Fact::Files(FilesFact::CheckpointsChanged { now, .. }) => {
            now.list.len() * CHECKPOINT_TOLD_BYTES
        }
        Fact::Files(FilesFact::Uploaded { .. })
        | Fact::Thread(_)
        | Fact::Turn(_)
        | Fact::Step { .. }
        | Fact::Item { .. }
        | Fact::Tool(_)
        | Fact::Ask { .. }
        | Fact::Note(_) => 0,
    }
}
