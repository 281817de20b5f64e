//! Scans of the workspace: one at a time. Whoever needs one that starts from now on shares it with
//! all who came since the last one started; those that nobody waits for urgently rest in between.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use checkpoints::{PreImages, Vault, WorkControl};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::limits::{SCANS_REST_FACTOR, SCANS_WAITING_MAX};
use crate::scanner::{blocking, scan_result};
use crate::{ScanResult, SnapshotError, WorkspaceScanner};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanPriority {
    /// Some time soon.
    Background,
    /// Somebody waits.
    Urgent,
}

/// The scans that are still to be taken.
pub struct ScanQueue {
    waiting: VecDeque<Arc<QueuedScan>>,
    at_work: bool,
    /// Before this only what is urgent.
    rest_until: Instant,
}

/// One scan of the workspace that is to come, is under way, or is over.
struct QueuedScan {
    before: PreImages,
    /// Whether `before` holds anything: it shows files as they were then, not as they are.
    backward: AtomicBool,
    urgent: AtomicBool,
    outcome: watch::Sender<Option<Result<ScanResult, SnapshotError>>>,
}

/// The right to know what a scan finds. A scan that nobody wants to know of is not taken.
#[derive(Clone)]
pub struct PendingScan {
    scanner: Arc<WorkspaceScanner>,
    scan: Arc<QueuedScan>,
    outcome: watch::Receiver<Option<Result<ScanResult, SnapshotError>>>,
}

impl ScanQueue {
    pub fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            at_work: false,
            rest_until: Instant::now(),
        }
    }

    /// The scan that the next to come shares.
    fn last(&mut self) -> Arc<QueuedScan> {
        let full = self.waiting.len() >= SCANS_WAITING_MAX;
        let shared = self.waiting.back();
        let shared = shared.filter(|scan| full || !scan.backward.load(Ordering::Relaxed));
        match shared {
            Some(scan) => Arc::clone(scan),
            None => {
                let scan = Arc::new(QueuedScan {
                    before: PreImages::default(),
                    backward: AtomicBool::new(false),
                    urgent: AtomicBool::new(false),
                    outcome: watch::Sender::new(None),
                });
                self.waiting.push_back(Arc::clone(&scan));
                scan
            }
        }
    }
}

impl WorkspaceScanner {
    /// A scan that starts from now on.
    pub fn request_scan(self: &Arc<Self>, priority: ScanPriority) -> PendingScan {
        let mut queue = self.queue.lock();
        let scan = queue.last();
        let pending = PendingScan {
            scanner: Arc::clone(self),
            outcome: scan.outcome.subscribe(),
            scan,
        };
        if !std::mem::replace(&mut queue.at_work, true) {
            tokio::spawn(Arc::clone(self).run_scans());
        }
        drop(queue);
        if priority == ScanPriority::Urgent {
            pending.expedite();
        }
        pending
    }

    async fn run_scans(self: Arc<Self>) {
        while let Some(queued) = self.next_scan().await {
            let (began, at) = (Instant::now(), self.now());
            let taken = Arc::clone(&queued);
            let scan =
                move |vault: &Vault, work: &WorkControl<'_>| vault.scan(work, Some(&taken.before));
            let scanned = self
                .work_with_progress("looking at the workspace", scan)
                .await;
            self.queue.lock().rest_until = Instant::now() + began.elapsed() * SCANS_REST_FACTOR;
            if let Ok(scan) = &scanned {
                // Before those who wait go on, so that they speak after it.
                self.publish_changes(scan);
            }
            let outcome = scanned.map(|scan| scan_result(&scan, at));
            queued.outcome.send_replace(Some(outcome));
        }
    }

    /// Waits until the next scan may be taken; none when nobody wants one.
    async fn next_scan(&self) -> Option<Arc<QueuedScan>> {
        loop {
            let rest_until = {
                let mut queue = self.queue.lock();
                queue
                    .waiting
                    .retain(|scan| scan.outcome.receiver_count() > 0);
                queue.at_work = !queue.waiting.is_empty();
                let urgent = |scan: &Arc<QueuedScan>| scan.urgent.load(Ordering::Relaxed);
                let rested = Instant::now() >= queue.rest_until;
                if !queue.at_work || rested || queue.waiting.iter().any(urgent) {
                    return queue.waiting.pop_front();
                }
                queue.rest_until
            };
            tokio::select! {
                () = tokio::time::sleep_until(rest_until) => {}
                () = self.expedite.notified() => {}
            }
        }
    }
}

impl PendingScan {
    /// Somebody waits for it.
    pub fn expedite(&self) {
        self.scan.urgent.store(true, Ordering::Relaxed);
        self.scanner.expedite.notify_one();
    }

    pub fn is_over(&self) -> bool {
        self.outcome.borrow().is_some()
    }

    pub async fn result(&self) -> Result<ScanResult, SnapshotError> {
        let mut outcome = self.outcome.clone();
        let found = outcome.wait_for(Option::is_some).await;
        found
            .ok()
            .and_then(|found| found.clone())
            .unwrap_or(Err(SnapshotError::Interrupted))
    }

    /// Keeps these files as they are now; the scan takes them for what it finds.
    pub async fn keep(&self, paths: Vec<PathBuf>) {
        self.scan.backward.store(true, Ordering::Relaxed);
        let (scan, workspace) = (Arc::clone(&self.scan), self.scanner.workspace.clone());
        let keep = move || {
            for path in &paths {
                scan.before.keep(&workspace, path);
            }
            Ok(())
        };
        if let Err(error) = blocking(keep).await {
            tracing::warn!(%error, "files could not be kept before a change");
        }
    }

    /// Something is about to change files, and nobody knows which.
    pub fn mark_incomplete(&self) {
        self.scan.backward.store(true, Ordering::Relaxed);
        self.scan.before.mark_incomplete();
    }
}
