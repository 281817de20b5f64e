//! `dragoman mcp list`: what counts, where it stands, and what is wrong with the files.

use mcp::config::source_name;
use mcp::{McpPlace, Servers};
use serde_json::{Value, json};
use vocabulary::{McpAuthMode, McpServerState, McpSnapshot, McpTransport};

use super::reached;
use crate::commands::checkpoints::words;
use crate::commands::table;
use crate::screen::harmless;

/// As much of a command line as a table shows.
const REACHED_CHARS_MAX: usize = 60;

pub async fn run(servers: &Servers, place: &McpPlace, as_json: bool) -> anyhow::Result<()> {
    let snapshot = servers.snapshot(place).await;
    if as_json {
        return words::say_json(&to_json(&snapshot));
    }
    for warning in &snapshot.warnings {
        eprintln!("dragoman: {}", harmless(warning));
    }
    if snapshot.servers.is_empty() {
        let nothing = "No MCP server is configured here. `dragoman mcp add` adds one.\n";
        return words::say(nothing);
    }
    let heading = ["NAME", "FROM", "RUNS OR REACHES", "SIGN-IN"].map(str::to_owned);
    let mut rows = vec![heading.to_vec()];
    rows.extend(snapshot.servers.iter().map(row));
    words::say(table::aligned(&rows))
}

fn row(state: &McpServerState) -> Vec<String> {
    let mut reached = reached(&state.server.transport);
    if reached.chars().count() > REACHED_CHARS_MAX {
        reached = reached.chars().take(REACHED_CHARS_MAX - 1).collect();
        reached.push('…');
    }
    let sign_in = match state.auth.mode {
        McpAuthMode::None => "-".to_owned(),
        McpAuthMode::Missing
        | McpAuthMode::ApiKey
        | McpAuthMode::OAuth
        | McpAuthMode::OAuthPending
        | McpAuthMode::Error => state.auth.message.clone(),
    };
    vec![
        state.server.name.clone(),
        source_name(state.layer).replace('_', " "),
        reached,
        sign_in,
    ]
}

fn to_json(snapshot: &McpSnapshot) -> Value {
    let servers = snapshot.servers.iter().map(|state| {
        json!({
            "name": state.server.name,
            "source": source_name(state.layer),
            "transport": transport_json(&state.server.transport),
            "required": state.server.required.unwrap_or(false),
            "authMode": mode_name(state.auth.mode),
            "authMessage": state.auth.message,
        })
    });
    let files = snapshot.files.iter().map(|file| {
        json!({
            "source": source_name(file.layer),
            "path": file.path,
            "exists": file.exists,
            "parseError": file.parse_error,
            "serverCount": file.server_count,
        })
    });
    json!({
        "servers": servers.collect::<Vec<_>>(),
        "files": files.collect::<Vec<_>>(),
        "warnings": snapshot.warnings,
    })
}

/// Of variables and headers only the names: what they say may be a key.
fn transport_json(transport: &McpTransport) -> Value {
    match transport {
        McpTransport::Stdio {
            command,
            args,
            env,
            cwd,
        } => {
            let names: Vec<&String> = env.keys().collect();
            json!({ "type": "stdio", "command": command, "args": args, "env": names, "cwd": cwd })
        }
        McpTransport::Http { url, headers } => {
            let names: Vec<&String> = headers.keys().collect();
            json!({ "type": "http", "url": url, "headers": names })
        }
        McpTransport::Sse { url, headers } => {
            let names: Vec<&String> = headers.keys().collect();
            json!({ "type": "sse", "url": url, "headers": names })
        }
    }
}

pub fn mode_name(mode: McpAuthMode) -> &'static str {
    match mode {
        McpAuthMode::None => "none",
        McpAuthMode::Missing => "missing",
        McpAuthMode::ApiKey => "api_key",
        McpAuthMode::OAuth => "oauth",
        McpAuthMode::OAuthPending => "oauth_pending",
        McpAuthMode::Error => "error",
    }
}
