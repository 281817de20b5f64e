//! The store in memory: for tests, and for a server that shall keep nothing.

mod credits;
mod library;
mod world;

use std::ops::{Bound, Range};
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::Notify;
use vocabulary::{
    ArchivedThreads, IndexedTurn, Seq, TenantId, Thread, ThreadId, ThreadPage, ThreadQuery,
    TreeThread, TurnSelection, WorkspaceId,
};

use crate::{
    Batch, ChangesElsewhere, Counter, Credit, CreditChange, CreditHolder, Draft, EntryRow, Lease,
    ListChange, ListEntry, LoadedThread, Receipt, Record, RecordBatch, RecordChange, RecordKind,
    Records, ReservationChange, ReservationOutcome, Result, Store, StoreError, StoredEvent,
};
use world::World;

/// What outlives a process: open it again to play a restart, or twice to play two processes.
#[derive(Clone, Default)]
pub struct MemoryWorld(Arc<Mutex<World>>, Arc<Notify>);

impl MemoryWorld {
    pub fn new() -> Self {
        Self::default()
    }

    /// Every process opened so far counts as dead, even while its store is still held somewhere.
    pub fn crash(&self) {
        for owner in &mut self.0.lock().owners {
            *owner = Weak::new();
        }
    }

    /// Starts one more "process" on this world. Its leases are free once it is dropped.
    pub fn open(&self) -> MemoryStore {
        let alive = Arc::new(());
        let mut world = self.0.lock();
        world.owners.push(Arc::downgrade(&alive));
        MemoryStore {
            owner: world.owners.len() - 1,
            changed: self.1.clone(),
            heard: Mutex::new((world.changes.len(), world.requests.len())),
            world: self.0.clone(),
            _alive: alive,
        }
    }
}

/// One process's view of a [`MemoryWorld`].
pub struct MemoryStore {
    world: Arc<Mutex<World>>,
    owner: usize,
    changed: Arc<Notify>,
    /// How many changes of lists, and how many requests, were looked at.
    heard: Mutex<(usize, usize)>,
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

#[async_trait]
impl Store for MemoryStore {
    async fn acquire(&self, thread: ThreadId) -> Result<Lease> {
        self.world.lock().acquire(self.owner, thread)
    }

    async fn request(&self, thread: ThreadId) -> Result<()> {
        self.world.lock().requests.push((self.owner, thread));
        self.changed.notify_waiters();
        Ok(())
    }

    async fn release(&self, lease: Lease) -> Result<()> {
        let mut world = self.world.lock();
        if world.check_fence(self.owner, lease).is_ok() {
            world.leases.remove(&lease.thread);
            world.credits.forget(lease.thread);
        }
        Ok(())
    }

    async fn append(&self, lease: Lease, expected: Seq, batch: Batch) -> Result<()> {
        let appended = self.world.lock().append(self.owner, lease, expected, batch);
        self.changed.notify_waiters();
        appended
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
        world.deleted.insert(lease.thread);
        world.credits.forget(lease.thread);
        let Some(removed) = world.threads.remove(&lease.thread) else {
            return Ok(false);
        };
        if removed.thread.card.ephemeral {
            return Ok(true);
        }
        let change = ListChange {
            tenant: removed.thread.card.tenant,
            what: ListEntry::Thread(lease.thread),
            is_new: false,
        };
        world.changes.push((self.owner, change));
        self.changed.notify_waiters();
        Ok(true)
    }

    async fn is_deleted(&self, thread: ThreadId) -> Result<bool> {
        Ok(self.world.lock().deleted.contains(&thread))
    }

    async fn load(&self, thread: ThreadId) -> Result<Option<LoadedThread>> {
        let world = self.world.lock();
        Ok(world.threads.get(&thread).map(|kept| LoadedThread {
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

    async fn turns(
        &self,
        thread: ThreadId,
        from: u64,
        selection: &TurnSelection,
        limit: u32,
    ) -> Result<Vec<IndexedTurn>> {
        let world = self.world.lock();
        let kept = world.threads.get(&thread);
        Ok(kept.map_or_else(Vec::new, |kept| kept.turns(from, selection, limit)))
    }

    async fn receipt(
        &self,
        thread: ThreadId,
        kind: &str,
        client_id: &str,
    ) -> Result<Option<Receipt>> {
        let world = self.world.lock();
        let receipts = world.threads.get(&thread).map(|kept| &kept.receipts);
        let key = (kind.to_owned(), client_id.to_owned());
        Ok(receipts.and_then(|receipts| receipts.get(&key).cloned()))
    }

    async fn receipts(
        &self,
        thread: ThreadId,
        after: Option<&Receipt>,
        limit: u32,
    ) -> Result<Vec<Receipt>> {
        let world = self.world.lock();
        let Some(kept) = world.threads.get(&thread) else {
            return Ok(Vec::new());
        };
        let after = after.map_or(Bound::Unbounded, |last| Bound::Excluded(last.key()));
        let behind = kept.receipts.range((after, Bound::Unbounded));
        let behind = behind.take(limit as usize);
        Ok(behind.map(|(_, receipt)| receipt.clone()).collect())
    }

    async fn threads(&self, tenant: &TenantId, query: &ThreadQuery) -> Result<ThreadPage> {
        self.world.lock().list(tenant, query)
    }

    async fn tree(&self, tenant: &TenantId, workspace: &WorkspaceId) -> Result<Vec<TreeThread>> {
        let query = ThreadQuery {
            archived: ArchivedThreads::Included,
            hidden: true,
            workspace: Some(workspace.clone()),
            ..ThreadQuery::default()
        };
        let page = self.world.lock().list(tenant, &query)?;
        Ok(page.threads.into_iter().map(TreeThread::from).collect())
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

    async fn settings_of(&self, tenant: &TenantId, prefix: &str) -> Result<Vec<(String, String)>> {
        let world = self.world.lock();
        let settings = world.settings.iter();
        let fits = settings.filter(|((of, name), _)| of == tenant && name.starts_with(prefix));
        let mut found: Vec<_> = fits
            .map(|((_, name), value)| (name.clone(), value.clone()))
            .collect();
        found.sort();
        Ok(found)
    }

    async fn remove_setting(&self, tenant: &TenantId, name: &str) -> Result<()> {
        let key = (tenant.clone(), name.to_owned());
        self.world.lock().settings.remove(&key);
        Ok(())
    }

    async fn records(&self, tenant: &TenantId, kind: RecordKind) -> Result<Records> {
        let world = self.world.lock();
        let library = world.libraries.get(tenant);
        Ok(library.map_or_else(Records::default, |library| library.read(kind)))
    }

    async fn records_named(
        &self,
        tenant: &TenantId,
        kind: RecordKind,
        ids: &[String],
    ) -> Result<Vec<Record>> {
        let world = self.world.lock();
        let library = world.libraries.get(tenant);
        Ok(library.map_or_else(Vec::new, |library| library.named(kind, ids)))
    }

    async fn write_records(
        &self,
        tenant: &TenantId,
        expected: u64,
        changes: Vec<RecordChange>,
    ) -> Result<u64> {
        let batch = RecordBatch { expected, changes };
        let written = self.world.lock().write_records(self.owner, tenant, batch)?;
        self.changed.notify_waiters();
        Ok(written)
    }

    async fn credit(&self, tenant: &TenantId) -> Result<Option<Credit>> {
        let world = self.world.lock();
        Ok(world.credits.read(tenant, |owner| world.is_alive(owner)))
    }

    async fn change_credit(
        &self,
        tenant: &TenantId,
        change: CreditChange,
    ) -> Result<Option<Credit>> {
        let changed = self
            .world
            .lock()
            .change_credit(self.owner, tenant, change)?;
        self.changed.notify_waiters();
        Ok(changed)
    }

    async fn reserve_credit(
        &self,
        holder: &CreditHolder,
        change: ReservationChange,
    ) -> Result<ReservationOutcome> {
        self.world.lock().reserve_credit(self.owner, holder, change)
    }

    async fn changed_elsewhere(&self) -> Result<ChangesElsewhere> {
        loop {
            let mut waiting = std::pin::pin!(self.changed.notified());
            waiting.as_mut().enable();
            let mut found = ChangesElsewhere::default();
            {
                let (world, mut heard) = (self.world.lock(), self.heard.lock());
                let news = &world.changes[heard.0..];
                let others = news.iter().filter(|(by, _)| *by != self.owner);
                others.for_each(|(_, change)| found.add(change.clone()));
                let requests = &world.requests[heard.1..];
                let others = requests.iter().filter(|(by, _)| *by != self.owner);
                found.requested.extend(others.map(|(_, thread)| *thread));
                *heard = (world.changes.len(), world.requests.len());
            }
            if found != ChangesElsewhere::default() {
                return Ok(found);
            }
            waiting.await;
        }
    }

    async fn ready(&self) -> Result<()> {
        Ok(())
    }
}
