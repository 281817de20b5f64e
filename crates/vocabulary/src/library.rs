//! The library's own nouns: workspaces, folders, and where threads sit in them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{
    McpCall, Reply, Section, SectionCall, SkillCall, ThreadId, Timestamp, TreeThread, WorkspaceId,
};

/// Where threads are that name no workspace.
pub const DEFAULT_WORKSPACE: &str = "000000000000000000000";

/// A directory and its name, where threads run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    pub id: WorkspaceId,
    pub name: String,
    /// Whether one can work in it: select it, start threads and turns. What is in it can be read all the same.
    pub is_active: bool,
    /// Whether it is the one a client is offered first; at most one of a tenant's is.
    pub is_current: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub directory: WorkspaceDirectory,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceDirectory {
    Given(PathBuf),
    /// Ours, under the home; made when a thread first needs it.
    Managed,
}

/// Where threads can be put in a list. Folders lie in folders, never in a circle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Folder {
    pub id: String,
    pub workspace: WorkspaceId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    pub name: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Where a thread was put; one that was never put anywhere has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    pub thread: ThreadId,
    pub workspace: WorkspaceId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

/// A workspace's threads and how they are arranged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    pub workspace: WorkspaceId,
    /// All of them, archived ones too; newest first, then by id.
    pub threads: Vec<TreeThread>,
    /// By name, then by id.
    pub folders: Vec<Folder>,
    /// Of threads that exist, by thread.
    pub placements: Vec<Placement>,
}

/// What a client can want of a workspace that needs no thread in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum WorkspaceCall {
    Mcp(McpCall),
    Skills(SkillCall),
}

impl WorkspaceCall {
    /// Whether it only looks.
    pub fn only_reads(&self) -> bool {
        match self {
            WorkspaceCall::Mcp(call) => call.only_reads(),
            WorkspaceCall::Skills(call) => call.only_reads(),
        }
    }
}

/// What a client can want of the library beside its threads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LibraryCall {
    /// Oldest first.
    ListWorkspaces,
    /// The current one, else the first active one, else a new one.
    DefaultWorkspace,
    /// An id that is known gives its workspace, unchanged.
    CreateWorkspace {
        id: WorkspaceId,
        name: Option<String>,
        make_current: bool,
        directory: WorkspaceDirectory,
    },
    /// Makes sure that it can be used.
    SelectWorkspace {
        id: WorkspaceId,
        make_current: bool,
    },
    /// What is absent stays as it is.
    UpdateWorkspace {
        id: WorkspaceId,
        name: Option<String>,
        is_active: Option<bool>,
    },
    ReadTree {
        workspace: WorkspaceId,
    },
    /// Into a folder, or out of all of them.
    MoveThread {
        thread: ThreadId,
        workspace: WorkspaceId,
        folder: Option<String>,
    },
    CreateFolder {
        workspace: WorkspaceId,
        parent: Option<String>,
        name: String,
    },
    MoveFolder {
        workspace: WorkspaceId,
        folder: String,
        parent: Option<String>,
    },
    /// What is in it moves up to where it was. No such folder is no error.
    DeleteFolder {
        workspace: WorkspaceId,
        folder: String,
    },
    Sections(SectionCall),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum LibraryReply {
    Workspaces(Vec<Workspace>),
    Workspace(Workspace),
    Tree(Tree),
    Folder(Folder),
    /// A thread or a folder is where it was to go.
    Moved,
    /// A folder or a section was deleted, or there was none.
    Deleted(bool),
    Sections(Vec<Section>),
    Section(Section),
}

impl From<LibraryReply> for Reply {
    fn from(reply: LibraryReply) -> Self {
        Reply::Library(Box::new(reply))
    }
}

/// What happened to a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkspaceChange {
    Created,
    Updated,
    CurrentChanged,
}
