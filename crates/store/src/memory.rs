//! The store in memory: for tests, and for a server that shall keep nothing.

use std::collections::{BTreeMap, HashMap};
use std::ops::{Bound, Range};
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use vocabulary::{Seq, TenantId, Thread, ThreadId, ThreadQuery};

use crate::check::Head;
use crate::cursor::Cursor;
use crate::{
    Batch, Counter, Draft, EntryRow, Lease, Loaded, Receipt, Result, Store, StoreError,
    StoredEvent, ThreadPage,
};

/// What outlives a process: open it again to play a restart, or twice to play two processes.
#[derive(Clone, Default)]
pub struct MemoryWorld(Arc<Mutex<World>>);

impl MemoryWorld {
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts one more "process" on this world. Its leases are free once it is dropped.
    pub fn open(&self) -> MemoryStore {
        let alive = Arc::new(());
        let mut world = self.0.lock();
        world.owners.push(Arc::downgrade(&alive));
        MemoryStore {
            owner: world.owners.len() - 1,
            world: self.0.clone(),
            _alive: alive,
        }
    }
}

/// One process's view of a [`MemoryWorld`].
pub struct MemoryStore {
    world: Arc<Mutex<World>>,
    owner: usize,
    _alive: Arc<()>,
}

impl MemoryStore {
    /// A store on a world of its own.
    pub fn new() -> Self {
        MemoryWorld::new().open()
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

#[derive(Default)]
struct World {
    threads: HashMap<ThreadId, Kept>,
    leases: HashMap<ThreadId, Held>,
    last_fence: u64,
    owners: Vec<Weak<()>>,
    counters: HashMap<&'static str, u64>,
    settings: HashMap<(TenantId, String), String>,
}

#[derive(Clone, Copy)]
struct Held {
    owner: usize,
    fence: u64,
}

struct Kept {
    thread: Thread,
    state: Bytes,
    unfinished: bool,
    head: Head,
    events: BTreeMap<Seq, StoredEvent>,
    entries: BTreeMap<u64, EntryRow>,
    receipts: HashMap<(&'static str, String), Receipt>,
    drafts: Vec<Draft>,
}

impl Kept {
    fn new(thread: Thread) -> Self {
        Self {
            thread,
            state: Bytes::new(),
            unfinished: false,
            head: Head::default(),
            events: BTreeMap::new(),
            entries: BTreeMap::new(),
            receipts: HashMap::new(),
            drafts: Vec::new(),
        }
    }

    /// Everything here has been checked: from now on nothing fails.
    fn take_in(&mut self, head: Head, batch: Batch) {
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
        for receipt in batch.receipts {
            let key = (receipt.kind, receipt.client_id.clone());
            self.receipts.insert(key, receipt);
        }
        self.drafts
            .retain(|draft| !batch.drafts_done.contains(&draft.item));
    }
}

impl World {
    fn is_alive(&self, owner: usize) -> bool {
        self.owners[owner].strong_count() > 0
    }

    fn check_fence(&self, owner: usize, lease: Lease) -> Result<()> {
        match self.leases.get(&lease.thread) {
            Some(held) if held.fence == lease.fence && held.owner == owner => Ok(()),
            _ => Err(StoreError::Fenced),
        }
    }

    fn acquire(&mut self, owner: usize, thread: ThreadId) -> Result<Lease> {
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

    fn append(&mut self, owner: usize, lease: Lease, expected: Seq, batch: Batch) -> Result<()> {
        self.check_fence(owner, lease)?;
        let kept = self.threads.get(&lease.thread);
        let head = kept.map(|kept| kept.head).unwrap_or_default();
        let head = head.after(lease, expected, &batch)?;
        if let Some(thread) = &batch.thread {
            self.check_client_id(thread)?;
        }
        if let Some(kept) = kept {
            check_rows(kept, &batch)?;
        }
        match (self.threads.get_mut(&lease.thread), &batch.thread) {
            (Some(kept), _) => kept.take_in(head, batch),
            (None, None) => return Err(StoreError::UnknownThread),
            (None, Some(thread)) => {
                let mut kept = Kept::new(thread.clone());
                kept.take_in(head, batch);
                self.threads.insert(lease.thread, kept);
            }
        }
        Ok(())
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

    fn by_client_id(&self, tenant: &TenantId, client_id: &str) -> Option<ThreadId> {
        let mut cards = self.threads.values().map(|kept| &kept.thread.card);
        cards
            .find(|card| card.tenant == *tenant && card.client_id.as_deref() == Some(client_id))
            .map(|card| card.id)
    }

    fn list(&self, tenant: &TenantId, query: &ThreadQuery) -> Result<ThreadPage> {
        let after = query.cursor.as_deref().map(Cursor::parse).transpose()?;
        let mut found: Vec<&Thread> = self
            .threads
            .values()
            .map(|kept| &kept.thread)
            .filter(|thread| thread.card.tenant == *tenant)
            .filter(|thread| query.archived || !thread.archived)
            .filter(|thread| match &query.workspace {
                Some(workspace) => thread.card.workspace == *workspace,
                None => true,
            })
            .filter(|thread| match after {
                Some(after) => Cursor::of(thread).sort_key() > after.sort_key(),
                None => true,
            })
            .collect();
        found.sort_by_key(|thread| Cursor::of(thread).sort_key());
        let limit = query.limit.map_or(usize::MAX, |limit| limit as usize);
        let more = found.len() > limit;
        found.truncate(limit);
        let last = found.last().filter(|_| more);
        Ok(ThreadPage {
            next: last.map(|thread| Cursor::of(thread).text()),
            threads: found.into_iter().cloned().collect(),
        })
    }
}

/// Places and receipts are given once.
fn check_rows(kept: &Kept, batch: &Batch) -> Result<()> {
    for row in &batch.entries {
        if kept.entries.contains_key(&row.ordinal) {
            return Err(StoreError::Failed(format!(
                "there is an entry {} already",
                row.ordinal
            )));
        }
    }
    for receipt in &batch.receipts {
        let key = (receipt.kind, receipt.client_id.clone());
        if kept.receipts.contains_key(&key) {
            return Err(StoreError::Taken);
        }
    }
    Ok(())
}

#[async_trait]
impl Store for MemoryStore {
    async fn acquire(&self, thread: ThreadId) -> Result<Lease> {
        self.world.lock().acquire(self.owner, thread)
    }

    async fn release(&self, lease: Lease) -> Result<()> {
        let mut world = self.world.lock();
        if world.check_fence(self.owner, lease).is_ok() {
            world.leases.remove(&lease.thread);
        }
        Ok(())
    }

    async fn append(&self, lease: Lease, expected: Seq, batch: Batch) -> Result<()> {
        self.world.lock().append(self.owner, lease, expected, batch)
    }

    async fn draft(&self, lease: Lease, draft: Draft) -> Result<()> {
        let mut world = self.world.lock();
        world.check_fence(self.owner, lease)?;
        let kept = world.threads.get_mut(&lease.thread);
        let drafts = &mut kept.ok_or(StoreError::UnknownThread)?.drafts;
        match drafts.iter_mut().find(|kept| kept.item == draft.item) {
            Some(kept) => kept.text.push_str(&draft.text),
            None => drafts.push(draft),
        }
        Ok(())
    }

    async fn delete(&self, lease: Lease) -> Result<bool> {
        let mut world = self.world.lock();
        world.check_fence(self.owner, lease)?;
        Ok(world.threads.remove(&lease.thread).is_some())
    }

    async fn load(&self, thread: ThreadId) -> Result<Option<Loaded>> {
        let world = self.world.lock();
        Ok(world.threads.get(&thread).map(|kept| Loaded {
            thread: kept.thread.clone(),
            state: kept.state.clone(),
            last_seq: kept.head.last_seq,
            high_water: kept.head.high_water,
            drafts: kept.drafts.clone(),
        }))
    }

    async fn events(&self, thread: ThreadId, after: Seq, limit: u32) -> Result<Vec<StoredEvent>> {
        let world = self.world.lock();
        let Some(kept) = world.threads.get(&thread) else {
            return Ok(Vec::new());
        };
        let newer = (Bound::Excluded(after), Bound::Unbounded);
        let newer = kept.events.range(newer).take(limit as usize);
        Ok(newer.map(|(_, event)| event.clone()).collect())
    }

    async fn events_before(
        &self,
        thread: ThreadId,
        upto: Seq,
        limit: u32,
    ) -> Result<Vec<StoredEvent>> {
        let world = self.world.lock();
        let Some(kept) = world.threads.get(&thread) else {
            return Ok(Vec::new());
        };
        let older = kept.events.range(..=upto).rev().take(limit as usize);
        let mut events: Vec<StoredEvent> = older.map(|(_, event)| event.clone()).collect();
        events.reverse();
        Ok(events)
    }

    async fn entries(
        &self,
        thread: ThreadId,
        from: u64,
        messages: Range<u64>,
        limit: u32,
    ) -> Result<Vec<(EntryRow, StoredEvent)>> {
        let world = self.world.lock();
        let Some(kept) = world.threads.get(&thread) else {
            return Ok(Vec::new());
        };
        let rows = kept.entries.range(from..).map(|(_, row)| *row);
        Ok(rows
            .filter(|row| messages.contains(&row.message))
            .take(limit as usize)
            .map(|row| (row, kept.events[&row.seq].clone()))
            .collect())
    }

    async fn receipt(
        &self,
        thread: ThreadId,
        kind: &'static str,
        client_id: &str,
    ) -> Result<Option<Receipt>> {
        let world = self.world.lock();
        let receipts = world.threads.get(&thread).map(|kept| &kept.receipts);
        Ok(receipts.and_then(|receipts| receipts.get(&(kind, client_id.to_owned())).cloned()))
    }

    async fn threads(&self, tenant: &TenantId, query: &ThreadQuery) -> Result<ThreadPage> {
        self.world.lock().list(tenant, query)
    }

    async fn thread(&self, thread: ThreadId) -> Result<Option<Thread>> {
        let world = self.world.lock();
        Ok(world.threads.get(&thread).map(|kept| kept.thread.clone()))
    }

    async fn thread_by_client_id(
        &self,
        tenant: &TenantId,
        client_id: &str,
    ) -> Result<Option<ThreadId>> {
        Ok(self.world.lock().by_client_id(tenant, client_id))
    }

    async fn unfinished(&self) -> Result<Vec<ThreadId>> {
        let world = self.world.lock();
        let unfinished = world.threads.iter().filter(|(_, kept)| kept.unfinished);
        let mut found: Vec<ThreadId> = unfinished
            .map(|(id, _)| *id)
            .filter(|id| match world.leases.get(id) {
                Some(held) => !world.is_alive(held.owner),
                None => true,
            })
            .collect();
        found.sort();
        Ok(found)
    }

    async fn reserve(&self, counter: Counter, count: u64) -> Result<u64> {
        let mut world = self.world.lock();
        let last = world.counters.entry(counter.name()).or_default();
        let first = *last + 1;
        *last += count;
        Ok(first)
    }

    async fn setting(&self, tenant: &TenantId, name: &str) -> Result<Option<String>> {
        let key = (tenant.clone(), name.to_owned());
        Ok(self.world.lock().settings.get(&key).cloned())
    }

    async fn set_setting(&self, tenant: &TenantId, name: &str, value: &str) -> Result<()> {
        let key = (tenant.clone(), name.to_owned());
        self.world.lock().settings.insert(key, value.to_owned());
        Ok(())
    }

    async fn ready(&self) -> Result<()> {
        Ok(())
    }
}
