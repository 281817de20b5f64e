//! A turn and the files it changes: before its first write somebody looks at the workspace, after
//! each write the new versions are kept and everyone is told.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use checkpoints::{Moment, Vault, Work, Working};
use parking_lot::Mutex;
use tokio::sync::{OnceCell, mpsc};
use tokio_util::sync::CancellationToken;
use vocabulary::{Fact, FilesFact, NoteFact, Subject, ToolCall, ToolOutcome, ToolOutput, TurnId};

use super::{FromTurn, SessionGone, Turn};
use crate::keeper::thread::ThreadFiles;
use crate::keeper::{Haste, Keeper, Ticket, Trouble, words};
use crate::limits::{
    AFTER_WRITE_WAIT_MAX, FIRST_WRITE_WAIT_MAX, RESTORE_WAIT_MAX, TURN_DIFF_BYTES_MAX,
};

/// What a turn has to do with files; its session has it, too, and outlives it.
pub struct Writing {
    files: Option<Arc<ThreadFiles>>,
    first: OnceCell<()>,
    /// The workspace as it was before the turn's first write.
    before: Mutex<Option<Ticket>>,
    /// As long as it is held nobody restores files here.
    working: Mutex<Hold>,
    /// The last diff that was told.
    told: Mutex<Option<(Moment, blake3::Hash)>>,
}

enum Hold {
    Open(Option<Working>),
    Closed,
}

impl Writing {
    pub fn new(files: Option<Arc<ThreadFiles>>) -> Self {
        Self {
            files,
            first: OnceCell::new(),
            before: Mutex::default(),
            working: Mutex::new(Hold::Open(None)),
            told: Mutex::default(),
        }
    }

    /// The turn is over. Whoever takes this holds off restores in its stead.
    pub fn close(&self) -> Option<Working> {
        match std::mem::replace(&mut *self.working.lock(), Hold::Closed) {
            Hold::Open(working) => working,
            Hold::Closed => None,
        }
    }

    /// Whether the turn's first write waits, or did not wait to the end.
    pub fn waits(&self) -> bool {
        let before = self.before.lock();
        before.as_ref().is_some_and(|ticket| !ticket.is_over())
    }

    fn hold(&self, working: Working) {
        let mut hold = self.working.lock();
        if let Hold::Open(held) = &mut *hold {
            *held = Some(working);
        }
    }
}

/// Sees to it that what a call is about to change is kept as it was.
pub async fn before(turn: &Turn, call: &ToolCall) -> Result<(), SessionGone> {
    let Some(files) = turn.writing.files.as_ref().filter(|_| writes(call)) else {
        return Ok(());
    };
    let first = turn.writing.first.get_or_init(|| first_write(turn, files));
    tokio::select! {
        _ = first => {}
        () = turn.cancel.cancelled() => return Ok(()),
    }
    let before = turn.writing.before.lock().clone();
    match before {
        // The look goes on while the call runs.
        Some(ticket) if !ticket.is_over() => match call.changes_files() {
            true => ticket.keep(paths_in(turn, call, None)).await,
            false => ticket.blur(),
        },
        Some(ticket) => {
            if let Err(trouble) = ticket.found().await {
                complain(turn, files, &trouble).await?;
            }
        }
        None => files.changed_unseen(),
    }
    Ok(())
}

fn writes(call: &ToolCall) -> bool {
    call.is_command() || call.changes_files()
}

async fn first_write(turn: &Turn, files: &Arc<ThreadFiles>) {
    let keeper = &files.keeper;
    let patience = match keeper.restoring() {
        true => RESTORE_WAIT_MAX,
        false => FIRST_WRITE_WAIT_MAX,
    };
    let held = hold(keeper, &turn.writing);
    let look = async {
        let ticket = files.before_turn().await;
        *turn.writing.before.lock() = Some(ticket.clone());
        // Whether it failed is asked when the call is about to run.
        let _ = ticket.found().await;
        for line in files.secure().await {
            // A lost session is noticed at the next step.
            let _ = turn.tell(Fact::Note(NoteFact::Logged { line })).await;
        }
    };
    // Whoever comes too late is not waited for, but counts all the same.
    let (held, _) = tokio::join!(
        tokio::time::timeout(patience, held),
        tokio::time::timeout(FIRST_WRITE_WAIT_MAX, look)
    );
    if held.is_err() {
        tracing::debug!(turn = %turn.id, "a turn writes before others know of it");
    }
}

/// Holds off restores until the turn is over, even if nobody waits for that any more.
async fn hold(keeper: &Arc<Keeper>, writing: &Arc<Writing>) {
    let (keeper, writing) = (Arc::clone(keeper), Arc::clone(writing));
    let held = tokio::spawn(async move {
        let work = |vault: &Vault, work: &Work<'_>| vault.working(work);
        match keeper.work(work).await {
            Ok(working) => writing.hold(working),
            Err(error) => tracing::debug!(%error, "a turn writes unknown to others"),
        }
    });
    // A task that panicked has nothing to hold.
    let _ = held.await;
}

/// Says once that files are not kept.
async fn complain(turn: &Turn, files: &ThreadFiles, trouble: &Trouble) -> Result<(), SessionGone> {
    if files.complained.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let line = format!("[checkpoints] files are changed without being kept: {trouble}");
    turn.tell(Fact::Note(NoteFact::Logged { line })).await
}

/// Keeps what a call changed and has it told; what takes long goes on without the turn.
pub async fn after(turn: &Turn, call: &ToolCall, outcome: &ToolOutcome) -> Result<(), SessionGone> {
    let (Some(files), true) = (&turn.writing.files, turn.writing.first.initialized()) else {
        return Ok(());
    };
    let ran = match outcome {
        ToolOutcome::Succeeded(_) | ToolOutcome::Failed { .. } | ToolOutcome::Interrupted(_) => {
            true
        }
        ToolOutcome::Denied(_) | ToolOutcome::NotRun { .. } => false,
    };
    if !ran || !writes(call) {
        return Ok(());
    }
    // What the call did is told after its end.
    turn.heard().await?;
    let changes_files = call.changes_files();
    let paths = changes_files.then(|| paths_in(turn, call, Some(outcome)));
    if paths.as_ref().is_some_and(Vec::is_empty) {
        return Ok(());
    }
    let follow = Follow {
        keeper: Arc::clone(&files.keeper),
        writing: Arc::clone(&turn.writing),
        turn: turn.id.clone(),
        cancel: turn.cancel.clone(),
        to_session: turn.to_session.downgrade(),
    };
    let mut following = tokio::spawn(follow.run(paths));
    tokio::select! {
        _ = tokio::time::timeout(AFTER_WRITE_WAIT_MAX, &mut following) => {}
        () = turn.cancel.cancelled() => {}
    }
    Ok(())
}

/// Sees what a call changed.
struct Follow {
    keeper: Arc<Keeper>,
    writing: Arc<Writing>,
    turn: TurnId,
    cancel: CancellationToken,
    to_session: mpsc::WeakSender<FromTurn>,
}

impl Follow {
    /// With the paths that may have changed, where these are known.
    async fn run(self, paths: Option<Vec<PathBuf>>) {
        if let Err(error) = self.follow(paths).await {
            tracing::debug!(%error, "what a call changed is not kept yet");
        }
    }

    async fn follow(&self, paths: Option<Vec<PathBuf>>) -> Result<(), Trouble> {
        let now = match paths {
            Some(paths) => self.keeper.record(paths).await?,
            None => self.keeper.look(Haste::Urgent).found().await?,
        };
        let Some(before) = self.writing.before.lock().clone() else {
            return Ok(());
        };
        let (from, to) = (before.found().await?.moment, now.moment);
        let diff = move |vault: &Vault| vault.diff(from, to, TURN_DIFF_BYTES_MAX);
        let diff = self.keeper.read(diff).await?;
        // A turn that is being ended does not wait for this, so nothing more is told of it.
        if !self.cancel.is_cancelled()
            && self.is_news(to, &diff)
            && let Some(to_session) = self.to_session.upgrade()
        {
            let turn = self.turn.clone();
            let fact = Fact::Files(FilesFact::TurnDiffed { turn, diff });
            // A turn that is over has nobody left to tell.
            let _ = to_session.send(FromTurn::Tell(fact)).await;
        }
        Ok(())
    }

    /// Whether it is not what was told last. At first there is no difference.
    fn is_news(&self, moment: Moment, diff: &str) -> bool {
        let mut told = self.writing.told.lock();
        let hash = blake3::hash(diff.as_bytes());
        let news = match &*told {
            Some((last, known)) => *last <= moment && *known != hash,
            None => !diff.is_empty(),
        };
        if news {
            *told = Some((moment, hash));
        }
        news
    }
}

/// The files of the workspace that a call names, and those that its outcome does.
fn paths_in(turn: &Turn, call: &ToolCall, outcome: Option<&ToolOutcome>) -> Vec<PathBuf> {
    let named = match &call.subject {
        Subject::Files(files) => files.as_slice(),
        Subject::Command { .. }
        | Subject::Web { .. }
        | Subject::Mcp { .. }
        | Subject::Question
        | Subject::Plan
        | Subject::Other => &[],
    };
    let named = named.iter().map(|file| file.path.as_str());
    let changed = match outcome {
        Some(ToolOutcome::Succeeded(ToolOutput::Files { changes, .. }))
        | Some(ToolOutcome::Interrupted(ToolOutput::Files { changes, .. })) => changes.as_slice(),
        Some(
            ToolOutcome::Succeeded(_)
            | ToolOutcome::Interrupted(_)
            | ToolOutcome::Failed { .. }
            | ToolOutcome::Denied(_)
            | ToolOutcome::NotRun { .. },
        )
        | None => &[],
    };
    let changed = changed.iter().map(|change| change.path.as_str());
    let inside = |path: &str| words::inside(&turn.card.directory, path);
    let mut paths: Vec<_> = named.chain(changed).filter_map(inside).collect();
    paths.sort();
    paths.dedup();
    paths
}
