//! Directories of the server's machine, for whoever looks for a place to work in; and the worktrees of
//! the repositories there.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::Refusal;
use crate::reply::misfit;

/// What a client can want of them. Paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DirectoryCall {
    /// The directories in one; without a path, in the one where the caller begins to look.
    List {
        path: Option<PathBuf>,
    },
    /// Whether a directory is in a repository, and what is checked out there.
    Inspect {
        path: PathBuf,
    },
    ListWorktrees {
        repository: PathBuf,
    },
    CreateWorktree(NewWorktree),
    RemoveWorktree {
        repository: PathBuf,
        path: PathBuf,
        /// Also where something in it is not committed, or it is locked.
        force: bool,
    },
    /// Forgets the worktrees whose directories are gone.
    PruneWorktrees {
        repository: PathBuf,
    },
}

/// A worktree that is to be made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewWorktree {
    pub repository: PathBuf,
    /// What it begins with; what is checked out in the repository when absent.
    pub base: Option<String>,
    /// One that is there is checked out, another is made; made up when absent.
    pub branch: Option<String>,
    /// Where it lies; below the user's home when absent.
    pub path: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DirectoryReply {
    List(DirectoryList),
    /// None: the directory is in no repository.
    Repository(Option<InspectedRepository>),
    Worktrees(WorktreeList),
    Created(CreatedWorktree),
    Removed,
    /// How many were forgotten.
    Pruned(usize),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryList {
    pub current: PathBuf,
    /// The same where there is none above it that the caller may see.
    pub parent: PathBuf,
    /// Names, sorted; those that begin with a dot are left out.
    pub names: Vec<String>,
    /// Whether there are more than one list may have.
    pub truncated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InspectedRepository {
    /// The top of its working tree.
    pub root: PathBuf,
    /// Nothing where a commit is checked out rather than a branch.
    pub branch: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorktreeList {
    pub repository: PathBuf,
    /// The main one.
    pub main: PathBuf,
    /// The main one first.
    pub worktrees: Vec<Worktree>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worktree {
    pub path: PathBuf,
    pub branch: Option<String>,
    /// The commit that is checked out.
    pub head: String,
    pub locked: bool,
    /// Its directory is gone.
    pub prunable: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreatedWorktree {
    pub repository: PathBuf,
    pub path: PathBuf,
    pub branch: String,
    pub head: String,
}

/// As for every reply: who made the call knows the kind.
impl DirectoryReply {
    pub fn list(self) -> Result<DirectoryList, Refusal> {
        match self {
            DirectoryReply::List(list) => Ok(list),
            DirectoryReply::Repository(_)
            | DirectoryReply::Worktrees(_)
            | DirectoryReply::Created(_)
            | DirectoryReply::Removed
            | DirectoryReply::Pruned(_) => Err(misfit()),
        }
    }
}
