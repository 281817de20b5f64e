//! What the vault has of one thread, and how a client sees it.

use std::path::PathBuf;

use checkpoints::{Moment, ThreadOutline, Vault};
use vocabulary::{Checkpoint, Checkpoints, Standing, Timestamp};

use crate::{ScanResult, translate};

/// What the vault has of a thread.
pub struct ThreadSnapshots {
    pub directory: PathBuf,
    pub kept: Option<ThreadOutline>,
    /// Only where somebody is to see it: it grows with every turn.
    pub list: Option<Vec<Checkpoint>>,
    pub original: Option<ScanResult>,
}

/// How much of it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotDetail {
    Outline,
    List,
}

/// How a thread's checkpoints stand, without the list of them: that stays in the vault until somebody
/// is to see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointSummary {
    pub standing: Standing,
    pub directory: Option<PathBuf>,
    /// When the original was taken, or first asked for.
    pub created_at: Timestamp,
    pub count: u64,
    /// The highest number among them.
    pub last: Option<u64>,
}

impl CheckpointSummary {
    /// As a client sees it.
    pub fn with(&self, list: Vec<Checkpoint>) -> Checkpoints {
        Checkpoints {
            standing: self.standing.clone(),
            directory: self.directory.clone(),
            created_at: self.created_at,
            list,
        }
    }

    /// Whether the list is not the one that it was.
    pub fn lists_other_than(&self, before: &CheckpointSummary) -> bool {
        (self.count, self.last) != (before.count, before.last)
    }
}

impl ThreadSnapshots {
    /// `directory` is where clients are told that it is.
    pub fn read(
        vault: &Vault,
        thread: &str,
        directory: PathBuf,
        detail: SnapshotDetail,
    ) -> checkpoints::Result<Self> {
        let (kept, list) = match detail {
            SnapshotDetail::Outline => (vault.outline(thread)?, None),
            SnapshotDetail::List => match vault.kept(thread)? {
                Some(kept) => (Some(kept.outline()), Some(translate::list(&kept))),
                None => (None, None),
            },
        };
        Ok(Self {
            directory,
            kept,
            list,
            original: None,
        })
    }

    pub fn summary(&self, standing: Standing, asked_at: Timestamp) -> CheckpointSummary {
        let kept = self.kept;
        let original_at = self.original.map(|found| found.at);
        let created_at = kept.map(|kept| Timestamp(kept.at)).or(original_at);
        CheckpointSummary {
            standing,
            directory: Some(self.directory.clone()),
            created_at: created_at.unwrap_or(asked_at),
            count: kept.map_or(0, |kept| kept.count),
            last: kept.and_then(|kept| kept.last),
        }
    }

    /// The state before the thread's first change.
    pub fn original(&self) -> Option<Moment> {
        let kept = self.kept.map(|kept| kept.original);
        kept.or(self.original.map(|found| found.moment))
    }
}
