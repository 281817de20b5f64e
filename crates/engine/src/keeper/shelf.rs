//! What the vault has of one thread, and how a client sees it.

use std::path::PathBuf;

use checkpoints::{Kept, Moment};
use vocabulary::{Standing, Timestamp};

use super::{Found, words};

/// What the vault has of a thread.
pub struct Shelf {
    pub directory: PathBuf,
    pub kept: Option<Kept>,
    pub original: Option<Found>,
}

impl Shelf {
    /// As a client sees it.
    pub fn shown(&self, standing: Standing, asked_at: Timestamp) -> vocabulary::Checkpoints {
        let kept = self.kept.as_ref();
        let original_at = self.original.map(|found| found.at);
        let created_at = kept.map(|kept| Timestamp(kept.at)).or(original_at);
        let list = kept.map(|kept| kept.checkpoints.as_slice());
        vocabulary::Checkpoints {
            standing,
            directory: Some(self.directory.clone()),
            created_at: created_at.unwrap_or(asked_at),
            list: list
                .unwrap_or_default()
                .iter()
                .map(words::checkpoint)
                .collect(),
        }
    }

    /// The state before the thread's first change.
    pub fn original(&self) -> Option<Moment> {
        let kept = self.kept.as_ref().map(|kept| kept.original);
        kept.or(self.original.map(|found| found.moment))
    }
}
