//! What a reviewer is told to look at.

use vocabulary::{Refusal, ReviewTarget};

use crate::agents::model::context::REVIEW;
use crate::limits::INPUT_BYTES_MAX;

/// How a review is shown where only what was said is shown.
pub fn display(target: &ReviewTarget) -> String {
    format!("{REVIEW}{}", target.hint())
}

/// The task.
pub fn task(target: &ReviewTarget) -> Result<String, Refusal> {
    let text = match target {
        ReviewTarget::Uncommitted => "Review the uncommitted changes of this workspace: staged, \
            unstaged and untracked. `git status --porcelain` names them, `git diff HEAD` shows what \
            is tracked; read untracked files themselves."
            .to_owned(),
        ReviewTarget::BaseBranch { branch } => {
            let branch = named("branch", branch)?;
            format!(
                "Review what the current branch changes against the base branch '{branch}', as it \
                 would be merged: find the merge base with `git merge-base HEAD {branch}`, then \
                 look at the diff from there to the working tree."
            )
        }
        ReviewTarget::Commit { sha, title } => {
            let sha = named("sha", sha)?;
            let title = title.as_deref().map(tools::shown::line);
            let title = title.map(|title| format!(" (\"{title}\")")).unwrap_or_default();
            format!(
                "Review the changes that commit {sha}{title} brings in: `git show {sha}` has them."
            )
        }
        ReviewTarget::Instructions { text } => match text.trim() {
            "" => {
                let message = "target.instructions: expected what is to be reviewed";
                return Err(Refusal::invalid("target.instructions", message));
            }
            text => text.to_owned(),
        },
    };
    match text.len() <= INPUT_BYTES_MAX {
        true => Ok(text),
        false => {
            let message = format!("target: at most {INPUT_BYTES_MAX} bytes");
            Err(Refusal::invalid("target", message))
        }
    }
}

/// A branch or a commit, as git names them: no option of a command, and nothing that a shell reads.
fn named<'a>(field: &'static str, name: &'a str) -> Result<&'a str, Refusal> {
    const CHARS_MAX: usize = 250;
    let is_part = |c: char| c.is_alphanumeric() || "-_./+@#=".contains(c);
    let fits = !name.is_empty() && name.chars().count() <= CHARS_MAX;
    match fits && !name.starts_with('-') && name.chars().all(is_part) {
        true => Ok(name),
        false => {
            let message = format!("target.{field}: expected the name of one, as git knows it");
            Err(Refusal::invalid(field, message))
        }
    }
}
