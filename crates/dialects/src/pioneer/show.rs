//! Threads, workspaces and the tree in this protocol's shapes.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use vocabulary::{
    DEFAULT_WORKSPACE, Folder, Status, Thread, ThreadCard, ThreadId, Tree, TreeThread,
    VISIBILITY_LABEL, Workspace, WorkspaceChange, WorkspaceDirectory,
};

use super::wire::params::ThreadStartParams;
use super::wire::thread::{
    Thread as WireThread, ThreadFolder, ThreadPlacement, ThreadSidebarVisibility, ThreadStatus,
    ThreadTreeResponse,
};
use super::wire::turn::Turn;
use super::wire::workspace::{
    Workspace as WireWorkspace, WorkspaceChangeKind, WorkspaceChangedNotification,
};

const ORIGIN_KIND: &str = "origin_kind";
const AGENT_NICKNAME: &str = "agent_nickname";
const AGENT_ROLE: &str = "agent_role";

/// A thread's id on the wire: the client's own where it made one up.
pub fn wire_id(card: &ThreadCard) -> Cow<'_, str> {
    match &card.client_id {
        Some(id) => Cow::Borrowed(id),
        None => Cow::Owned(card.id.to_string()),
    }
}

pub fn workspace(workspace: &Workspace) -> WireWorkspace<'_> {
    WireWorkspace {
        id: workspace.id.as_str(),
        name: &workspace.name,
        is_active: workspace.is_active,
        is_current: workspace.is_current,
        created_at: workspace.created_at.seconds(),
        updated_at: workspace.updated_at.seconds(),
        path: match &workspace.directory {
            // The server's own directory is nothing that a client named.
            WorkspaceDirectory::Given(_) if workspace.id.as_str() == DEFAULT_WORKSPACE => None,
            WorkspaceDirectory::Given(path) => Some(path.to_string_lossy()),
            WorkspaceDirectory::Managed => None,
        },
    }
}

pub fn workspace_changed(
    what: WorkspaceChange,
    changed: &Workspace,
) -> WorkspaceChangedNotification<'_> {
    WorkspaceChangedNotification {
        kind: match what {
            WorkspaceChange::Created => WorkspaceChangeKind::Created,
            WorkspaceChange::Updated => WorkspaceChangeKind::Updated,
            WorkspaceChange::CurrentChanged => WorkspaceChangeKind::CurrentChanged,
        },
        workspace: workspace(changed),
    }
}

pub fn thread(thread: &Thread) -> WireThread<'_> {
    with_turns(thread, Vec::new())
}

pub fn with_turns<'a>(thread: &'a Thread, turns: Vec<Turn<'a>>) -> WireThread<'a> {
    let title = thread.title.text.as_str();
    let labels = &thread.labels;
    let label = |name: &str| labels.get(name).map(String::as_str);
    WireThread {
        workspace_id: thread.card.workspace.as_str(),
        id: wire_id(&thread.card),
        name: (!title.is_empty()).then_some(title),
        preview: &thread.preview,
        mode: thread.settings.mode.into(),
        model: &thread.settings.model.model,
        model_provider: &thread.settings.model.provider,
        created_at: thread.card.created_at.seconds(),
        updated_at: thread.updated_at.seconds(),
        status: thread_status(thread.status),
        origin_kind: label(ORIGIN_KIND).and_then(read_word).unwrap_or_default(),
        sidebar_visibility: visibility(labels, thread.archived),
        agent_nickname: label(AGENT_NICKNAME),
        agent_role: label(AGENT_ROLE),
        turns,
    }
}

/// An archived thread is out of sight, which is what this protocol calls hidden.
fn visibility(labels: &BTreeMap<String, String>, archived: bool) -> ThreadSidebarVisibility {
    let label = labels.get(VISIBILITY_LABEL);
    match archived {
        true => ThreadSidebarVisibility::Hidden,
        false => label.and_then(|word| read_word(word)).unwrap_or_default(),
    }
}

pub fn thread_status(status: Status) -> ThreadStatus {
    match status {
        Status::Running | Status::Waiting => ThreadStatus::Active,
        Status::Inactive
        | Status::Activating
        | Status::Ready
        | Status::Deactivating
        | Status::Error => ThreadStatus::Idle,
    }
}

/// What a hidden thread is labelled with.
pub fn hidden_label() -> Option<(String, String)> {
    let hidden = word(ThreadSidebarVisibility::Hidden)?;
    Some((VISIBILITY_LABEL.to_owned(), hidden))
}

/// Labels are as long as names may be.
const LABEL_CHARS_MAX: usize = 200;

fn cut(label: &str) -> String {
    label.chars().take(LABEL_CHARS_MAX).collect()
}

/// What a thread is labelled with; defaults need no label.
pub fn labels(params: &ThreadStartParams) -> BTreeMap<String, String> {
    let labels = [
        (ORIGIN_KIND, params.origin_kind.and_then(word)),
        (VISIBILITY_LABEL, params.sidebar_visibility.and_then(word)),
        (AGENT_NICKNAME, params.agent_nickname.as_deref().map(cut)),
        (AGENT_ROLE, params.agent_role.as_deref().map(cut)),
    ];
    let given = labels.into_iter();
    given
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}

fn word(value: impl Serialize) -> Option<String> {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => Some(word),
        _ => None,
    }
}

fn read_word<T: DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(Value::from(word)).ok()
}

pub fn folder(folder: &Folder) -> ThreadFolder<'_> {
    ThreadFolder {
        id: &folder.id,
        workspace_id: folder.workspace.as_str(),
        parent_folder_id: folder.parent.as_deref(),
        name: &folder.name,
        created_at: folder.created_at.seconds(),
        updated_at: folder.updated_at.seconds(),
    }
}

fn tree_id(thread: &TreeThread) -> Cow<'_, str> {
    match &thread.client_id {
        Some(id) => Cow::Borrowed(id),
        None => Cow::Owned(thread.id.to_string()),
    }
}

fn in_tree<'a>(workspace: &'a str, thread: &'a TreeThread) -> WireThread<'a> {
    let labels = &thread.labels;
    let label = |name: &str| labels.get(name).map(String::as_str);
    WireThread {
        workspace_id: workspace,
        id: tree_id(thread),
        name: Some(thread.title.as_str()).filter(|title| !title.is_empty()),
        preview: &thread.preview,
        mode: thread.mode.into(),
        model: &thread.model.model,
        model_provider: &thread.model.provider,
        created_at: thread.created_at.seconds(),
        updated_at: thread.updated_at.seconds(),
        status: thread_status(thread.status),
        origin_kind: label(ORIGIN_KIND).and_then(read_word).unwrap_or_default(),
        sidebar_visibility: visibility(labels, thread.archived),
        agent_nickname: label(AGENT_NICKNAME),
        agent_role: label(AGENT_ROLE),
        turns: Vec::new(),
    }
}

pub fn tree(tree: &Tree, include_hidden: bool) -> ThreadTreeResponse<'_> {
    let names: HashMap<ThreadId, Cow<'_, str>> = tree
        .threads
        .iter()
        .map(|each| (each.id, tree_id(each)))
        .collect();
    let placement = |placed: &'_ vocabulary::Placement| names.get(&placed.thread).cloned();
    let placements = tree.placements.iter().filter_map(|placed| {
        Some(ThreadPlacement {
            thread_id: placement(placed)?,
            workspace_id: placed.workspace.as_str(),
            folder_id: placed.folder.as_deref(),
        })
    });
    let mut placements: Vec<_> = placements.collect();
    placements.sort_by(|a, b| a.thread_id.cmp(&b.thread_id));
    let shown = |each: &WireThread<'_>| {
        include_hidden || each.sidebar_visibility == ThreadSidebarVisibility::Visible
    };
    let workspace = tree.workspace.as_str();
    let threads = tree.threads.iter().map(|each| in_tree(workspace, each));
    ThreadTreeResponse {
        workspace_id: tree.workspace.as_str(),
        threads: threads.filter(shown).collect(),
        folders: tree.folders.iter().map(folder).collect(),
        placements,
    }
}
