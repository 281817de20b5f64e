//! What a session writes: one append or one draft at a time, whatever gathers meanwhile with the next.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use store::StoreError;
use tokio::time::Instant;
use vocabulary::Refusal;

use super::recorder::Append;
use super::{Session, live, storage};

type PendingWrite = Option<BoxFuture<'static, Result<(), StoreError>>>;

/// What is on its way to the store.
pub struct Writing {
    pub appending: PendingWrite,
    /// Whether the append has the thread's row in lists.
    list_row_sent: bool,
    pub drafting: PendingWrite,
    pub drafted_at: Instant,
}

impl Writing {
    pub fn new() -> Self {
        Self {
            appending: None,
            list_row_sent: false,
            drafting: None,
            drafted_at: Instant::now(),
        }
    }

    pub fn is_idle(&self) -> bool {
        self.appending.is_none() && self.drafting.is_none()
    }
}

impl Session {
    pub(super) fn start_append(&mut self) -> Result<(), Refusal> {
        if self.writing.is_idle()
            && let Some(append) = self
                .recorder
                .next_append(&self.state, &self.shared.balances)?
        {
            self.writing.list_row_sent = append.has_list_row();
            let shared = Arc::clone(&self.shared);
            self.writing.appending = Some(Box::pin(async move {
                let since = Instant::now();
                let result = Append::run(append).await;
                shared.metrics.append_time.observe(since.elapsed());
                result
            }));
        }
        Ok(())
    }

    pub(super) fn append_ended(&mut self, result: Result<(), StoreError>) -> Result<(), Refusal> {
        self.writing.appending = None;
        result.map_err(storage)?;
        self.recorder.appended();
        self.shared.search.changed();
        if std::mem::take(&mut self.writing.list_row_sent) {
            match std::mem::replace(&mut self.announced, true) {
                true => self.shared.thread_changed(&self.shown_thread()),
                false => self.shared.thread_added(&self.shown_thread()),
            }
        }
        Ok(())
    }

    pub(super) fn draft_ended(&mut self, result: Result<(), StoreError>) -> Result<(), Refusal> {
        self.writing.drafting = None;
        result.map_err(storage)
    }

    /// Gets all that was recorded onto the disk and shows it, one append after the other.
    pub(super) async fn write_out(&mut self) -> Result<(), Refusal> {
        self.recorder.publish();
        loop {
            if let Some(drafting) = self.writing.drafting.take() {
                let ended = drafting.await;
                self.draft_ended(ended)?;
            }
            if let Some(appending) = self.writing.appending.take() {
                let ended = appending.await;
                self.append_ended(ended)?;
            }
            self.start_append()?;
            if self.writing.appending.is_none() {
                return Ok(());
            }
        }
    }

    /// When text that grows is to be saved next.
    pub(super) fn next_save(&self) -> Option<Instant> {
        match self.writing.is_idle() {
            true => live::next_save(&self.live, self.writing.drafted_at),
            false => None,
        }
    }

    pub(super) fn save_draft(&mut self, now: Instant) {
        let (Some(lease), true) = (self.recorder.lease(), self.recorder.kept) else {
            return;
        };
        if self.next_save().is_none_or(|due| now < due) {
            return;
        }
        match self.live.next_draft() {
            Some(draft) => {
                let store = Arc::clone(&self.store);
                self.writing.drafting =
                    Some(Box::pin(async move { store.draft(lease, draft).await }));
                // Another item may have text to save, too: only then wait for the next time.
                if !self.live.has_unsaved_text() {
                    self.writing.drafted_at = now;
                }
            }
            None => self.writing.drafted_at = now,
        }
    }
}

/// Waits for a future that may not be there.
pub(super) async fn ready<T>(future: &mut Option<BoxFuture<'static, T>>) -> T {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}
