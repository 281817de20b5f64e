//! What people see of the program: at its start, when something is wrong, and when they sign in.

mod config;
mod damage;
mod log;
mod login;
mod naming;
mod sandbox;
mod start;

use std::process::{Output, Stdio};
use std::time::Duration;

use testkit::Scratch;
use tokio::process::Command;

use crate::DRAGOMAN;

const LIMIT: Duration = Duration::from_secs(60);

/// `dragoman WORDS` on a scratch home, in its workspace.
fn dragoman(scratch: &Scratch, words: &[&str]) -> Command {
    let mut command = Command::new(DRAGOMAN);
    command
        .args(words)
        .current_dir(scratch.workspace())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", scratch.user())
        .env("DRAGOMAN_HOME", scratch.home())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
