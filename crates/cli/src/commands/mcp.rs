//! `dragoman mcp`: which MCP servers are configured, add and remove them, sign in, try them.

mod add;
mod check;
mod conformance;
mod list;
mod login;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use clap::{Args, Subcommand};
use mcp::{ConfiguredServer, McpOptions, McpPlace, Servers};
use vocabulary::{Caller, McpLayer, McpTransport, Refusal};

use super::checkpoints::words;
use crate::screen::harmless;

const EXAMPLES: &str = "\
Examples:
  dragoman mcp                                  what is configured here, and how one signs in to it
  dragoman mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  dragoman mcp add github --url https://mcp.example/ --auth oauth --user
  dragoman mcp add search --url https://search.example/mcp --header X-Team=blue --auth api-key
  dragoman mcp add db --env DB_PASSWORD -- ./db-server    the value is taken from your environment
  dragoman mcp login github                     signs in, in the browser, or asks for a key
  dragoman mcp check                            connects, and counts the tools
  dragoman mcp remove files

Servers stand in the workspace's own mcp-servers.json, or in yours with --user (docs/mcp.md). One
that stands in a workspace runs in a turn only after somebody trusted it.";

/// After this long it is said that something is going on.
const PROGRESS_AFTER: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct McpArguments {
    #[command(subcommand)]
    pub what: Option<McpCommand>,
    /// The workspace [default: the current directory]
    #[arg(short, long, value_name = "DIR", global = true)]
    pub dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// Show which servers are configured, and where (the default)
    List,
    /// Add a server, or change the one of this name
    #[command(after_help = EXAMPLES)]
    Add(add::AddArguments),
    /// Remove a server, and what was saved for it
    Remove {
        name: String,
        /// From your own file instead of the workspace's
        #[arg(long)]
        user: bool,
    },
    /// Sign in to a server, or give it a key
    Login {
        name: String,
        /// Read the API key from standard input
        #[arg(long)]
        key_stdin: bool,
    },
    /// Connect to servers and count their tools
    Check {
        /// Only this one; without it, all but those that came with the workspace
        name: Option<String>,
    },
    /// Play a scenario of the protocol's conformance suite
    #[command(hide = true)]
    Conformance {
        /// The server that the suite started
        url: String,
    },
}

pub async fn run(arguments: McpArguments, home: &Path) -> anyhow::Result<()> {
    let McpArguments { what, dir, json } = arguments;
    let directory = dir.unwrap_or_else(|| PathBuf::from("."));
    let directory = directory
        .canonicalize()
        .with_context(|| format!("cannot use the directory {}", words::path(&directory)))?;
    let place = McpPlace {
        tenant: Caller::local().tenant,
        directory,
    };
    let servers = Servers::new(McpOptions::of_process(home));
    let done = match what.unwrap_or(McpCommand::List) {
        McpCommand::List => list::run(&servers, &place, json).await,
        McpCommand::Add(arguments) => add::run(&servers, &place, arguments, json).await,
        McpCommand::Remove { name, user } => remove(&servers, &place, &name, user).await,
        McpCommand::Login { name, key_stdin } => {
            let server = named(&servers, &place, &name).await?;
            login::run(&servers, &place, &server, key_stdin).await
        }
        McpCommand::Check { name } => check::run(&servers, &place, name.as_deref(), json).await,
        McpCommand::Conformance { url } => conformance::run(&url).await,
    };
    servers.stop().await;
    done
}

async fn remove(servers: &Servers, place: &McpPlace, name: &str, user: bool) -> anyhow::Result<()> {
    let removed = match user {
        true => servers.delete_of_user(place, name).await,
        false => servers.delete(place, name).await,
    };
    if let Err(refusal) = removed {
        let configured = servers.configured(place).await;
        let is_users = configured
            .iter()
            .any(|each| each.server.name == name && each.layer == McpLayer::User);
        if is_users && !user {
            bail!("{} Add --user to remove it there.", refusal.message);
        }
        return Err(told(refusal));
    }
    words::say(format!("Removed {}.\n", harmless(name)))
}

/// The server of this name that counts.
async fn named(
    servers: &Servers,
    place: &McpPlace,
    name: &str,
) -> anyhow::Result<ConfiguredServer> {
    let configured = servers.configured(place).await;
    let found = configured.iter().find(|each| each.server.name == name);
    found.cloned().with_context(|| {
        let names: Vec<&str> = configured.iter().map(|each| &*each.server.name).collect();
        match names.is_empty() {
            true => "no MCP server is configured; `dragoman mcp add` adds one".to_owned(),
            false => format!(
                "there is no MCP server {name:?}; there are {}",
                names.join(", ")
            ),
        }
    })
}

fn told(refusal: Refusal) -> anyhow::Error {
    anyhow!(refusal.message)
}

/// Says after a moment what is being waited for.
async fn with_progress<T>(what: &str, work: impl Future<Output = T>) -> T {
    tokio::pin!(work);
    tokio::select! {
        done = &mut work => return done,
        () = tokio::time::sleep(PROGRESS_AFTER) => eprintln!("{what} …"),
    }
    work.await
}

/// What is run or reached, in a few words. What variables and headers say is not shown.
fn reached(transport: &McpTransport) -> String {
    match transport {
        McpTransport::Stdio { command, args, .. } => {
            let all = std::iter::once(command).chain(args);
            let all: Vec<&str> = all.map(String::as_str).collect();
            all.join(" ")
        }
        McpTransport::Http { url, .. } => url.clone(),
        McpTransport::Sse { url, .. } => format!("{url} (SSE)"),
    }
}
