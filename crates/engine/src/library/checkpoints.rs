//! Questions about a thread's checkpoints that need no session: how they stand, what a restore would
//! do, how files differ, and their versions.

use std::sync::Arc;

use checkpoints::{Moment, Vault, Work};
use vocabulary::{
    Checkpoint, CheckpointId, CheckpointReply, Refusal, Reply, Standing, ThreadCard, ThreadId, Why,
};

use crate::Shared;
use crate::keeper::thread::unknown;
use crate::keeper::{Keeper, Summary, Trouble, words};
use crate::limits::{CHECKPOINTS_WAIT, DIFF_BYTES_MAX};
use crate::session::Shown;

/// How they stand; those that are still being prepared are waited for a moment.
pub async fn get(shared: &Arc<Shared>, thread: ThreadId) -> Result<Reply, Refusal> {
    let handle = shared.registry.wake(shared, thread).await?;
    let mut shown = handle.checkpoints.subscribe();
    // Too late is fine: then that is the answer.
    let settled = shown.wait_for(Shown::is_settled);
    let _ = tokio::time::timeout(CHECKPOINTS_WAIT, settled).await;
    let mut state = None;
    handle.checkpoints.send_if_modified(|shown| {
        shown.owed |= shown.now.standing == Standing::Initializing;
        state = Some(shown.now.clone());
        false
    });
    let unread = || Refusal::new(Why::Internal, "checkpoints could not be read");
    let mut state = state.ok_or_else(unread)?;
    let list = match list(shared, &handle.card, &state).await {
        Ok(list) => list,
        Err(refusal) => {
            let why = refusal.message;
            state.standing = Standing::Failed { why };
            Vec::new()
        }
    };
    Ok(reply(CheckpointReply::State(state.with(list))))
}

/// The checkpoints themselves, where there are any: no session holds them.
async fn list(
    shared: &Shared,
    card: &ThreadCard,
    state: &Summary,
) -> Result<Vec<Checkpoint>, Refusal> {
    if state.count == 0 {
        return Ok(Vec::new());
    }
    let keeper = Files::of(shared, card)?.keeper;
    let thread = card.id.to_string();
    let kept = keeper.read(move |vault| vault.kept(&thread)).await;
    let kept = kept.map_err(refused)?;
    Ok(kept.as_ref().map(words::list).unwrap_or_default())
}

/// The files of a thread, awake or asleep.
pub struct Files<'a> {
    shared: &'a Shared,
    card: &'a ThreadCard,
    keeper: Arc<Keeper>,
}

impl<'a> Files<'a> {
    pub fn of(shared: &'a Shared, card: &'a ThreadCard) -> Result<Self, Refusal> {
        let keeper = shared.keepers.of(&shared.config, &card.directory);
        let off = || Refusal::new(Why::NotAvailable, "checkpoints are turned off");
        Ok(Self {
            shared,
            card,
            keeper: keeper.ok_or_else(off)?,
        })
    }

    pub async fn preview(
        &self,
        to: Option<CheckpointId>,
        path: Option<String>,
    ) -> Result<Reply, Refusal> {
        let checked = |path: String| words::checked_path(&self.card.directory, &path);
        let path = path.map(checked).transpose()?;
        let to = self.moments([to]).await?[0];
        let preview =
            move |vault: &Vault, work: &Work<'_>| vault.preview(work, to, path.as_deref());
        let steps = self.keeper.work(preview).await;
        let steps = steps.map_err(refused)?;
        let touched = steps.into_iter().map(words::touched).collect();
        Ok(reply(CheckpointReply::Preview(touched)))
    }

    pub async fn diff(
        &self,
        from: Option<CheckpointId>,
        to: Option<CheckpointId>,
    ) -> Result<Reply, Refusal> {
        let [from, to] = self.moments([from, to]).await?;
        let diff = move |vault: &Vault| vault.diff(from, to, DIFF_BYTES_MAX);
        let diff = self.keeper.read(diff).await.map_err(refused)?;
        Ok(reply(CheckpointReply::Diff(diff)))
    }

    pub async fn history(&self, path: String) -> Result<Reply, Refusal> {
        let inside = words::checked_path(&self.card.directory, &path)?;
        let history = move |vault: &Vault| vault.history(&inside);
        let history = self.keeper.read(history).await.map_err(refused)?;
        if history.is_empty() {
            let message = format!("nothing is kept of {path:?}");
            return Err(Refusal::new(Why::UnknownFile, message));
        }
        let history = history.into_iter().map(words::iteration).collect();
        Ok(reply(CheckpointReply::History(history)))
    }

    pub async fn file_at(&self, path: String, iteration: u64) -> Result<Reply, Refusal> {
        let inside = words::checked_path(&self.card.directory, &path)?;
        let content = move |vault: &Vault| vault.content(&inside, iteration);
        let (iteration, content) = self.keeper.read(content).await.map_err(refused)?;
        Ok(reply(CheckpointReply::File {
            content,
            iteration: words::iteration(iteration),
        }))
    }

    /// The states of the files at these checkpoints; `None` is the original.
    async fn moments<const N: usize>(
        &self,
        wanted: [Option<CheckpointId>; N],
    ) -> Result<[Moment; N], Refusal> {
        let thread = self.card.id.to_string();
        let kept = self.keeper.read(move |vault| vault.kept(&thread)).await;
        let kept = kept.map_err(refused)?;
        let awake = self.shared.registry.get(self.card.id);
        // Nothing happened in the thread yet, and only its session knows of the original.
        let original = awake.and_then(|handle| handle.checkpoints.borrow().original);
        let mut moments = [Moment(0); N];
        for (moment, wanted) in moments.iter_mut().zip(wanted) {
            *moment = match (wanted, &kept) {
                (Some(id), Some(kept)) => {
                    let mut list = kept.checkpoints.iter();
                    let found = list.find(|each| each.number == id.0);
                    found.ok_or_else(|| unknown(id))?.moment
                }
                (Some(id), None) => return Err(unknown(id)),
                (None, Some(kept)) => kept.original,
                (None, None) => original.ok_or_else(nothing_kept)?,
            };
        }
        Ok(moments)
    }
}

fn nothing_kept() -> Refusal {
    Refusal::new(Why::NotAvailable, "nothing is kept of this thread yet")
}

fn refused(trouble: Trouble) -> Refusal {
    trouble.refusal()
}

fn reply(reply: CheckpointReply) -> Reply {
    Reply::Checkpoints(Box::new(reply))
}
