//! `dragoman sessions`: listed, shown, exported, imported, archived and deleted, beside servers that run.

mod changing;
mod files;
mod hostile;
mod listing;
mod round_trip;

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;
use testkit::Scratch;
use tokio::process::Command;

use crate::{DRAGOMAN, Site, Visitor, command};

const LIMIT: Duration = Duration::from_secs(90);

/// `dragoman sessions WORDS`, as a command that is yet to run.
fn sessions(scratch: &Scratch, words: &[&str]) -> Command {
    let mut command = Command::new(DRAGOMAN);
    command
        .arg("sessions")
        .args(words)
        .current_dir(scratch.workspace())
        .env_clear()
        .env("HOME", scratch.user())
        .env("DRAGOMAN_HOME", scratch.home())
        .env("TZ", "UTC")
        .stdin(Stdio::null());
    command
}

/// What it says when all goes well.
async fn well(scratch: &Scratch, words: &[&str]) -> anyhow::Result<String> {
    let output = sessions(scratch, words).output().await?;
    let said = String::from_utf8(output.stdout)?;
    let wrong = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{words:?}: {said}{wrong}");
    Ok(said)
}

/// All that it says when something is wrong.
async fn badly(scratch: &Scratch, words: &[&str]) -> anyhow::Result<String> {
    let words = [&["sessions"], words].concat();
    let output = command::run(scratch, &words).await?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said)?;
    ensure!(!output.status.success(), "{words:?} went well: {said}");
    Ok(said)
}

async fn json(scratch: &Scratch, words: &[&str]) -> anyhow::Result<Value> {
    let said = well(scratch, &[words, &["--json"]].concat()).await?;
    serde_json::from_str(&said).with_context(|| format!("no JSON: {said}"))
}

/// A session in which a few words were said; the server is stopped.
async fn spoken(texts: &[&str]) -> anyhow::Result<(Scratch, String)> {
    let mut site = Site::open().await?;
    let mut visitor = Visitor::arrive(&site.server).await?;
    for text in texts {
        visitor.converse(text).await?;
    }
    let session = visitor.session.clone();
    drop(visitor);
    site.server.terminate().await?;
    Ok((site.scratch, session))
}

/// Exports a session to a file beside the workspace.
async fn exported(scratch: &Scratch, session: &str) -> anyhow::Result<PathBuf> {
    let place = scratch.user().join(format!("{session}.jsonl"));
    let to = place.to_string_lossy();
    well(scratch, &["export", session, "--output", &to, "--force"]).await?;
    Ok(place)
}
