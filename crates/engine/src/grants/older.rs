//! Grants as older versions kept them: in each thread's state, and in a setting for each workspace,
//! by the line that people read. They are taken over once.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;
use serde_json::json;
use store::{RecordChange, RecordKind, StoreError};
use vocabulary::{
    ArchivedThreads, Grant, GrantScope, Refusal, TenantId, Thread, ThreadQuery, TurnId,
};

use super::{Grants, named, put};
use crate::limits::REPLAY_PAGE;
use crate::session::storage;

/// The record that says that it was done.
const TAKEN_OVER: &str = "taken over";
/// Lines were kept without their tool. What people allow for longer is nearly always a command, and
/// of a command alone the line says everything; for anything else they are asked once more.
const TOOL: &str = "bash";

/// As much of a thread's state as matters here.
#[derive(Deserialize)]
struct OlderState {
    #[serde(default)]
    granted: Vec<Grant>,
    turn: Option<OlderTurn>,
}

#[derive(Deserialize)]
struct OlderTurn {
    turn: TurnId,
}

impl Grants {
    /// Does nothing if it was done before, by whichever process.
    pub(super) async fn take_over(&self, tenant: &TenantId) -> Result<(), Refusal> {
        let done = [TAKEN_OVER.to_owned()];
        loop {
            let known = self.store.records_named(tenant, RecordKind::Grant, &done);
            if !known.await.map_err(storage)?.is_empty() {
                return Ok(());
            }
            // Read before the grants are: who writes in between makes this one begin again.
            let (revision, _) = self.read(tenant).await?;
            let older = self.older(tenant).await?;
            let mut changes = older.iter().map(put).collect::<Result<Vec<_>, _>>()?;
            changes.push(RecordChange {
                kind: RecordKind::Grant,
                id: TAKEN_OVER.to_owned(),
                value: Some("{}".into()),
            });
            match self.store.write_records(tenant, revision, changes).await {
                Ok(_) => return Ok(()),
                Err(StoreError::Outdated { .. }) => {}
                Err(error) => return Err(storage(error)),
            }
        }
    }

    async fn older(&self, tenant: &TenantId) -> Result<Vec<Grant>, Refusal> {
        let mut found = Vec::new();
        let mut directories = BTreeSet::new();
        for thread in self.threads(tenant).await? {
            let loaded = self.store.load(thread.card.id).await.map_err(storage)?;
            let state = loaded.and_then(|loaded| serde_json::from_slice(&loaded.state).ok());
            found.extend(
                state
                    .into_iter()
                    .flat_map(|state| of_thread(&thread, state)),
            );
            directories.insert(thread.card.directory);
        }
        for directory in directories {
            let name = format!("grants {}", directory.display());
            let kept = self.store.setting(tenant, &name).await.map_err(storage)?;
            let kept = kept.and_then(|text| serde_json::from_str::<Vec<Grant>>(&text).ok());
            let kept = kept.into_iter().flatten();
            found.extend(kept.map(|grant| of_workspace(&directory, grant)));
        }
        Ok(found)
    }

    async fn threads(&self, tenant: &TenantId) -> Result<Vec<Thread>, Refusal> {
        let mut threads = Vec::new();
        let mut query = ThreadQuery {
            hidden: true,
            archived: ArchivedThreads::Included,
            limit: Some(REPLAY_PAGE),
            ..ThreadQuery::default()
        };
        loop {
            let page = self.store.threads(tenant, &query).await.map_err(storage)?;
            threads.extend(page.threads);
            query.cursor = page.next;
            if query.cursor.is_none() {
                break;
            }
        }
        Ok(threads)
    }
}

fn of_thread(thread: &Thread, state: OlderState) -> impl Iterator<Item = Grant> {
    let (card, turn) = (thread.card.clone(), state.turn.map(|turn| turn.turn));
    let own = state.granted.into_iter();
    // Those for the workspace are in its own list, unless they were revoked there.
    let own = own.filter(|grant| grant.scope != GrantScope::Workspace);
    own.map(move |grant| {
        named(Grant {
            key: key(&grant.what),
            thread: Some(card.id),
            turn: turn.clone().filter(|_| grant.scope == GrantScope::Turn),
            directory: card.directory.clone(),
            ..grant
        })
    })
}

fn of_workspace(directory: &Path, grant: Grant) -> Grant {
    named(Grant {
        key: key(&grant.what),
        scope: GrantScope::Workspace,
        directory: directory.to_owned(),
        ..grant
    })
}

fn key(line: &str) -> String {
    tools::policy::grant_key(TOOL, &json!({ "command": line }))
}
