//! Files by a few letters of their names.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::ThreadId;

/// The files below some directories whose paths have these letters, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindFiles {
    pub query: String,
    /// Absolute.
    pub roots: Vec<PathBuf>,
    /// The directories of these threads, beside the roots.
    pub threads: Vec<ThreadId>,
    /// How many at most; the engine's own limit counts, too.
    pub limit: u32,
}

/// What was found, the best first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundFiles {
    pub files: Vec<FoundFile>,
    /// Whether the search ended before it had seen everything.
    pub truncated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundFile {
    pub root: PathBuf,
    /// From the root on.
    pub path: String,
    pub is_directory: bool,
    /// The higher the better.
    pub score: u32,
    /// The places of the letters in the path, in characters.
    pub matched: Vec<u32>,
}
