//! The files of a thread's workspace, as they lie there now.

use serde::{Deserialize, Serialize};

use crate::reply::misfit;
use crate::{Refusal, Timestamp};

/// What a client can want of them. A path is relative to the workspace; one that leads out of it is
/// answered as one where nothing lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileCall {
    /// What lies in a directory, so many levels deep; without a path in the workspace itself.
    List { path: Option<String>, depth: u64 },
    /// A whole file, if it is not larger than this.
    Read { path: String, bytes_max: u64 },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileReply {
    List(FileListing),
    Content(ReadFile),
}

/// What lies in a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileListing {
    /// Sorted by path.
    pub files: Vec<ListedFile>,
    /// Whether there is more than one list may have.
    pub truncated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedFile {
    /// Relative to the workspace.
    pub path: String,
    pub kind: ListedKind,
    /// Of a file.
    pub size: u64,
    pub modified_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListedKind {
    File,
    Directory,
    Link,
    /// A pipe, a socket, a device: never opened.
    Special,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadFile {
    pub size: u64,
    /// Nothing where it is larger than what was wanted.
    pub content: Option<Vec<u8>>,
}

/// As for every reply: who made the call knows the kind.
impl FileReply {
    pub fn list(self) -> Result<FileListing, Refusal> {
        match self {
            FileReply::List(listing) => Ok(listing),
            FileReply::Content(_) => Err(misfit()),
        }
    }

    pub fn content(self) -> Result<ReadFile, Refusal> {
        match self {
            FileReply::Content(read) => Ok(read),
            FileReply::List(_) => Err(misfit()),
        }
    }
}
