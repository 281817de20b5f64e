//! The command line.

use std::path::PathBuf;

use clap::Parser;

const EXAMPLES: &str = "\
Examples:
  dragoman                          serve this directory on port 7337
  dragoman --dir ~/project          serve another directory
  dragoman --port 0 --json          any free port; one line of JSON says which (for desktop shells)
  dragoman --yolo                   run every command without asking (only where that is safe)

Connect with any WebSocket client, for example:
  npx wscat -c ws://127.0.0.1:7337/ws
and send a message with the sessionId that server_hello names:
  {\"type\":\"user_message\",\"sessionId\":\"…\",\"text\":\"hello\"}

Environment:
  DRAGOMAN_HOME        where data lies (default: ~/.cowork)
  DRAGOMAN_LOG         what is logged to standard error (default: warn; e.g. info, engine=debug)
  DRAGOMAN_REHEARSAL   a script for the rehearsal model (docs/rehearsal.md)";

/// One agent server, spoken to in every client's language.
#[derive(Debug, Parser)]
#[command(name = "dragoman", version, about, after_help = EXAMPLES)]
pub struct Arguments {
    /// The directory that threads work in
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// The port to listen on, on the loopback address; 0 takes any free one
    #[arg(short, long, default_value_t = 7337)]
    pub port: u16,
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
