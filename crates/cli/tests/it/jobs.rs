//! Commands in the background of a real server: they serve the commands of their thread, and nothing of them
//! outlives the server, however it ends.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;
use serde_json::json;
use testkit::process::Launch;
use testkit::{Process, Scratch};

use crate::{DRAGOMAN, Visitor, tell};

const LIMIT: Duration = Duration::from_secs(90);
/// Answers one connection after the other.
const SERVER: &str = r#"perl -MIO::Socket::INET -e 'my $server = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1", LocalPort => 4818) or die $!; while (my $client = $server->accept) { print $client "served\n"; close $client }'"#;
/// Waits until somebody listens, then reads what is said.
const CLIENT: &str = "until (exec 3<>/dev/tcp/127.0.0.1/4818) 2>/dev/null; do :; done; \
    exec 3<>/dev/tcp/127.0.0.1/4818; cat <&3 > answer";
const REFUSED: &str = "(exec 3<>/dev/tcp/127.0.0.1/4818) 2>/dev/null || echo refused > stopped";

async fn served(scratch: &Scratch, script: &str) -> anyhow::Result<(Process, Visitor)> {
    let file = scratch.user().join("script");
    std::fs::write(&file, script)?;
    let launch = Launch::new(DRAGOMAN, scratch)
        .rehearsal(&file)
        .argument("--yolo");
    let server = Process::start(&launch).await?;
    let visitor = Visitor::arrive(&server).await?;
    Ok((server, visitor))
}

#[test]
fn a_server_in_the_background_is_started_used_and_stopped() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let start = json!({"command": SERVER, "background": true, "description": "Serves"});
        let client = json!({"command": CLIENT});
        let stop = json!({"action": "stop", "id": 1});
        let refused = json!({"command": REFUSED});
        let script = format!(
            "turn\ncall bash {start}\nnext\nsay It runs.\n\
             turn\ncall bash {client}\nnext\ncall job {stop}\nnext\ncall bash {refused}\nnext\nsay Done.\n"
        );
        let (_server, mut visitor) = served(&scratch, &script).await?;
        visitor.say("serve").await?;
        visitor.rest().await?;
        visitor.say("use it").await?;
        visitor.rest().await?;
        ensure!(scratch.read("answer") == "served\n");
        ensure!(scratch.read("stopped") == "refused\n");
        Ok(())
    });
}

/// How many processes of this machine have the word in their command line.
fn running(word: &str) -> usize {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let has = |line: &Vec<u8>| {
        let mut words = line.split(|&byte| byte == 0);
        words.any(|part| part == word.as_bytes())
    };
    lines.filter(has).count()
}

/// A server with a job that forks and does not hear that it should end; and a word to find it by.
async fn with_a_job(scratch: &Scratch) -> anyhow::Result<(Process, String)> {
    let ready: PathBuf = scratch.workspace().join("ready");
    let made = std::process::Command::new("mkfifo").arg(&ready).status()?;
    ensure!(made.success());
    let mark = format!("{}.0425", 90_000 + std::process::id() % 10_000);
    let line = format!(
        "trap '' TERM; (setsid sleep {mark} &); echo up > ready; sleep {mark}; sleep {mark}"
    );
    let call = json!({"command": line, "background": true});
    let script = format!("turn\ncall bash {call}\nnext\nsay Done.\n");
    let (server, mut visitor) = served(scratch, &script).await?;
    visitor.say("go").await?;
    tokio::task::spawn_blocking(move || std::fs::read(ready)).await??;
    visitor.rest().await?;
    ensure!(running(&mark) > 0, "the job runs after its turn");
    Ok((server, mark))
}

#[test]
fn a_killed_server_leaves_no_job() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let (mut server, mark) = with_a_job(&scratch).await?;
        server.kill9().await?;
        while running(&mark) > 0 {
            tokio::task::yield_now().await;
        }
        Ok(())
    });
}

#[test]
fn a_server_that_was_asked_to_end_leaves_no_job() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let (mut server, mark) = with_a_job(&scratch).await?;
        let status = server.terminate().await?;
        ensure!(status.code() == Some(0), "{status}");
        ensure!(running(&mark) == 0, "all was over before the server was");
        Ok(())
    });
}
