//! `dragoman trust`: which workspaces' own skills, commands, settings and servers may be used.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use engine::{ContentTrust, KeptTrust, TrustedWorkspace};
use serde_json::{Value, json};
use server::database;
use vocabulary::{Caller, TenantId};

use super::checkpoints::words;
use super::table::aligned;

const EXAMPLES: &str = "\
Examples:
  dragoman trust                  which workspaces are trusted, and whether they still are what they were
  dragoman trust add ~/project    trust what came with it, as it is now: look at it first (docs/skills.md)
  dragoman trust revoke ~/project take that back, and what was said about its MCP servers

Skills, slash commands, settings and MCP servers that came with a workspace do nothing until you trust them.
A change of them is asked for again. Servers on the same data directory may run meanwhile: what is revoked
is not used from that moment on.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct TrustArguments {
    #[command(subcommand)]
    pub what: Option<TrustCommand>,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum TrustCommand {
    /// Show which workspaces are trusted (the default)
    List,
    /// Trust what came with a workspace, as it is now
    Add {
        #[arg(value_name = "DIR")]
        dir: PathBuf,
    },
    /// Take back all trust in a workspace
    Revoke {
        #[arg(value_name = "DIR")]
        dir: PathBuf,
    },
}

pub async fn run(arguments: TrustArguments, home: &Path) -> anyhow::Result<()> {
    let TrustArguments { what, json } = arguments;
    let tenant = Caller::local().tenant;
    match what.unwrap_or(TrustCommand::List) {
        TrustCommand::List => {
            let workspaces = match existing(home).await? {
                Some(kept) => kept.all(&tenant).await?,
                None => Vec::new(),
            };
            told(&workspaces, json)
        }
        TrustCommand::Add { dir } => add(home, &tenant, &dir, json).await,
        TrustCommand::Revoke { dir } => {
            // Also of one that is gone.
            let place = dir.canonicalize().or_else(|_| std::path::absolute(&dir));
            let place = place.with_context(|| format!("cannot use {}", words::path(&dir)))?;
            let revoked = match existing(home).await? {
                Some(kept) => kept.revoke(&tenant, &place).await?,
                None => false,
            };
            if !revoked {
                let place = words::path(&place);
                bail!("{place} is not trusted; `dragoman trust` lists what is");
            }
            match json {
                true => words::say_json(&json!({ "revoked": place })),
                false => words::say(format!("{} is not trusted any more\n", words::path(&place))),
            }
        }
    }
}

async fn add(home: &Path, tenant: &TenantId, dir: &Path, json: bool) -> anyhow::Result<()> {
    let place = dir
        .canonicalize()
        .with_context(|| format!("cannot use the directory {}", words::path(dir)))?;
    let kept = open(home).await?;
    let files = kept.add(tenant, &place).await;
    let files = files.with_context(|| format!("{} cannot be trusted", words::path(&place)))?;
    if json {
        return words::say_json(&json!({ "directory": place, "files": files }));
    }
    if files.is_empty() {
        let place = words::path(&place);
        return words::say(format!(
            "{place} brings nothing along: there is nothing to trust\n"
        ));
    }
    let lines: String = files
        .iter()
        .map(|file| format!("  {}\n", words::path(file)))
        .collect();
    let place = words::path(&place);
    words::say(format!(
        "{place} is trusted, with these files as they are now:\n{lines}"
    ))
}

/// `None`: nothing was ever kept there, and nothing is made for a look.
async fn existing(home: &Path) -> anyhow::Result<Option<KeptTrust>> {
    match database::existing(home) {
        Some(_) => open(home).await.map(Some),
        None => Ok(None),
    }
}

async fn open(home: &Path) -> anyhow::Result<KeptTrust> {
    let home = home.to_owned();
    let opening = tokio::task::spawn_blocking(move || {
        server::home::prepare(&home)?;
        let label = format!("process {}, dragoman trust", std::process::id());
        database::open(&home, &label)
    });
    let store = opening.await.context("the look was cut off")??;
    Ok(KeptTrust::new(store))
}

fn told(workspaces: &[TrustedWorkspace], json: bool) -> anyhow::Result<()> {
    if json {
        return words::say_json(&workspaces.iter().map(for_programs).collect());
    }
    if workspaces.is_empty() {
        return words::say("no workspace is trusted\n");
    }
    let heading = ["WORKSPACE", "WHAT CAME WITH IT", "MCP SERVERS"].map(str::to_owned);
    let rows: Vec<Vec<String>> = std::iter::once(heading.to_vec())
        .chain(workspaces.iter().map(row))
        .collect();
    words::say(aligned(&rows))
}

fn row(workspace: &TrustedWorkspace) -> Vec<String> {
    let content = match workspace.content {
        ContentTrust::No => "not trusted",
        ContentTrust::Yes => "trusted",
        ContentTrust::Changed => "changed since it was trusted",
    };
    let servers = match (workspace.servers_trusted, workspace.servers_refused) {
        (0, 0) => "-".to_owned(),
        (trusted, 0) => format!("{trusted} trusted"),
        (trusted, refused) => format!("{trusted} trusted, {refused} refused"),
    };
    vec![
        workspace.directory.display().to_string(),
        content.to_owned(),
        servers,
    ]
}

fn for_programs(workspace: &TrustedWorkspace) -> Value {
    json!({
        "directory": workspace.directory,
        "content": match workspace.content {
            ContentTrust::No => "untrusted",
            ContentTrust::Yes => "trusted",
            ContentTrust::Changed => "changed",
        },
        "serversTrusted": workspace.servers_trusted,
        "serversRefused": workspace.servers_refused,
    })
}
