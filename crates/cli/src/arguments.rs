//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::commands::{
    auth, checkpoints, doctor, grants, mcp, members, models, sandbox, sessions, skills, tenants,
    tokens, trust, tui,
};
use crate::{commands, config};

const EXAMPLES: &str = "\
Examples:
  dragoman                          serve this directory on port 7337
  dragoman --dir ~/project          serve another directory
  dragoman --port 0 --json          any free port; one line of JSON says which (for desktop shells)
  dragoman --yolo                   run every command without asking (only where that is safe)
  dragoman --listen zane=8788       also serve one dialect where its own clients look for it
  dragoman auth login anthropic     connect a real model; `dragoman models` shows which there are
  dragoman --model ollama/qwen3 --turn-cost 0.50
  dragoman --effort high            think long where a client does not say how hard
  dragoman checkpoints              what is kept of the files here; `restore` puts them back
  dragoman grants                   what was allowed for longer than once; `revoke` takes it back
  dragoman mcp                      which MCP servers are configured; `add`, `login`, `check`
  dragoman sessions                 which sessions are kept; `import` takes over another program's
  dragoman skills                   which skills agents can load; `new` makes one
  dragoman tenants credit           what a tenant may still spend; `--add 10` gives it more
  dragoman trust                    which workspaces are trusted; `revoke` takes it back
  dragoman tokens                   which tokens let programs in; `create`, `revoke`
  dragoman tenants                  who has threads of its own; `dragoman members` who is in one
  dragoman tui                      talk to the agent in a terminal: OpenAI's codex, connected here
  dragoman doctor                   whether anything is wrong; `--repair` mends a damaged database
  dragoman config                   every setting, its value, and where that came from

For a team, behind a proxy with TLS (docs/security.md):
  dragoman --host 10.0.0.5 --token-file token --allow-host team.example \\
           --allow-origin https://team.example

Connect with any WebSocket client, for example:
  npx wscat -c ws://127.0.0.1:7337/ws
and send a message with the sessionId that server_hello names:
  {\"type\":\"user_message\",\"sessionId\":\"…\",\"text\":\"hello\"}

Every setting can be a flag (--turn-cost 0.50), a variable (DRAGOMAN_TURN_COST=0.50) or a line of
config/config.toml in the data directory (turn-cost = 0.50); the first that says something counts.
`dragoman config` shows them all, and where each value came from (docs/configuration.md).

Other variables:
  DRAGOMAN_HOME        where data lies, when there is no --home
  DRAGOMAN_TOKEN       the token clients must carry, when there is no --token-file
  OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, … keys; OPENAI_BASE_URL and its like: other
                       addresses (docs/models.md)";

/// One agent server, spoken to in every client's language.
#[derive(Debug, Parser)]
#[command(name = "dragoman", version, after_help = EXAMPLES)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Print one line of JSON on standard output once the server listens
    #[arg(short, long)]
    pub json: bool,
    /// Where data lies [default: ~/.cowork]
    #[arg(long, value_name = "DIR", global = true)]
    pub home: Option<PathBuf>,
}

/// The command line with a flag for every setting; `config` takes them as well, to say what they
/// would come to.
pub fn command_line() -> clap::Command {
    let command = clap::Command::new("dragoman").args(config::flags());
    let unseen = || config::flags().map(|flag| flag.hide(true));
    Arguments::augment_args(command).mut_subcommand("config", |command| command.args(unseen()))
}

/// What there is to do besides serving.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show which models there are, what they cost, which can be used
    Models(models::ModelsArguments),
    /// Sign in at a provider, see how it stands, sign out
    Auth(auth::AuthArguments),
    /// See what keeps commands in on this machine
    Sandbox(sandbox::SandboxArguments),
    /// See how files were before the agent changed them, compare, put them back
    Checkpoints(checkpoints::CheckpointsArguments),
    /// See what was allowed for longer than once, and take it back
    Grants(grants::GrantsArguments),
    /// See which MCP servers are configured, add and remove them, sign in, try them
    Mcp(mcp::McpArguments),
    /// See which sessions are kept, and take over those of another program
    Sessions(sessions::SessionsArguments),
    /// See which skills there are, make one, switch one on and off
    Skills(skills::SkillsArguments),
    /// See which workspaces' own skills, commands and servers may be used, and take it back
    Trust(trust::TrustArguments),
    /// See which tenants there are and what they may spend, make one, shut one
    Tenants(tenants::TenantsArguments),
    /// See who is in a tenant, add people, change their roles, remove them
    Members(members::MembersArguments),
    /// See which API tokens there are, make one, take one back
    Tokens(tokens::TokensArguments),
    /// See whether anything is wrong, and save what can be read of a damaged database
    Doctor(doctor::DoctorArguments),
    /// Talk to the agent in the official terminal client of Codex
    Tui(tui::TuiArguments),
    /// See every setting, its value, and where that came from
    Config(commands::config::ConfigArguments),
}
