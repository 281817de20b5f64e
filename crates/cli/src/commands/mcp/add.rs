//! `dragoman mcp add`: a server from words on the command line.

use std::collections::BTreeMap;

use anyhow::{Context, bail, ensure};
use clap::{Args, ValueEnum};
use mcp::{McpPlace, Servers};
use serde_json::json;
use vocabulary::{McpAuth, McpLayer, McpServer, McpTransport};

use super::{reached, told};
use crate::commands::checkpoints::words;
use crate::screen::harmless;

#[derive(Debug, Args)]
pub struct AddArguments {
    /// What it is called; its tools are then mcp__NAME__…
    pub name: String,
    /// Where it is, for a server that is not started here
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    pub url: Option<String>,
    /// It speaks the older protocol of two connections (SSE)
    #[arg(long, requires = "url", conflicts_with = "command")]
    pub sse: bool,
    /// A header it is sent with every request; repeatable
    #[arg(
        long,
        value_name = "NAME=VALUE",
        requires = "url",
        conflicts_with = "command"
    )]
    pub header: Vec<String>,
    /// How one signs in there
    #[arg(long, value_name = "HOW", requires = "url", conflicts_with = "command")]
    pub auth: Option<AuthChoice>,
    /// A variable of its environment; without a value it is taken from yours; repeatable
    #[arg(long, value_name = "NAME[=VALUE]", conflicts_with = "url")]
    pub env: Vec<String>,
    /// The directory it runs in, relative to the workspace
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    pub cwd: Option<String>,
    /// Let no turn begin without it
    #[arg(long)]
    pub required: bool,
    /// Into your own file, for all workspaces
    #[arg(long)]
    pub user: bool,
    /// What starts it, behind `--`
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AuthChoice {
    None,
    ApiKey,
    Oauth,
}

pub async fn run(
    servers: &Servers,
    place: &McpPlace,
    arguments: AddArguments,
    as_json: bool,
) -> anyhow::Result<()> {
    let user = arguments.user;
    let server = server(arguments, &|name| std::env::var(name).ok())?;
    let (name, what) = (server.name.clone(), reached(&server.transport));
    let auth = server.auth.clone();
    let (layer, saved) = match user {
        true => (McpLayer::User, servers.save_for_user(place, server).await),
        false => (McpLayer::Workspace, servers.save(place, server, None).await),
    };
    saved.map_err(told)?;
    let snapshot = servers.snapshot(place).await;
    let mut files = snapshot.files.iter();
    let path = files.find(|file| file.layer == layer);
    let path = path.map(|file| file.path.clone()).unwrap_or_default();
    if as_json {
        return words::say_json(&json!({ "name": name, "path": path }));
    }
    let mut counts = snapshot.servers.iter();
    let is_hidden = counts.any(|state| state.server.name == name && state.layer != layer);
    let (name, what) = (harmless(&name), harmless(&what));
    let mut text = format!("Added {name} to {}: {what}\n", words::path(&path));
    if is_hidden {
        text.push_str("The workspace has another server of this name, which counts here.\n");
    }
    if layer.is_of_workspace() {
        text.push_str(
            "A turn asks before it is first used, unless all of this directory is trusted.\n",
        );
    }
    text.push_str(&match auth {
        Some(McpAuth::OAuth { .. } | McpAuth::ApiKey { .. }) => {
            format!("`dragoman mcp login {name}` signs in.\n")
        }
        Some(McpAuth::None) | None => {
            format!("`dragoman mcp check {name}` tries it.\n")
        }
    });
    words::say(text)
}

/// The server that is meant; `variable` is the environment of whoever adds it.
fn server(
    arguments: AddArguments,
    variable: &dyn Fn(&str) -> Option<String>,
) -> anyhow::Result<McpServer> {
    let transport = match (arguments.url, arguments.command.split_first()) {
        (Some(url), None) => {
            let headers = pairs("--header", &arguments.header, &|_| None)?;
            match arguments.sse {
                true => McpTransport::Sse { url, headers },
                false => McpTransport::Http { url, headers },
            }
        }
        (None, Some((command, args))) => McpTransport::Stdio {
            command: command.clone(),
            args: args.to_vec(),
            env: pairs("--env", &arguments.env, variable)?,
            cwd: arguments.cwd,
        },
        (None, None) | (Some(_), Some(_)) => bail!(
            "say what starts the server, behind --, or where it is, with --url: `dragoman mcp add \
             files -- npx server`"
        ),
    };
    Ok(McpServer {
        name: arguments.name,
        transport,
        required: arguments.required.then_some(true),
        retries: None,
        auth: arguments.auth.map(|auth| match auth {
            AuthChoice::None => McpAuth::None,
            AuthChoice::ApiKey => McpAuth::ApiKey {
                header: None,
                prefix: None,
                key_id: None,
            },
            AuthChoice::Oauth => McpAuth::OAuth {
                scope: None,
                resource: None,
                mode: None,
            },
        }),
    })
}

/// `NAME=VALUE`s. An error names the flag and the name, never the value.
fn pairs(
    flag: &str,
    texts: &[String],
    variable: &dyn Fn(&str) -> Option<String>,
) -> anyhow::Result<BTreeMap<String, String>> {
    let mut pairs = BTreeMap::new();
    for text in texts {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, value.to_owned()),
            None => {
                let value = variable(text).with_context(|| match flag {
                    "--env" => format!("{flag} {text}: your environment has no such variable"),
                    _ => format!("{flag} wants NAME=VALUE"),
                })?;
                (text.as_str(), value)
            }
        };
        let twice = pairs.insert(name.to_owned(), value);
        ensure!(twice.is_none(), "{flag} {name} is there twice");
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests;
