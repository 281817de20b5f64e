//! Threads as files: written whole, and taken in again, here or on another home.
//!
//! A file is JSON Lines (docs/data.md): a header, every event of the log as it is kept, the receipts, and an end
//! by which one that was cut off is known. All else follows from the log.

mod asks;
mod checks;
mod export;
mod format;
mod import;
mod place;
mod reading;
mod staging;
mod transcript;

use std::io;

use store::StoreError;
use thiserror::Error;
use vocabulary::Refusal;

pub use export::{ExportedThread, export};
pub use format::is_exported;
pub use import::{ImportWishes, ImportedThread, TransferOutcome, import};
pub use transcript::{KeptThread, ToldTranscript, kept};

/// Why a thread was not written, or not taken in; then nothing of it is there.
#[derive(Debug, Error)]
pub enum TransferError {
    /// What is wrong with a file, and in which of its lines.
    #[error("line {line}: {what}")]
    Malformed { line: u64, what: String },
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<Refusal> for TransferError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal.message)
    }
}
