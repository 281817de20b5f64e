//! What a memory store keeps, and the rules by which it changes.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Weak;

use bytes::Bytes;
use vocabulary::{
    IndexedTurn, Seq, TenantId, Thread, ThreadId, ThreadPage, ThreadQuery, TurnSelection,
};

use super::credits::CreditRows;
use super::library::Library;
use super::search::TextIndex;
use crate::check::LogHead;
use crate::cursor::Cursor;
use crate::sqlite::page;
use crate::{
    Batch, Draft, EntryRow, Lease, ListChange, ListEntry, Receipt, RecordBatch, RecordChange,
    Result, StoreError, StoredEvent,
};

#[derive(Default)]
pub(super) struct World {
    pub(super) threads: HashMap<ThreadId, Kept>,
    pub(super) leases: HashMap<ThreadId, Held>,
    last_fence: u64,
    pub(super) owners: Vec<Weak<()>>,
    pub(super) counters: HashMap<&'static str, u64>,
    pub(super) libraries: HashMap<TenantId, Library>,
    /// What changed in lists, and by whom.
    pub(super) changes: Vec<(usize, ListChange)>,
    /// Which threads were asked for, and by whom.
    pub(super) requests: Vec<(usize, ThreadId)>,
    pub(super) deleted: std::collections::HashSet<ThreadId>,
    pub(super) settings: HashMap<(TenantId, String), String>,
    pub(super) credits: CreditRows,
    pub(super) texts: TextIndex,
}

#[derive(Clone, Copy)]
pub(super) struct Held {
    pub(super) owner: usize,
    fence: u64,
}

pub(super) struct Kept {
    /// The later it was made, the larger.
    pub(super) number: i64,
    pub(super) thread: Thread,
    pub(super) state: Bytes,
    pub(super) unfinished: bool,
    pub(super) head: LogHead,
    pub(super) events: BTreeMap<Seq, StoredEvent>,
    pub(super) entries: BTreeMap<u64, EntryRow>,
    turns: BTreeMap<u64, IndexedTurn>,
    pub(super) receipts: BTreeMap<(String, String), Receipt>,
    pub(super) drafts: Vec<Draft>,
}

impl Kept {
    fn new(number: i64, thread: Thread) -> Self {
        Self {
            number,
            thread,
            state: Bytes::new(),
            unfinished: false,
            head: LogHead::default(),
            events: BTreeMap::new(),
            entries: BTreeMap::new(),
            turns: BTreeMap::new(),
            receipts: BTreeMap::new(),
            drafts: Vec::new(),
        }
    }

    /// Everything here has been checked: from now on nothing fails.
    fn take_in(&mut self, head: LogHead, batch: Batch, inherited: Vec<StoredEvent>) {
        if let Some(reverted) = batch.reverts {
            self.entries.retain(|ordinal, _| *ordinal < reverted.entry);
            self.turns.retain(|number, _| *number < reverted.turn);
        }
        self.events
            .extend(inherited.into_iter().map(|event| (event.seq, event)));
        if let Some(thread) = batch.thread {
            self.thread = thread;
        }
        self.head = head;
        self.state = batch.state;
        self.unfinished = batch.unfinished;
        self.events
            .extend(batch.events.into_iter().map(|event| (event.seq, event)));
        self.entries
            .extend(batch.entries.into_iter().map(|row| (row.ordinal, row)));
        self.turns
            .extend(batch.turns.into_iter().map(|row| (row.number, row)));
        for receipt in batch.receipts {
            self.receipts.insert(receipt.key(), receipt);
        }
        self.drafts
            .retain(|draft| !batch.drafts_done.contains(&draft.item));
    }

    pub(super) fn turns(
        &self,
        from: u64,
        selection: &TurnSelection,
        limit: u32,
    ) -> Vec<IndexedTurn> {
        let all = || self.turns.values().filter(|row| row.first_ordinal >= from);
        let limit = limit as usize;
        let found: Vec<&IndexedTurn> = match selection {
            TurnSelection::Newest => all().rev().take(limit).collect(),
            TurnSelection::Oldest => all().take(limit).collect(),
            TurnSelection::Before(number) => {
                let before = all().rev().filter(|row| row.number < *number);
                before.take(limit).collect()
            }
            TurnSelection::After(number) => {
                let after = all().filter(|row| row.number > *number);
                after.take(limit).collect()
            }
            TurnSelection::One(turn) => {
                let named = all().rev().filter(|row| row.turn == *turn);
                named.take(limit.min(1)).collect()
            }
        };
        found.into_iter().cloned().collect()
    }
}

impl World {
    pub(super) fn is_alive(&self, owner: usize) -> bool {
        self.owners[owner].strong_count() > 0
    }

    pub(super) fn check_fence(&self, owner: usize, lease: Lease) -> Result<()> {
        match self.leases.get(&lease.thread) {
            Some(held) if held.fence == lease.fence && held.owner == owner => Ok(()),
            _ => Err(StoreError::Fenced),
        }
    }

    pub(super) fn acquire(&mut self, owner: usize, thread: ThreadId) -> Result<Lease> {
        if let Some(held) = self.leases.get(&thread)
            && held.owner != owner
            && self.is_alive(held.owner)
        {
            return Err(StoreError::Held {
                owner: format!("memory store {}", held.owner),
            });
        }
        self.last_fence += 1;
        let fence = self.last_fence;
        self.leases.insert(thread, Held { owner, fence });
        Ok(Lease { thread, fence })
    }

    pub(super) fn append(
        &mut self,
        owner: usize,
        lease: Lease,
        expected: Seq,
        mut batch: Batch,
    ) -> Result<()> {
        self.check_fence(owner, lease)?;
        let kept = self.threads.get(&lease.thread);
        let head = kept.map(|kept| kept.head).unwrap_or_default();
        let head = head.after(lease, expected, &batch)?;
        if let Some(thread) = &batch.thread {
            self.check_client_id(thread)?;
        }
        let listed = batch.thread.as_ref().filter(|it| !it.card.ephemeral);
        let change = listed.map(|thread| ListChange {
            tenant: thread.card.tenant.clone(),
            what: ListEntry::Thread(lease.thread),
            is_new: kept.is_none(),
        });
        if let Some(kept) = kept {
            check_rows(kept, &batch)?;
        }
        if kept.is_none() && batch.thread.is_none() {
            return Err(StoreError::UnknownThread);
        }
        let inherited = self.inherited(&batch)?;
        let written: Vec<Seq> = inherited
            .iter()
            .chain(&batch.events)
            .map(|event| event.seq)
            .collect();
        if let Some(charge) = &batch.charge {
            self.credits.charge(lease.thread, charge)?;
        }
        if let (Some(records), Some(thread)) = (batch.records.take(), &batch.thread) {
            self.write_records(owner, &thread.card.tenant, records)?;
        }
        match (self.threads.get_mut(&lease.thread), &batch.thread) {
            (Some(kept), _) => kept.take_in(head, batch, inherited),
            (None, None) => return Err(StoreError::UnknownThread),
            (None, Some(thread)) => {
                self.deleted.remove(&lease.thread);
                let mut kept = Kept::new(self.texts.next_thread(), thread.clone());
                kept.take_in(head, batch, inherited);
                self.threads.insert(lease.thread, kept);
            }
        }
        self.texts.written(lease.thread, written);
        self.changes.extend(change.map(|change| (owner, change)));
        Ok(())
    }

    pub(super) fn write_records(
        &mut self,
        owner: usize,
        tenant: &TenantId,
        RecordBatch { expected, changes }: RecordBatch,
    ) -> Result<u64> {
        let library = self.libraries.entry(tenant.clone()).or_default();
        let change = |change: &RecordChange| ListChange {
            tenant: tenant.clone(),
            what: ListEntry::Record(change.kind, change.id.clone()),
            is_new: library
                .named(change.kind, std::slice::from_ref(&change.id))
                .is_empty(),
        };
        let noted: Vec<_> = changes.iter().map(change).collect();
        let written = library.write(expected, changes)?;
        let noted = noted.into_iter().map(|change| (owner, change));
        self.changes.extend(noted);
        Ok(written)
    }

    fn check_client_id(&self, thread: &Thread) -> Result<()> {
        let Some(client_id) = &thread.card.client_id else {
            return Ok(());
        };
        match self.by_client_id(&thread.card.tenant, client_id) {
            Some(id) if id != thread.card.id => Err(StoreError::Taken),
            _ => Ok(()),
        }
    }

    pub(super) fn by_client_id(&self, tenant: &TenantId, client_id: &str) -> Option<ThreadId> {
        let mut cards = self.threads.values().map(|kept| &kept.thread.card);
        cards
            .find(|card| card.tenant == *tenant && card.client_id.as_deref() == Some(client_id))
            .map(|card| card.id)
    }

    pub(super) fn list(&self, tenant: &TenantId, query: &ThreadQuery) -> Result<ThreadPage> {
        let after = Cursor::asked(query)?;
        if query.limit == Some(0) {
            return Ok(ThreadPage::default());
        }
        let place = |thread: &Thread| Cursor::of(query.sort, thread);
        let mut found: Vec<Thread> = self
            .threads
            .values()
            .map(|kept| &kept.thread)
            .filter(|thread| thread.card.tenant == *tenant)
            .filter(|thread| query.matches(thread))
            .filter(|thread| after.is_none_or(|it| it.lets_in(place(thread), query.direction)))
            .cloned()
            .collect();
        found.sort_by(|a, b| place(a).order(place(b), query.direction));
        Ok(page(query, found))
    }

    /// What a batch takes over of another thread's log.
    fn inherited(&self, batch: &Batch) -> Result<Vec<StoredEvent>> {
        let Some(inherited) = &batch.inherits else {
            return Ok(Vec::new());
        };
        let from = self.threads.get(&inherited.from);
        let from = from.ok_or(StoreError::UnknownThread)?;
        let span = (
            Bound::Excluded(inherited.after),
            Bound::Included(inherited.upto),
        );
        Ok(from
            .events
            .range(span)
            .map(|(_, event)| event.clone())
            .collect())
    }
}

/// Places and receipts are given once.
fn check_rows(kept: &Kept, batch: &Batch) -> Result<()> {
    let left = batch.reverts.map_or(u64::MAX, |reverted| reverted.entry);
    for row in &batch.entries {
        if row.ordinal < left && kept.entries.contains_key(&row.ordinal) {
            return Err(StoreError::Failed(format!(
                "there is an entry {} already",
                row.ordinal
            )));
        }
    }
    for receipt in &batch.receipts {
        if kept.receipts.contains_key(&receipt.key()) {
            return Err(StoreError::Taken);
        }
    }
    Ok(())
}
