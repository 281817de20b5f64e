//! As many sockets as the system allows, and no command goes without.

use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use anyhow::{Context, ensure};
use testkit::process::Launch;
use testkit::{Process, Scratch};

use super::{LIMIT, ensure_logged_now_and_then, raw};
use crate::{DRAGOMAN, Visitor, tell};

/// What the server starts with, and may raise that to.
const SOFT: u64 = 200;
const HARD: u64 = 600;

/// Starts the server under those limits.
async fn limited(scratch: &Scratch) -> anyhow::Result<Process> {
    let script = scratch.user().join("limited");
    // The harness gives a process no limits, but a shell does.
    let text = format!("#!/bin/sh\nulimit -Sn {SOFT}; ulimit -Hn {HARD}\nexec {DRAGOMAN} \"$@\"\n");
    std::fs::write(&script, text)?;
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700))?;
    Process::start(&Launch::new(script, scratch).argument("--yolo")).await
}

#[test]
fn sockets_fill_what_may_be_had_and_commands_still_run() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let started = Instant::now();
        let mut server = limited(&scratch).await?;
        let id = server.id().context("it ended")?;
        let limits = std::fs::read_to_string(format!("/proc/{id}/limits"))?;
        let line = limits
            .lines()
            .find(|line| line.starts_with("Max open files"));
        let words: Vec<&str> = line.context("no limit")?.split_whitespace().collect();
        assert_eq!(words[3..5], [HARD.to_string(), HARD.to_string()]);

        let address = ([127, 0, 0, 1], server.port()).into();
        let mut visitor = Visitor::arrive(&server).await?;
        let mut sockets = Vec::new();
        let mut refused = 0;
        for _ in 0..HARD {
            match raw::upgrade(address, "/ws", &[]).await? {
                Ok(socket) => sockets.push(socket),
                Err(status) => {
                    assert_eq!(status, 503);
                    refused += 1;
                }
            }
        }
        // Half of so few descriptors is for everything else.
        let expected = (HARD / 2) as usize - 1;
        assert_eq!(
            (sockets.len(), refused),
            (expected, HARD as usize - expected)
        );
        let answer = visitor
            .converse(r#"tool bash {"command":"echo through"}"#)
            .await?;
        ensure!(answer.contains("through"), "{answer}");

        server.terminate().await?;
        let log = server.whole_log();
        ensure_logged_now_and_then(&log, "turned a connection away", started)
    });
}
