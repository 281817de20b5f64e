//! Workspaces: which there are, which is current, and where their threads run.

use std::path::PathBuf;

use store::{RecordChange, RecordKind};
use tools::directories::SeenDirectories;
use vocabulary::{
    Caller, DEFAULT_WORKSPACE, LibraryReply, Refusal, Reply, TenantId, ThreadCard, ThreadId,
    Timestamp, Workspace, WorkspaceChange, WorkspaceDirectory, WorkspaceId,
};

use super::activity::not_active;
use super::records::{self, Library, RecordPlan};
use super::skills;
use crate::Shared;
use crate::limits::{CLIENT_ID_CHARS_MAX, NAME_CHARS_MAX, WORKSPACES_MAX};

const KINDS: &[RecordKind] = &[RecordKind::Workspace];
const DEFAULT_NAME: &str = "Default Workspace";
const PLAIN_NAME_CHARS_MAX: usize = 64;

/// A workspace that a client wants to have.
pub struct WantedWorkspace {
    pub id: WorkspaceId,
    pub name: Option<String>,
    pub make_current: bool,
    pub directory: WorkspaceDirectory,
}

/// A workspace, and what became of it by this call.
pub(super) type WorkspaceOutcome = (Workspace, Option<WorkspaceChange>);

pub async fn list(shared: &Shared, caller: &Caller) -> Result<Reply, Refusal> {
    let library = records::read(shared, &caller.tenant, KINDS).await?;
    Ok(LibraryReply::Workspaces(library.workspaces).into())
}

pub async fn default(shared: &Shared, caller: &Caller) -> Result<Reply, Refusal> {
    let own = shared.own(&caller.tenant);
    change(shared, caller, |library| {
        let active = || library.workspaces.iter().filter(|each| each.is_active);
        let known = active().find(|each| each.is_current).or(active().next());
        if let Some(known) = known {
            return Ok(unchanged((known.clone(), None)));
        }
        let id = WorkspaceId::new(DEFAULT_WORKSPACE);
        // All are inactive: who wants to have one gets the default one back.
        if let Some(inactive) = library.workspaces.iter().find(|each| each.id == id) {
            let mut workspace = inactive.clone();
            workspace.is_active = true;
            return current(library, workspace, WorkspaceChange::Updated, shared.now());
        }
        let directory = match own.is_confined() {
            false => WorkspaceDirectory::Given(shared.config.directory.clone()),
            true => match own.directory() {
                Some(directory) => WorkspaceDirectory::Given(directory.to_owned()),
                None => WorkspaceDirectory::Managed,
            },
        };
        let mut workspace = new_workspace(id, directory, shared.now());
        workspace.name = DEFAULT_NAME.to_owned();
        current(library, workspace, WorkspaceChange::Created, shared.now())
    })
    .await
}

pub async fn create(
    shared: &Shared,
    caller: &Caller,
    wanted: WantedWorkspace,
) -> Result<Reply, Refusal> {
    let id = wanted.id.as_str().trim();
    if id.is_empty() || id.chars().count() > CLIENT_ID_CHARS_MAX {
        let message = format!("workspace_id must have 1 to {CLIENT_ID_CHARS_MAX} characters");
        return Err(Refusal::invalid("workspace_id", message));
    }
    let id = WorkspaceId::new(id);
    let directory = match wanted.directory {
        WorkspaceDirectory::Given(path) => {
            WorkspaceDirectory::Given(open_directory(shared, caller, path).await?)
        }
        WorkspaceDirectory::Managed => WorkspaceDirectory::Managed,
    };
    let name = wanted.name.as_deref().map(str::trim);
    let name = name.filter(|name| !name.is_empty());
    change(shared, caller, |library| {
        let created = Some(WorkspaceChange::Created);
        if let Some(known) = library.workspaces.iter().find(|each| each.id == id) {
            let is_other = directory != WorkspaceDirectory::Managed && directory != known.directory;
            if is_other {
                let message = format!("workspace `{id}` exists, and has another directory");
                return Err(Refusal::invalid("path", message));
            }
            return Ok(unchanged((known.clone(), created)));
        }
        let count = library.workspaces.len();
        if count >= WORKSPACES_MAX {
            let message = format!("there are {WORKSPACES_MAX} workspaces already");
            return Err(Refusal::invalid("workspace_id", message));
        }
        let mut workspace = new_workspace(id.clone(), directory.clone(), shared.now());
        workspace.name = match name {
            Some(name) => short(name),
            None => format!("Workspace {}", count + 1),
        };
        let is_current = |each: &Workspace| each.is_active && each.is_current;
        workspace.is_current = wanted.make_current || !library.workspaces.iter().any(is_current);
        let mut changes = match workspace.is_current {
            true => clear_current(library, shared.now())?,
            false => Vec::new(),
        };
        changes.push(put(&workspace)?);
        let outcome = (workspace, created);
        Ok(RecordPlan { changes, outcome })
    })
    .await
}

pub async fn select(
    shared: &Shared,
    caller: &Caller,
    id: &WorkspaceId,
    make_current: bool,
) -> Result<Reply, Refusal> {
    change(shared, caller, |library| {
        let mut workspace = known(library, id)?.clone();
        if !workspace.is_active {
            return Err(Refusal::invalid("workspace_id", not_active(id)));
        }
        if !make_current || workspace.is_current {
            return Ok(unchanged((workspace, None)));
        }
        workspace.updated_at = shared.now();
        current(
            library,
            workspace,
            WorkspaceChange::CurrentChanged,
            shared.now(),
        )
    })
    .await
}

/// The name, and whether one can work in it. Which one is current stays: an inactive one is not offered.
pub async fn update(
    shared: &Shared,
    caller: &Caller,
    id: &WorkspaceId,
    name: Option<&str>,
    is_active: Option<bool>,
) -> Result<Reply, Refusal> {
    let name = name.map(str::trim);
    if name.is_some_and(str::is_empty) {
        return Err(Refusal::invalid("name", "name must not be empty"));
    }
    change(shared, caller, |library| {
        let mut workspace = known(library, id)?.clone();
        if let Some(name) = name {
            workspace.name = short(name);
        }
        workspace.is_active = is_active.unwrap_or(workspace.is_active);
        workspace.updated_at = shared.now();
        let changes = vec![put(&workspace)?];
        let outcome = (workspace, Some(WorkspaceChange::Updated));
        Ok(RecordPlan { changes, outcome })
    })
    .await
}

/// Makes sure that there is such a workspace. Threads that name none are in the default one,
/// whether anybody has asked for it yet or not.
pub fn check(library: &Library, id: &WorkspaceId) -> Result<(), Refusal> {
    match id.as_str() {
        DEFAULT_WORKSPACE => Ok(()),
        _ => known(library, id).map(drop),
    }
}

/// Where the threads of a workspace run, if it says so; made where it is ours and not there yet.
pub async fn directory(
    shared: &Shared,
    caller: &Caller,
    id: Option<&WorkspaceId>,
) -> Result<Option<PathBuf>, Refusal> {
    let Some(id) = id.filter(|id| id.as_str() != DEFAULT_WORKSPACE) else {
        return Ok(None);
    };
    let library = records::read(shared, &caller.tenant, KINDS).await?;
    match &known(&library, id)?.directory {
        WorkspaceDirectory::Given(path) => Ok(Some(path.clone())),
        WorkspaceDirectory::Managed => managed(shared, &caller.tenant, id).await.map(Some),
    }
}

/// The card that a thread of this workspace would have: skills and MCP servers are looked up by it.
pub(super) async fn card(
    shared: &Shared,
    caller: &Caller,
    id: &WorkspaceId,
) -> Result<ThreadCard, Refusal> {
    let library = records::read(shared, &caller.tenant, KINDS).await?;
    let directory = match &known(&library, id)?.directory {
        WorkspaceDirectory::Given(path) => path.clone(),
        WorkspaceDirectory::Managed => managed(shared, &caller.tenant, id).await?,
    };
    Ok(card_in(caller.tenant.clone(), directory))
}

/// The same of a directory.
pub(super) fn card_in(tenant: TenantId, directory: PathBuf) -> ThreadCard {
    ThreadCard {
        // Of no thread: nothing here asks which it is.
        id: ThreadId(uuid::Uuid::nil()),
        tenant,
        workspace: WorkspaceId::new(DEFAULT_WORKSPACE),
        directory,
        client_id: None,
        created_at: Timestamp(0),
        folders: None,
        forked_from: None,
        ephemeral: true,
    }
}

async fn managed(shared: &Shared, tenant: &TenantId, id: &WorkspaceId) -> Result<PathBuf, Refusal> {
    let own = shared.own(tenant);
    own.make_workspace(&file_name(tenant, id)).await
}

/// A directory of the user's own, as the file system knows it: there, and open to the caller.
async fn open_directory(
    shared: &Shared,
    caller: &Caller,
    path: PathBuf,
) -> Result<PathBuf, Refusal> {
    let own = shared.own(&caller.tenant);
    let seen = SeenDirectories::new(own.outside(), shared.config.private.clone());
    let shown = path.display().to_string();
    let found = skills::blocking(move || seen.find(&path)).await?;
    let found = found.map_err(|_| {
        let message = format!("path: there is no directory {shown} that is open to you");
        Refusal::invalid("path", message)
    })?;
    own.admit(found)
}

/// A workspace's id is whatever a client made up: only a plain one becomes a name as it is.
pub(super) fn file_name(tenant: &TenantId, id: &WorkspaceId) -> String {
    let plain = |each: char| each.is_ascii_alphanumeric() || each == '-' || each == '_';
    let text = id.as_str();
    // Those of a lone user have plain names.
    if tenant.is_local() && text.len() <= PLAIN_NAME_CHARS_MAX && text.chars().all(plain) {
        return text.to_owned();
    }
    let hash = blake3::hash(format!("{}\n{text}", tenant.as_str()).as_bytes());
    // No plain name begins so.
    format!("~{}", &hash.to_hex()[..32])
}

/// One change of workspaces, and the notice of it.
pub(super) async fn change(
    shared: &Shared,
    caller: &Caller,
    plan: impl FnMut(&Library) -> Result<RecordPlan<WorkspaceOutcome>, Refusal>,
) -> Result<Reply, Refusal> {
    let _one_at_a_time = shared.library.lock().await;
    let (workspace, what) = records::change(shared, &caller.tenant, KINDS, plan).await?;
    if let Some(what) = what {
        shared.inactive.forget(&caller.tenant);
        shared.workspace_changed(&caller.tenant, what, &workspace);
    }
    Ok(LibraryReply::Workspace(workspace).into())
}

/// A workspace that is current from now on, instead of the one that was.
fn current(
    library: &Library,
    mut workspace: Workspace,
    what: WorkspaceChange,
    at: Timestamp,
) -> Result<RecordPlan<WorkspaceOutcome>, Refusal> {
    let mut changes = clear_current(library, at)?;
    workspace.is_current = true;
    changes.push(put(&workspace)?);
    let outcome = (workspace, Some(what));
    Ok(RecordPlan { changes, outcome })
}

pub(super) fn unchanged(outcome: WorkspaceOutcome) -> RecordPlan<WorkspaceOutcome> {
    RecordPlan {
        changes: Vec::new(),
        outcome,
    }
}

pub(super) fn new_workspace(
    id: WorkspaceId,
    directory: WorkspaceDirectory,
    at: Timestamp,
) -> Workspace {
    Workspace {
        id,
        name: String::new(),
        is_active: true,
        is_current: false,
        created_at: at,
        updated_at: at,
        directory,
    }
}

fn clear_current(library: &Library, at: Timestamp) -> Result<Vec<RecordChange>, Refusal> {
    let current = library.workspaces.iter().filter(|each| each.is_current);
    current
        .map(|each| {
            let mut workspace = each.clone();
            workspace.is_current = false;
            workspace.updated_at = at;
            put(&workspace)
        })
        .collect()
}

fn known<'a>(library: &'a Library, id: &WorkspaceId) -> Result<&'a Workspace, Refusal> {
    let found = library.workspaces.iter().find(|each| each.id == *id);
    found.ok_or_else(|| {
        let message = format!("workspace `{id}` does not exist");
        Refusal::invalid("workspace_id", message)
    })
}

pub(super) fn put(workspace: &Workspace) -> Result<RecordChange, Refusal> {
    records::put(RecordKind::Workspace, workspace.id.as_str(), workspace)
}

pub(super) fn short(name: &str) -> String {
    name.chars().take(NAME_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_id_names_a_directory() {
        let name =
            |tenant: &str, id: &str| file_name(&TenantId::new(tenant), &WorkspaceId::new(id));
        assert_eq!(name("local", "work-1_a"), "work-1_a");
        for id in ["../../etc", "a/b", ".", "~x", &"x".repeat(65)] {
            assert!(name("local", id).starts_with('~'), "{id}");
        }
        assert_ne!(name("one", "w"), name("two", "w"));
    }
}
