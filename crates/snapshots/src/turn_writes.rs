//! A turn and the files it changes: before its first write somebody looks at the workspace, after
//! each write the new versions are kept and everyone is told.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use checkpoints::{Moment, Vault, Work, Working};
use parking_lot::Mutex;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::limits::{
    AFTER_WRITE_WAIT_MAX, FIRST_WRITE_WAIT_MAX, RESTORE_WAIT_MAX, TURN_DIFF_BYTES_MAX,
};
use crate::{Haste, Keeper, ThreadFiles, Ticket, Trouble};

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
    /// For people who watch, and not told yet.
    lines: Mutex<Vec<String>>,
}

/// What a call may change, in a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// These paths, from the workspace on.
    Paths(Vec<PathBuf>),
    /// Nobody knows what.
    Anything,
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
            lines: Mutex::default(),
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

    /// Whether the turn has come to its first write.
    pub fn has_begun(&self) -> bool {
        self.files.is_some() && self.first.initialized()
    }

    fn hold(&self, working: Working) {
        let mut hold = self.working.lock();
        if let Hold::Open(held) = &mut *hold {
            *held = Some(working);
        }
    }

    /// Sees to it that what a call is about to change is kept as it was. Gives what is to be said
    /// about it.
    pub async fn before(self: &Arc<Self>, write: Write, cancel: &CancellationToken) -> Vec<String> {
        let Some(files) = &self.files else {
            return Vec::new();
        };
        let first = self.first.get_or_init(|| self.first_write(files));
        tokio::select! {
            _ = first => {}
            () = cancel.cancelled() => return Vec::new(),
        }
        let before = self.before.lock().clone();
        match before {
            // The look goes on while the call runs.
            Some(ticket) if !ticket.is_over() => match write {
                Write::Paths(paths) => ticket.keep(paths).await,
                Write::Anything => ticket.blur(),
            },
            Some(ticket) => {
                if let Err(trouble) = ticket.found().await {
                    self.complain(files, &trouble);
                }
            }
            None => files.changed_unseen(),
        }
        std::mem::take(&mut *self.lines.lock())
    }

    async fn first_write(self: &Arc<Self>, files: &Arc<ThreadFiles>) {
        let keeper = &files.keeper;
        let patience = match keeper.restoring() {
            true => RESTORE_WAIT_MAX,
            false => FIRST_WRITE_WAIT_MAX,
        };
        let held = hold(keeper, self);
        let look = async {
            let ticket = files.before_turn().await;
            *self.before.lock() = Some(ticket.clone());
            // Whether it failed is asked when the call is about to run.
            let _ = ticket.found().await;
            let lines = files.secure().await;
            self.lines.lock().extend(lines);
        };
        // Whoever comes too late is not waited for, but counts all the same.
        let (held, _) = tokio::join!(
            tokio::time::timeout(patience, held),
            tokio::time::timeout(FIRST_WRITE_WAIT_MAX, look)
        );
        if held.is_err() {
            tracing::debug!("a turn writes before others know of it");
        }
    }

    /// Says once that files are not kept.
    fn complain(&self, files: &ThreadFiles, trouble: &Trouble) {
        if !files.complained.swap(true, Ordering::Relaxed) {
            let line = format!("[checkpoints] files are changed without being kept: {trouble}");
            self.lines.lock().push(line);
        }
    }

    /// Keeps what a call changed and has it told; what takes long goes on without the turn. `diffed`
    /// is called with how the files differ from before the turn, if that is news.
    pub async fn after<F>(
        self: &Arc<Self>,
        write: Write,
        cancel: &CancellationToken,
        diffed: impl FnOnce(String) -> F + Send + 'static,
    ) where
        F: Future<Output = ()> + Send,
    {
        let Some(files) = self.files.as_ref().filter(|_| self.has_begun()) else {
            return;
        };
        let follow = Follow {
            keeper: Arc::clone(&files.keeper),
            writing: Arc::clone(self),
            cancel: cancel.clone(),
        };
        let mut following = tokio::spawn(async move {
            match follow.diff_after(write).await {
                Ok(Some(diff)) => diffed(diff).await,
                Ok(None) => {}
                Err(error) => tracing::debug!(%error, "what a call changed is not kept yet"),
            }
        });
        tokio::select! {
            _ = tokio::time::timeout(AFTER_WRITE_WAIT_MAX, &mut following) => {}
            () = cancel.cancelled() => {}
        }
    }

    /// Whether it is not what was told last. At first there is no difference.
    fn is_news(&self, moment: Moment, diff: &str) -> bool {
        let mut told = self.told.lock();
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

/// Sees what a call changed.
struct Follow {
    keeper: Arc<Keeper>,
    writing: Arc<Writing>,
    cancel: CancellationToken,
}

impl Follow {
    /// How the files differ now from before the turn, if that is not what was told last.
    async fn diff_after(&self, write: Write) -> Result<Option<String>, Trouble> {
        let now = match write {
            Write::Paths(paths) => self.keeper.record(paths).await?,
            Write::Anything => self.keeper.look(Haste::Urgent).found().await?,
        };
        let Some(before) = self.writing.before.lock().clone() else {
            return Ok(None);
        };
        let (from, to) = (before.found().await?.moment, now.moment);
        let diff = move |vault: &Vault| vault.diff(from, to, TURN_DIFF_BYTES_MAX);
        let diff = self.keeper.read(diff).await?;
        // A turn that is being ended does not wait for this, so nothing more is told of it.
        let news = !self.cancel.is_cancelled() && self.writing.is_news(to, &diff);
        Ok(news.then_some(diff))
    }
}
