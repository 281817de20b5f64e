//! Starting a server, again and again if need be.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::PoolParts;
use super::slot::{ServerSlot, ServerState};
use crate::connection::{ConnectFailure, ConnectOrder, McpConnection};
use crate::limits::{BACK_OFF, BACK_OFF_MAX, RETRIES, RETRIES_MAX, START_MAX};
use crate::{ConfiguredServer, McpPlace};

impl PoolParts {
    pub async fn order(&self, place: &McpPlace, server: &ConfiguredServer) -> ConnectOrder {
        let fence = self.fence.find(server).await.map(|mut fence| {
            fence.holds &= self.options.fenced;
            fence
        });
        ConnectOrder {
            place: place.clone(),
            server: server.clone(),
            fence,
            authorizer: Arc::clone(&self.authorizer),
        }
    }
}
pub(super) fn back_off(failures: u32) -> Duration {
    let doubled = 2_u32.saturating_pow(failures.min(16));
    BACK_OFF.saturating_mul(doubled).min(BACK_OFF_MAX)
}

/// Connects, and tries again a few times.
pub(super) async fn start(slot: Arc<ServerSlot>) {
    let retries = slot.server().server.retries.unwrap_or(RETRIES);
    let retries = retries.min(RETRIES_MAX);
    for attempt in 0..=retries {
        let order = slot.parts.order(&slot.place, slot.server()).await;
        let connected = tokio::select! {
            () = slot.gone.cancelled() => return,
            connected = McpConnection::connect(&order, START_MAX) => connected,
        };
        match connected {
            Ok(connection) => {
                slot.save(&connection.lists());
                tokio::spawn(watch_end(
                    Arc::downgrade(&slot),
                    Arc::downgrade(&connection),
                ));
                slot.state.send_replace(ServerState::Ready(connection));
                if slot.gone.is_cancelled() {
                    slot.let_go().await;
                }
                return;
            }
            Err(ConnectFailure {
                message,
                wants_sign_in,
            }) => {
                let is_retrying = attempt < retries && !wants_sign_in;
                let pause = slot.failed(message, is_retrying);
                if !is_retrying {
                    return;
                }
                tokio::select! {
                    () = slot.gone.cancelled() => return,
                    () = tokio::time::sleep(pause) => {}
                }
            }
        }
    }
}

async fn watch_end(slot: Weak<ServerSlot>, connection: Weak<McpConnection>) {
    let Some(ended) = connection
        .upgrade()
        .map(|connection| connection.end_token())
    else {
        return;
    };
    ended.cancelled().await;
    if let (Some(slot), Some(connection)) = (slot.upgrade(), connection.upgrade()) {
        slot.ended(&connection);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_tried_further_and_further_apart() {
        let seconds: Vec<u64> = (0..8)
            .map(|failures| back_off(failures).as_secs())
            .collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(back_off(u32::MAX), BACK_OFF_MAX);
    }
}
