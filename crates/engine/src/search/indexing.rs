//! Lets the index follow the log: in the background, and before each search.
//!
//! What an event means for the index depends on how its thread stands now, not on what was indexed before: so
//! pieces may come in any order, and again.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use store::{
    HiddenTexts, IndexPart, IndexPiece, SearchText, SharedStore, StoreError, UnindexedEvents,
};
use tokio::time::{Instant, sleep};
use vocabulary::{Event, IndexingProgress, Refusal, SearchKind, Seq, ThreadId};

use super::{ThreadSearch, texts};
use crate::limits::{
    INDEX_AGAIN_AFTER, INDEX_DELAY, INDEX_EVENTS, INDEX_EVENTS_OLD, INDEX_PAUSE_FACTOR,
    INDEX_PAUSE_MIN,
};
use crate::session::state::ThreadState;
use crate::session::storage;
use crate::{Shared, codec};

impl ThreadSearch {
    /// Something was appended or deleted.
    pub(crate) fn changed(&self) {
        self.changed.notify_one();
    }

    /// How far the index has come with what older versions kept; nothing when it has all.
    pub async fn progress(&self) -> Result<Option<IndexingProgress>, Refusal> {
        let standing = self.store.index_standing().await.map_err(storage)?;
        Ok(standing.indexing)
    }

    /// Indexes a piece of what older versions kept; whether there may be more.
    pub async fn index_old(&self) -> Result<bool, Refusal> {
        let done = self.step(IndexPart::Old, INDEX_EVENTS).await;
        Ok(done.map_err(storage)?.is_some())
    }

    /// Indexes everything that was written before this was called.
    pub(super) async fn catch_up(&self) -> Result<(), Refusal> {
        let mut goal = None;
        loop {
            let _alone = self.alone.lock().await;
            let next = self.store.unindexed(IndexPart::New, INDEX_EVENTS).await;
            let next = next.map_err(storage)?;
            let goal = *goal.get_or_insert(next.end);
            if next.span.after >= goal.min(next.end) {
                return Ok(());
            }
            // Whether it was this one or another process that went on: it went on.
            index(&self.store, next).await.map_err(storage)?;
        }
    }

    /// One piece: nothing if there is none, else whether it was still to be done.
    async fn step(&self, part: IndexPart, limit: u32) -> Result<Option<bool>, StoreError> {
        let _alone = self.alone.lock().await;
        let next = self.store.unindexed(part, limit).await?;
        match next.span.after >= next.end {
            true => Ok(None),
            false => index(&self.store, next).await.map(Some),
        }
    }
}

/// Whether the piece was still to be done.
async fn index(store: &SharedStore, next: UnindexedEvents) -> Result<bool, StoreError> {
    let mut threads: BTreeMap<ThreadId, Vec<Event>> = BTreeMap::new();
    for (thread, stored) in &next.events {
        // What cannot be read is not found, and keeps nothing else from being found.
        if let Ok(event) = codec::decode(stored) {
            threads.entry(*thread).or_default().push(event);
        }
    }
    let mut piece = IndexPiece {
        span: next.span,
        hidden: Vec::new(),
        texts: Vec::new(),
    };
    for (thread, events) in threads {
        let is_titling = events.iter().any(|event| texts::is_titling(&event.fact));
        let is_hiding = events.iter().any(|event| texts::is_hiding(&event.fact));
        let texts: Vec<(Event, SearchText)> = events
            .into_iter()
            .filter_map(|event| {
                let found = texts::of(event.clone())?;
                let text = SearchText {
                    thread,
                    seq: event.seq,
                    kind: found.kind,
                    text: found.text,
                };
                Some((event, text))
            })
            .collect();
        if texts.is_empty() && !is_titling && !is_hiding {
            continue;
        }
        let Some(state) = state(store, thread).await? else {
            continue;
        };
        let untold = state.untold();
        let told = texts.into_iter().filter(|(event, _)| untold.tells(event));
        piece.texts.extend(told.map(|(_, text)| text));
        if is_titling {
            piece.texts.push(SearchText {
                thread,
                seq: Seq::ZERO,
                kind: SearchKind::Title,
                text: state.thread.title.text.clone(),
            });
        }
        if is_hiding {
            let spans = untold.spans();
            piece
                .hidden
                .extend(spans.map(|(from, upto)| HiddenTexts { thread, from, upto }));
        }
    }
    store.index(piece).await
}

/// How a thread stands; nothing of one that is gone, or not to be found.
async fn state(store: &SharedStore, thread: ThreadId) -> Result<Option<ThreadState>, StoreError> {
    let Some(loaded) = store.load(thread).await? else {
        return Ok(None);
    };
    let state = ThreadState::read(&loaded).ok();
    Ok(state.filter(|state| !state.thread.card.ephemeral))
}

/// Goes on until the engine is gone.
pub(crate) async fn keep_up(engine: Weak<Shared>) {
    let Some(changed) = engine.upgrade().map(|it| Arc::clone(&it.search.changed)) else {
        return;
    };
    tell_of_old(&engine).await;
    loop {
        let worked = work(&engine).await;
        match worked {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(%error, "what was said is not indexed for a while");
                sleep(INDEX_AGAIN_AFTER).await;
                continue;
            }
        }
        changed.notified().await;
        // So that what comes together is written together.
        sleep(INDEX_DELAY).await;
    }
}

async fn tell_of_old(engine: &Weak<Shared>) {
    let Some(shared) = engine.upgrade() else {
        return;
    };
    if let Ok(Some(progress)) = shared.search.progress().await {
        let (done, total) = (progress.done, progress.total);
        tracing::info!(done, total, "indexing what older versions kept");
    }
}

/// Does all there is to do, with pauses; `false` when the engine is gone.
async fn work(engine: &Weak<Shared>) -> Result<bool, StoreError> {
    let mut old_is_done = false;
    loop {
        let Some(shared) = engine.upgrade() else {
            return Ok(false);
        };
        let since = Instant::now();
        let has_new = shared.search.step(IndexPart::New, INDEX_EVENTS).await?;
        let is_busy = match has_new {
            Some(_) => true,
            None if !old_is_done => {
                let old = shared.search.step(IndexPart::Old, INDEX_EVENTS_OLD).await?;
                // Nothing is left, or another process is at it.
                old_is_done = old != Some(true);
                true
            }
            // Looked at first: a purge empties the store's own log, which nobody wants without need.
            None => {
                shared.store.index_standing().await?.purge && shared.store.purge_index().await?
            }
        };
        drop(shared);
        if !is_busy {
            return Ok(true);
        }
        // The writer is everybody's: it is left to the others for most of the time.
        sleep((since.elapsed() * INDEX_PAUSE_FACTOR).max(INDEX_PAUSE_MIN)).await;
    }
}
