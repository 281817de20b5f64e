//! The command line.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use server::origin;
use server::table::Listen;
use vocabulary::{Approvals, ModelRef};

use crate::commands::{auth, checkpoints, grants, models, sandbox};

const EXAMPLES: &str = "\
Examples:
  dragoman                          serve this directory on port 7337
  dragoman --dir ~/project          serve another directory
  dragoman --port 0 --json          any free port; one line of JSON says which (for desktop shells)
  dragoman --yolo                   run every command without asking (only where that is safe)
  dragoman --listen zane=8788       also serve one dialect where its own clients look for it
  dragoman auth login anthropic     connect a real model; `dragoman models` shows which there are
  dragoman --model ollama/qwen3 --turn-cost 0.50
  dragoman checkpoints              what is kept of the files here; `restore` puts them back
  dragoman grants                   what was allowed for longer than once; `revoke` takes it back

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
  DRAGOMAN_MODEL       the model of new threads, as PROVIDER/MODEL
  OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, … keys; OPENAI_BASE_URL and its like: other
                       addresses (docs/models.md)
  DRAGOMAN_LOG         what is logged to standard error (default: warn; e.g. info, engine=debug)
  DRAGOMAN_REHEARSAL   a script for the rehearsal model (docs/rehearsal.md)";

/// One agent server, spoken to in every client's language.
#[derive(Debug, Parser)]
#[command(name = "dragoman", version, after_help = EXAMPLES)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Option<Command>,
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
    /// A file with the token that clients must carry, and that only you may read; without a token
    /// only processes of your own user are let in
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// A further name this server goes by, as requests name it in Host (repeatable)
    #[arg(long, value_name = "NAME", value_parser = origin::listed_host)]
    pub allow_host: Vec<String>,
    /// A web page that may connect, like https://team.example or http://localhost:5173 (repeatable)
    #[arg(long, value_name = "URL", value_parser = origin::listed)]
    pub allow_origin: Vec<String>,
    /// Run every command without asking; what the sandbox does not let it do stays undone
    #[arg(short, long)]
    pub yolo: bool,
    /// When the agent asks before it does something, where its client does not say (default: auto,
    /// and as their protocol has it for threads begun in cowork)
    #[arg(long, env = "DRAGOMAN_APPROVALS", value_name = "WHEN")]
    pub approvals: Option<ApprovalsChoice>,
    /// The model of new threads, as PROVIDER/MODEL (default: the first that can be used)
    #[arg(long, env = "DRAGOMAN_MODEL", value_name = "MODEL", value_parser = model)]
    pub model: Option<ModelRef>,
    /// Whether commands are fenced in (`dragoman sandbox check` tells by what)
    #[arg(
        long,
        env = "DRAGOMAN_SANDBOX",
        value_name = "HOW",
        default_value = "auto"
    )]
    pub sandbox: SandboxChoice,
    /// Let fenced commands use the network
    #[arg(long)]
    pub network: bool,
    /// Whether the files of workspaces are kept, so that turns can be undone
    #[arg(
        long,
        env = "DRAGOMAN_CHECKPOINTS",
        value_name = "HOW",
        default_value = "on"
    )]
    pub checkpoints: CheckpointsChoice,
    /// A host on a private network that the web tools may ask, as HOST:PORT (repeatable)
    #[arg(long, value_name = "HOST")]
    pub allow_private: Vec<String>,
    /// The most tokens a turn may use
    #[arg(long, value_name = "N", help_heading = "Budgets")]
    pub turn_tokens: Option<u64>,
    /// The most a turn may cost, in dollars
    #[arg(long, value_name = "USD", help_heading = "Budgets", value_parser = dollars)]
    pub turn_cost: Option<MicroDollars>,
    /// The most tokens a thread may use
    #[arg(long, value_name = "N", help_heading = "Budgets")]
    pub thread_tokens: Option<u64>,
    /// The most a thread may cost, in dollars
    #[arg(long, value_name = "USD", help_heading = "Budgets", value_parser = dollars)]
    pub thread_cost: Option<MicroDollars>,
    /// Print one line of JSON on standard output once the server listens
    #[arg(short, long)]
    pub json: bool,
    /// Where data lies
    #[arg(long, env = "DRAGOMAN_HOME", value_name = "DIR", global = true)]
    pub home: Option<PathBuf>,
    /// A script for the rehearsal model
    #[arg(long, env = "DRAGOMAN_REHEARSAL", value_name = "FILE", hide = true)]
    pub rehearsal: Option<PathBuf>,
    /// Send stream chunks with the provider's own part beside ours
    #[arg(long, env = "DRAGOMAN_RAW_PARTS", hide = true)]
    pub raw_parts: bool,
}

/// When the agent asks before it does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ApprovalsChoice {
    /// For whatever is not known to be harmless
    Ask,
    /// For what leaves the sandbox or destroys
    Auto,
    /// For nothing: what would be asked for is refused
    Never,
}

impl ApprovalsChoice {
    pub fn setting(self) -> Approvals {
        match self {
            ApprovalsChoice::Ask => Approvals::Ask,
            ApprovalsChoice::Auto => Approvals::Auto,
            ApprovalsChoice::Never => Approvals::Never,
        }
    }
}

/// How commands are fenced in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SandboxChoice {
    /// By the best that this machine has
    Auto,
    /// By namespaces and mounts, or everything is asked for
    Bubblewrap,
    /// By Landlock, or everything is asked for
    Landlock,
    /// Not at all
    Off,
}

/// Whether the files of workspaces are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum CheckpointsChoice {
    /// Before the first change and after every turn (docs/checkpoints.md)
    On,
    /// Not at all
    Off,
}

/// What there is to do besides serving.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show which models there are, what they cost, which can be used
    Models(models::Arguments),
    /// Sign in at a provider, see how it stands, sign out
    Auth(auth::Arguments),
    /// See what keeps commands in on this machine
    Sandbox(sandbox::Arguments),
    /// See how files were before the agent changed them, compare, put them back
    Checkpoints(checkpoints::Arguments),
    /// See what was allowed for longer than once, and take it back
    Grants(grants::Arguments),
}

/// An amount of money; a dollar is 1,000,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MicroDollars(pub u64);

fn dollars(text: &str) -> anyhow::Result<MicroDollars> {
    let amount = || -> Option<u64> {
        let text = text.strip_prefix('$').unwrap_or(text);
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        if part.len() > 6 || !part.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let part: u64 = format!("{part:0<6}").parse().ok()?;
        whole
            .parse::<u64>()
            .ok()?
            .checked_mul(1_000_000)?
            .checked_add(part)
    };
    amount()
        .map(MicroDollars)
        .ok_or_else(|| anyhow::anyhow!("`{text}` is not an amount of dollars; write it like 2.50"))
}

fn model(text: &str) -> anyhow::Result<ModelRef> {
    match text.split_once('/') {
        Some((provider, model)) if !provider.is_empty() && !model.is_empty() => Ok(ModelRef {
            provider: provider.to_owned(),
            model: model.to_owned(),
        }),
        _ => anyhow::bail!("`{text}` is not a model; write it like openai/gpt-5.2"),
    }
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
