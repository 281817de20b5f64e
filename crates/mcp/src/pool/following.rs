//! Follows a server, and tells whoever wants to know that it started, ended, or has other tools.

use std::sync::Arc;

use tokio::sync::broadcast;

use super::slot::{ServerSlot, ServerState};
use crate::ServerChange;

/// Goes on until the server is forgotten.
pub fn follow(slot: &Arc<ServerSlot>, changes: broadcast::Sender<ServerChange>) {
    let mut states = slot.state.subscribe();
    let change = ServerChange {
        place: slot.place.clone(),
        server: slot.server().clone(),
    };
    tokio::spawn(async move {
        loop {
            let refreshed = match &*states.borrow_and_update() {
                ServerState::Ready(connection) => Some(connection.refreshed()),
                ServerState::NotStarted | ServerState::Starting | ServerState::Failed(_) => None,
            };
            let has_other_tools = async {
                match refreshed {
                    Some(refreshed) => refreshed.notified().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                changed = states.changed() => {
                    if changed.is_err() {
                        return;
                    }
                }
                () = has_other_tools => {}
            }
            // Nobody listening is fine.
            let _ = changes.send(change.clone());
        }
    });
}
