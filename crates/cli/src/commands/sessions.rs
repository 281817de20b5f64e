//! `dragoman sessions`: the sessions that are kept: listed, shown, written to files and taken in again, archived,
//! deleted.

use std::path::Path;

use anyhow::Context;
use clap::{Args, Subcommand};
use server::database;
use store::SharedStore;

mod change;
mod export;
mod files;
mod import;
mod list;
mod markdown;
mod names;
mod pieces;
mod search;
mod show;
mod table;

use change::{ChangeArguments, DeleteArguments, SessionChange};
use export::ExportArguments;
use import::ImportArguments;
use list::ListArguments;
use search::SearchArguments;
use show::ShowArguments;

const EXAMPLES: &str = "\
Examples:
  dragoman sessions                    which sessions are kept, the newest first
  dragoman sessions list --workspace . --archived
                                       those of this directory, archived ones too
  dragoman sessions search flaky test  sessions in which these words were said, the best first
  dragoman sessions show last          the one that changed last, to read
  dragoman sessions show 4f2a1c --turns 2
                                       the end of another
  dragoman sessions export 4f2a1c --format markdown --output talk.md
  dragoman sessions export --all --archived --output backup/
                                       every session as a file, to keep or to take elsewhere
  dragoman sessions import --from backup/
                                       take them in again: same ids, same times
  dragoman sessions import --from ~/old
                                       take over another program's database and snapshots (sessions/*.json)
  dragoman sessions archive 4f2a1c 77aa01
  dragoman sessions delete 4f2a1c      gone for good; asks first

A session is named by the end of its id, as long as no other ends so, by its whole id, by an id that a
client gave it, or by `last`. Servers on the same data directory may run meanwhile, and tell their clients.
docs/data.md says what a file of a session has in it.";

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
    List(ListArguments),
    /// Search what was said in them
    Search(SearchArguments),
    /// Show what was said and done in a session
    Show(ShowArguments),
    /// Write sessions to files, whole or to read
    Export(ExportArguments),
    /// Take in exported sessions, or those of another program
    Import(ImportArguments),
    /// Take sessions out of lists, and keep them
    Archive(ChangeArguments),
    /// Put archived sessions back into lists
    Unarchive(ChangeArguments),
    /// Delete sessions for good
    Delete(DeleteArguments),
}

pub async fn run(arguments: SessionsArguments, home: &Path) -> anyhow::Result<()> {
    let SessionsArguments { what, json } = arguments;
    let what = what.unwrap_or_else(|| SessionsCommand::List(ListArguments::default()));
    match what {
        SessionsCommand::List(arguments) => list::run(arguments, home, json).await,
        SessionsCommand::Search(arguments) => search::run(arguments, home, json).await,
        SessionsCommand::Show(arguments) => show::run(arguments, home, json).await,
        SessionsCommand::Export(arguments) => export::run(arguments, home, json).await,
        SessionsCommand::Import(arguments) => import::run(arguments, home, json).await,
        SessionsCommand::Archive(arguments) => {
            change::run(SessionChange::Archive, arguments, home, json).await
        }
        SessionsCommand::Unarchive(arguments) => {
            change::run(SessionChange::Unarchive, arguments, home, json).await
        }
        SessionsCommand::Delete(arguments) => change::delete(arguments, home, json).await,
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
