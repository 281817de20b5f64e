//! What Zane's clients want of the machine: directories, and worktrees of repositories.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// anchor.listDirs
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct ListDirsParams {
    /// Empty: where the user begins to look.
    #[serde(default)]
    pub path: String,
}

/// anchor.git.inspect
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct GitInspectParams {
    pub path: String,
}

/// anchor.git.worktree.list, anchor.git.worktree.prune
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitRepoParams {
    pub repo_root: String,
}

/// anchor.git.worktree.create
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitWorktreeCreateParams {
    pub repo_root: String,
    #[serde(default)]
    pub base_ref: Option<String>,
    #[serde(default)]
    pub branch_name: Option<String>,
    #[serde(default)]
    pub path: Option<String>,
}

/// anchor.git.worktree.remove
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitWorktreeRemoveParams {
    pub repo_root: String,
    pub path: String,
    #[serde(default)]
    pub force: Option<bool>,
}

/// anchor.listDirs
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ListDirsResult<'a> {
    pub dirs: &'a [String],
    pub parent: Cow<'a, str>,
    pub current: Cow<'a, str>,
    /// There are more than one list may have.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// anchor.git.inspect
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", untagged, rename_all_fields = "camelCase")]
pub enum GitInspectResult<'a> {
    Repository {
        is_git_repo: bool,
        repo_root: Cow<'a, str>,
        current_branch: Option<&'a str>,
    },
    Other {
        is_git_repo: bool,
    },
}

/// anchor.git.worktree.list
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitWorktreeListResult<'a> {
    pub repo_root: Cow<'a, str>,
    pub main_path: Cow<'a, str>,
    pub worktrees: Vec<GitWorktree<'a>>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitWorktree<'a> {
    pub path: Cow<'a, str>,
    pub branch: Option<&'a str>,
    pub head: &'a str,
    pub is_main: bool,
    pub locked: bool,
    pub prunable: bool,
}

/// anchor.git.worktree.create
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitWorktreeCreateResult<'a> {
    pub repo_root: Cow<'a, str>,
    pub path: Cow<'a, str>,
    pub branch: &'a str,
    pub head: &'a str,
}

/// anchor.git.worktree.remove
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct GitWorktreeRemoveResult {
    pub removed: bool,
}

/// anchor.git.worktree.prune
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitWorktreePruneResult {
    pub pruned_count: usize,
}
