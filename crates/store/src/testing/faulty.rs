//! A store that fails when told to, so that tests can see what the engine does then.

use std::ops::Range;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::watch;
use vocabulary::{
    IndexedTurn, Seq, TenantId, Thread, ThreadId, ThreadPage, ThreadQuery, TreeThread,
    TurnSelection, WorkspaceId,
};

use crate::{
    Batch, ChangesElsewhere, Counter, Credit, CreditChange, CreditHolder, Draft, EntryRow, Lease,
    LoadedThread, Receipt, Record, RecordChange, RecordKind, Records, ReservationChange,
    ReservationOutcome, Result, Store, StoreError, StoredEvent,
};

/// Passes everything on to the store inside, but for the faults it was told.
pub struct Faulty<S> {
    inner: S,
    plan: Mutex<Plan>,
    /// Whether appends wait before they are tried.
    held: watch::Sender<bool>,
}

#[derive(Default)]
struct Plan {
    appends: u64,
    /// By the append's number.
    faults: Vec<(u64, Fault)>,
    broken: Option<StoreError>,
}

/// How an append fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing was written.
    Refused(StoreError),
    /// All was written, and the word that it was got lost.
    Unacknowledged(StoreError),
}

impl<S: Store> Faulty<S> {
    pub fn new(inner: S) -> Self {
        Self {
            inner,
            plan: Mutex::default(),
            held: watch::Sender::new(false),
        }
    }

    /// Whether appends wait from now on, as on a slow disk.
    pub fn hold_appends(&self, held: bool) {
        self.held.send_replace(held);
    }

    /// The `nth` append from the start will fail; the first is 1.
    pub fn fail_append(&self, nth: u64, fault: Fault) {
        self.plan.lock().faults.push((nth, fault));
    }

    /// Nothing can be written any more, as on a full disk; what is there can be read.
    pub fn fail_from_now_on(&self, error: StoreError) {
        self.plan.lock().broken = Some(error);
    }

    /// Takes back [`Faulty::fail_from_now_on`].
    pub fn heal(&self) {
        self.plan.lock().broken = None;
    }

    /// How many appends were tried.
    pub fn appends(&self) -> u64 {
        self.plan.lock().appends
    }

    pub fn inner(&self) -> &S {
        &self.inner
    }

    fn check(&self) -> Result<()> {
        match &self.plan.lock().broken {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    fn next_fault(&self) -> Option<Fault> {
        let mut plan = self.plan.lock();
        plan.appends += 1;
        let planned = plan.faults.iter().find(|(nth, _)| *nth == plan.appends);
        planned.map(|(_, fault)| fault.clone())
    }
}

#[async_trait]
impl<S: Store> Store for Faulty<S> {
    async fn acquire(&self, thread: ThreadId) -> Result<Lease> {
        self.check()?;
        self.inner.acquire(thread).await
    }

    async fn request(&self, thread: ThreadId) -> Result<()> {
        self.check()?;
        self.inner.request(thread).await
    }

    async fn release(&self, lease: Lease) -> Result<()> {
        self.check()?;
        self.inner.release(lease).await
    }

    async fn append(&self, lease: Lease, expected: Seq, batch: Batch) -> Result<()> {
        // The sender lives as long as we do, so this can only end well.
        let _ = self.held.subscribe().wait_for(|held| !held).await;
        let fault = self.next_fault();
        self.check()?;
        match fault {
            None => self.inner.append(lease, expected, batch).await,
            Some(Fault::Refused(error)) => Err(error),
            Some(Fault::Unacknowledged(error)) => {
                self.inner.append(lease, expected, batch).await?;
                Err(error)
            }
        }
    }

    async fn draft(&self, lease: Lease, draft: Draft) -> Result<()> {
        self.check()?;
        self.inner.draft(lease, draft).await
    }

    async fn delete(&self, lease: Lease) -> Result<bool> {
        self.check()?;
        self.inner.delete(lease).await
    }

    async fn is_deleted(&self, thread: ThreadId) -> Result<bool> {
        self.inner.is_deleted(thread).await
    }

    async fn load(&self, thread: ThreadId) -> Result<Option<LoadedThread>> {
        self.inner.load(thread).await
    }

    async fn events(&self, thread: ThreadId, after: Seq, limit: u32) -> Result<Vec<StoredEvent>> {
        self.inner.events(thread, after, limit).await
    }

    async fn events_before(
        &self,
        thread: ThreadId,
        upto: Seq,
        limit: u32,
    ) -> Result<Vec<StoredEvent>> {
        self.inner.events_before(thread, upto, limit).await
    }

    async fn entries(
        &self,
        thread: ThreadId,
        from: u64,
        messages: Range<u64>,
        limit: u32,
    ) -> Result<Vec<(EntryRow, StoredEvent)>> {
        self.inner.entries(thread, from, messages, limit).await
    }

    async fn turns(
        &self,
        thread: ThreadId,
        from: u64,
        selection: &TurnSelection,
        limit: u32,
    ) -> Result<Vec<IndexedTurn>> {
        self.inner.turns(thread, from, selection, limit).await
    }

    async fn receipt(
        &self,
        thread: ThreadId,
        kind: &str,
        client_id: &str,
    ) -> Result<Option<Receipt>> {
        self.inner.receipt(thread, kind, client_id).await
    }

    async fn receipts(
        &self,
        thread: ThreadId,
        after: Option<&Receipt>,
        limit: u32,
    ) -> Result<Vec<Receipt>> {
        self.inner.receipts(thread, after, limit).await
    }

    async fn threads(&self, tenant: &TenantId, query: &ThreadQuery) -> Result<ThreadPage> {
        self.inner.threads(tenant, query).await
    }

    async fn tree(&self, tenant: &TenantId, workspace: &WorkspaceId) -> Result<Vec<TreeThread>> {
        self.inner.tree(tenant, workspace).await
    }

    async fn thread(&self, thread: ThreadId) -> Result<Option<Thread>> {
        self.inner.thread(thread).await
    }

    async fn thread_by_client_id(
        &self,
        tenant: &TenantId,
        client_id: &str,
    ) -> Result<Option<ThreadId>> {
        self.inner.thread_by_client_id(tenant, client_id).await
    }

    async fn unfinished(&self) -> Result<Vec<ThreadId>> {
        self.inner.unfinished().await
    }

    async fn reserve(&self, counter: Counter, count: u64) -> Result<u64> {
        self.check()?;
        self.inner.reserve(counter, count).await
    }

    async fn setting(&self, tenant: &TenantId, name: &str) -> Result<Option<String>> {
        self.inner.setting(tenant, name).await
    }

    async fn set_setting(&self, tenant: &TenantId, name: &str, value: &str) -> Result<()> {
        self.check()?;
        self.inner.set_setting(tenant, name, value).await
    }

    async fn settings_of(&self, tenant: &TenantId, prefix: &str) -> Result<Vec<(String, String)>> {
        self.inner.settings_of(tenant, prefix).await
    }

    async fn remove_setting(&self, tenant: &TenantId, name: &str) -> Result<()> {
        self.check()?;
        self.inner.remove_setting(tenant, name).await
    }

    async fn records(&self, tenant: &TenantId, kind: RecordKind) -> Result<Records> {
        self.inner.records(tenant, kind).await
    }

    async fn records_named(
        &self,
        tenant: &TenantId,
        kind: RecordKind,
        ids: &[String],
    ) -> Result<Vec<Record>> {
        self.inner.records_named(tenant, kind, ids).await
    }

    async fn write_records(
        &self,
        tenant: &TenantId,
        expected: u64,
        changes: Vec<RecordChange>,
    ) -> Result<u64> {
        self.check()?;
        self.inner.write_records(tenant, expected, changes).await
    }

    async fn credit(&self, tenant: &TenantId) -> Result<Option<Credit>> {
        self.inner.credit(tenant).await
    }

    async fn change_credit(
        &self,
        tenant: &TenantId,
        change: CreditChange,
    ) -> Result<Option<Credit>> {
        self.check()?;
        self.inner.change_credit(tenant, change).await
    }

    async fn reserve_credit(
        &self,
        holder: &CreditHolder,
        change: ReservationChange,
    ) -> Result<ReservationOutcome> {
        self.check()?;
        self.inner.reserve_credit(holder, change).await
    }

    async fn changed_elsewhere(&self) -> Result<ChangesElsewhere> {
        self.inner.changed_elsewhere().await
    }

    async fn ready(&self) -> Result<()> {
        self.check()?;
        self.inner.ready().await
    }
}
