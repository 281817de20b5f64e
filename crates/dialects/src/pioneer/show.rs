//! Threads, workspaces and the tree in this protocol's shapes.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use vocabulary::{Folder, Status, Thread, ThreadCard, ThreadId, Tree, Workspace, WorkspaceChange};

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
const SIDEBAR_VISIBILITY: &str = "sidebar_visibility";
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
    let label = |name: &str| thread.labels.get(name).map(String::as_str);
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
        sidebar_visibility: visibility(thread),
        agent_nickname: label(AGENT_NICKNAME),
        agent_role: label(AGENT_ROLE),
        turns,
    }
}

/// An archived thread is out of sight, which is what this protocol calls hidden.
fn visibility(thread: &Thread) -> ThreadSidebarVisibility {
    let label = thread.labels.get(SIDEBAR_VISIBILITY);
    match thread.archived {
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
    Some((SIDEBAR_VISIBILITY.to_owned(), hidden))
}

/// What a new thread is labelled with; defaults need no label.
pub fn labels(params: &ThreadStartParams) -> BTreeMap<String, String> {
    let labels = [
        (ORIGIN_KIND, params.origin_kind.and_then(word)),
        (SIDEBAR_VISIBILITY, params.sidebar_visibility.and_then(word)),
        (AGENT_NICKNAME, params.agent_nickname.clone()),
        (AGENT_ROLE, params.agent_role.clone()),
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

pub fn tree(tree: &Tree, include_hidden: bool) -> ThreadTreeResponse<'_> {
    let names: HashMap<ThreadId, Cow<'_, str>> = tree
        .threads
        .iter()
        .map(|each| (each.card.id, wire_id(&each.card)))
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
    ThreadTreeResponse {
        workspace_id: tree.workspace.as_str(),
        threads: tree.threads.iter().map(thread).filter(shown).collect(),
        folders: tree.folders.iter().map(folder).collect(),
        placements,
    }
}
