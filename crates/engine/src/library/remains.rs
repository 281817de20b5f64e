//! What a thread leaves on the disk beside its rows, and what goes with it when it is deleted.

use std::path::{Path, PathBuf};
use std::time::Duration;

use vocabulary::{ArchivedThreads, TenantId, ThreadCard, ThreadId, ThreadQuery};

use super::sections;
use crate::Shared;

/// How long a deletion waits for the disk; what takes longer goes on by itself.
const REMOVE_WAIT: Duration = Duration::from_secs(30);
/// Where the data of tenants lies that are not the lone user.
const TENANTS: &str = "tenants";

/// Removes what only this thread had: its place in a section, what did not fit its answers, and the workspace that was made for
/// it alone. A workspace that others may use, with all that lies in it, stays.
pub(crate) async fn remove(shared: &Shared, card: &ThreadCard) {
    let mut places = places(&shared.config.home, card);
    if is_shared(shared, card).await {
        places.retain(|place| !is_of_workspace(&shared.config.home, card, place));
    }
    remove_all(card, places).await;
    if let Err(refusal) = sections::forget(shared, &card.tenant, card.id).await {
        // Lists pass over who is not there, and whoever needs its place takes it out.
        tracing::warn!(thread = %card.id, error = %refusal.message, "it is left in its section");
    }
}

/// All of it, on a home that no engine of this process serves.
pub(crate) async fn remove_places(home: &Path, card: &ThreadCard) {
    remove_all(card, places(home, card)).await;
}

async fn remove_all(card: &ThreadCard, places: Vec<PathBuf>) {
    let thread = card.id;
    let removing = tokio::task::spawn_blocking(move || {
        for place in places {
            remove_directory(&place);
        }
    });
    if tokio::time::timeout(REMOVE_WAIT, removing).await.is_err() {
        tracing::warn!(%thread, "the files of a deleted thread take long to remove");
    }
}

/// Where everything of a tenant lies that it has to itself.
pub(crate) fn of_tenant(home: &Path, tenant: &TenantId) -> PathBuf {
    home.join(TENANTS).join(tenant.as_str())
}

/// Whether another thread works in the same directory: a fork does.
async fn is_shared(shared: &Shared, card: &ThreadCard) -> bool {
    let query = ThreadQuery {
        hidden: true,
        archived: ArchivedThreads::Included,
        directories: vec![card.directory.clone()],
        left_out: [card.id].into(),
        limit: Some(1),
        ..ThreadQuery::default()
    };
    match shared.store.threads(&card.tenant, &query).await {
        Ok(page) => !page.threads.is_empty(),
        Err(error) => {
            tracing::warn!(thread = %card.id, %error, "its workspace is left, lest another uses it");
            true
        }
    }
}

/// Whether a place goes only with the workspace itself.
fn is_of_workspace(home: &Path, card: &ThreadCard, place: &Path) -> bool {
    place == card.directory || place == snapshots::VaultPlace::of_workspace(home, &card.directory)
}

fn places(home: &Path, card: &ThreadCard) -> Vec<PathBuf> {
    let name = card.id.to_string();
    let tenant = of_tenant(home, &card.tenant);
    let workspaces = tenant.join(tools::path::WORKSPACES);
    let mut places = vec![
        home.join("spill").join(&name),
        tenant.join("spill").join(&name),
    ];
    // Its path as it was made for a thread, this one or the one that it was forked from, and no other: a
    // thread may have been given any directory.
    let own = &card.directory;
    let named = own.file_name().and_then(|name| name.to_str());
    if own.parent() == Some(&*workspaces) && named.is_some_and(is_thread_id) {
        places.push(snapshots::VaultPlace::of_workspace(home, own));
        places.push(own.clone());
    }
    places
}

fn is_thread_id(name: &str) -> bool {
    ThreadId::parse(name).is_some_and(|id| id.to_string() == name)
}

pub(crate) fn remove_directory(place: &Path) {
    match std::fs::remove_dir_all(place) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => tracing::warn!(%error, "files of what was deleted are left"),
    }
}

#[cfg(test)]
mod tests {
    use vocabulary::{ThreadId, Timestamp, WorkspaceId};

    use super::*;

    #[test]
    fn only_a_workspace_that_was_made_for_the_thread_goes_with_it() {
        let home = Path::new("/home");
        let id = ThreadId(uuid::Uuid::from_u128(7));
        let card = |tenant: &str, directory: PathBuf| ThreadCard {
            id,
            tenant: TenantId::new(tenant),
            workspace: WorkspaceId::new("default"),
            directory,
            client_id: None,
            created_at: Timestamp(0),
            folders: None,
            forked_from: None,
            ephemeral: false,
        };
        let own = |tenant: &str| home.join(format!("tenants/{tenant}/workspaces/{id}"));
        let removed = |tenant, directory: PathBuf| {
            let places = places(home, &card(tenant, directory.clone()));
            places.contains(&directory)
        };
        assert!(removed("acme", own("acme")));
        assert!(!removed("acme", own("other")));
        assert!(!removed("acme", home.join("tenants/acme/workspaces")));
        assert!(!removed("local", PathBuf::from("/project")));
    }
}
