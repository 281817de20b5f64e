//! `dragoman sessions`: which sessions are kept, and those of another program taken over.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};
use server::database;
use store::SharedStore;

mod import;
mod list;

const EXAMPLES: &str = "\
Examples:
  dragoman sessions                    which sessions are kept, the newest first
  dragoman sessions --json             the same for programs
  dragoman sessions import --from ~/old/sessions.db --dry-run
                                       what would be taken over from another program's database
  dragoman sessions import --from ~/old
                                       its database and its older snapshots (sessions/*.json)

Nothing is changed where sessions are taken from. Each keeps its id, title, messages, plan and times, and is
taken over once: what was deleted here since then stays deleted. Servers may run meanwhile.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SessionsArguments {
    #[command(subcommand)]
    pub what: Option<SessionsCommand>,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    /// Show which sessions are kept (the default)
    List,
    /// Take over the sessions of another program
    Import {
        /// Its database, its data directory, or a directory of snapshots
        #[arg(long, value_name = "PATH")]
        from: PathBuf,
        /// Only say what would be taken over
        #[arg(long)]
        dry_run: bool,
    },
}

pub async fn run(arguments: SessionsArguments, home: &Path) -> anyhow::Result<()> {
    match arguments.what.unwrap_or(SessionsCommand::List) {
        SessionsCommand::List => list::list(home, arguments.json).await,
        SessionsCommand::Import { from, dry_run } => {
            import::take_over(home, from, dry_run, arguments.json).await
        }
    }
}

async fn open(home: &Path) -> anyhow::Result<SharedStore> {
    let home = home.to_owned();
    let opening = move || {
        server::home::prepare(&home)?;
        database::open(
            &home,
            &format!("process {}, dragoman sessions", std::process::id()),
        )
    };
    let opened = tokio::task::spawn_blocking(opening).await;
    opened.context("the look was cut off")?
}
