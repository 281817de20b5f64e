//! `dragoman mcp login`: a key, or a sign-in in the browser.

use std::io::IsTerminal;

use anyhow::bail;
use mcp::{ConfiguredServer, McpPlace, Servers};
use vocabulary::{McpAuth, McpTransport, Secret, SignedIn};

use super::{told, with_progress};
use crate::commands::auth::{entered_key, pasted_lines};
use crate::commands::checkpoints::words;
use crate::screen::harmless;

pub async fn run(
    servers: &Servers,
    place: &McpPlace,
    server: &ConfiguredServer,
    key_stdin: bool,
) -> anyhow::Result<()> {
    let name = &server.server.name;
    if let McpTransport::Stdio { .. } = server.server.transport {
        bail!(
            "{name} is started here and needs no sign-in; give it keys with `dragoman mcp add {name} \
             --env NAME=VALUE -- …`"
        );
    }
    let done = match &server.server.auth {
        Some(McpAuth::ApiKey { .. }) => {
            let key = Secret::new(entered_key(name, key_stdin)?);
            let set = servers.set_key(place, server, key).await;
            set.map_err(told)?.0
        }
        Some(McpAuth::OAuth { .. } | McpAuth::None) | None if key_stdin => {
            bail!("{name} takes no API key: add it again with --auth api-key")
        }
        Some(McpAuth::OAuth { .. } | McpAuth::None) | None => {
            browse(servers, place, server).await?
        }
    };
    if !done.ok {
        bail!("{}", done.message);
    }
    words::say(format!("{}\n", harmless(&done.message)))?;
    let check = with_progress("Checking it", servers.check(place, server)).await;
    match (check.ok, check.tool_count) {
        (true, Some(1)) => words::say("It works: 1 tool.\n"),
        (true, Some(count)) => words::say(format!("It works: {count} tools.\n")),
        (true, None) => words::say("It works.\n"),
        (false, _) => bail!(
            "it was saved, but the server does not work: {}",
            check.message
        ),
    }
}

/// Signs in in the browser; ends when the server says so, or with Ctrl-C.
async fn browse(
    servers: &Servers,
    place: &McpPlace,
    server: &ConfiguredServer,
) -> anyhow::Result<SignedIn> {
    let begun = with_progress("Asking the server", servers.authorize(place, server)).await;
    let challenge = begun.map_err(told)?;
    words::say(format!("{}\n", harmless(&challenge.instructions)))?;
    if let Some(url) = &challenge.url {
        words::say(format!("\n  {}\n\n", harmless(url)))?;
    }
    let mut pasted = match challenge.needs_code || std::io::stdin().is_terminal() {
        true => pasted_lines(),
        false => tokio::sync::mpsc::channel(1).1,
    };
    eprintln!("Waiting for you to finish there (Ctrl-C gives up) …");
    let waiting = servers.finish_sign_in(place, server, None);
    tokio::pin!(waiting);
    let mut reading = true;
    loop {
        tokio::select! {
            done = &mut waiting, if !challenge.needs_code => return Ok(done.map_err(told)?.0),
            line = pasted.recv(), if reading => match line {
                Some(line) => {
                    let code = Some(Secret::new(line.trim()));
                    match servers.finish_sign_in(place, server, code).await {
                        Ok((done, _)) if done.ok => return Ok(done),
                        Ok((done, _)) => eprintln!("{} Try again:", harmless(&done.message)),
                        Err(refusal) => eprintln!("{}. Try again:", harmless(&refusal.message)),
                    }
                }
                None => reading = false,
            },
            else => bail!("no code was pasted; nothing was changed"),
        }
    }
}
