//! Trust in single MCP servers that came with a workspace: each by its fingerprint, whatever else lies
//! there. Kept per tenant and directory.

use mcp::ConfiguredServer;
use serde::{Deserialize, Serialize};
use vocabulary::{McpServer, McpTransport, Refusal, TenantId, ThreadCard, Why};

use super::Trust;
use crate::Shared;
use crate::session::storage;

/// How many answers are kept of each kind; then the oldest go, and are asked for again.
const KEPT_MAX: usize = 256;

/// What people said about the servers of a workspace, by fingerprint, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerTrust {
    trusted: Vec<String>,
    refused: Vec<String>,
    /// Those that a person took out of use, by name: wherever they are configured, and however they change.
    switched_off: Vec<String>,
}

/// What a person said about a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustAnswer {
    Yes,
    No,
}

/// The servers of a place, by whether they may run.
#[derive(Debug, Default)]
pub struct SortedServers {
    pub allowed: Vec<ConfiguredServer>,
    /// They came with the workspace, and nobody was asked yet.
    pub unknown: Vec<ConfiguredServer>,
    /// They came with the workspace, and a person said no.
    pub refused: Vec<ConfiguredServer>,
    /// A person took them out of use.
    pub switched_off: Vec<ConfiguredServer>,
}

/// Sorts servers as trust stands now. `trusts_all`: those that nobody said no to may run. What cannot be
/// looked up is not trusted.
pub async fn sort(
    shared: &Shared,
    card: &ThreadCard,
    configured: &[ConfiguredServer],
    trusts_all: bool,
) -> SortedServers {
    let mut sorted = SortedServers::default();
    let of_workspace = |each: &ConfiguredServer| each.layer.is_of_workspace();
    if configured.is_empty() {
        return sorted;
    }
    let all = configured.iter().any(of_workspace)
        && matches!(super::look(shared, card).await, Ok(Trust::Trusted(_)));
    let said = read(shared, card).await.unwrap_or_default();
    for server in configured {
        let fingerprint = fingerprint(server);
        let place = if said.switched_off.contains(&server.server.name) {
            &mut sorted.switched_off
        } else if !of_workspace(server) || all || said.trusted.contains(&fingerprint) {
            &mut sorted.allowed
        } else if said.refused.contains(&fingerprint) {
            &mut sorted.refused
        } else if trusts_all {
            &mut sorted.allowed
        } else {
            &mut sorted.unknown
        };
        place.push(server.clone());
    }
    sorted
}

/// Keeps what a person said about exactly this server.
pub async fn keep(
    shared: &Shared,
    card: &ThreadCard,
    server: &ConfiguredServer,
    answer: TrustAnswer,
) -> Result<(), Refusal> {
    // Two answers at a time must not lose one.
    let _alone = shared.library.lock().await;
    let (mut said, fingerprint) = (read(shared, card).await?, fingerprint(server));
    for list in [&mut said.trusted, &mut said.refused] {
        list.retain(|each| *each != fingerprint);
    }
    let list = match answer {
        TrustAnswer::Yes => &mut said.trusted,
        TrustAnswer::No => &mut said.refused,
    };
    list.push(fingerprint);
    let too_many = list.len().saturating_sub(KEPT_MAX);
    list.drain(..too_many);
    write(shared, &card.tenant, &name(card), &said).await
}

/// Takes a server out of use, or back into it.
pub async fn switch(
    shared: &Shared,
    card: &ThreadCard,
    server: &str,
    on: bool,
) -> Result<(), Refusal> {
    let _alone = shared.library.lock().await;
    let mut said = read(shared, card).await?;
    said.switched_off.retain(|name| name != server);
    if !on {
        said.switched_off.push(server.to_owned());
        let too_many = said.switched_off.len().saturating_sub(KEPT_MAX);
        said.switched_off.drain(..too_many);
    }
    write(shared, &card.tenant, &name(card), &said).await
}

async fn write(
    shared: &Shared,
    tenant: &TenantId,
    name: &str,
    said: &ServerTrust,
) -> Result<(), Refusal> {
    let written = serde_json::to_string(said).map_err(|error| {
        let message = format!("trust cannot be written: {error}");
        Refusal::new(Why::Internal, message)
    })?;
    let kept = shared.store.set_setting(tenant, name, &written).await;
    kept.map_err(storage)
}

async fn read(shared: &Shared, card: &ThreadCard) -> Result<ServerTrust, Refusal> {
    let kept = shared.store.setting(&card.tenant, &name(card)).await;
    let kept = kept.map_err(storage)?;
    // What cannot be read trusts nothing.
    let said = kept.and_then(|kept| serde_json::from_str(&kept).ok());
    Ok(said.unwrap_or_default())
}

/// The setting: an object with the lists `trusted`, `refused` and `switched_off`.
fn name(card: &ThreadCard) -> String {
    format!("mcp trust {}", card.directory.display())
}

fn fingerprint(server: &ConfiguredServer) -> String {
    server.fingerprint().to_hex().to_string()
}

/// What a person is asked, in one line: what would run or be reached. Values of variables and headers
/// are secrets; that they are the same is said by the hash.
pub fn question(server: &ConfiguredServer) -> String {
    const HASH_CHARS: usize = 16;
    let McpServer {
        name, transport, ..
    } = &server.server;
    let what = match transport {
        McpTransport::Stdio {
            command,
            args,
            env,
            cwd,
        } => {
            let words = std::iter::once(command).chain(args);
            let words: Vec<String> = words.map(|word| quoted(word)).collect();
            let place = cwd.as_ref().map(|cwd| format!(" in {}", quoted(cwd)));
            let place = place.unwrap_or_default();
            format!("{}{place}{}", words.join(" "), named("env", env.keys()))
        }
        McpTransport::Http { url, headers } | McpTransport::Sse { url, headers } => {
            format!("{}{}", address(url), named("headers", headers.keys()))
        }
    };
    let name = quoted(name);
    let question = format!(
        "trust MCP server {name} of this workspace: {what} (as of now, {})",
        &fingerprint(server)[..HASH_CHARS]
    );
    tools::shown::line(&question).into_owned()
}

fn named<'a>(what: &str, names: impl Iterator<Item = &'a String>) -> String {
    let names: Vec<String> = names.map(|name| quoted(name)).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(" with {what} {}", names.join(", ")),
    }
}

/// So that one sees where a word begins and ends.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:=@%+,~".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("{word:?}"),
    }
}

/// An address without what may be a secret in it: a name and password, the query.
fn address(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (rest, query) = match rest.find(['?', '#']) {
        Some(at) => (&rest[..at], "?…"),
        None => (rest, ""),
    };
    let (host, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let host = host
        .rsplit_once('@')
        .map_or(host.to_owned(), |(_, host)| format!("…@{host}"));
    format!("{scheme}://{host}{path}{query}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use vocabulary::McpLayer;

    use super::*;

    fn server(transport: McpTransport) -> ConfiguredServer {
        ConfiguredServer {
            server: McpServer {
                name: "docs".to_owned(),
                transport,
                required: None,
                retries: None,
                auth: None,
            },
            layer: McpLayer::Workspace,
        }
    }

    fn stdio(args: &[&str], env: &[(&str, &str)]) -> ConfiguredServer {
        let owned = |text: &&str| (*text).to_owned();
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        server(McpTransport::Stdio {
            command: "npx".to_owned(),
            args: args.iter().map(owned).collect(),
            env: env.iter().map(pair).collect(),
            cwd: None,
        })
    }

    #[test]
    fn a_question_says_what_would_run_and_no_secret() {
        let asked = question(&stdio(&["-y", "a b\n"], &[("TOKEN", "hush"), ("X", "1")]));
        let begins =
            "trust MCP server docs of this workspace: npx -y \"a b\\n\" with env TOKEN, X (";
        assert!(asked.starts_with(begins), "{asked}");
        assert!(!asked.contains("hush"), "{asked}");
        let other = question(&stdio(&["-y", "a b\n"], &[("TOKEN", "hush2"), ("X", "1")]));
        assert_ne!(asked, other, "a changed value is another server");
        let url = "https://me:hush@docs.test:8/mcp?key=hush".to_owned();
        let headers = BTreeMap::from([("X-Key".to_owned(), "hush".to_owned())]);
        let asked = question(&server(McpTransport::Http { url, headers }));
        let begins = "trust MCP server docs of this workspace: \
                      https://…@docs.test:8/mcp?… with headers X-Key (";
        assert!(asked.starts_with(begins), "{asked}");
        assert!(!asked.contains("hush"), "{asked}");
    }
}
