//! Which workspace a thread belongs to that names only a directory: a workspace is a directory and its
//! name, so the threads of one directory are in one workspace, whatever client started them.

use std::path::{Path, PathBuf};

use store::RecordKind;
use vocabulary::{
    Caller, DEFAULT_WORKSPACE, Refusal, Workspace, WorkspaceChange, WorkspaceDirectory, WorkspaceId,
};

use super::records::{self, Library, RecordPlan};
use super::workspaces;
use crate::Shared;
use crate::limits::WORKSPACES_MAX;

/// The ids that clients make up are as long, and of these.
const ID_CHARS: usize = 21;
const ID_ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// The workspace of a directory, which becomes one where it is none yet. The server's own directory is the
/// default workspace's until somebody makes that one another's.
pub async fn workspace_of(
    shared: &Shared,
    caller: &Caller,
    directory: &Path,
) -> Result<WorkspaceId, Refusal> {
    let directory = as_known(directory).await;
    let library = records::read(shared, &caller.tenant, &[RecordKind::Workspace]).await?;
    match found(shared, caller, &library, &directory).await {
        Some(known) => Ok(known),
        None => add(shared, caller, directory).await,
    }
}

/// As the file system knows it, where it is there.
async fn as_known(directory: &Path) -> PathBuf {
    let canonical = tokio::fs::canonicalize(directory).await;
    canonical.unwrap_or_else(|_| directory.to_owned())
}

async fn found(
    shared: &Shared,
    caller: &Caller,
    library: &Library,
    directory: &PathBuf,
) -> Option<WorkspaceId> {
    let own = shared.own(&caller.tenant);
    let is_it = |each: &&Workspace| match &each.directory {
        WorkspaceDirectory::Given(path) => path == directory,
        WorkspaceDirectory::Managed => {
            own.workspace_path(&workspaces::file_name(&caller.tenant, &each.id)) == *directory
        }
    };
    let is_default = |each: &&Workspace| each.id.as_str() == DEFAULT_WORKSPACE;
    let workspaces = || library.workspaces.iter();
    if let Some(known) = workspaces().filter(is_default).find(is_it) {
        return Some(known.id.clone());
    }
    if let Some(known) = workspaces().find(is_it) {
        return Some(known.id.clone());
    }
    let is_servers = as_known(&shared.config.directory).await == *directory;
    // Nobody asked for the default workspace yet; who does gets it for this directory.
    let has_default = workspaces().any(|each| is_default(&each));
    let is_full = library.workspaces.len() >= WORKSPACES_MAX;
    (is_servers && !has_default || is_full).then(|| WorkspaceId::new(DEFAULT_WORKSPACE))
}

async fn add(shared: &Shared, caller: &Caller, directory: PathBuf) -> Result<WorkspaceId, Refusal> {
    let id = derived_id(&directory);
    let name = directory.file_name().map(|name| name.to_string_lossy());
    let name = name.map_or_else(|| "/".to_owned(), |name| name.into_owned());
    let wanted = id.clone();
    workspaces::change(shared, caller, |library| {
        if let Some(known) = library.workspaces.iter().find(|each| each.id == wanted) {
            return Ok(workspaces::unchanged((known.clone(), None)));
        }
        let given = WorkspaceDirectory::Given(directory.clone());
        let mut workspace = workspaces::new_workspace(wanted.clone(), given, shared.now());
        workspace.name = workspaces::short(&name);
        let changes = vec![workspaces::put(&workspace)?];
        let outcome = (workspace, Some(WorkspaceChange::Created));
        Ok(RecordPlan { changes, outcome })
    })
    .await?;
    Ok(id)
}

/// The same for the same directory, in whichever process a thread starts there first.
fn derived_id(directory: &Path) -> WorkspaceId {
    let hash = blake3::hash(directory.as_os_str().as_encoded_bytes());
    let letter = |byte: &u8| char::from(ID_ALPHABET[usize::from(*byte) % ID_ALPHABET.len()]);
    let id: String = hash.as_bytes()[..ID_CHARS].iter().map(letter).collect();
    WorkspaceId::new(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_one_id_of_the_usual_form() {
        let id = derived_id(Path::new("/home/me/project"));
        assert_eq!(id, derived_id(Path::new("/home/me/project")));
        assert_ne!(id, derived_id(Path::new("/home/me/project2")));
        assert_eq!(id.as_str().len(), ID_CHARS);
        assert!(id.as_str().bytes().all(|byte| byte.is_ascii_alphanumeric()));
    }
}
