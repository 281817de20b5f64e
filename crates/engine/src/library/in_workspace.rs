//! Calls about what a workspace's directory has, without a thread in it.

use std::sync::Arc;

use vocabulary::{Caller, Refusal, Reply, ThreadCard, WorkspaceCall, WorkspaceId};

use super::{mcp, skills, workspaces};
use crate::Shared;

pub async fn answer(
    shared: &Arc<Shared>,
    caller: &Caller,
    workspace: &WorkspaceId,
    call: WorkspaceCall,
) -> Result<Reply, Refusal> {
    let card = workspaces::card(shared, caller, workspace).await?;
    match call {
        WorkspaceCall::Skills(call) => skills::answer(shared, &card, call).await,
        WorkspaceCall::Mcp(call) => {
            if !call.only_reads() {
                refuse_while_busy(shared, &card)?;
            }
            mcp::answer(shared, &card, call).await
        }
    }
}

/// A turn goes on with the servers it began with.
fn refuse_while_busy(shared: &Shared, card: &ThreadCard) -> Result<(), Refusal> {
    let mut awake = shared.registry.awake().into_iter();
    let is_busy = awake.any(|handle| {
        handle.card.tenant == card.tenant
            && handle.card.directory == card.directory
            && handle.status.borrow().is_busy()
    });
    match is_busy {
        true => Err(Refusal::busy()),
        false => Ok(()),
    }
}
