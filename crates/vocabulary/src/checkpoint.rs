//! Checkpoints: what a workspace's files were at some moment of a thread, and how they changed.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::reply::misfit;
use crate::{Refusal, Timestamp};

/// Names a checkpoint of one thread: its number, from 1. Never used twice, not even after a
/// deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CheckpointId(pub u64);

impl fmt::Display for CheckpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cp-{:04}", self.0)
    }
}

/// It names no checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoCheckpointId;

impl FromStr for CheckpointId {
    type Err = NoCheckpointId;

    /// Takes exactly what `Display` writes: `cp-0001`, and `cp-12345` past four digits.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = text.strip_prefix("cp-").and_then(|n| n.parse().ok());
        let id = CheckpointId(number.ok_or(NoCheckpointId)?);
        (id.to_string() == text).then_some(id).ok_or(NoCheckpointId)
    }
}

/// What made a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The end of a turn, or a restore that is about to happen.
    Automatic,
    Manual,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub id: CheckpointId,
    pub at: Timestamp,
    pub trigger: Trigger,
    /// Whether files differ from the checkpoint before, or from the original where there is none.
    pub changed: bool,
    /// Whether files differ from the original.
    pub changed_from_original: bool,
    /// Bytes that the store grew by.
    pub bytes: u64,
}

/// All that is kept of a thread's files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoints {
    pub standing: Standing,
    /// Where they are kept.
    pub directory: Option<PathBuf>,
    /// When the original was taken, or first asked for.
    pub created_at: Timestamp,
    /// Oldest first.
    pub list: Vec<Checkpoint>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The original is being taken.
    Initializing,
    Ready,
    Failed {
        why: String,
    },
}

/// Why the checkpoints of a thread are told anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointNews {
    /// The original is there, or failed, after it was told to be on its way.
    Standing,
    Taken(Trigger),
    Restored,
    Deleted,
}

/// What a client can want of a thread's checkpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CheckpointCall {
    Get,
    Take,
    /// Puts the files back; `None` is the original. `path` names one file or directory of the workspace.
    /// Takes an automatic checkpoint first.
    Restore {
        to: Option<CheckpointId>,
        path: Option<String>,
    },
    /// What a restore would do.
    Preview {
        to: Option<CheckpointId>,
        path: Option<String>,
    },
    Delete {
        id: CheckpointId,
    },
    /// How the files differ between two checkpoints; `None` is the original.
    Diff {
        from: Option<CheckpointId>,
        to: Option<CheckpointId>,
    },
    /// The versions of one file, oldest first.
    History {
        path: String,
    },
    /// One of these versions.
    FileAt {
        path: String,
        iteration: u64,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CheckpointReply {
    State(Checkpoints),
    Preview(Vec<Touched>),
    /// Unified diffs of all files one after the other.
    Diff(String),
    History(Vec<FileIteration>),
    File {
        content: Vec<u8>,
        iteration: FileIteration,
    },
}

/// As for every reply: who made the call knows the kind.
impl CheckpointReply {
    pub fn state(self) -> Result<Checkpoints, Refusal> {
        let Self::State(state) = self else {
            return Err(misfit());
        };
        Ok(state)
    }

    pub fn history(self) -> Result<Vec<FileIteration>, Refusal> {
        let Self::History(iterations) = self else {
            return Err(misfit());
        };
        Ok(iterations)
    }

    /// What the file was.
    pub fn content(self) -> Result<Vec<u8>, Refusal> {
        let Self::File { content, .. } = self else {
            return Err(misfit());
        };
        Ok(content)
    }
}

/// A file that a restore would touch, or must leave alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touched {
    /// Relative to the workspace.
    pub path: String,
    pub how: RestoreAction,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RestoreAction {
    Create,
    Replace,
    Delete,
    /// Left as it is, because what lies there now is not kept and would be lost.
    Skip {
        why: String,
    },
}

/// One version of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileIteration {
    /// From 1.
    pub iteration: u64,
    pub at: Timestamp,
    pub size: u64,
    /// Of the content, in hexadecimal.
    pub hash: String,
}

/// A file that changed, whoever changed it. Its new version is kept already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileVersion {
    /// Relative to the workspace.
    pub path: String,
    /// The number of the version that this change made. A deletion has one, too, under which nothing is
    /// kept.
    pub iteration: u64,
    pub size: u64,
    pub kind: crate::FileChangeKind,
}
