//! Folders, and where threads sit in them.

use std::collections::HashSet;

use store::{RecordChange, RecordKind};
use vocabulary::{
    Caller, Folder, LibraryReply, Placement, Refusal, Reply, ThreadCard, Timestamp, Tree,
    WorkspaceId,
};

use super::records::{self, Library, RecordPlan};
use super::{status_of, workspaces};
use crate::Shared;
use crate::limits::{FOLDERS_MAX, NAME_CHARS_MAX};
use crate::session::storage;

const KINDS: &[RecordKind] = &[RecordKind::Workspace, RecordKind::Folder];
const ALL_KINDS: &[RecordKind] = &[
    RecordKind::Workspace,
    RecordKind::Folder,
    RecordKind::Placement,
];

pub async fn tree(
    shared: &Shared,
    caller: &Caller,
    workspace: WorkspaceId,
) -> Result<Reply, Refusal> {
    // Placements first: of a thread that is gone by the time threads are read there is none to show.
    let library = records::read(shared, &caller.tenant, ALL_KINDS).await?;
    workspaces::check(&library, &workspace)?;
    let threads = shared.store.tree(&caller.tenant, &workspace).await;
    let mut threads = threads.map_err(storage)?;
    for thread in &mut threads {
        thread.status = status_of(shared, thread.id, thread.status);
    }
    let there: HashSet<_> = threads.iter().map(|thread| thread.id).collect();
    let Library {
        mut folders,
        mut placements,
        ..
    } = library;
    folders.retain(|folder| folder.workspace == workspace);
    placements.retain(|each| each.workspace == workspace && there.contains(&each.thread));
    let tree = Tree {
        workspace,
        threads,
        folders,
        placements,
    };
    Ok(LibraryReply::Tree(tree).into())
}

pub async fn move_thread(
    shared: &Shared,
    caller: &Caller,
    card: &ThreadCard,
    workspace: WorkspaceId,
    folder: Option<String>,
) -> Result<Reply, Refusal> {
    if card.workspace != workspace {
        let message = format!("the thread belongs to workspace `{}`", card.workspace);
        return Err(Refusal::invalid("workspace_id", message));
    }
    change(shared, caller, &workspace, KINDS, |library| {
        if let Some(folder) = &folder {
            known(library, &workspace, folder, "folder_id")?;
        }
        let placement = Placement {
            thread: card.id,
            workspace: workspace.clone(),
            folder: folder.clone(),
        };
        Ok(RecordPlan {
            changes: vec![place(&placement)?],
            outcome: LibraryReply::Moved.into(),
        })
    })
    .await
}

pub async fn create(
    shared: &Shared,
    caller: &Caller,
    workspace: WorkspaceId,
    parent: Option<String>,
    name: &str,
) -> Result<Reply, Refusal> {
    let name = name.trim();
    if name.is_empty() {
        return Err(Refusal::invalid("name", "name must not be empty"));
    }
    let name: String = name.chars().take(NAME_CHARS_MAX).collect();
    change(shared, caller, &workspace, KINDS, |library| {
        workspaces::check(library, &workspace)?;
        if let Some(parent) = &parent {
            known(library, &workspace, parent, "parent_folder_id")?;
        }
        if library.folders.len() >= FOLDERS_MAX {
            let message = format!("there are {FOLDERS_MAX} folders already");
            return Err(Refusal::invalid("folder_id", message));
        }
        let at = shared.now();
        let folder = Folder {
            id: shared.new_id().to_string(),
            workspace: workspace.clone(),
            parent: parent.clone(),
            name: name.clone(),
            created_at: at,
            updated_at: at,
        };
        Ok(RecordPlan {
            changes: vec![put(&folder)?],
            outcome: LibraryReply::Folder(folder).into(),
        })
    })
    .await
}

pub async fn move_folder(
    shared: &Shared,
    caller: &Caller,
    workspace: WorkspaceId,
    folder: &str,
    parent: Option<String>,
) -> Result<Reply, Refusal> {
    change(shared, caller, &workspace, KINDS, |library| {
        workspaces::check(library, &workspace)?;
        let mut moved = known(library, &workspace, folder, "folder_id")?.clone();
        if let Some(parent) = &parent {
            known(library, &workspace, parent, "parent_folder_id")?;
            if lies_within(library, parent, folder) {
                let message = "a folder cannot be moved into itself";
                return Err(Refusal::invalid("parent_folder_id", message));
            }
        }
        moved.parent = parent.clone();
        moved.updated_at = shared.now();
        Ok(RecordPlan {
            changes: vec![put(&moved)?],
            outcome: LibraryReply::Moved.into(),
        })
    })
    .await
}

/// Whether a folder is another one, or somewhere below it.
fn lies_within(library: &Library, folder: &str, above: &str) -> bool {
    let parent_of = |id: &str| {
        let found = library.folders.iter().find(|each| each.id == id);
        found.and_then(|each| each.parent.as_deref())
    };
    let up = std::iter::successors(Some(folder), |id| parent_of(id));
    // No deeper than there are folders, even if a circle had come about.
    up.take(library.folders.len() + 1).any(|id| id == above)
}

pub async fn delete(
    shared: &Shared,
    caller: &Caller,
    workspace: WorkspaceId,
    folder: &str,
) -> Result<Reply, Refusal> {
    change(shared, caller, &workspace, ALL_KINDS, |library| {
        workspaces::check(library, &workspace)?;
        if !library.folders.iter().any(|each| each.id == folder) {
            return Ok(RecordPlan {
                changes: Vec::new(),
                outcome: LibraryReply::Deleted(false).into(),
            });
        }
        let deleted = known(library, &workspace, folder, "folder_id")?;
        Ok(RecordPlan {
            changes: promote(library, deleted, shared.now())?,
            outcome: LibraryReply::Deleted(true).into(),
        })
    })
    .await
}

/// Takes a folder away and moves what was in it up to where it was.
fn promote(
    library: &Library,
    deleted: &Folder,
    at: Timestamp,
) -> Result<Vec<RecordChange>, Refusal> {
    let mut changes = vec![RecordChange {
        kind: RecordKind::Folder,
        id: deleted.id.clone(),
        value: None,
    }];
    let within = |place: &Option<String>| place.as_deref() == Some(&deleted.id);
    for child in library.folders.iter().filter(|each| within(&each.parent)) {
        let mut child = child.clone();
        child.parent = deleted.parent.clone();
        child.updated_at = at;
        changes.push(put(&child)?);
    }
    for placed in library
        .placements
        .iter()
        .filter(|each| within(&each.folder))
    {
        let mut placed = placed.clone();
        placed.folder = deleted.parent.clone();
        changes.push(place(&placed)?);
    }
    Ok(changes)
}

/// One change of a workspace's tree, and the notice of it. Nothing written is nothing to tell.
async fn change(
    shared: &Shared,
    caller: &Caller,
    workspace: &WorkspaceId,
    kinds: &[RecordKind],
    mut plan: impl FnMut(&Library) -> Result<RecordPlan<Reply>, Refusal>,
) -> Result<Reply, Refusal> {
    let _one_at_a_time = shared.library.lock().await;
    let (reply, changed) = records::change(shared, &caller.tenant, kinds, |library| {
        let RecordPlan { changes, outcome } = plan(library)?;
        let outcome = (outcome, !changes.is_empty());
        Ok(RecordPlan { changes, outcome })
    })
    .await?;
    if changed {
        shared.tree_changed(&caller.tenant, workspace.clone());
    }
    Ok(reply)
}

fn known<'a>(
    library: &'a Library,
    workspace: &WorkspaceId,
    id: &str,
    field: &'static str,
) -> Result<&'a Folder, Refusal> {
    let found = library.folders.iter().find(|each| each.id == id);
    match found {
        Some(folder) if folder.workspace == *workspace => Ok(folder),
        Some(_) => {
            let message = format!("folder `{id}` belongs to another workspace");
            Err(Refusal::invalid(field, message))
        }
        None => {
            let message = format!("folder `{id}` was not found");
            Err(Refusal::invalid(field, message))
        }
    }
}

fn put(folder: &Folder) -> Result<RecordChange, Refusal> {
    records::put(RecordKind::Folder, &folder.id, folder)
}

fn place(placement: &Placement) -> Result<RecordChange, Refusal> {
    let id = placement.thread.to_string();
    records::put(RecordKind::Placement, &id, placement)
}
