//! Keeps the log, the threads and the settings: one trait and SQLite.
//!
//! A store does not look into events. It keeps, per thread, an append-only log of durable events,
//! one small state row, and two projections that only point into the log, transcript entries and
//! turns; all of them are written in one transaction per append, or not at all.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use thiserror::Error;
use vocabulary::{
    IndexedTurn, ItemId, Seq, TenantId, Thread, ThreadId, ThreadPage, ThreadQuery, Timestamp,
    TreeThread, TurnSelection, WorkspaceId,
};

mod changes;
mod check;
mod credits;
mod cursor;
mod records;
pub mod sqlite;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;

pub use changes::{ChangesElsewhere, ListChange, ListEntry};
pub use credits::{
    Credit, CreditChange, CreditCharge, CreditHolder, ReservationChange, ReservationOutcome,
};
pub use records::{Record, RecordBatch, RecordChange, RecordKind, Records};

pub type Result<T, E = StoreError> = std::result::Result<T, E>;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StoreError {
    /// Another live process has the thread awake.
    #[error("this thread is awake in another process ({owner})")]
    Held { owner: String },
    /// The lease was lost to another process: whatever this one holds in memory is void.
    #[error("the lease on this thread was lost")]
    Fenced,
    /// Somebody appended what this writer has not seen.
    #[error("the log stands at {found}, not at {expected}")]
    OutOfStep { expected: Seq, found: Seq },
    #[error("there is no such thread")]
    UnknownThread,
    /// Another thread, or another request, has this client-made id already.
    #[error("this id is taken")]
    Taken,
    /// A list was asked to go on from a place that this store never named.
    #[error("this cursor is not one of ours; start the list again without it")]
    BadCursor,
    /// Somebody wrote records that this writer has not seen: read again.
    #[error("the library stands at revision {found}, not at {expected}")]
    Outdated { expected: u64, found: u64 },
    /// The file at this place belongs to another program; it was not touched.
    #[error("the database belongs to another program: {0}")]
    Foreign(String),
    /// Our own database is not what it was: cut off, overwritten, gone. It was not touched.
    #[error("the database is damaged: {0}")]
    Damaged(String),
    #[error("the disk is full")]
    Full,
    #[error("the store failed: {0}")]
    Failed(String),
}

/// The right to append to one thread, until somebody with a higher number takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    pub thread: ThreadId,
    pub fence: u64,
}

/// What one append writes, all of it or nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// The thread's list row, where it changed. The first batch of a thread must have it.
    pub thread: Option<Thread>,
    /// In order of `seq`, each above everything in the log.
    pub events: Vec<StoredEvent>,
    /// Which of `events` are entries of the transcript.
    pub entries: Vec<EntryRow>,
    /// Turns that started or ended; a row replaces the one of its number.
    pub turns: Vec<IndexedTurn>,
    /// What goes before the rows above come: turns were taken back.
    pub reverts: Option<RevertedRows>,
    /// What a new thread takes over of another one's log. Entries may point into it.
    pub inherits: Option<InheritedLog>,
    /// The engine's state row after this batch.
    pub state: Bytes,
    /// Whether the thread needs looking after when its process dies: a turn is running.
    pub unfinished: bool,
    /// No number up to here may ever be given again.
    pub high_water: Seq,
    pub receipts: Vec<Receipt>,
    /// Items whose drafts are no longer needed.
    pub drafts_done: Vec<ItemId>,
    /// What its events say was spent, where the tenant may have a limit.
    pub charge: Option<CreditCharge>,
    /// What is written with it to the library of the thread's tenant; only beside the thread's row.
    pub records: Option<RecordBatch>,
}

/// Entries and turns from these places on are pointed to no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RevertedRows {
    /// The ordinal of the first entry that goes.
    pub entry: u64,
    /// The number of the first turn that goes.
    pub turn: u64,
}

/// A part of another thread's log, which is copied under the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InheritedLog {
    pub from: ThreadId,
    pub after: Seq,
    pub upto: Seq,
}

/// A durable event, serialised once by the engine and never again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    pub seq: Seq,
    pub at: Timestamp,
    pub payload: Bytes,
}

/// A transcript entry: a pointer into the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryRow {
    pub ordinal: u64,
    pub message: u64,
    pub seq: Seq,
}

/// Proof that a client's request was accepted once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// What kind of id it is, e.g. `message` or `turn`.
    pub kind: Cow<'static, str>,
    pub client_id: String,
    /// Hash of the request's body.
    pub hash: [u8; 32],
    /// What was answered.
    pub answer: String,
}

impl Receipt {
    /// What there is once in a thread, and what receipts are in order of.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn key(&self) -> (String, String) {
        (self.kind.to_string(), self.client_id.clone())
    }
}

/// What waking a thread needs. The log itself is not read.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedThread {
    pub thread: Thread,
    pub state: Bytes,
    /// The last durable event.
    pub last_seq: Seq,
    pub high_water: Seq,
    pub drafts: Vec<Draft>,
}

/// Text of an item that has not finished, kept while it streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    pub item: ItemId,
    /// The engine's own description of the item; only the first piece's counts.
    pub about: String,
    pub text: String,
}

/// Numbers that are unique in the whole home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    Ask,
}

impl Counter {
    /// Under which name a store keeps it; never to be changed.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Counter::Ask => "ask",
        }
    }
}

#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Takes a thread for this process. Taking what this process already has gives a new fence.
    /// A thread that is not in the store yet can be leased too.
    async fn acquire(&self, thread: ThreadId) -> Result<Lease>;
    /// Asks the process that has a thread to give it back; it hears of it as a change elsewhere. Nothing
    /// more is known then: acquire it again.
    async fn request(&self, thread: ThreadId) -> Result<()>;
    /// Gives a thread back. A lease that was lost already is no error.
    async fn release(&self, lease: Lease) -> Result<()>;

    /// Writes a batch durably. `expected` is the last durable seq the writer knows of.
    async fn append(&self, lease: Lease, expected: Seq, batch: Batch) -> Result<()>;
    /// Adds text to an item's draft; durable when it returns. Pieces join in the order given.
    async fn draft(&self, lease: Lease, draft: Draft) -> Result<()>;
    /// Forgets a thread and everything of it but the lease, and remembers that it was deleted.
    /// `false`: there was none.
    async fn delete(&self, lease: Lease) -> Result<bool>;
    /// Whether a thread of this id was deleted, and is not there again.
    async fn is_deleted(&self, thread: ThreadId) -> Result<bool>;

    async fn load(&self, thread: ThreadId) -> Result<Option<LoadedThread>>;
    /// Durable events with `after < seq`, oldest first, at most `limit`.
    async fn events(&self, thread: ThreadId, after: Seq, limit: u32) -> Result<Vec<StoredEvent>>;
    /// The last `limit` durable events with `seq <= upto`, oldest first.
    async fn events_before(
        &self,
        thread: ThreadId,
        upto: Seq,
        limit: u32,
    ) -> Result<Vec<StoredEvent>>;
    /// Entries with `from <= ordinal` whose message is in `messages`, in order of `ordinal`, at
    /// most `limit`. From `from` on, messages never go down as ordinals rise: pass the place of
    /// the last reset, after which they count from 0 again.
    async fn entries(
        &self,
        thread: ThreadId,
        from: u64,
        messages: std::ops::Range<u64>,
        limit: u32,
    ) -> Result<Vec<(EntryRow, StoredEvent)>>;
    /// Turns whose first entry stands at `from` or later, in the order that the selection says, at
    /// most `limit`. Of several with one id the newest is the one.
    async fn turns(
        &self,
        thread: ThreadId,
        from: u64,
        selection: &TurnSelection,
        limit: u32,
    ) -> Result<Vec<IndexedTurn>>;
    async fn receipt(
        &self,
        thread: ThreadId,
        kind: &str,
        client_id: &str,
    ) -> Result<Option<Receipt>>;
    /// Receipts of a thread behind this one, by kind and then by the client's id, at most `limit`.
    async fn receipts(
        &self,
        thread: ThreadId,
        after: Option<&Receipt>,
        limit: u32,
    ) -> Result<Vec<Receipt>>;

    /// Threads of a tenant, newest `updated_at` first, then by id.
    async fn threads(&self, tenant: &TenantId, query: &ThreadQuery) -> Result<ThreadPage>;
    /// All threads of a workspace that a tree shows, archived and hidden ones too: newest first, then by id.
    async fn tree(&self, tenant: &TenantId, workspace: &WorkspaceId) -> Result<Vec<TreeThread>>;
    async fn thread(&self, thread: ThreadId) -> Result<Option<Thread>>;
    async fn thread_by_client_id(
        &self,
        tenant: &TenantId,
        client_id: &str,
    ) -> Result<Option<ThreadId>>;
    /// Threads whose last batch said `unfinished` and that no live process has awake.
    async fn unfinished(&self) -> Result<Vec<ThreadId>>;

    /// Takes `count` numbers for good; gives the first. Numbers start at 1.
    async fn reserve(&self, counter: Counter, count: u64) -> Result<u64>;

    /// Small settings by name, e.g. the library's revision.
    async fn setting(&self, tenant: &TenantId, name: &str) -> Result<Option<String>>;
    async fn set_setting(&self, tenant: &TenantId, name: &str, value: &str) -> Result<()>;
    /// All whose names begin so, by name, each with its value.
    async fn settings_of(&self, tenant: &TenantId, prefix: &str) -> Result<Vec<(String, String)>>;
    /// One that is not there is removed already.
    async fn remove_setting(&self, tenant: &TenantId, name: &str) -> Result<()>;

    /// All records of one kind.
    async fn records(&self, tenant: &TenantId, kind: RecordKind) -> Result<Records>;
    /// Those of these ids that are there, in the order of `ids`.
    async fn records_named(
        &self,
        tenant: &TenantId,
        kind: RecordKind,
        ids: &[String],
    ) -> Result<Vec<Record>>;
    /// Writes a batch of records, all of it or nothing; gives the library's new revision.
    /// `expected` is the revision the batch was made from.
    async fn write_records(
        &self,
        tenant: &TenantId,
        expected: u64,
        changes: Vec<RecordChange>,
    ) -> Result<u64>;

    /// What a tenant may spend; `None` where there is no limit.
    async fn credit(&self, tenant: &TenantId) -> Result<Option<Credit>>;
    /// Changes what a tenant may spend, and gives what it is then.
    async fn change_credit(
        &self,
        tenant: &TenantId,
        change: CreditChange,
    ) -> Result<Option<Credit>>;
    /// Changes what a turn has reserved, unless there is not enough. What other turns that run have
    /// reserved counts, in whatever process.
    async fn reserve_credit(
        &self,
        holder: &CreditHolder,
        change: ReservationChange,
    ) -> Result<ReservationOutcome>;

    /// Waits until other processes changed lists, and says what. Asked by one at a time; what was
    /// changed before this process came is not told.
    async fn changed_elsewhere(&self) -> Result<ChangesElsewhere>;

    /// Whether calls can be answered.
    async fn ready(&self) -> Result<()>;
    /// How many writes wait for their turn, where they queue at all.
    fn writes_waiting(&self) -> usize {
        0
    }
}

pub type SharedStore = Arc<dyn Store>;
