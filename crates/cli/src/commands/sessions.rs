//! `dragoman sessions`: which sessions are kept, and those of another program taken over.

mod search;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use server::database;
use server::import::{self, SessionImport};
use store::SharedStore;
use vocabulary::{ArchivedThreads, Caller, Thread, ThreadQuery};

use super::checkpoints::words;
use super::table::aligned;

const EXAMPLES: &str = "\
Examples:
  dragoman sessions                    which sessions are kept, the newest first
  dragoman sessions --json             the same for programs
  dragoman sessions search flaky test  sessions in which these words were said, the best first
  dragoman sessions import --from ~/old/sessions.db --dry-run
                                       what would be taken over from another program's database
  dragoman sessions import --from ~/old
                                       its database and its older snapshots (sessions/*.json)

Nothing is changed where sessions are taken from. Each keeps its id, title, messages, plan and times, and is
taken over once: what was deleted here since then stays deleted. Servers may run meanwhile.";

/// How often progress is told, in sessions.
const PROGRESS_EVERY: usize = 100;

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
    /// Search what was said in them
    Search(search::SearchArguments),
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
        SessionsCommand::List => list(home, arguments.json).await,
        SessionsCommand::Search(words) => search::run(words, home, arguments.json).await,
        SessionsCommand::Import { from, dry_run } => {
            take_over(home, from, dry_run, arguments.json).await
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

async fn list(home: &Path, json: bool) -> anyhow::Result<()> {
    let query = ThreadQuery {
        archived: ArchivedThreads::Included,
        ..ThreadQuery::default()
    };
    // Where there is no database there is no session, and looking makes none.
    let threads = match database::existing(home) {
        None => Vec::new(),
        Some(_) => {
            let (store, tenant) = (open(home).await?, Caller::local().tenant);
            store.threads(&tenant, &query).await?.threads
        }
    };
    if json {
        let sessions: Vec<Value> = threads.iter().map(for_programs).collect();
        return words::say_json(&json!({ "sessions": sessions }));
    }
    if threads.is_empty() {
        return words::say("No sessions are kept.\n");
    }
    let heading = ["SESSION", "CHANGED", "MESSAGES", "DIRECTORY", "TITLE"].map(str::to_owned);
    let row = |thread: &Thread| {
        vec![
            thread.card.id.to_string(),
            words::when(thread.updated_at.millis()),
            thread.message_count.to_string(),
            words::path(&thread.card.directory),
            thread.title.text.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = std::iter::once(heading.to_vec())
        .chain(threads.iter().map(row))
        .collect();
    words::say(aligned(&rows))
}

fn for_programs(thread: &Thread) -> Value {
    json!({
        "id": thread.card.id.to_string(),
        "title": thread.title.text,
        "directory": thread.card.directory,
        "provider": thread.settings.model.provider,
        "model": thread.settings.model.model,
        "messages": thread.message_count,
        "archived": thread.archived,
        "createdAt": thread.card.created_at.iso(),
        "updatedAt": thread.updated_at.iso(),
    })
}

/// What became of all that was found.
#[derive(Default)]
struct ImportReport {
    taken: Vec<String>,
    known: usize,
    failed: Vec<(String, String)>,
}

async fn take_over(home: &Path, from: PathBuf, dry_run: bool, json: bool) -> anyhow::Result<()> {
    let place = from.clone();
    let finding = tokio::task::spawn_blocking(move || import::find(&place)).await;
    let found = finding.context("the look was cut off")??;
    if found.is_empty() {
        bail!(
            "there are no sessions of another program at {}",
            from.display()
        );
    }
    let store = open(home).await?;
    let mut report = ImportReport::default();
    for (place, session) in found.iter().enumerate() {
        if !json && place > 0 && place % PROGRESS_EVERY == 0 {
            words::say(format!("{place} of {} …\n", found.len()))?;
        }
        let name = session.name.clone();
        match import::take_in(&store, session, dry_run).await {
            SessionImport::Taken => report.taken.push(name),
            SessionImport::Known => report.known += 1,
            SessionImport::Failed(why) => report.failed.push((name, why)),
        }
    }
    tell(&report, dry_run, json)?;
    match report.failed.is_empty() {
        true => Ok(()),
        false => bail!(
            "{} of {} sessions could not be taken over",
            report.failed.len(),
            found.len()
        ),
    }
}

fn tell(report: &ImportReport, dry_run: bool, json: bool) -> anyhow::Result<()> {
    let ImportReport {
        taken,
        known,
        failed,
    } = report;
    if json {
        let failed: Vec<Value> = failed
            .iter()
            .map(|(session, why)| json!({ "session": session, "why": why }))
            .collect();
        return words::say_json(&json!({
            "dryRun": dry_run, "taken": taken, "known": known, "failed": failed,
        }));
    }
    let done = match dry_run {
        true => "would be taken over",
        false => "taken over",
    };
    let mut text = format!(
        "{} {done}",
        words::count(taken.len() as u64, "session", "sessions")
    );
    if *known > 0 {
        text.push_str(&format!(", {known} taken over before"));
    }
    text.push_str(".\n");
    for (session, why) in failed {
        let line = crate::screen::harmless(&format!("not taken over: {session}: {why}"));
        text.push_str(&format!("{line}\n"));
    }
    words::say(text)
}
