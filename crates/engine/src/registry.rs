//! The registry: which threads are awake. One session per thread, whoever asks first.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use store::{Lease, StoreError};
use tokio::sync::OnceCell;
use vocabulary::{Refusal, Status, ThreadId, Why};

use crate::Shared;
use crate::limits::{HAND_OVER_LOOK, HAND_OVER_WAIT};
use crate::session::outbox::Outbox;
use crate::session::{Handle, storage, waking};

/// How often a caller may find a session that is just falling asleep.
const WAKE_TRIES_MAX: usize = 8;

#[derive(Default)]
pub struct Registry {
    awake: Mutex<HashMap<ThreadId, Arc<OnceCell<Handle>>>>,
}

impl Registry {
    /// The session of a thread, woken if it sleeps.
    pub async fn wake(&self, shared: &Arc<Shared>, thread: ThreadId) -> Result<Handle, Refusal> {
        let cell = Arc::clone(self.awake.lock().entry(thread).or_default());
        let woken = cell.get_or_try_init(|| wake(shared, thread)).await;
        if woken.is_err() {
            self.forget_failed(thread, &cell);
        }
        woken.cloned()
    }

    /// The session of a thread, if it is awake.
    pub fn get(&self, thread: ThreadId) -> Option<Handle> {
        self.awake
            .lock()
            .get(&thread)
            .and_then(|cell| cell.get().cloned())
    }

    pub fn insert(&self, handle: Handle) {
        let cell = OnceCell::new_with(Some(handle.clone()));
        self.awake.lock().insert(handle.card.id, Arc::new(cell));
    }

    /// Called by a session as it ends; a newer one under the same id stays.
    pub fn forget(&self, thread: ThreadId, outbox: &Arc<Outbox>) {
        let mut awake = self.awake.lock();
        let is_it = awake
            .get(&thread)
            .and_then(|cell| cell.get())
            .is_some_and(|handle| Arc::ptr_eq(&handle.outbox, outbox));
        if is_it {
            awake.remove(&thread);
        }
    }

    /// A thread that could not be woken leaves no trace.
    fn forget_failed(&self, thread: ThreadId, cell: &Arc<OnceCell<Handle>>) {
        let mut awake = self.awake.lock();
        if awake
            .get(&thread)
            .is_some_and(|known| Arc::ptr_eq(known, cell) && !known.initialized())
        {
            awake.remove(&thread);
        }
    }

    pub fn awake(&self) -> Vec<Handle> {
        self.awake
            .lock()
            .values()
            .filter_map(|cell| cell.get().cloned())
            .collect()
    }

    /// Reaches a session, waking it as often as it falls asleep in between.
    pub async fn reach<T, F>(
        &self,
        shared: &Arc<Shared>,
        thread: ThreadId,
        mut ask: impl FnMut(Handle) -> F,
    ) -> Result<T, Refusal>
    where
        F: Future<Output = Option<T>>,
    {
        for _ in 0..WAKE_TRIES_MAX {
            let handle = self.wake(shared, thread).await?;
            let outbox = Arc::clone(&handle.outbox);
            if let Some(answer) = ask(handle).await {
                return Ok(answer);
            }
            // It ended before it answered. Most likely it has left already; make sure.
            self.forget(thread, &outbox);
        }
        Err(Refusal::new(
            Why::Internal,
            "the session keeps ending; try again",
        ))
    }
}

async fn wake(shared: &Arc<Shared>, thread: ThreadId) -> Result<Handle, Refusal> {
    if shared
        .store
        .thread(thread)
        .await
        .map_err(storage)?
        .is_none()
    {
        return Err(Refusal::unknown_thread(thread));
    }
    let (lease, taken_over) = take(shared, thread).await?;
    let loaded = match shared.store.load(thread).await.map_err(storage)? {
        Some(loaded) => loaded,
        None => return Err(Refusal::unknown_thread(thread)),
    };
    waking::woken(shared, lease, loaded, taken_over).await
}

/// A thread for this process, from whoever has it.
pub async fn acquire(shared: &Arc<Shared>, thread: ThreadId) -> Result<Lease, Refusal> {
    Ok(take(shared, thread).await?.0)
}

/// The same, and whether another process had it. One where nothing runs is handed over at once; then it
/// takes as long as the other needs to hear of it.
async fn take(shared: &Arc<Shared>, thread: ThreadId) -> Result<(Lease, bool), Refusal> {
    shared.follow_others();
    let owner = match shared.store.acquire(thread).await {
        Ok(lease) => return Ok((lease, false)),
        Err(StoreError::Held { owner }) => owner,
        Err(error) => return Err(storage(error)),
    };
    let known = shared.store.thread(thread).await.map_err(storage)?;
    if known.is_some_and(|known| known.status == Status::Running) {
        let message = format!(
            "a turn of this thread is running in another process ({owner}); connect there, or wait for its end"
        );
        return Err(Refusal::new(Why::OwnedElsewhere, message));
    }
    shared.store.request(thread).await.map_err(storage)?;
    let given_up = tokio::time::Instant::now() + HAND_OVER_WAIT;
    loop {
        tokio::time::sleep(HAND_OVER_LOOK).await;
        match shared.store.acquire(thread).await {
            Ok(lease) => return Ok((lease, true)),
            Err(StoreError::Held { .. }) if tokio::time::Instant::now() < given_up => {}
            Err(error) => return Err(storage(error)),
        }
    }
}
