//! MCP servers, as frames and as what clients send of them.

use std::borrow::Cow;

use vocabulary::{
    McpAuth, McpAuthMode, McpFile, McpLayer, McpReply, McpScope, McpServer, McpServerState,
    McpSnapshot, McpTransport, Refusal, Why,
};

use super::wire::ServerEvent;
use super::wire::mcp as wire;
use crate::Frame;

mod requests;

pub use requests::McpPurpose;

/// The snapshot of a reply that has one.
pub fn servers_frame(session: &str, reply: McpReply) -> Result<Frame, Refusal> {
    match reply {
        McpReply::Servers(snapshot)
        | McpReply::Migrated { now: snapshot, .. }
        | McpReply::Installed { now: snapshot, .. } => Ok(snapshot_frame(session, &snapshot)),
        McpReply::Checked(_) | McpReply::Challenge(_) | McpReply::SignedIn { .. } => {
            Err(unexpected())
        }
    }
}

fn unexpected() -> Refusal {
    let message = "the server gave an answer that does not fit; try again";
    Refusal::new(Why::Internal, message)
}

fn snapshot_frame(session: &str, snapshot: &McpSnapshot) -> Frame {
    let mut files: Vec<_> = snapshot.files.iter().map(file).collect();
    files.sort_by_key(|file| file.source);
    let configs: Vec<_> = snapshot
        .servers
        .iter()
        .map(|each| config(&each.server))
        .collect();
    let servers = snapshot.servers.iter().zip(&configs);
    ServerEvent::McpServers(wire::McpServers {
        session_id: session,
        servers: servers
            .map(|(state, config)| entry(state, config))
            .collect(),
        legacy: wire::McpLegacy {
            workspace: legacy_file(&files, wire::McpSource::WorkspaceLegacy),
            user: legacy_file(&files, wire::McpSource::UserLegacy),
        },
        files,
        warnings: snapshot.warnings.iter().map(String::as_str).collect(),
    })
    .frame()
}

fn entry<'a>(
    state: &'a McpServerState,
    config: &'a wire::McpServerConfig,
) -> wire::McpServerEntry<'a> {
    wire::McpServerEntry {
        config,
        source: source(state.layer),
        inherited: !state.layer.is_of_workspace(),
        auth_mode: auth_mode(state.auth.mode),
        auth_scope: scope(state.auth.scope),
        auth_message: &state.auth.message,
    }
}

fn source(layer: McpLayer) -> wire::McpSource {
    match layer {
        McpLayer::Workspace => wire::McpSource::Workspace,
        McpLayer::User => wire::McpSource::User,
        McpLayer::System => wire::McpSource::System,
        McpLayer::WorkspaceLegacy => wire::McpSource::WorkspaceLegacy,
        McpLayer::UserLegacy => wire::McpSource::UserLegacy,
    }
}

fn file(file: &McpFile) -> wire::McpFileEntry<'_> {
    wire::McpFileEntry {
        source: source(file.layer),
        path: file.path.to_string_lossy(),
        exists: file.exists,
        editable: file.layer == McpLayer::Workspace,
        legacy: matches!(file.layer, McpLayer::WorkspaceLegacy | McpLayer::UserLegacy),
        parse_error: file.parse_error.as_deref(),
        server_count: file.server_count,
    }
}

fn legacy_file<'a>(
    files: &[wire::McpFileEntry<'a>],
    source: wire::McpSource,
) -> wire::McpLegacyFile<'a> {
    let file = files.iter().find(|file| file.source == source);
    wire::McpLegacyFile {
        path: file.map_or(Cow::Borrowed(""), |file| file.path.clone()),
        exists: file.is_some_and(|file| file.exists),
    }
}

pub fn auth_mode(mode: McpAuthMode) -> wire::McpAuthMode {
    match mode {
        McpAuthMode::None => wire::McpAuthMode::None,
        McpAuthMode::Missing => wire::McpAuthMode::Missing,
        McpAuthMode::ApiKey => wire::McpAuthMode::ApiKey,
        McpAuthMode::OAuth => wire::McpAuthMode::Oauth,
        McpAuthMode::OAuthPending => wire::McpAuthMode::OauthPending,
        McpAuthMode::Error => wire::McpAuthMode::Error,
    }
}

fn scope(scope: McpScope) -> wire::McpScope {
    match scope {
        McpScope::Workspace => wire::McpScope::Workspace,
        McpScope::User => wire::McpScope::User,
    }
}

fn config(server: &McpServer) -> wire::McpServerConfig {
    let transport = match server.transport.clone() {
        McpTransport::Stdio {
            command,
            args,
            env,
            cwd,
        } => wire::McpTransport::Stdio {
            command,
            args,
            env,
            cwd,
        },
        McpTransport::Http { url, headers } => wire::McpTransport::Http { url, headers },
        McpTransport::Sse { url, headers } => wire::McpTransport::Sse { url, headers },
    };
    let auth = server.auth.clone().map(|auth| match auth {
        McpAuth::None => wire::McpAuth::None,
        McpAuth::ApiKey {
            header,
            prefix,
            key_id,
        } => wire::McpAuth::ApiKey {
            header_name: header,
            prefix,
            key_id,
        },
        McpAuth::OAuth {
            scope,
            resource,
            mode,
        } => wire::McpAuth::Oauth {
            scope,
            resource,
            oauth_mode: mode,
        },
    });
    wire::McpServerConfig {
        name: server.name.clone(),
        transport,
        required: server.required,
        retries: server.retries.map(f64::from),
        auth,
    }
}

/// A server as a client sent it, which was checked.
fn server(config: wire::McpServerConfig) -> McpServer {
    let transport = match config.transport {
        wire::McpTransport::Stdio {
            command,
            args,
            env,
            cwd,
        } => McpTransport::Stdio {
            command,
            args,
            env,
            cwd,
        },
        wire::McpTransport::Http { url, headers } => McpTransport::Http {
            url: url.trim().to_owned(),
            headers,
        },
        wire::McpTransport::Sse { url, headers } => McpTransport::Sse {
            url: url.trim().to_owned(),
            headers,
        },
    };
    let auth = config.auth.map(|auth| match auth {
        wire::McpAuth::None => McpAuth::None,
        wire::McpAuth::ApiKey {
            header_name,
            prefix,
            key_id,
        } => McpAuth::ApiKey {
            header: header_name,
            prefix,
            key_id,
        },
        wire::McpAuth::Oauth {
            scope,
            resource,
            oauth_mode,
        } => McpAuth::OAuth {
            scope,
            resource,
            mode: oauth_mode,
        },
    });
    McpServer {
        name: config.name.trim().to_owned(),
        transport,
        required: config.required,
        retries: config.retries.map(|retries| retries as u32),
        auth,
    }
}
