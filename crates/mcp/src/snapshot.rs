//! What people are shown: the files, what counts of them, and how each server stands and runs.

use vocabulary::{McpAuthMode, McpScope, McpServerState, McpSnapshot};

use crate::auth_state::auth_state;
use crate::credentials::scope_of;
use crate::{McpPlace, Servers};

const SIGN_IN_WANTED: &str = "OAuth sign-in required.";

pub async fn take(servers: &Servers, place: &McpPlace) -> McpSnapshot {
    let configuration = servers.configuration(place).await;
    let credentials = &servers.credentials;
    let of_workspace = credentials.read_all(place, McpScope::Workspace).await;
    let of_user = credentials.read_all(place, McpScope::User).await;
    let states = configuration.servers.iter().map(|server| {
        let saved = match scope_of(server.layer) {
            McpScope::Workspace => &of_workspace,
            McpScope::User => &of_user,
        };
        let mut auth = auth_state(server, saved.as_ref());
        let is_settled = matches!(auth.mode, McpAuthMode::None | McpAuthMode::OAuth);
        if is_settled && servers.sign_ins.is_wanted(place, server) {
            // Whatever is saved, the server said that it is not enough.
            auth.mode = McpAuthMode::Missing;
            auth.message = SIGN_IN_WANTED.to_owned();
        }
        McpServerState {
            server: server.server.clone(),
            layer: server.layer,
            auth,
            running: servers.running(place, server),
            switched_off: false,
        }
    });
    let servers = states.collect();
    let damaged = [of_workspace.err(), of_user.err()];
    let damaged = damaged
        .iter()
        .flatten()
        .map(|error| format!("[MCP] {error}"));
    McpSnapshot {
        servers,
        files: configuration.files.clone(),
        warnings: configuration
            .warnings
            .iter()
            .cloned()
            .chain(damaged)
            .collect(),
        ..McpSnapshot::default()
    }
}

#[cfg(test)]
mod tests;
