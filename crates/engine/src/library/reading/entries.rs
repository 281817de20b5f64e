//! Entries of the transcript, read page by page until all that are wanted are there.

use std::ops::Range;
use std::sync::Arc;

use vocabulary::{Entry, IndexedTurn, Refusal, ThreadId};

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
    read.complete(&mut entries).await?;
    Ok(entries)
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
