//! What can be wrong with a vault, in words for people and as a refusal.

use std::fmt;
use std::sync::Arc;

use checkpoints::Error;
use vocabulary::{Refusal, Why};

/// Why files could not be kept, as often told as there are people who waited.
#[derive(Clone, Debug)]
pub enum SnapshotError {
    Vault(Arc<Error>),
    /// The work ended without a word.
    Interrupted,
}

impl From<Error> for SnapshotError {
    fn from(error: Error) -> Self {
        SnapshotError::Vault(Arc::new(error))
    }
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SnapshotError::Vault(error) => error.fmt(f),
            SnapshotError::Interrupted => f.write_str("the work on checkpoints was interrupted"),
        }
    }
}

impl SnapshotError {
    /// Whether the work was given up because the process ends.
    pub fn is_cancelled(&self) -> bool {
        match self {
            SnapshotError::Vault(error) => matches!(**error, Error::Cancelled),
            SnapshotError::Interrupted => true,
        }
    }

    /// Whether nothing is kept of the thread any more.
    pub fn is_not_begun(&self) -> bool {
        match self {
            SnapshotError::Vault(error) => matches!(**error, Error::NotBegun),
            SnapshotError::Interrupted => false,
        }
    }

    pub fn refusal(&self) -> Refusal {
        let SnapshotError::Vault(error) = self else {
            return Refusal::new(Why::Internal, self.to_string());
        };
        let why = match &**error {
            Error::Cancelled => return Refusal::shutting_down(),
            Error::TurnRunning => {
                let message = "another thread's turn is changing files in this workspace; \
                               try again when it is over";
                return Refusal::new(Why::Busy, message);
            }
            Error::Busy(_) => Why::Busy,
            Error::UnknownCheckpoint(_) => Why::UnknownCheckpoint,
            Error::BadPath(_) => Why::invalid("path"),
            Error::UnknownPath(_) => Why::UnknownFile,
            Error::NotBegun
            | Error::TooManyFiles(_)
            | Error::NotAProject(_)
            | Error::Workspace(_) => Why::NotAvailable,
            Error::Full
            | Error::Damaged(_)
            | Error::Newer(_)
            | Error::Io(_)
            | Error::Database(_) => Why::Storage,
        };
        Refusal::new(why, error.to_string())
    }
}
