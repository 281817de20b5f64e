//! Threads that are in no list and go with their last listener, or with the process that had them.

use std::sync::Arc;

use vocabulary::{Refusal, ThreadId};

use super::remains;
use crate::session::storage;
use crate::{Shared, registry};

/// Looks after a thread that a dead process left: one that was to go with it goes now.
pub(crate) async fn recover(shared: &Arc<Shared>, thread: ThreadId) -> Result<(), Refusal> {
    let left = shared.store.thread(thread).await.map_err(storage)?;
    let ephemeral = left.filter(|left| left.card.ephemeral);
    // Somebody came back to it before it was found.
    let Some(left) = ephemeral.filter(|_| shared.registry.get(thread).is_none()) else {
        return shared.registry.wake(shared, thread).await.map(|_| ());
    };
    let lease = registry::acquire(shared, thread).await?;
    shared.store.delete(lease).await.map_err(storage)?;
    shared.store.release(lease).await.map_err(storage)?;
    shared
        .grants
        .thread_deleted(&left.card.tenant, thread)
        .await;
    remains::remove(shared, &left.card).await;
    Ok(())
}
