//! The store in one SQLite file: the default, for one machine with any number of processes.
//!
//! All writing goes through one thread that commits in groups ([`writer`]); reading has its own
//! few connections ([`reader`]); who may write to which thread is decided by leases ([`leases`]).

mod append;
mod changes;
mod credits;
mod foreign;
mod inspect;
mod leases;
mod listing;
mod migrations;
mod open;
mod presence;
mod queries;
mod reader;
mod records;
mod salvage;
mod turns;
mod writer;

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::ErrorCode;
use vocabulary::{
    IndexedTurn, Seq, TenantId, Thread, ThreadId, ThreadPage, ThreadQuery, TreeThread,
    TurnSelection, WorkspaceId,
};

use crate::{
    Batch, ChangesElsewhere, Counter, Credit, CreditChange, CreditHolder, Draft, EntryRow, Lease,
    LoadedThread, Receipt, Record, RecordChange, RecordKind, Records, ReservationChange,
    ReservationOutcome, Result, Store, StoreError, StoredEvent,
};
use changes::Follower;
pub use foreign::foreign_sessions;
pub use inspect::{DatabaseReport, inspect, is_in_use, lock_out};
use leases::Owner;
#[cfg(any(test, feature = "testing"))]
pub(crate) use listing::page;
pub use open::APPLICATION_ID;
pub use presence::{DatabasePresence, GONE, OVERWRITTEN, OWNERS, find};
use reader::Readers;
pub use salvage::{Salvage, SalvagedTable, SalvagedThread, salvage, write_salvaged};
use writer::Writer;

/// One process's hold on a database file.
pub struct SqliteStore {
    // In this order: the writer's connection closes last and tidies the files up.
    readers: Readers,
    writer: Writer,
    follower: tokio::sync::Mutex<Follower>,
    owner: Arc<Owner>,
}

impl SqliteStore {
    /// Opens the database, making it where there is none. `label` says to other processes who
    /// this one is, e.g. `pid 123, ws://127.0.0.1:7337`.
    ///
    /// A database that was here and is gone, empty or overwritten is [`StoreError::Damaged`], and
    /// nothing is touched.
    pub fn open(path: &Path, label: &str) -> Result<SqliteStore> {
        let opened = open::open(path, label)?;
        let owner = Arc::new(opened.owner);
        Ok(Self {
            readers: Readers::new(&opened.path),
            writer: Writer::start(opened.connection, opened.lock, Arc::clone(&owner))?,
            follower: tokio::sync::Mutex::new(Follower::new(owner.changes_before())),
            owner,
        })
    }
}

/// The titles of threads, for whoever only looks at a database and takes no part in it. Threads that
/// are not in it have none.
pub fn titles(path: &Path, threads: &[ThreadId]) -> Result<HashMap<ThreadId, String>> {
    let db = reader::connect(path)?;
    let mut titles = HashMap::new();
    for id in threads {
        if let Some(thread) = listing::thread(&db, *id)? {
            titles.insert(*id, thread.title.text);
        }
    }
    Ok(titles)
}

#[cfg(test)]
impl SqliteStore {
    /// Plays a full disk.
    pub(crate) async fn limit_pages(&self, pages: u32) -> Result<()> {
        let limit = move |db: &rusqlite::Connection| {
            db.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
            Ok(())
        };
        self.writer.run(limit).await
    }

    pub(crate) async fn panic_in_the_writer(&self) -> Result<()> {
        self.writer.run(|_| panic!("as the test wants it")).await
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => StoreError::Full,
            // Whose file it is was seen before SQLite was let near it.
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                StoreError::Damaged(error.to_string())
            }
            _ => StoreError::Failed(error.to_string()),
        }
    }
}

/// SQLite's integers are signed; a number that does not fit was never given by us.
fn signed(number: u64) -> Result<i64> {
    i64::try_from(number).map_err(|_| StoreError::Failed(format!("{number} is out of range")))
}

/// As a bound of a search: what does not fit is beyond everything.
fn bound(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[async_trait]
impl Store for SqliteStore {
    async fn acquire(&self, thread: ThreadId) -> Result<Lease> {
        let owner = self.owner.clone();
        self.writer
            .run(move |db| leases::acquire(db, &owner, thread))
            .await
    }

    async fn request(&self, thread: ThreadId) -> Result<()> {
        let owner = self.owner.clone();
        self.writer
            .run(move |db| changes::request(db, &owner, thread))
            .await
    }

    async fn release(&self, lease: Lease) -> Result<()> {
        self.writer.run(move |db| leases::release(db, lease)).await
    }

    async fn append(&self, lease: Lease, expected: Seq, batch: Batch) -> Result<()> {
        let owner = self.owner.clone();
        self.writer
            .run(move |db| append::append(db, &owner, lease, expected, &batch))
            .await
    }

    async fn draft(&self, lease: Lease, draft: Draft) -> Result<()> {
        let owner = self.owner.clone();
        self.writer
            .run(move |db| append::draft(db, &owner, lease, &draft))
            .await
    }

    async fn delete(&self, lease: Lease) -> Result<bool> {
        let owner = self.owner.clone();
        self.writer
            .erase(move |db| append::delete(db, &owner, lease))
            .await
    }

    async fn is_deleted(&self, thread: ThreadId) -> Result<bool> {
        self.readers
            .run(move |db| queries::is_deleted(db, thread))
            .await
    }

    async fn load(&self, thread: ThreadId) -> Result<Option<LoadedThread>> {
        self.readers.run(move |db| queries::load(db, thread)).await
    }

    async fn events(&self, thread: ThreadId, after: Seq, limit: u32) -> Result<Vec<StoredEvent>> {
        self.readers
            .run(move |db| queries::events(db, thread, after, limit))
            .await
    }

    async fn events_before(
        &self,
        thread: ThreadId,
        upto: Seq,
        limit: u32,
    ) -> Result<Vec<StoredEvent>> {
        self.readers
            .run(move |db| queries::events_before(db, thread, upto, limit))
            .await
    }

    async fn entries(
        &self,
        thread: ThreadId,
        from: u64,
        messages: Range<u64>,
        limit: u32,
    ) -> Result<Vec<(EntryRow, StoredEvent)>> {
        self.readers
            .run(move |db| queries::entries(db, thread, from, messages, limit))
            .await
    }

    async fn turns(
        &self,
        thread: ThreadId,
        from: u64,
        selection: &TurnSelection,
        limit: u32,
    ) -> Result<Vec<IndexedTurn>> {
        let selection = selection.clone();
        self.readers
            .run(move |db| turns::read(db, thread, from, &selection, limit))
            .await
    }

    async fn receipt(
        &self,
        thread: ThreadId,
        kind: &str,
        client_id: &str,
    ) -> Result<Option<Receipt>> {
        let (kind, client_id) = (kind.to_owned(), client_id.to_owned());
        self.readers
            .run(move |db| queries::receipt(db, thread, kind, client_id))
            .await
    }

    async fn receipts(
        &self,
        thread: ThreadId,
        after: Option<&Receipt>,
        limit: u32,
    ) -> Result<Vec<Receipt>> {
        // None has an empty kind.
        let after = after.map(|last| (last.kind.to_string(), last.client_id.clone()));
        self.readers
            .run(move |db| queries::receipts(db, thread, after.unwrap_or_default(), limit))
            .await
    }

    async fn threads(&self, tenant: &TenantId, query: &ThreadQuery) -> Result<ThreadPage> {
        let (tenant, query) = (tenant.clone(), query.clone());
        self.readers
            .run(move |db| listing::threads(db, &tenant, &query))
            .await
    }

    async fn tree(&self, tenant: &TenantId, workspace: &WorkspaceId) -> Result<Vec<TreeThread>> {
        let (tenant, workspace) = (tenant.clone(), workspace.clone());
        self.readers
            .run(move |db| listing::tree(db, &tenant, &workspace))
            .await
    }

    async fn thread(&self, thread: ThreadId) -> Result<Option<Thread>> {
        self.readers
            .run(move |db| listing::thread(db, thread))
            .await
    }

    async fn thread_by_client_id(
        &self,
        tenant: &TenantId,
        client_id: &str,
    ) -> Result<Option<ThreadId>> {
        let (tenant, client_id) = (tenant.clone(), client_id.to_owned());
        self.readers
            .run(move |db| listing::by_client_id(db, &tenant, &client_id))
            .await
    }

    async fn unfinished(&self) -> Result<Vec<ThreadId>> {
        let owner = self.owner.clone();
        self.readers
            .run(move |db| leases::unfinished(db, &owner))
            .await
    }

    async fn reserve(&self, counter: Counter, count: u64) -> Result<u64> {
        self.writer
            .run(move |db| {
                let last = append::count_up(db, counter.name(), count)?;
                Ok(last - count + 1)
            })
            .await
    }

    async fn setting(&self, tenant: &TenantId, name: &str) -> Result<Option<String>> {
        let (tenant, name) = (tenant.clone(), name.to_owned());
        self.readers
            .run(move |db| queries::setting(db, &tenant, &name))
            .await
    }

    async fn set_setting(&self, tenant: &TenantId, name: &str, value: &str) -> Result<()> {
        let (tenant, name, value) = (tenant.clone(), name.to_owned(), value.to_owned());
        self.writer
            .run(move |db| append::set_setting(db, &tenant, &name, &value))
            .await
    }

    async fn settings_of(&self, tenant: &TenantId, prefix: &str) -> Result<Vec<(String, String)>> {
        let (tenant, prefix) = (tenant.clone(), prefix.to_owned());
        self.readers
            .run(move |db| queries::settings_of(db, &tenant, &prefix))
            .await
    }

    async fn remove_setting(&self, tenant: &TenantId, name: &str) -> Result<()> {
        let (tenant, name) = (tenant.clone(), name.to_owned());
        self.writer
            .run(move |db| append::remove_setting(db, &tenant, &name))
            .await
    }

    async fn records(&self, tenant: &TenantId, kind: RecordKind) -> Result<Records> {
        let tenant = tenant.clone();
        self.readers
            .run(move |db| records::read(db, &tenant, kind))
            .await
    }

    async fn records_named(
        &self,
        tenant: &TenantId,
        kind: RecordKind,
        ids: &[String],
    ) -> Result<Vec<Record>> {
        let (tenant, ids) = (tenant.clone(), ids.to_vec());
        self.readers
            .run(move |db| records::named(db, &tenant, kind, ids))
            .await
    }

    async fn write_records(
        &self,
        tenant: &TenantId,
        expected: u64,
        changes: Vec<RecordChange>,
    ) -> Result<u64> {
        let (owner, tenant) = (self.owner.clone(), tenant.clone());
        self.writer
            .run(move |db| records::write(db, &owner, &tenant, expected, &changes))
            .await
    }

    async fn credit(&self, tenant: &TenantId) -> Result<Option<Credit>> {
        let (owner, tenant) = (self.owner.clone(), tenant.clone());
        self.readers
            .run(move |db| credits::read(db, &owner, &tenant))
            .await
    }

    async fn change_credit(
        &self,
        tenant: &TenantId,
        change: CreditChange,
    ) -> Result<Option<Credit>> {
        let (owner, tenant) = (self.owner.clone(), tenant.clone());
        self.writer
            .run(move |db| credits::change(db, &owner, &tenant, change))
            .await
    }

    async fn reserve_credit(
        &self,
        holder: &CreditHolder,
        change: ReservationChange,
    ) -> Result<ReservationOutcome> {
        let (owner, holder) = (self.owner.clone(), holder.clone());
        self.writer
            .run(move |db| credits::reserve(db, &owner, &holder, change))
            .await
    }

    async fn changed_elsewhere(&self) -> Result<ChangesElsewhere> {
        let mut follower = self.follower.lock().await;
        follower.watch(self.owner.directory())?;
        loop {
            let (owner, last) = (self.owner.clone(), follower.last);
            let read = move |db: &_| changes::after(db, owner.id(), last);
            let (found, upto) = self.readers.run(read).await?;
            follower.last = upto;
            if found != ChangesElsewhere::default() {
                return Ok(found);
            }
            follower.wait().await?;
        }
    }

    async fn ready(&self) -> Result<()> {
        self.writer.run(|_| Ok(())).await?;
        self.readers.run(queries::ready).await
    }

    fn writes_waiting(&self) -> usize {
        self.writer.waiting()
    }
}
