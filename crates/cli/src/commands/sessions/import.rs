//! `dragoman sessions import`: takes over the sessions of another program.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::{Value, json};
use server::import::{self, SessionImport};

use super::open;
use crate::commands::checkpoints::words;

/// How often progress is told, in sessions.
const PROGRESS_EVERY: usize = 100;

/// What became of all that was found.
#[derive(Default)]
struct ImportReport {
    taken: Vec<String>,
    known: usize,
    failed: Vec<(String, String)>,
}

pub async fn take_over(home: &Path, from: PathBuf, dry_run: bool, json: bool) -> anyhow::Result<()> {
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
