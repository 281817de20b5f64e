//! The library: lists, creation, deletion and reading of threads.

pub(crate) mod activity;
mod belonging;
mod births;
pub(crate) mod checkpoints;
pub(crate) mod commands;
pub(crate) mod defaults;
pub(crate) mod directories;
pub(crate) mod ephemeral;
pub(crate) mod exec;
pub(crate) mod files;
mod folders;
mod fork_files;
pub(crate) mod given_files;
pub(crate) mod in_workspace;
pub(crate) mod joining;
pub(crate) mod keeping;
pub(crate) mod mcp;
pub(crate) mod offer;
pub(crate) mod pasts;
pub(crate) mod permissions;
pub(crate) mod pictures;
pub(crate) mod reading;
pub(crate) mod records;
pub(crate) mod remains;
pub(crate) mod reviews;
pub(crate) mod sections;
pub(crate) mod sign_in;
pub(crate) mod skills;
mod workspaces;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use vocabulary::{
    Approvals, Call, Caller, DEFAULT_WORKSPACE, GitInfo, ModelRef, NewThread, Refusal, Reply, Seq,
    Status, Thread, ThreadCard, ThreadId, ThreadQuery, ThreadSettings, Title, TitleSource, Why,
    WorkspaceId,
};

pub use activity::InactiveWorkspaces;
pub use births::Births;

use crate::limits::{CLIENT_ID_CHARS_MAX, GIT_INFO_WAIT, STEPS_DEFAULT};
use crate::session::{Outcome, Replied, storage, waking};
use crate::tenants::TenantOwn;
use crate::{Shared, registry, router};

/// A thread of this caller's tenant; anybody else's does not exist for them.
pub(crate) async fn owned(
    shared: &Arc<Shared>,
    caller: &Caller,
    thread: ThreadId,
) -> Result<ThreadCard, Refusal> {
    // What is another's takes the way of what is not there, whether or not it is awake.
    let awake = shared.registry.get(thread);
    let card = match awake.filter(|handle| handle.card.tenant == caller.tenant) {
        Some(handle) => Some((*handle.card).clone()),
        None => shared
            .store
            .thread(thread)
            .await
            .map_err(storage)?
            .map(|thread| thread.card),
    };
    card.filter(|card| card.tenant == caller.tenant)
        .ok_or_else(|| Refusal::unknown_thread(thread))
}

pub(crate) async fn list(
    shared: &Arc<Shared>,
    caller: &Caller,
    query: &ThreadQuery,
) -> Result<Reply, Refusal> {
    let page = match &query.section {
        Some(filter) => sections::list(shared, caller, query, filter).await?,
        None => shared
            .store
            .threads(&caller.tenant, query)
            .await
            .map_err(storage)?,
    };
    let mut page = page;
    for thread in &mut page.threads {
        thread.status = status(shared, thread);
    }
    Ok(Reply::Threads(page))
}

/// From its session where it is awake: a thread that is not kept is nowhere else.
pub(crate) async fn get(shared: &Arc<Shared>, caller: &Caller, thread: ThreadId) -> Outcome {
    let awake = shared.registry.get(thread);
    if awake.is_some_and(|handle| handle.card.tenant == caller.tenant) {
        return router::to_session(shared, caller, Call::GetThread { thread }).await;
    }
    let kept = shared.store.thread(thread).await.map_err(storage)?;
    let mut kept = kept
        .filter(|kept| kept.card.tenant == caller.tenant)
        .ok_or_else(|| Refusal::unknown_thread(thread))?;
    kept.status = asleep(kept.status);
    Ok(Replied::new(Seq::ZERO, Reply::Thread(Box::new(kept))))
}

pub(crate) fn status(shared: &Shared, thread: &Thread) -> Status {
    status_of(shared, thread.card.id, thread.status)
}

/// How a thread stands of which this was kept.
fn status_of(shared: &Shared, thread: ThreadId, kept: Status) -> Status {
    match shared.registry.get(thread) {
        Some(handle) => *handle.status.borrow(),
        None => asleep(kept),
    }
}

/// The state of a thread that no process has awake.
pub(crate) fn asleep(status: Status) -> Status {
    match status {
        Status::Waiting | Status::Error => status,
        Status::Inactive
        | Status::Activating
        | Status::Ready
        | Status::Running
        | Status::Deactivating => Status::Inactive,
    }
}

/// A new thread; the same id of a client's own names the same one, however many ask at once.
pub(crate) async fn create(
    shared: &Arc<Shared>,
    caller: &Caller,
    new: NewThread,
) -> Result<Reply, Refusal> {
    if let Some(id) = new.resumed {
        return resume(shared, caller, id, new).await;
    }
    let Some(client_id) = new.client_id.clone() else {
        let id = shared.new_thread_id();
        return bear(shared, caller, id, new).await;
    };
    if client_id.is_empty() || client_id.chars().count() > CLIENT_ID_CHARS_MAX {
        let message = format!("an id has 1 to {CLIENT_ID_CHARS_MAX} characters");
        return Err(Refusal::invalid("id", message));
    }
    let _alone = shared.births.begin(&caller.tenant, &client_id).await;
    if let Some(known) = by_client_id(shared, caller, &client_id).await? {
        return Ok(known);
    }
    let id = shared.new_thread_id();
    match bear(shared, caller, id, new).await {
        Ok(born) => Ok(born),
        // Another process may have been quicker.
        Err(refusal) => by_client_id(shared, caller, &client_id)
            .await?
            .ok_or(refusal),
    }
}

/// A thread of which a client has the id, and we nothing. Of several who come at once all get the same one.
async fn resume(
    shared: &Arc<Shared>,
    caller: &Caller,
    id: ThreadId,
    new: NewThread,
) -> Result<Reply, Refusal> {
    let _alone = shared.births.begin(&caller.tenant, &id.to_string()).await;
    match get(shared, caller, id).await {
        Ok(known) => return Ok(known.reply),
        Err(refusal) if refusal.why == Why::UnknownThread => {}
        Err(refusal) => return Err(refusal),
    }
    let is_free = !is_there(shared, id).await?
        && shared.gave_out(id)
        && !shared.store.is_deleted(id).await.map_err(storage)?;
    let id = match is_free {
        true => id,
        false => shared.new_thread_id(),
    };
    bear(shared, caller, id, new).await
}

/// Whether there is a thread of this id, whoever's it is.
async fn is_there(shared: &Shared, id: ThreadId) -> Result<bool, Refusal> {
    let is_awake = shared.registry.get(id).is_some();
    Ok(is_awake || shared.store.thread(id).await.map_err(storage)?.is_some())
}

async fn by_client_id(
    shared: &Arc<Shared>,
    caller: &Caller,
    client_id: &str,
) -> Result<Option<Reply>, Refusal> {
    let known = shared
        .store
        .thread_by_client_id(&caller.tenant, client_id)
        .await;
    let Some(thread) = known.map_err(storage)? else {
        return Ok(None);
    };
    let thread = shared.store.thread(thread).await.map_err(storage)?;
    thread
        .map(|thread| Some(Reply::Thread(Box::new(thread))))
        .ok_or_else(|| Refusal::new(Why::UnknownThread, "this thread was just deleted"))
}

async fn bear(
    shared: &Arc<Shared>,
    caller: &Caller,
    id: ThreadId,
    mut new: NewThread,
) -> Result<Reply, Refusal> {
    let (keep, own) = (new.keep, shared.usable_own(&caller.tenant)?);
    shared.agents.check(&own, new.changes.agent.as_deref())?;
    let of_workspace = workspaces::directory(shared, caller, new.workspace.as_ref()).await?;
    let (directory, is_shared) = match new.directory.take().or(of_workspace) {
        Some(directory) => (own.admit(directory)?, true),
        None => match own.usual_directory(id).await? {
            Some(directory) => (directory, own.directory().is_some()),
            // Several servers may share one home, each started for a directory of its own.
            None => (shared.config.directory.clone(), true),
        },
    };
    if new.workspace.is_none() && is_shared && !new.ephemeral {
        new.workspace = Some(belonging::workspace_of(shared, caller, &directory).await?);
    }
    if let Some(workspace) = &new.workspace
        && !activity::is_active(shared, &caller.tenant, workspace).await?
    {
        let message = activity::not_active(workspace);
        return Err(Refusal::invalid("workspace_id", message));
    }
    let defaults = defaults::read(shared, &own, &directory).await;
    let model = match &new.changes.model {
        Some(model) => {
            offer::obstacle(shared, &own, model).await?;
            model.clone()
        }
        None => defaults::model(shared, &own, &defaults).await,
    };
    new.changes.sub_agent_model = new
        .changes
        .sub_agent_model
        .or(defaults.sub_agent_model.clone());
    new.changes.effort = new.changes.effort.or(defaults.effort.clone());
    new.changes.mcp = new.changes.mcp.or(defaults.mcp);
    new.changes.observability = new.changes.observability.or(defaults.observability);
    let usual = new.usual_folders;
    let folders = defaults::folders(shared, &own, &directory, &defaults, usual).await;
    let mut thread = newborn(shared, caller, id, (directory, model), new);
    thread.card.folders = folders;
    thread.settings.git = git_info(&own, &thread.card.directory).await;
    let handle = waking::born(shared, thread.clone(), keep).await?;
    shared.registry.insert(handle);
    if keep {
        // Acknowledged means on disk.
        reading::locate(shared, id).await?;
    }
    Ok(Reply::Thread(Box::new(thread)))
}

fn newborn(
    shared: &Shared,
    caller: &Caller,
    id: ThreadId,
    (directory, model): (PathBuf, ModelRef),
    new: NewThread,
) -> Thread {
    let config = &shared.config;
    let (at, changes) = (shared.now(), new.changes);
    Thread {
        card: ThreadCard {
            id,
            tenant: caller.tenant.clone(),
            workspace: new
                .workspace
                .unwrap_or_else(|| WorkspaceId::new(DEFAULT_WORKSPACE)),
            directory,
            client_id: new.client_id,
            created_at: at,
            folders: None,
            forked_from: None,
            ephemeral: new.ephemeral,
        },
        title: new.title.map_or_else(Title::default, |text| Title {
            text: tools::shown::title(&text),
            source: TitleSource::Manual,
            model: None,
        }),
        settings: ThreadSettings {
            model,
            auto_approve: changes.auto_approve.unwrap_or(config.auto_approve),
            approvals: changes
                .approvals
                .or(shared.own(&caller.tenant).approvals)
                .or(new.approvals_expected)
                .unwrap_or(Approvals::Auto),
            sandbox: changes.sandbox.unwrap_or_default(),
            network: changes.network.unwrap_or_default(),
            mode: changes.mode.unwrap_or_default(),
            agent: changes.agent.filter(|name| !name.is_empty()),
            max_steps: changes.max_steps.unwrap_or(STEPS_DEFAULT),
            sub_agent_model: changes.sub_agent_model.unwrap_or_default(),
            observability: changes.observability.unwrap_or(true),
            mcp: changes.mcp.unwrap_or(true),
            effort: changes.effort.filter(|effort| !effort.is_empty()),
            verbosity: changes.verbosity,
            summary: changes.summary,
            budgets: changes.budgets.unwrap_or_default(),
            assignment: changes
                .assignment
                .map(|assignment| Box::new(assignment.set_at(at))),
            instructions: new
                .instructions
                .or_else(|| changes.instructions.map(Into::into)),
            git: None,
        },
        status: Status::Inactive,
        archived: false,
        updated_at: at,
        active_at: None,
        message_count: 0,
        preview: String::new(),
        labels: new.labels,
        section: None,
    }
}

/// The repository that a new thread works in, read from its files. What lies around a tenant's own places is
/// not the tenant's to see.
async fn git_info(own: &TenantOwn, directory: &Path) -> Option<Box<GitInfo>> {
    if own.is_confined() {
        return None;
    }
    let directory = directory.to_owned();
    let looking = tokio::task::spawn_blocking(move || tools::git::info(&directory));
    // A disk that does not answer keeps nobody from a new thread.
    let found = tokio::time::timeout(GIT_INFO_WAIT, looking).await;
    found.ok()?.ok()?.map(Box::new)
}

pub(crate) async fn delete(shared: &Arc<Shared>, caller: &Caller, thread: ThreadId) -> Outcome {
    let owned = owned(shared, caller, thread).await;
    if owned.is_err() && shared.gave_out(thread) && !is_there(shared, thread).await? {
        // Nothing was kept of it, but somebody may still have its id.
        let lease = registry::acquire(shared, thread).await?;
        shared.store.delete(lease).await.map_err(storage)?;
        shared.store.release(lease).await.map_err(storage)?;
    }
    let card = owned?;
    if shared.registry.get(thread).is_some() {
        return router::to_session(shared, caller, Call::DeleteThread { thread }).await;
    }
    let lease = registry::acquire(shared, thread).await?;
    if !shared.store.delete(lease).await.map_err(storage)? {
        return Err(Refusal::unknown_thread(thread));
    }
    if let Some(scanner) = shared.scanners.of(&card.directory) {
        scanner.forget(thread, std::future::ready(()));
    }
    shared.grants.thread_deleted(&card.tenant, thread).await;
    remains::remove(shared, &card).await;
    shared.thread_removed(&card);
    Ok(Replied::new(Seq::ZERO, Reply::Done))
}
