//! The program run as a command, on the home of a test.

use std::process::{Output, Stdio};

use testkit::Scratch;
use tokio::process::Command;

use crate::DRAGOMAN;

/// Runs `dragoman WORDS` to its end.
pub async fn run(scratch: &Scratch, words: &[&str]) -> anyhow::Result<Output> {
    let output = Command::new(DRAGOMAN)
        .args(words)
        .current_dir(scratch.workspace())
        .env_clear()
        .env("HOME", scratch.user())
        .env("DRAGOMAN_HOME", scratch.home())
        .stdin(Stdio::null())
        .output();
    Ok(output.await?)
}

/// Whether it ended well, and what it said then: its answer, or what went wrong.
pub async fn said(scratch: &Scratch, words: &[&str]) -> anyhow::Result<(bool, String)> {
    let output = run(scratch, words).await?;
    let said = match output.status.success() {
        true => output.stdout,
        false => output.stderr,
    };
    Ok((output.status.success(), String::from_utf8(said)?))
}
