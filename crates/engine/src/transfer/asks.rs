//! The numbers of asks that wait in a thread which comes: no other thread of the home may have the same.

use store::{Counter, SharedStore};
use vocabulary::{ArchivedThreads, AskId, Status, TenantId, ThreadQuery};

use super::TransferError;
use super::transcript::kept;
use crate::session::state::ThreadState;

/// Takes the numbers of the asks that wait in a thread, or says who has them.
pub async fn claim(store: &SharedStore, state: &ThreadState) -> Result<(), TransferError> {
    let numbers: Vec<AskId> = state.asks.iter().map(|open| open.ask.id).collect();
    let Some(newest) = numbers.iter().max() else {
        return Ok(());
    };
    let next = store.reserve(Counter::Ask, 1).await?;
    if newest.0 >= next {
        store.reserve(Counter::Ask, newest.0 - next).await?;
        return Ok(());
    }
    // Given out here before: to this thread, before it was deleted, or to another one.
    let tenant = &state.thread.card.tenant;
    match taken_by_another(store, tenant, &numbers).await? {
        Some(number) => Err(TransferError::Refused(format!(
            "the session waits for an answer to question {number}, and so does another one here; answer that \
             one first"
        ))),
        None => Ok(()),
    }
}

async fn taken_by_another(
    store: &SharedStore,
    tenant: &TenantId,
    numbers: &[AskId],
) -> Result<Option<AskId>, TransferError> {
    let query = ThreadQuery {
        archived: ArchivedThreads::Included,
        hidden: true,
        ..ThreadQuery::default()
    };
    let threads = store.threads(tenant, &query).await?.threads;
    let waiting = threads.iter().filter(|it| it.status == Status::Waiting);
    for thread in waiting {
        let state = kept(store, thread.card.id).await?.state;
        let mut open = state.asks.iter().map(|open| open.ask.id);
        if let Some(number) = open.find(|number| numbers.contains(number)) {
            return Ok(Some(number));
        }
    }
    Ok(None)
}
