//! `dragoman sessions import`: takes in exported sessions, or takes over those of another program.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use engine::SystemClock;
use engine::transfer::{self, ImportWishes, TransferOutcome};
use serde_json::{Value, json};
use server::import::{self, SessionImport};
use store::SharedStore;
use vocabulary::Caller;

use super::open;
use crate::commands::checkpoints::words;
use crate::screen::harmless;

/// How often progress is told, in sessions.
const PROGRESS_EVERY: usize = 100;
/// How exported files end.
const ENDING: &str = "jsonl";
/// As much of a file as says whether it is one of ours.
const BEGINNING_BYTES: u64 = 64;
const STANDARD_INPUT: &str = "-";

#[derive(Debug, Args)]
pub struct ImportArguments {
    /// An exported file, a directory of them, or - for standard input; or another program's database, data
    /// directory, or directory of snapshots
    #[arg(long, value_name = "PATH")]
    pub from: PathBuf,
    /// Only say what would be taken in
    #[arg(long)]
    pub dry_run: bool,
    /// Take exported sessions in under new ids, beside those that are there
    #[arg(long)]
    pub as_new: bool,
}

/// What became of all that was found.
#[derive(Default)]
struct ImportReport {
    taken: Vec<String>,
    /// Exported sessions that are here.
    there: Vec<String>,
    known: usize,
    /// Those that run commands without asking anybody.
    unattended: Vec<String>,
    failed: Vec<(String, String)>,
}

pub async fn run(arguments: ImportArguments, home: &Path, json: bool) -> anyhow::Result<()> {
    let from = arguments.from.clone();
    let looking = tokio::task::spawn_blocking(move || exported(&from)).await;
    let report = match looking.context("the look was cut off")?? {
        Some(files) => take_in(&arguments, home, files).await?,
        None if arguments.as_new => {
            bail!("--as-new is for exported sessions, and there are none here")
        }
        None => take_over(&arguments, home, json).await?,
    };
    tell(&report, &arguments, json)?;
    match report.failed.len() {
        0 => Ok(()),
        failed => bail!(
            "{} could not be imported",
            words::count(failed as u64, "session", "sessions")
        ),
    }
}

/// Exported files at a place; nothing where what lies there is another program's.
fn exported(from: &Path) -> anyhow::Result<Option<Vec<PathBuf>>> {
    if from == Path::new(STANDARD_INPUT) {
        return Ok(Some(vec![from.to_owned()]));
    }
    if !from.is_dir() {
        let is_ours = from.is_file() && (has_our_ending(from) || begins_as_ours(from)?);
        return Ok(is_ours.then(|| vec![from.to_owned()]));
    }
    let reading = from.read_dir();
    let reading = reading.with_context(|| format!("cannot read {}", words::path(from)))?;
    // Links are not followed: what they name was not put here.
    let is_file = |file: &std::fs::DirEntry| file.file_type().is_ok_and(|kind| kind.is_file());
    let files = reading.filter_map(Result::ok).filter(is_file);
    let files = files.map(|file| file.path());
    let mut files: Vec<PathBuf> = files.filter(|file| has_our_ending(file)).collect();
    files.sort();
    Ok(Some(files).filter(|files| !files.is_empty()))
}

fn has_our_ending(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending == ENDING)
}

fn begins_as_ours(file: &Path) -> anyhow::Result<bool> {
    let opened = File::open(file).with_context(|| format!("cannot read {}", words::path(file)))?;
    let mut beginning = Vec::new();
    opened.take(BEGINNING_BYTES).read_to_end(&mut beginning)?;
    Ok(transfer::is_exported(&beginning))
}

async fn take_in(
    arguments: &ImportArguments,
    home: &Path,
    files: Vec<PathBuf>,
) -> anyhow::Result<ImportReport> {
    let store = open(home).await?;
    let wishes = ImportWishes {
        tenant: Caller::local().tenant,
        home: home.to_owned(),
        as_new: arguments.as_new,
        dry_run: arguments.dry_run,
    };
    let mut report = ImportReport::default();
    for file in files {
        match take_file(&store, &wishes, &file).await {
            Ok(imported) => {
                let id = imported.id.to_string();
                match imported.outcome {
                    TransferOutcome::Known => report.there.push(id),
                    TransferOutcome::Taken => {
                        let unattended = imported.is_unattended.then(|| id.clone());
                        report.unattended.extend(unattended);
                        report.taken.push(id);
                    }
                }
            }
            Err(error) => {
                let name = match file == Path::new(STANDARD_INPUT) {
                    true => "standard input".to_owned(),
                    false => file.display().to_string(),
                };
                report.failed.push((name, format!("{error:#}")));
            }
        }
    }
    Ok(report)
}

async fn take_file(
    store: &SharedStore,
    wishes: &ImportWishes,
    file: &Path,
) -> anyhow::Result<transfer::ImportedThread> {
    let mut input: Box<dyn BufRead + Send> = match file == Path::new(STANDARD_INPUT) {
        true => Box::new(BufReader::new(std::io::stdin())),
        false => Box::new(BufReader::new(File::open(file)?)),
    };
    Ok(transfer::import(store, &SystemClock, wishes, &mut *input).await?)
}

async fn take_over(
    arguments: &ImportArguments,
    home: &Path,
    json: bool,
) -> anyhow::Result<ImportReport> {
    let place = arguments.from.clone();
    let finding = tokio::task::spawn_blocking(move || import::find(&place)).await;
    let found = finding.context("the look was cut off")??;
    if found.is_empty() {
        bail!(
            "there are no sessions at {}, neither exported ones nor those of another program",
            arguments.from.display()
        );
    }
    let store = open(home).await?;
    let mut report = ImportReport::default();
    for (place, session) in found.iter().enumerate() {
        if !json && place > 0 && place % PROGRESS_EVERY == 0 {
            words::say(format!("{place} of {} …\n", found.len()))?;
        }
        let name = session.name.clone();
        match import::take_in(&store, session, arguments.dry_run).await {
            SessionImport::Taken => report.taken.push(name),
            SessionImport::Known => report.known += 1,
            SessionImport::Failed(why) => report.failed.push((name, why)),
        }
    }
    Ok(report)
}

fn tell(report: &ImportReport, arguments: &ImportArguments, json: bool) -> anyhow::Result<()> {
    let ImportReport {
        taken,
        there,
        known,
        unattended,
        failed,
    } = report;
    if json {
        let failed: Vec<Value> = failed
            .iter()
            .map(|(session, why)| json!({ "session": session, "why": why }))
            .collect();
        return words::say_json(&json!({
            "dryRun": arguments.dry_run, "taken": taken, "known": known + there.len(), "skipped": there,
            "unattended": unattended, "failed": failed,
        }));
    }
    let done = match arguments.dry_run {
        true => "would be taken over",
        false => "taken over",
    };
    let sessions = words::count(taken.len() as u64, "session", "sessions");
    let mut text = format!("{sessions} {done}");
    if *known > 0 {
        text.push_str(&format!(", {known} taken over before"));
    }
    text.push_str(".\n");
    for id in there {
        text.push_str(&format!(
            "skipped: {id} is there already; --as-new makes a copy of it\n"
        ));
    }
    for id in unattended {
        text.push_str(&format!(
            "mind: {id} is set to run commands without asking, or without a sandbox\n"
        ));
    }
    for (session, why) in failed {
        let line = harmless(&format!("not taken over: {session}: {why}"));
        text.push_str(&format!("{line}\n"));
    }
    words::say(text)
}
