//! What is under way for a thread's checkpoints while it is awake: how they stand, what happens in its
//! workspace, and the work that is done one piece at a time.

use std::collections::VecDeque;
use std::sync::Arc;

use checkpoints::Moment;
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use vocabulary::{CheckpointNews, Standing, ThreadCard, ThreadId};

use crate::limits::{CHECKPOINTS_TOLD_AT_ONCE, CHECKPOINTS_TOLD_EVERY};
use crate::{Ended, Keepers, News, Shelf, Summary, Task, ThreadFiles, Trouble, Wanted, Writing};

mod handling;

pub use handling::{Handled, Report};

/// The checkpoints of a thread as everybody but its session sees them.
pub struct Shown {
    pub now: Summary,
    /// Whether somebody saw that they are being prepared, and must be told when they are.
    pub owed: bool,
    /// Whether something is being done to them.
    pub at_work: bool,
    pub original: Option<Moment>,
}

impl Shown {
    /// Whether it is worth waiting: they will be different in a moment.
    pub fn is_settled(&self) -> bool {
        self.now.standing != Standing::Initializing && !self.at_work
    }
}

/// What a session has to do with its thread's checkpoints. `R` is where a client's call is answered.
pub struct Checkpointing<R> {
    thread: ThreadId,
    /// None where files are not kept.
    files: Option<Arc<ThreadFiles>>,
    pub shown: watch::Sender<Shown>,
    news: Option<mpsc::Receiver<News>>,
    preparing: Option<BoxFuture<'static, Result<Shelf, Trouble>>>,
    running: Option<BoxFuture<'static, Done>>,
    waiting: VecDeque<BoxFuture<'static, Done>>,
    /// What a client wants done and is not done yet.
    asked: Option<(Asked, R)>,
    /// When the list was told last.
    told_at: Option<Instant>,
    /// When it is to be told, if it is not before.
    tell_at: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    Take,
    Restore,
    Delete,
}

/// Work that is over.
pub struct Done {
    pub ended: Ended,
    pub cause: Cause,
}

/// Why something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    Asked(Asked),
    TurnOver,
    Pruned,
    /// Only to tell what there is.
    Telling(CheckpointNews),
}

pub enum Came {
    News(News),
    Prepared(Result<Shelf, Trouble>),
    Done(Box<Done>),
}

impl<R> Checkpointing<R> {
    /// For a session that begins.
    pub fn new(keepers: &Keepers, card: &ThreadCard) -> Self {
        let keeper = keepers.of(&card.directory);
        let standing = match keeper {
            Some(_) => Standing::Initializing,
            None => Standing::Failed {
                why: "checkpoints are turned off".to_owned(),
            },
        };
        let now = Summary {
            standing,
            directory: None,
            created_at: keepers.now(),
            count: 0,
            last: None,
        };
        let news = keeper.as_ref().map(|keeper| keeper.news());
        let files = keeper.map(|keeper| ThreadFiles::new(keeper, card.id));
        let preparing = files.as_ref().map(|files| Arc::clone(files).prepare());
        Self {
            thread: card.id,
            files,
            shown: watch::Sender::new(Shown {
                now,
                owed: false,
                at_work: false,
                original: None,
            }),
            news,
            preparing: preparing.map(|preparing| Box::pin(preparing) as _),
            running: None,
            waiting: VecDeque::new(),
            asked: None,
            told_at: None,
            tell_at: None,
        }
    }

    pub fn writing(&self) -> Arc<Writing> {
        Arc::new(Writing::new(self.files.clone()))
    }

    /// Waits for whatever comes next.
    pub async fn next(&mut self) -> Came {
        tokio::select! {
            // What happened to files is told before what was done to them.
            biased;
            news = hear(&mut self.news) => Came::News(news),
            prepared = ready(&mut self.preparing) => {
                self.preparing = None;
                Came::Prepared(prepared)
            }
            done = ready(&mut self.running) => {
                self.running = self.waiting.pop_front();
                Came::Done(Box::new(done))
            }
        }
    }

    pub fn at_rest(&self) -> bool {
        self.running.is_none()
    }

    pub fn restoring(&self) -> bool {
        let asked = self.asked.as_ref();
        asked.is_some_and(|(asked, _)| *asked == Asked::Restore)
    }

    fn waits(&self) -> bool {
        self.preparing.is_some() || self.running.is_some()
    }

    fn standing(&self) -> Standing {
        self.shown.borrow().now.standing.clone()
    }

    /// Does it when what was to be done before is done.
    fn perform(&mut self, task: Task, cause: Cause) {
        let Some(files) = self.files.clone() else {
            return;
        };
        let wanted = match cause {
            Cause::TurnOver if !self.may_tell() => Wanted::Outline,
            Cause::TurnOver | Cause::Asked(_) | Cause::Pruned | Cause::Telling(_) => Wanted::List,
        };
        let work: BoxFuture<'static, Done> = Box::pin(async move {
            let ended = files.perform(task, wanted).await;
            Done { ended, cause }
        });
        self.shown.send_modify(|shown| shown.at_work = true);
        match self.running {
            None => self.running = Some(work),
            Some(_) => self.waiting.push_back(work),
        }
    }

    /// Whether the end of a turn is a reason to tell the whole list.
    fn may_tell(&self) -> bool {
        let few = self.shown.borrow().now.count < CHECKPOINTS_TOLD_AT_ONCE;
        few || self
            .told_at
            .is_none_or(|at| at.elapsed() >= CHECKPOINTS_TOLD_EVERY)
    }

    /// The list is told now.
    fn told(&mut self) {
        self.told_at = Some(Instant::now());
        self.tell_at = None;
    }

    /// It is not, and will be when it was not for long enough.
    fn tell_later(&mut self) {
        let now = Instant::now();
        let told_at = self.told_at.unwrap_or(now);
        self.tell_at
            .get_or_insert((told_at + CHECKPOINTS_TOLD_EVERY).max(now));
    }

    /// When the list is to be told, whatever comes.
    pub fn tell_at(&self) -> Option<Instant> {
        self.tell_at.filter(|_| self.running.is_none())
    }

    /// Tells it if it is time.
    pub fn tell_when_due(&mut self, now: Instant) {
        if self.tell_at().is_some_and(|due| now >= due) {
            self.tell_at = None;
            let news = CheckpointNews::Taken(vocabulary::Trigger::Automatic);
            self.perform(Task::Refresh, Cause::Telling(news));
        }
    }

    /// A piece of work is over; there may be more.
    fn rest(&self) {
        let at_work = self.running.is_some();
        self.shown.send_modify(|shown| shown.at_work = at_work);
    }

    /// Who waits for what a client wanted, when the session ends before it is done.
    pub fn abandon(&mut self) -> Option<R> {
        self.asked.take().map(|(_, reply)| reply)
    }

    /// Shows how things stand now; whether somebody is owed to hear of it.
    fn show(&mut self, now: Summary, original: Option<Moment>) -> bool {
        let prepared = now.standing != Standing::Initializing;
        let mut owed = false;
        self.shown.send_modify(|shown| {
            shown.now = now;
            shown.original = original.or(shown.original);
            owed = prepared && std::mem::take(&mut shown.owed);
        });
        owed
    }

    /// Lets go of what is kept of a thread that is gone, once nothing is done to it any more.
    pub fn forget(&mut self) {
        let Some(files) = self.files.take() else {
            return;
        };
        let work = self
            .running
            .take()
            .into_iter()
            .chain(self.waiting.drain(..));
        let work: Vec<_> = work.collect();
        files.keeper.forget(self.thread, async move {
            for each in work {
                each.await;
            }
        });
    }
}

async fn hear(news: &mut Option<mpsc::Receiver<News>>) -> News {
    if let Some(heard) = news {
        match heard.recv().await {
            Some(news) => return news,
            None => *news = None,
        }
    }
    std::future::pending().await
}

/// Waits for a future that may not be there.
async fn ready<T>(future: &mut Option<BoxFuture<'static, T>>) -> T {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}
