//! Questions about a thread's checkpoints that need no session: how they stand, what a restore would
//! do, how files differ, and their versions.

use std::path::PathBuf;
use std::sync::Arc;

use checkpoints::{Moment, Vault, WorkControl};
use tokio::sync::watch;
use vocabulary::{
    Checkpoint, CheckpointId, CheckpointReply, Checkpoints, Refusal, Standing, ThreadCard, Why,
};

use crate::limits::{CHECKPOINTS_WAIT, DIFF_BYTES_MAX};
use crate::thread_files::unknown;
use crate::{
    CheckpointSummary, PublishedCheckpoints, SnapshotError, WorkspaceScanner, WorkspaceScanners,
    translate,
};

/// How they stand; those that are still being prepared are waited for a moment.
pub async fn state(
    scanners: &WorkspaceScanners,
    card: &ThreadCard,
    published: &watch::Sender<PublishedCheckpoints>,
) -> Result<Checkpoints, Refusal> {
    // Too late is fine: then that is the answer.
    let mut seen = published.subscribe();
    let settled = seen.wait_for(PublishedCheckpoints::is_settled);
    let _ = tokio::time::timeout(CHECKPOINTS_WAIT, settled).await;
    let mut state = None;
    published.send_if_modified(|published| {
        published.owed |= published.now.standing == Standing::Initializing;
        state = Some(published.now.clone());
        false
    });
    let unread = || Refusal::new(Why::Internal, "checkpoints could not be read");
    let mut state = state.ok_or_else(unread)?;
    let list = match list(scanners, card, &state).await {
        Ok(list) => list,
        Err(refusal) => {
            let why = refusal.message;
            state.standing = Standing::Failed { why };
            Vec::new()
        }
    };
    Ok(state.with(list))
}

/// The checkpoints themselves, where there are any: no session holds them.
async fn list(
    scanners: &WorkspaceScanners,
    card: &ThreadCard,
    state: &CheckpointSummary,
) -> Result<Vec<Checkpoint>, Refusal> {
    if state.count == 0 {
        return Ok(Vec::new());
    }
    let scanner = scanner_of(scanners, card)?;
    let thread = card.id.to_string();
    let kept = scanner.read(move |vault| vault.kept(&thread)).await;
    let kept = kept.map_err(refused)?;
    Ok(kept.as_ref().map(translate::list).unwrap_or_default())
}

fn scanner_of(
    scanners: &WorkspaceScanners,
    card: &ThreadCard,
) -> Result<Arc<WorkspaceScanner>, Refusal> {
    let off = || Refusal::new(Why::NotAvailable, "checkpoints are turned off");
    scanners.of(&card.directory).ok_or_else(off)
}

/// What can be asked of the files of a thread, awake or asleep.
pub struct CheckpointReads<'a> {
    card: &'a ThreadCard,
    scanner: Arc<WorkspaceScanner>,
    /// As long as nothing happened in the thread only its session knows of it.
    original: Option<Moment>,
}

impl<'a> CheckpointReads<'a> {
    /// `awake` is how the checkpoints of the thread stand, if it is awake.
    pub fn of(
        scanners: &WorkspaceScanners,
        card: &'a ThreadCard,
        awake: Option<&watch::Sender<PublishedCheckpoints>>,
    ) -> Result<Self, Refusal> {
        Ok(Self {
            card,
            scanner: scanner_of(scanners, card)?,
            original: awake.and_then(|published| published.borrow().original),
        })
    }

    pub async fn preview(
        &self,
        to: Option<CheckpointId>,
        path: Option<String>,
    ) -> Result<CheckpointReply, Refusal> {
        let checked = |path: String| translate::checked_path(&self.card.directory, &path);
        let path = path.map(checked).transpose()?;
        let to = self.moments([to]).await?[0];
        let preview =
            move |vault: &Vault, work: &WorkControl<'_>| vault.preview(work, to, path.as_deref());
        let steps = self.scanner.work(preview).await;
        let steps = steps.map_err(refused)?;
        let touched = steps.into_iter().map(translate::touched).collect();
        Ok(CheckpointReply::Preview(touched))
    }

    pub async fn diff(
        &self,
        from: Option<CheckpointId>,
        to: Option<CheckpointId>,
    ) -> Result<CheckpointReply, Refusal> {
        let [from, to] = self.moments([from, to]).await?;
        let diff = move |vault: &Vault| vault.diff(from, to, DIFF_BYTES_MAX);
        let diff = self.scanner.read(diff).await.map_err(refused)?;
        Ok(CheckpointReply::Diff(diff))
    }

    /// Writes what the files were into a directory that is not there yet, or empty.
    pub async fn copy(&self, of: Option<CheckpointId>, to: PathBuf) -> Result<(), Refusal> {
        let [of] = self.moments([of]).await?;
        let copy = move |vault: &Vault, work: &WorkControl<'_>| vault.copy(work, of, &to);
        self.scanner.work(copy).await.map_err(refused)
    }

    pub async fn history(&self, path: String) -> Result<CheckpointReply, Refusal> {
        let inside = self.known_path(&path)?;
        let history = move |vault: &Vault| vault.history(&inside);
        let history = self.scanner.read(history).await.map_err(refused)?;
        if history.is_empty() {
            return Err(unknown_file(&path));
        }
        Ok(CheckpointReply::History(history))
    }

    pub async fn file_at(&self, path: String, iteration: u64) -> Result<CheckpointReply, Refusal> {
        let inside = self.known_path(&path)?;
        let content = move |vault: &Vault| vault.content(&inside, iteration);
        let (iteration, content) = self.scanner.read(content).await.map_err(refused)?;
        Ok(CheckpointReply::File { content, iteration })
    }

    /// A path of the workspace. One that leads out of it is answered as one of which nothing is kept.
    fn known_path(&self, path: &str) -> Result<PathBuf, Refusal> {
        translate::inside(&self.card.directory, path).ok_or_else(|| unknown_file(path))
    }

    /// The states of the files at these checkpoints; `None` is the original.
    async fn moments<const N: usize>(
        &self,
        detail: [Option<CheckpointId>; N],
    ) -> Result<[Moment; N], Refusal> {
        let thread = self.card.id.to_string();
        let kept = self.scanner.read(move |vault| vault.kept(&thread)).await;
        let kept = kept.map_err(refused)?;
        let mut moments = [Moment(0); N];
        for (moment, detail) in moments.iter_mut().zip(detail) {
            *moment = match (detail, &kept) {
                (Some(id), Some(kept)) => {
                    let mut list = kept.checkpoints.iter();
                    let found = list.find(|each| each.number == id.0);
                    found.ok_or_else(|| unknown(id))?.moment
                }
                (Some(id), None) => return Err(unknown(id)),
                (None, Some(kept)) => kept.original,
                (None, None) => self.original.ok_or_else(nothing_kept)?,
            };
        }
        Ok(moments)
    }
}

fn unknown_file(path: &str) -> Refusal {
    Refusal::new(Why::UnknownFile, format!("nothing is kept of {path:?}"))
}

fn nothing_kept() -> Refusal {
    Refusal::new(Why::NotAvailable, "nothing is kept of this thread yet")
}

fn refused(error: SnapshotError) -> Refusal {
    error.refusal()
}
