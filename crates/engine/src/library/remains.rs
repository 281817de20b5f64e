//! What a thread leaves on the disk beside its rows, and what goes with it when it is deleted.

use std::path::{Path, PathBuf};
use std::time::Duration;

use vocabulary::{TenantId, ThreadCard};

use crate::Shared;

/// How long a deletion waits for the disk; what takes longer goes on by itself.
const REMOVE_WAIT: Duration = Duration::from_secs(30);
/// Where the data of tenants lies that are not the lone user.
const TENANTS: &str = "tenants";

/// Removes what only this thread had: what did not fit its answers, and the workspace that was made for
/// it alone. A workspace that others may use, with all that lies in it, stays.
pub(crate) async fn remove(shared: &Shared, card: &ThreadCard) {
    remove_places(&shared.config.home, card).await;
}

/// The same on a home that no engine of this process serves.
pub(crate) async fn remove_places(home: &Path, card: &ThreadCard) {
    let places = places(home, card);
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

fn places(home: &Path, card: &ThreadCard) -> Vec<PathBuf> {
    let name = card.id.to_string();
    let tenant = of_tenant(home, &card.tenant);
    let own = tenant.join(tools::path::WORKSPACES).join(&name);
    let mut places = vec![
        home.join("spill").join(&name),
        tenant.join("spill").join(&name),
    ];
    // Its path as it was made, and no other: a thread may have been given any directory.
    if card.directory == own {
        places.push(snapshots::VaultPlace::of_workspace(home, &own));
        places.push(own);
    }
    places
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
