//! Takes a thread in from a file: checked to its end before anything of it is seen, then there all at once.

use std::io::BufRead;
use std::path::PathBuf;

use bytes::Bytes;
use store::{Batch, Receipt, SharedStore, StoreError, StoredEvent};
use vocabulary::{Event, Fact, SandboxMode, Seq, TenantId, Thread, ThreadFact, ThreadId};

use super::format::{KeptReceipt, ThreadHeader, TransferEnd};
use super::reading::LineReader;
use super::staging::{StagedLog, Staging};
use super::{TransferError, asks, checks};
use crate::limits::LIBRARY_TRIES_MAX;
use crate::session::state::{Folded, Folding};
use crate::{Clock, codec};

/// How long an id of a client's may be, in bytes.
const RECEIPT_BYTES_MAX: usize = 4 << 10;

/// How a file is to be taken in.
#[derive(Clone, Debug)]
pub struct ImportWishes {
    /// Whose it will be; a file of another tenant's is refused.
    pub tenant: TenantId,
    pub home: PathBuf,
    /// Under an id of its own, beside one that is there already.
    pub as_new: bool,
    /// Only look whether it could be.
    pub dry_run: bool,
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedThread {
    pub id: ThreadId,
    pub title: String,
    pub outcome: TransferOutcome,
    /// It runs commands without asking anybody, or without a sandbox.
    pub is_unattended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferOutcome {
    Taken,
    /// A thread of this id is there.
    Known,
}

/// Takes a thread in. What fails leaves nothing.
pub async fn import(
    store: &SharedStore,
    clock: &dyn Clock,
    wishes: &ImportWishes,
    input: &mut (dyn BufRead + Send),
) -> Result<ImportedThread, TransferError> {
    let mut lines = LineReader::new(input);
    let mut header = lines.header()?;
    let original = header.thread.card.clone();
    if wishes.as_new {
        rename(&mut header.thread, wishes, clock);
    }
    let thread = &header.thread;
    let checked = checks::thread(thread, &wishes.tenant, &header.place, &wishes.home);
    checked.map_err(|what| lines.malformed(what))?;
    if header.high_water < header.last_seq || header.high_water.0 > checks::NUMBER_MAX {
        return Err(lines.malformed("`highWater` is below `lastSeq`, or too large"));
    }
    let done = |outcome: TransferOutcome| ImportedThread {
        id: thread.card.id,
        title: thread.title.text.clone(),
        outcome,
        is_unattended: thread.settings.auto_approve
            || thread.settings.sandbox == SandboxMode::FullAccess,
    };
    if store.thread(thread.card.id).await?.is_some() {
        return Ok(done(TransferOutcome::Known));
    }
    check_client_id(store, thread).await?;
    let mut staging = Staging::new(store, clock, thread, wishes.dry_run);
    let mut reading = ImportReading {
        header: &header,
        original: &original,
        lines,
    };
    let taken = match reading.all(&mut staging).await {
        Ok(read) if !wishes.dry_run => enter(store, &header, read, &mut staging).await,
        read => read.map(|_| ()),
    };
    staging.clear().await;
    taken.map(|()| done(TransferOutcome::Taken))
}

/// A copy has an id of its own, and belongs to whom it is given.
fn rename(thread: &mut Thread, wishes: &ImportWishes, clock: &dyn Clock) {
    thread.card.id = ThreadId(clock.new_id());
    thread.card.client_id = None;
    thread.card.tenant = wishes.tenant.clone();
}

async fn check_client_id(store: &SharedStore, thread: &Thread) -> Result<(), TransferError> {
    let card = &thread.card;
    let Some(client_id) = &card.client_id else {
        return Ok(());
    };
    match store.thread_by_client_id(&card.tenant, client_id).await? {
        Some(other) => Err(TransferError::Refused(format!(
            "session {other} has its client-made id `{client_id}` already; --as-new makes a copy without it"
        ))),
        None => Ok(()),
    }
}

/// All that a file says.
struct WholeThread {
    folded: Folded,
    receipts: Vec<Receipt>,
}

struct ImportReading<'a> {
    header: &'a ThreadHeader,
    /// As the file has it: a copy has another card.
    original: &'a vocabulary::ThreadCard,
    lines: LineReader<'a>,
}

/// What a line is, apart from the line.
enum ReadLine {
    Event(StoredEvent),
    Receipt(Receipt),
    End(TransferEnd),
}

impl ImportReading<'_> {
    async fn all(&mut self, staging: &mut Staging) -> Result<WholeThread, TransferError> {
        let (mut folding, mut last) = (None, Seq::ZERO);
        let mut counted = TransferEnd::default();
        let mut receipts: Vec<Receipt> = Vec::new();
        let end = loop {
            match self.line()? {
                ReadLine::Event(_) if !receipts.is_empty() => {
                    return Err(self.lines.malformed("events stand before receipts"));
                }
                ReadLine::Event(stored) if stored.seq <= last => {
                    let what = format!("event {} comes after event {last}", stored.seq);
                    return Err(self.lines.malformed(what));
                }
                ReadLine::Event(stored) => {
                    last = stored.seq;
                    counted.events += 1;
                    staging.push(self.fold(&mut folding, stored)?).await?;
                }
                ReadLine::Receipt(receipt) => {
                    self.check_receipt(receipts.last(), &receipt)?;
                    counted.receipts += 1;
                    receipts.push(receipt);
                }
                ReadLine::End(end) => break end,
            }
        };
        if end != counted || last != self.header.last_seq {
            let what = format!(
                "the file is not whole: it should have {} events up to {} and {} receipts, and has {} up to \
                 {last} and {}",
                end.events, self.header.last_seq, end.receipts, counted.events, counted.receipts
            );
            return Err(self.lines.malformed(what));
        }
        let folded = folding.ok_or_else(|| self.lines.malformed("the session has no events"))?;
        self.lines.finish()?;
        let folded = folded.end();
        self.check_row(&folded.state.thread)?;
        Ok(WholeThread { folded, receipts })
    }

    fn line(&mut self) -> Result<ReadLine, TransferError> {
        let line = self.lines.next()?;
        let found = match (line.event, line.receipt, line.end) {
            (Some(event), None, None) => match (line.seq, line.at) {
                (Some(seq), Some(at)) => Ok(ReadLine::Event(StoredEvent {
                    seq,
                    at,
                    payload: Bytes::copy_from_slice(event.get().as_bytes()),
                })),
                (..) => Err("an event has `seq` and `at`"),
            },
            (None, Some(receipt), None) => receipt_of(receipt).map(ReadLine::Receipt),
            (None, None, Some(end)) => Ok(ReadLine::End(end)),
            (..) => Err("a line is an event, a receipt or the end"),
        };
        found.map_err(|what| self.lines.malformed(what))
    }

    /// Takes an event into the fold; gives it back as the log will have it.
    fn fold(
        &self,
        folding: &mut Option<Folding>,
        stored: StoredEvent,
    ) -> Result<StoredEvent, TransferError> {
        let event = codec::decode(&stored);
        let event = event.map_err(|refusal| self.lines.malformed(refusal.message))?;
        let Some(folding) = folding else {
            let (thread, stored) = self.created(event, stored)?;
            *folding = Some(Folding::of(thread));
            return Ok(stored);
        };
        let checked = checks::event(&event, folding.state());
        checked.map_err(|what| self.lines.malformed(what))?;
        folding.add(&event);
        Ok(stored)
    }

    /// The first event: the thread as it was made, and the same with the card of a copy.
    fn created(
        &self,
        event: Event,
        stored: StoredEvent,
    ) -> Result<(Thread, StoredEvent), TransferError> {
        let Fact::Thread(ThreadFact::Created { mut thread }) = event.fact else {
            let what = "the first event is the session's creation";
            return Err(self.lines.malformed(what));
        };
        if thread.card != *self.original || thread.section.is_some() {
            let what = "this session is not the one that the first line names";
            return Err(self.lines.malformed(what));
        }
        if thread.card == self.header.thread.card {
            return Ok((*thread, stored));
        }
        thread.card = self.header.thread.card.clone();
        let copied = Event {
            fact: Fact::Thread(ThreadFact::Created {
                thread: thread.clone(),
            }),
            ..event
        };
        let payload = codec::encode(&copied)?;
        Ok((*thread, StoredEvent { payload, ..stored }))
    }

    fn check_receipt(&self, last: Option<&Receipt>, next: &Receipt) -> Result<(), TransferError> {
        let place = |receipt: &Receipt| (receipt.kind.to_string(), receipt.client_id.clone());
        let sizes = [&*next.kind, &next.client_id, &next.answer].map(str::len);
        if next.kind.is_empty() || sizes.iter().any(|bytes| *bytes > RECEIPT_BYTES_MAX) {
            let what =
                format!("a receipt has a kind, and texts of at most {RECEIPT_BYTES_MAX} bytes");
            return Err(self.lines.malformed(what));
        }
        match last.is_none_or(|last| place(last) < place(next)) {
            true => Ok(()),
            false => Err(self
                .lines
                .malformed("receipts are not in order, or twice there")),
        }
    }

    /// What the first line says of the thread must be what its events come to.
    fn check_row(&self, folded: &Thread) -> Result<(), TransferError> {
        let said = &self.header.thread;
        let differences = [
            ("card", said.card != folded.card),
            ("title", said.title != folded.title),
            ("settings", said.settings != folded.settings),
            ("archived", said.archived != folded.archived),
            ("labels", said.labels != folded.labels),
        ];
        let different = differences.iter().find(|(_, differs)| *differs);
        match different {
            Some((field, _)) => Err(TransferError::Malformed {
                line: 1,
                what: format!("`thread.{field}` is not what the events come to"),
            }),
            None => Ok(()),
        }
    }
}

fn receipt_of(receipt: KeptReceipt) -> Result<Receipt, &'static str> {
    let hash = blake3::Hash::from_hex(&receipt.hash);
    let hash = hash.map_err(|_| "`hash` of a receipt is 64 hexadecimal digits")?;
    Ok(Receipt {
        kind: receipt.kind.into(),
        client_id: receipt.client_id,
        hash: *hash.as_bytes(),
        answer: receipt.answer,
    })
}

/// Makes it be there: one transaction, with its place in the library.
async fn enter(
    store: &SharedStore,
    header: &ThreadHeader,
    read: WholeThread,
    staging: &mut Staging,
) -> Result<(), TransferError> {
    let WholeThread { folded, receipts } = read;
    asks::claim(store, &folded.state).await?;
    let (events, inherits) = match staging.finish().await? {
        StagedLog::Held(events) => (events, None),
        StagedLog::Inherited(log) => (Vec::new(), Some(log)),
    };
    let state = serde_json::to_vec(&folded.state).map_err(std::io::Error::from)?;
    let batch = Batch {
        thread: Some(folded.state.thread.clone()),
        events,
        inherits,
        entries: folded.entries,
        turns: folded.turns,
        state: state.into(),
        // Whoever wakes it ends a turn that was cut off, or goes on waiting.
        unfinished: folded.state.turn.is_some(),
        high_water: header.high_water,
        receipts,
        ..Batch::default()
    };
    let lease = store.acquire(folded.state.thread.card.id).await?;
    let appended = append(store, lease, header, batch).await;
    // Somebody may want it at once.
    store.release(lease).await?;
    appended
}

async fn append(
    store: &SharedStore,
    lease: store::Lease,
    header: &ThreadHeader,
    batch: Batch,
) -> Result<(), TransferError> {
    for _ in 0..LIBRARY_TRIES_MAX {
        let records = header.place.plan(store, &header.thread).await?;
        let placed = Batch {
            records: (!records.changes.is_empty()).then_some(records),
            ..batch.clone()
        };
        match store.append(lease, Seq::ZERO, placed).await {
            // Somebody changed the library meanwhile.
            Err(StoreError::Outdated { .. }) => {}
            appended => return Ok(appended?),
        }
    }
    let message = "the library is being changed by others all the time; try again";
    Err(TransferError::Refused(message.to_owned()))
}
