//! The command line.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use clap::Parser;

use crate::origin;
use crate::table::Listen;

const EXAMPLES: &str = "\
Examples:
  dragoman                          serve this directory on port 7337
  dragoman --dir ~/project          serve another directory
  dragoman --port 0 --json          any free port; one line of JSON says which (for desktop shells)
  dragoman --yolo                   run every command without asking (only where that is safe)
  dragoman --listen zane=8788       also serve one dialect where its own clients look for it

For a team, behind a proxy with TLS (docs/security.md):
  dragoman --host 10.0.0.5 --token-file token --allow-host team.example \\
           --allow-origin https://team.example

Connect with any WebSocket client, for example:
  npx wscat -c ws://127.0.0.1:7337/ws
and send a message with the sessionId that server_hello names:
  {\"type\":\"user_message\",\"sessionId\":\"…\",\"text\":\"hello\"}

Environment:
  DRAGOMAN_HOME        where data lies (default: ~/.cowork)
  DRAGOMAN_TOKEN       the token clients must carry, when there is no --token-file
  DRAGOMAN_LOG         what is logged to standard error (default: warn; e.g. info, engine=debug)
  DRAGOMAN_REHEARSAL   a script for the rehearsal model (docs/rehearsal.md)";

/// One agent server, spoken to in every client's language.
#[derive(Debug, Parser)]
#[command(name = "dragoman", version, after_help = EXAMPLES)]
pub struct Arguments {
    /// The directory that threads work in
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// The port to listen on; 0 takes any free one
    #[arg(short, long, default_value_t = 7337)]
    pub port: u16,
    /// The address to listen on; any but this machine's own needs a token
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1", value_parser = address)]
    pub host: IpAddr,
    /// Serve one dialect on a port of its own: cowork, cowork1, diminuendo, zane, codex, pioneer
    /// (repeatable)
    #[arg(long, value_name = "DIALECT=PORT")]
    pub listen: Vec<Listen>,
    /// A file with the token that clients must carry
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// A further name this server goes by, as requests name it in Host (repeatable)
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// A web page that may connect, like https://team.example (repeatable)
    #[arg(long, value_name = "URL", value_parser = origin::listed)]
    pub allow_origin: Vec<String>,
    /// Run every command without asking
    #[arg(short, long)]
    pub yolo: bool,
    /// Print one line of JSON on standard output once the server listens
    #[arg(short, long)]
    pub json: bool,
    /// Where data lies
    #[arg(long, env = "DRAGOMAN_HOME", value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// A script for the rehearsal model
    #[arg(long, env = "DRAGOMAN_REHEARSAL", value_name = "FILE", hide = true)]
    pub rehearsal: Option<PathBuf>,
    /// Send stream chunks with the provider's own part beside ours
    #[arg(long, env = "DRAGOMAN_RAW_PARTS", hide = true)]
    pub raw_parts: bool,
}

/// An address, or the one name that always means the same.
fn address(text: &str) -> anyhow::Result<IpAddr> {
    match text {
        "localhost" => Ok(Ipv4Addr::LOCALHOST.into()),
        text => text.parse().map_err(|_| {
            anyhow::anyhow!("`{text}` is not an address; write it like 127.0.0.1, 0.0.0.0 or ::1")
        }),
    }
}
