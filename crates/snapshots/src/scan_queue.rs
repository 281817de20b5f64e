//! Looks at the workspace: one at a time. Whoever needs one that starts from now on shares it with
//! all who came since the last one started; those that nobody waits for urgently rest in between.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use checkpoints::{Before, Vault, Work};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::limits::{LOOKS_REST_FACTOR, LOOKS_WAITING_MAX};
use crate::scanner::{blocking, found};
use crate::{Found, Keeper, Trouble};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Haste {
    /// Some time soon.
    Background,
    /// Somebody waits.
    Urgent,
}

/// The looks that are still to be taken.
pub struct Line {
    waiting: VecDeque<Arc<Look>>,
    at_work: bool,
    /// Before this only what is urgent.
    rest_until: Instant,
}

/// One look at the workspace that is to come, is under way, or is over.
struct Look {
    before: Before,
    /// Whether `before` holds anything: it shows files as they were then, not as they are.
    backward: AtomicBool,
    urgent: AtomicBool,
    outcome: watch::Sender<Option<Result<Found, Trouble>>>,
}

/// The right to know what a look finds. A look that nobody wants to know of is not taken.
#[derive(Clone)]
pub struct Ticket {
    keeper: Arc<Keeper>,
    look: Arc<Look>,
    outcome: watch::Receiver<Option<Result<Found, Trouble>>>,
}

impl Line {
    pub fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            at_work: false,
            rest_until: Instant::now(),
        }
    }

    /// The look that the next to come shares.
    fn last(&mut self) -> Arc<Look> {
        let full = self.waiting.len() >= LOOKS_WAITING_MAX;
        let shared = self.waiting.back();
        let shared = shared.filter(|look| full || !look.backward.load(Ordering::Relaxed));
        match shared {
            Some(look) => Arc::clone(look),
            None => {
                let look = Arc::new(Look {
                    before: Before::default(),
                    backward: AtomicBool::new(false),
                    urgent: AtomicBool::new(false),
                    outcome: watch::Sender::new(None),
                });
                self.waiting.push_back(Arc::clone(&look));
                look
            }
        }
    }
}

impl Keeper {
    /// A look that starts from now on.
    pub fn look(self: &Arc<Self>, haste: Haste) -> Ticket {
        let mut line = self.line.lock();
        let look = line.last();
        let ticket = Ticket {
            keeper: Arc::clone(self),
            outcome: look.outcome.subscribe(),
            look,
        };
        if !std::mem::replace(&mut line.at_work, true) {
            tokio::spawn(Arc::clone(self).take_looks());
        }
        drop(line);
        if haste == Haste::Urgent {
            ticket.hurry();
        }
        ticket
    }

    async fn take_looks(self: Arc<Self>) {
        while let Some(look) = self.next_look().await {
            let (began, at) = (Instant::now(), self.now());
            let taken = Arc::clone(&look);
            let scan = move |vault: &Vault, work: &Work<'_>| vault.scan(work, Some(&taken.before));
            let done = self.work_aloud("looking at the workspace", scan).await;
            self.line.lock().rest_until = Instant::now() + began.elapsed() * LOOKS_REST_FACTOR;
            if let Ok(scan) = &done {
                // Before those who wait go on, so that they speak after it.
                self.tell_files(scan);
            }
            let outcome = done.map(|scan| found(&scan, at));
            look.outcome.send_replace(Some(outcome));
        }
    }

    /// Waits until the next look may be taken; none when nobody wants one.
    async fn next_look(&self) -> Option<Arc<Look>> {
        loop {
            let rest_until = {
                let mut line = self.line.lock();
                line.waiting
                    .retain(|look| look.outcome.receiver_count() > 0);
                line.at_work = !line.waiting.is_empty();
                let urgent = |look: &Arc<Look>| look.urgent.load(Ordering::Relaxed);
                let rested = Instant::now() >= line.rest_until;
                if !line.at_work || rested || line.waiting.iter().any(urgent) {
                    return line.waiting.pop_front();
                }
                line.rest_until
            };
            tokio::select! {
                () = tokio::time::sleep_until(rest_until) => {}
                () = self.hurry.notified() => {}
            }
        }
    }
}

impl Ticket {
    /// Somebody waits for it.
    pub fn hurry(&self) {
        self.look.urgent.store(true, Ordering::Relaxed);
        self.keeper.hurry.notify_one();
    }

    pub fn is_over(&self) -> bool {
        self.outcome.borrow().is_some()
    }

    pub async fn found(&self) -> Result<Found, Trouble> {
        let mut outcome = self.outcome.clone();
        let found = outcome.wait_for(Option::is_some).await;
        found
            .ok()
            .and_then(|found| found.clone())
            .unwrap_or(Err(Trouble::Interrupted))
    }

    /// Keeps these files as they are now; the look takes them for what it finds.
    pub async fn keep(&self, paths: Vec<PathBuf>) {
        self.look.backward.store(true, Ordering::Relaxed);
        let (look, workspace) = (Arc::clone(&self.look), self.keeper.workspace.clone());
        let keep = move || {
            for path in &paths {
                look.before.keep(&workspace, path);
            }
            Ok(())
        };
        if let Err(error) = blocking(keep).await {
            tracing::warn!(%error, "files could not be kept before a change");
        }
    }

    /// Something is about to change files, and nobody knows which.
    pub fn blur(&self) {
        self.look.backward.store(true, Ordering::Relaxed);
        self.look.before.blur();
    }
}
