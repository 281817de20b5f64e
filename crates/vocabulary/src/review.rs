//! Reviews: what a reviewer is to look at.

use serde::{Deserialize, Serialize};

use crate::ThreadId;

/// Starts a turn in which changes are reviewed. Answered as `StartTurn` is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartReview {
    pub thread: ThreadId,
    pub target: ReviewTarget,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReviewTarget {
    /// What the working tree has that the newest commit has not: staged, unstaged, untracked.
    Uncommitted,
    /// What this branch has that another one has not.
    BaseBranch {
        branch: String,
    },
    Commit {
        sha: String,
        title: Option<String>,
    },
    /// As the user says.
    Instructions {
        text: String,
    },
}

impl ReviewTarget {
    /// What is reviewed, in a few words for people.
    pub fn hint(&self) -> String {
        const SHA_CHARS: usize = 7;
        match self {
            ReviewTarget::Uncommitted => "current changes".to_owned(),
            ReviewTarget::BaseBranch { branch } => format!("changes against '{branch}'"),
            ReviewTarget::Commit { sha, title } => {
                let sha: String = sha.chars().take(SHA_CHARS).collect();
                match title
                    .as_deref()
                    .map(str::trim)
                    .filter(|title| !title.is_empty())
                {
                    Some(title) => format!("commit {sha}: {title}"),
                    None => format!("commit {sha}"),
                }
            }
            ReviewTarget::Instructions { text } => text.trim().to_owned(),
        }
    }
}
