//! Calls about a thread's checkpoints that need no session: how they stand, what a restore would do,
//! how files differ, and their versions.

use std::path::PathBuf;
use std::sync::Arc;

use snapshots::CheckpointReads;
use tools::workspace_files::is_refused;
use vocabulary::{CheckpointCall, CheckpointId, CheckpointReply, Refusal, Reply, ThreadCard, Why};

use crate::Shared;

/// Writes the files of a checkpoint, or the original, into a directory that is not there yet or empty.
pub async fn copy(
    shared: &Arc<Shared>,
    card: &ThreadCard,
    of: Option<CheckpointId>,
    to: PathBuf,
) -> Result<(), Refusal> {
    let awake = shared.registry.get(card.id);
    let shown = awake.as_ref().map(|handle| &handle.checkpoints);
    let reads = CheckpointReads::of(&shared.scanners, card, shown)?;
    reads.copy(of, to).await
}

pub async fn read(
    shared: &Arc<Shared>,
    card: &ThreadCard,
    call: CheckpointCall,
) -> Result<Reply, Refusal> {
    let reads = || {
        let awake = shared.registry.get(card.id);
        let shown = awake.as_ref().map(|handle| &handle.checkpoints);
        CheckpointReads::of(&shared.scanners, card, shown)
    };
    if let CheckpointCall::History { path } | CheckpointCall::FileAt { path, .. } = &call
        && is_refused(&shared.own(&card.tenant).policy, path.clone())
    {
        return Err(Refusal::new(Why::UnknownFile, "nothing is kept of it"));
    }
    let reply = match call {
        CheckpointCall::Get => {
            let handle = shared.registry.wake(shared, card.id).await?;
            let state = snapshots::state(&shared.scanners, &handle.card, &handle.checkpoints);
            CheckpointReply::State(state.await?)
        }
        CheckpointCall::Preview { to, path } => reads()?.preview(to, path).await?,
        CheckpointCall::Diff { from, to } => reads()?.diff(from, to).await?,
        CheckpointCall::History { path } => reads()?.history(path).await?,
        CheckpointCall::FileAt { path, iteration } => reads()?.file_at(path, iteration).await?,
        CheckpointCall::Take | CheckpointCall::Restore { .. } | CheckpointCall::Delete { .. } => {
            return Err(Refusal::new(Why::Internal, "this call is for a session"));
        }
    };
    Ok(Reply::Checkpoints(Box::new(reply)))
}
