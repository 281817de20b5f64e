//! Checkpoints for threads: between the vaults of `checkpoints`, which block and know no thread, and
//! whoever runs threads. One scanner per workspace shares its scans among all sessions there; the work
//! on a thread's checkpoints is done one piece at a time; what comes of it is given back to be told.
//!
//! Nothing here records a fact or knows a session: a [`SnapshotReport`] says what to tell.

use std::path::PathBuf;
use std::sync::Arc;

use checkpoints::{RetentionPolicy, SnapshotLimits};
use vocabulary::Timestamp;

mod backup_record;
mod error;
pub mod limits;
mod reads;
mod scan_queue;
mod scanner;
mod tasks;
mod thread_files;
mod thread_snapshots;
mod translate;
mod turn_writes;
mod vault_place;
mod watch;

pub use error::SnapshotError;
pub use reads::{CheckpointReads, state};
pub use scan_queue::{PendingScan, ScanPriority};
pub use scanner::{ScanResult, WorkspaceEvent, WorkspaceScanner, WorkspaceScanners};
pub use tasks::{
    CheckpointRequest, CheckpointTasks, FinishedTask, PublishedCheckpoints, SnapshotEvent,
    SnapshotReport, TaskCause, TaskEffects,
};
pub use thread_files::{CheckpointTask, TaskFailure, TaskResult, ThreadFiles};
pub use thread_snapshots::{CheckpointSummary, SnapshotDetail, ThreadSnapshots};
pub use translate::inside;
pub use turn_writes::{TurnWrites, WriteScope};
pub use vault_place::VaultPlace;
pub use watch::WorkspaceWatch;

/// Whether files are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointSetting {
    On {
        limits: SnapshotLimits,
        policy: RetentionPolicy,
    },
    Off,
}

impl Default for CheckpointSetting {
    fn default() -> Self {
        Self::On {
            limits: SnapshotLimits::default(),
            policy: RetentionPolicy::default(),
        }
    }
}

/// What the scanners of all workspaces are started with.
#[derive(Clone)]
pub struct SnapshotSettings {
    /// Where our data lies.
    pub home: PathBuf,
    /// The folder in a workspace that holds its settings.
    pub workspace_data: PathBuf,
    pub checkpoints: CheckpointSetting,
    /// What time it is.
    pub clock: SnapshotClock,
}

/// Tells the time; whoever runs threads has one for everything.
pub type SnapshotClock = Arc<dyn Fn() -> Timestamp + Send + Sync>;
