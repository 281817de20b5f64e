//! Entries of the transcript, read page by page until all that are wanted are there.

use std::ops::Range;
use std::sync::Arc;

use vocabulary::{
    Entry, Fact, IndexedTurn, ItemFact, Refusal, StepFact, ThreadId, ToolEvent, ToolFact,
};

use crate::limits::ENTRIES_PER_PAGE;
use crate::session::storage;
use crate::{Shared, codec};

/// All entries of these messages, however many they are.
pub async fn of_messages(
    shared: &Arc<Shared>,
    thread: ThreadId,
    from_ordinal: u64,
    messages: Range<u64>,
) -> Result<Vec<Entry>, Refusal> {
    let mut read = EntryReader {
        shared,
        thread,
        next: from_ordinal,
        messages,
    };
    let mut entries = Vec::new();
    while read.page(ENTRIES_PER_PAGE, &mut entries).await? {}
    drop_superseded(&mut entries);
    read.complete(&mut entries).await?;
    Ok(entries)
}

/// All entries of these turns, in whichever order they stand.
pub async fn of_turns(
    shared: &Arc<Shared>,
    thread: ThreadId,
    turns: &[IndexedTurn],
) -> Result<Vec<Entry>, Refusal> {
    let mut entries = Vec::new();
    let Some(first) = turns.iter().map(|turn| turn.first_ordinal).min() else {
        return Ok(entries);
    };
    // One that has not ended goes on to the end of what there is.
    let last = turns.iter().map(|turn| match &turn.ended {
        Some(ended) => ended.last_ordinal,
        None => u64::MAX,
    });
    let end = last.max().unwrap_or(first).saturating_add(1);
    let mut read = EntryReader {
        shared,
        thread,
        next: first,
        messages: 0..u64::MAX,
    };
    while read.next < end {
        let left = u32::try_from(end - read.next).unwrap_or(u32::MAX);
        if !read.page(left.min(ENTRIES_PER_PAGE), &mut entries).await? {
            break;
        }
    }
    drop_superseded(&mut entries);
    read.complete(&mut entries).await?;
    Ok(entries)
}

/// What a model had written of an answer that broke off is nobody's any more once another one has begun to
/// come in its place; until then it is all there is.
fn drop_superseded(entries: &mut Vec<Entry>) {
    // From the end on: what was written last, and where an answer broke off before it.
    let (mut written, mut broken) = (None, None);
    let mut superseded = Vec::new();
    for (at, entry) in entries.iter().enumerate().rev() {
        let Some(tag) = entry.event.fact.tag() else {
            continue;
        };
        let step = Some((&tag.turn, tag.step));
        match &entry.event.fact {
            Fact::Item {
                what: ItemFact::Finished { .. },
                ..
            } if broken == step => superseded.push(at),
            Fact::Item {
                what: ItemFact::Finished { .. },
                ..
            } => written = step,
            Fact::Tool(ToolEvent {
                what: ToolFact::Planned { .. },
                call,
                ..
            }) if call.agent.is_none() && broken != step => written = step,
            Fact::Step {
                what: StepFact::Delayed { discards: true, .. },
                ..
            } if written == step => broken = step,
            Fact::Item { .. }
            | Fact::Tool(_)
            | Fact::Step { .. }
            | Fact::Thread(_)
            | Fact::Turn(_)
            | Fact::Ask { .. }
            | Fact::Files(_)
            | Fact::Note(_) => {}
        }
    }
    for at in superseded {
        entries.remove(at);
    }
}

/// Reads on in a transcript.
struct EntryReader<'a> {
    shared: &'a Arc<Shared>,
    thread: ThreadId,
    next: u64,
    messages: Range<u64>,
}

impl EntryReader<'_> {
    /// One page more; whether there may be another.
    async fn page(&mut self, limit: u32, entries: &mut Vec<Entry>) -> Result<bool, Refusal> {
        let (store, messages) = (&self.shared.store, self.messages.clone());
        let page = store.entries(self.thread, self.next, messages, limit);
        let page = page.await.map_err(storage)?;
        for (row, stored) in &page {
            self.next = row.ordinal + 1;
            entries.push(Entry {
                ordinal: row.ordinal,
                message: row.message,
                event: codec::decode(stored)?,
            });
        }
        Ok(page.len() as u32 == limit)
    }

    /// Gives what was read the whole of its calls.
    async fn complete(&self, entries: &mut [Entry]) -> Result<(), Refusal> {
        let mut events: Vec<_> = entries.iter_mut().map(|entry| &mut entry.event).collect();
        codec::complete(&self.shared.store, self.thread, &mut events).await
    }
}
