//! Calls about workspaces, folders, and which thread is meant.

use std::sync::Arc;

use vocabulary::{Caller, LibraryCall, Refusal, Reply, ThreadId, Why};

use super::{folders, owned, sections, workspaces};
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
            let wanted = workspaces::WantedWorkspace {
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
        LibraryCall::UpdateWorkspace {
            id,
            name,
            is_active,
        } => workspaces::update(shared, caller, &id, name.as_deref(), is_active).await,
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
        LibraryCall::Sections(call) => sections::answer(shared, caller, call).await,
    }
}

/// The thread of a name. Ours first: nobody can take another thread's name.
pub async fn find(shared: &Arc<Shared>, caller: &Caller, name: &str) -> Result<Reply, Refusal> {
    let unknown = || Refusal::new(Why::UnknownThread, format!("there is no thread {name}"));
    if let Some(id) = ThreadId::parse(name) {
        match super::get(shared, caller, id).await {
            Ok(replied) => return Ok(replied.reply),
            Err(refusal) if refusal.why == Why::UnknownThread => {}
            Err(refusal) => return Err(refusal),
        }
    }
    let known = shared.store.thread_by_client_id(&caller.tenant, name).await;
    let id = known.map_err(storage)?.ok_or_else(unknown)?;
    super::get(shared, caller, id)
        .await
        .map(|replied| replied.reply)
}
