//! What was allowed in every thread of a workspace: kept beside the threads, listed and revoked.

use vocabulary::{Grant, GrantScope, Refusal, ThreadCard};

use crate::Shared;
use crate::limits::GRANTS_MAX;
use crate::session::storage;

/// The grants of the workspace that this thread is in.
pub async fn of_workspace(shared: &Shared, card: &ThreadCard) -> Result<Vec<Grant>, Refusal> {
    let kept = shared.store.setting(&card.tenant, &name(card)).await;
    // A list that cannot be read grants nothing.
    Ok(kept
        .map_err(storage)?
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default())
}

/// Remembers a grant; the oldest goes where there are too many.
pub async fn add(shared: &Shared, card: &ThreadCard, grant: Grant) -> Result<(), Refusal> {
    let _one_at_a_time = shared.library.lock().await;
    let mut grants = of_workspace(shared, card).await?;
    grants.retain(|known| known.what != grant.what);
    grants.push(grant);
    if grants.len() > GRANTS_MAX {
        grants.remove(0);
    }
    keep(shared, card, &grants).await
}

pub async fn revoke(shared: &Shared, card: &ThreadCard, what: &str) -> Result<(), Refusal> {
    let _one_at_a_time = shared.library.lock().await;
    let mut grants = of_workspace(shared, card).await?;
    grants.retain(|known| known.what != what);
    keep(shared, card, &grants).await
}

async fn keep(shared: &Shared, card: &ThreadCard, grants: &[Grant]) -> Result<(), Refusal> {
    let text = serde_json::to_string(grants).unwrap_or_default();
    let name = name(card);
    let kept = shared.store.set_setting(&card.tenant, &name, &text);
    kept.await.map_err(storage)
}

fn name(card: &ThreadCard) -> String {
    format!("grants {}", card.directory.display())
}

/// Whether one of these covers it.
pub fn covers(grants: &[Grant], what: &str) -> bool {
    grants.iter().any(|grant| grant.what == what)
}

/// Those of a thread and of its workspace, each once.
pub fn merged(mut own: Vec<Grant>, of_workspace: Vec<Grant>) -> Vec<Grant> {
    own.retain(|grant| grant.scope != GrantScope::Workspace);
    own.extend(of_workspace);
    own
}
