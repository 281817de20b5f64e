//! `dragoman mcp check`: connects to servers and counts their tools.

use anyhow::bail;
use futures_util::future::join_all;
use mcp::config::source_name;
use mcp::{ConfiguredServer, McpPlace, Servers};
use serde_json::json;
use vocabulary::McpCheck;

use super::list::mode_name;
use super::{named, reached, with_progress};
use crate::commands::checkpoints::words;
use crate::commands::table;
use crate::screen::harmless;

pub async fn run(
    servers: &Servers,
    place: &McpPlace,
    name: Option<&str>,
    as_json: bool,
) -> anyhow::Result<()> {
    let chosen = match name {
        // Who names a server wants it run, wherever it came from.
        Some(name) => vec![named(servers, place, name).await?],
        None => not_of_workspace(servers, place).await,
    };
    if let [server] = chosen.as_slice()
        && server.layer.is_of_workspace()
    {
        let what = reached(&server.server.transport);
        eprintln!("It came with the workspace: {}", harmless(&what));
    }
    let checks = chosen.iter().map(|server| servers.check(place, server));
    let checks = with_progress("Asking the servers", join_all(checks)).await;
    let all: Vec<_> = chosen.iter().zip(&checks).collect();
    match as_json {
        true => words::say_json(&all.iter().map(to_json).collect())?,
        false => words::say(shown(&all))?,
    }
    let failed = checks.iter().filter(|check| !check.ok).count();
    match (failed, checks.len()) {
        (0, _) => Ok(()),
        (1, 1) => bail!("the server does not work"),
        (failed, all) => bail!("{failed} of {all} servers do not work"),
    }
}

/// A command from a workspace is not run by looking around.
async fn not_of_workspace(servers: &Servers, place: &McpPlace) -> Vec<ConfiguredServer> {
    let configured = servers.configured(place).await;
    let of_workspace = |server: &&ConfiguredServer| server.layer.is_of_workspace();
    let (left_out, chosen): (Vec<_>, Vec<_>) = configured.iter().partition(of_workspace);
    for server in left_out {
        let (name, source) = (harmless(&server.server.name), source_name(server.layer));
        eprintln!(
            "{name} ({source}) came with the workspace: `dragoman mcp check {name}` runs it."
        );
    }
    chosen.into_iter().cloned().collect()
}

fn shown(all: &[(&ConfiguredServer, &McpCheck)]) -> String {
    if all.is_empty() {
        return "There is nothing to check.\n".to_owned();
    }
    let heading = ["NAME", "", "TOOLS", "TIME", "DETAILS"].map(str::to_owned);
    let mut rows = vec![heading.to_vec()];
    rows.extend(all.iter().map(|(server, check)| {
        let dash = || "-".to_owned();
        vec![
            server.server.name.clone(),
            if check.ok { "works" } else { "fails" }.to_owned(),
            check
                .tool_count
                .map_or_else(dash, |count| count.to_string()),
            check
                .latency_ms
                .map_or_else(dash, |millis| format!("{millis} ms")),
            check.message.clone(),
        ]
    }));
    table::aligned(&rows)
}

fn to_json((server, check): &(&ConfiguredServer, &McpCheck)) -> serde_json::Value {
    json!({
        "name": server.server.name,
        "ok": check.ok,
        "mode": mode_name(check.mode),
        "message": check.message,
        "toolCount": check.tool_count,
        "latencyMs": check.latency_ms,
    })
}
