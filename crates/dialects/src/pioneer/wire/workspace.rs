//! Workspaces (docs/protocols/pioneer.md, "Workspace").

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

#[derive(Debug, Serialize, JsonSchema)]
pub struct Workspace<'a> {
    pub id: &'a str,
    pub name: &'a str,
    pub is_active: bool,
    pub is_current: bool,
    /// Unix seconds.
    pub created_at: i64,
    pub updated_at: i64,
    /// An addition of ours: its directory, where it is one of the user's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Cow<'a, str>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct WorkspaceListResponse<'a> {
    pub workspaces: Vec<Workspace<'a>>,
}

/// The result of `workspace/default`, `create`, `select` and `update`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WorkspaceResponse<'a> {
    pub workspace: Workspace<'a>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct WorkspaceChangedNotification<'a> {
    pub kind: WorkspaceChangeKind,
    pub workspace: Workspace<'a>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceChangeKind {
    Created,
    Updated,
    CurrentChanged,
}
