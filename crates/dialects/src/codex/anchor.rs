//! `anchor.*`: what the program on the user's machine answered, which this server is itself.

use std::path::{Path, PathBuf};

use serde_json::Value;
use vocabulary::{Call, DirectoryCall, DirectoryReply, NewWorktree, WorktreeList};

use super::calls::CodexPurpose;
use super::hear::{read, repeated};
use super::refuse::CodexError;
use super::wire::anchor::{
    GitInspectParams, GitInspectResult, GitRepoParams, GitWorktree, GitWorktreeCreateParams,
    GitWorktreeCreateResult, GitWorktreeListResult, GitWorktreePruneResult,
    GitWorktreeRemoveParams, GitWorktreeRemoveResult, ListDirsParams, ListDirsResult,
};
use super::{Codex, respond, send};
use crate::Action;
use crate::jsonrpc::Id;

/// Every method of this kind begins so.
pub const PREFIX: &str = "anchor.";

pub fn request(method: &str, params: Value) -> Result<DirectoryCall, CodexError> {
    Ok(match method {
        "anchor.listDirs" => {
            let ListDirsParams { path } = read(method, params)?;
            let path = (!path.is_empty()).then(|| absolute(method, "path", path));
            let path = path.transpose()?;
            DirectoryCall::List { path }
        }
        "anchor.git.inspect" => {
            let GitInspectParams { path } = read(method, params)?;
            let path = absolute(method, "path", path)?;
            DirectoryCall::Inspect { path }
        }
        "anchor.git.worktree.list" => {
            let GitRepoParams { repo_root } = read(method, params)?;
            let repository = absolute(method, "repoRoot", repo_root)?;
            DirectoryCall::ListWorktrees { repository }
        }
        "anchor.git.worktree.prune" => {
            let GitRepoParams { repo_root } = read(method, params)?;
            let repository = absolute(method, "repoRoot", repo_root)?;
            DirectoryCall::PruneWorktrees { repository }
        }
        "anchor.git.worktree.create" => {
            let wanted: GitWorktreeCreateParams = read(method, params)?;
            let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
            let path = filled(wanted.path).map(|path| absolute(method, "path", path));
            DirectoryCall::CreateWorktree(NewWorktree {
                repository: absolute(method, "repoRoot", wanted.repo_root)?,
                base: filled(wanted.base_ref),
                branch: filled(wanted.branch_name),
                path: path.transpose()?,
            })
        }
        "anchor.git.worktree.remove" => {
            let wanted: GitWorktreeRemoveParams = read(method, params)?;
            DirectoryCall::RemoveWorktree {
                repository: absolute(method, "repoRoot", wanted.repo_root)?,
                path: absolute(method, "path", wanted.path)?,
                force: wanted.force.unwrap_or(false),
            }
        }
        _ => return Err(CodexError::unknown_method(repeated(method))),
    })
}

fn absolute(method: &str, field: &str, path: String) -> Result<PathBuf, CodexError> {
    match Path::new(&path).is_absolute() {
        true => Ok(PathBuf::from(path)),
        false => Err(CodexError::params(format!(
            "{method}: {field}: expected an absolute path"
        ))),
    }
}

impl Codex {
    pub(super) fn directories(&mut self, out: &mut Vec<Action>, id: Id, call: DirectoryCall) {
        let call = Call::Directories(call);
        self.calls.make(out, CodexPurpose::Directories(id), call);
    }

    pub(super) fn directories_told(out: &mut Vec<Action>, id: &Id, reply: &DirectoryReply) {
        let frame = match reply {
            DirectoryReply::List(list) => {
                let dirs = &list.names;
                respond(
                    id,
                    &ListDirsResult {
                        dirs,
                        parent: list.parent.to_string_lossy(),
                        current: list.current.to_string_lossy(),
                        truncated: list.truncated,
                    },
                )
            }
            DirectoryReply::Repository(Some(found)) => respond(
                id,
                &GitInspectResult::Repository {
                    is_git_repo: true,
                    repo_root: found.root.to_string_lossy(),
                    current_branch: found.branch.as_deref(),
                },
            ),
            DirectoryReply::Repository(None) => {
                let is_git_repo = false;
                respond(id, &GitInspectResult::Other { is_git_repo })
            }
            DirectoryReply::Worktrees(list) => respond(id, &worktrees(list)),
            DirectoryReply::Created(made) => respond(
                id,
                &GitWorktreeCreateResult {
                    repo_root: made.repository.to_string_lossy(),
                    path: made.path.to_string_lossy(),
                    branch: &made.branch,
                    head: &made.head,
                },
            ),
            DirectoryReply::Removed => respond(id, &GitWorktreeRemoveResult { removed: true }),
            DirectoryReply::Pruned(count) => {
                let pruned_count = *count;
                respond(id, &GitWorktreePruneResult { pruned_count })
            }
        };
        send(out, frame);
    }
}

fn worktrees(list: &WorktreeList) -> GitWorktreeListResult<'_> {
    let shown = list.worktrees.iter().map(|worktree| GitWorktree {
        path: worktree.path.to_string_lossy(),
        branch: worktree.branch.as_deref(),
        head: &worktree.head,
        is_main: worktree.path == list.main,
        locked: worktree.locked,
        prunable: worktree.prunable,
    });
    GitWorktreeListResult {
        repo_root: list.repository.to_string_lossy(),
        main_path: list.main.to_string_lossy(),
        worktrees: shown.collect(),
    }
}
