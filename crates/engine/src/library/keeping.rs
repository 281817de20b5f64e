//! Calls about workspaces, folders, and which thread is meant.

use std::sync::Arc;

use vocabulary::{Caller, LibraryCall, Refusal, Reply, ThreadId, Why};

use super::{folders, owned, status, workspaces};
use crate::Shared;
use crate::session::storage;

pub async fn answer(
    shared: &Arc<Shared>,
    caller: &Caller,
    call: LibraryCall,
) -> Result<Reply, Refusal> {
    match call {
        LibraryCall::ListWorkspaces => workspaces::list(shared, caller).await,
        LibraryCall::DefaultWorkspace => workspaces::default(shared, caller).await,
        LibraryCall::CreateWorkspace {
            id,
            name,
            make_current,
            directory,
        } => {
            let wanted = workspaces::Wanted {
                id,
                name,
                make_current,
                directory,
            };
            workspaces::create(shared, caller, wanted).await
        }
        LibraryCall::SelectWorkspace { id, make_current } => {
            workspaces::select(shared, caller, &id, make_current).await
        }
        LibraryCall::UpdateWorkspace { id, name } => {
            workspaces::rename(shared, caller, &id, &name).await
        }
        LibraryCall::ReadTree { workspace } => folders::tree(shared, caller, workspace).await,
        LibraryCall::MoveThread {
            thread,
            workspace,
            folder,
        } => {
            let card = owned(shared, caller, thread).await?;
            folders::move_thread(shared, caller, &card, workspace, folder).await
        }
        LibraryCall::CreateFolder {
            workspace,
            parent,
            name,
        } => folders::create(shared, caller, workspace, parent, &name).await,
        LibraryCall::MoveFolder {
            workspace,
            folder,
            parent,
        } => folders::move_folder(shared, caller, workspace, &folder, parent).await,
        LibraryCall::DeleteFolder { workspace, folder } => {
            folders::delete(shared, caller, workspace, &folder).await
        }
        LibraryCall::FindThread { name } => find(shared, caller, &name).await,
    }
}

/// Ours first: nobody can take another thread's name.
async fn find(shared: &Arc<Shared>, caller: &Caller, name: &str) -> Result<Reply, Refusal> {
    let mut found = None;
    if let Some(id) = ThreadId::parse(name) {
        found = shared.store.thread(id).await.map_err(storage)?;
    }
    if found.is_none() {
        let known = shared.store.thread_by_client_id(&caller.tenant, name).await;
        if let Some(id) = known.map_err(storage)? {
            found = shared.store.thread(id).await.map_err(storage)?;
        }
    }
    let mut thread = found
        .filter(|thread| thread.card.tenant == caller.tenant)
        .ok_or_else(|| Refusal::new(Why::UnknownThread, format!("there is no thread {name}")))?;
    thread.status = status(shared, &thread);
    Ok(Reply::Thread(Box::new(thread)))
}
