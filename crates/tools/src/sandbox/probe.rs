//! Finds out what holds, by really trying.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{Fenced, Sandbox};
use crate::Scope;

/// A sandbox that takes longer for nothing does not work.
const TRY_MAX: Duration = Duration::from_secs(10);
const TRY_PAUSE: Duration = Duration::from_millis(2);
const WORD: &str = "the fence stands";

/// Whether a command runs in it and cannot write outside; without a fence, whether it runs.
pub(super) fn works(sandbox: &Sandbox) -> bool {
    let (Ok(inside), Ok(outside)) = (tempfile::tempdir(), tempfile::tempdir()) else {
        return false;
    };
    let target = outside.path().join("made");
    let script = format!("true >'{}'; printf '{WORD}'", target.display());
    let said = run(sandbox, inside.path(), &script);
    let held = sandbox.mode() == super::Mode::Nothing || !target.exists();
    held && said.is_some_and(|said| said.stdout == WORD)
}

pub(super) struct Said {
    pub stdout: String,
    pub succeeded: bool,
}

/// Runs a script in a directory; `None` if it cannot be run at all.
pub(super) fn run(sandbox: &Sandbox, directory: &Path, script: &str) -> Option<Said> {
    let scope = Scope {
        skills: Vec::new(),
        trusted: false,
        directory: directory.to_owned(),
        extra: Vec::new(),
        private: Vec::new(),
        spill: None,
    };
    let words = ["bash", "-c", script].map(OsStr::new);
    let fenced: Fenced = sandbox.fence(&scope, &words).ok()?;
    let mut child = Command::new(&fenced.program)
        .args(&fenced.arguments)
        .envs(fenced.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let begun = Instant::now();
    while child.try_wait().ok()?.is_none() {
        if begun.elapsed() > TRY_MAX {
            // The launcher ends all when its input is closed.
            drop(child.stdin.take());
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(TRY_PAUSE);
    }
    let output = child.wait_with_output().ok()?;
    Some(Said {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        succeeded: output.status.success(),
    })
}
