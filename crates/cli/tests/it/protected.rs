//! What other programs run by themselves, and a server that is killed while a command runs.

use std::time::Duration;

use anyhow::ensure;
use testkit::process::Launch;
use testkit::{Process, Scratch};

use crate::{DRAGOMAN, Visitor, tell};

const LIMIT: Duration = Duration::from_secs(60);

/// Starts a command that leaves what direnv would run, and comes back when it has.
async fn with_a_command_running(scratch: &Scratch) -> anyhow::Result<(Process, Visitor)> {
    let ready = scratch.workspace().join("ready");
    let made = std::process::Command::new("mkfifo").arg(&ready).status()?;
    ensure!(made.success());
    let line = "echo evil > .envrc; echo > $TMPDIR/left; echo > ready; sleep 1000";
    let call = serde_json::json!({ "command": line });
    let script = scratch.user().join("script");
    std::fs::write(
        &script,
        format!("turn\ncall bash {call}\nnext\nsay Done.\n"),
    )?;
    let launch = Launch::new(DRAGOMAN, scratch)
        .rehearsal(&script)
        .argument("--yolo");
    let server = Process::start(&launch).await?;
    let mut visitor = Visitor::arrive(&server).await?;
    visitor.say("go").await?;
    // It can be opened when the other end is.
    tokio::task::spawn_blocking(move || std::fs::read(ready)).await??;
    ensure!(scratch.read(".envrc") == "evil\n");
    Ok((server, visitor))
}

#[test]
fn a_killed_server_puts_back_at_its_next_start_what_a_command_left_for_others_to_run() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let (mut server, visitor) = with_a_command_running(&scratch).await?;
        server.kill9().await?;
        server.restart().await?;
        Visitor::resume(&server, &visitor.session).await?;
        ensure!(!scratch.workspace().join(".envrc").exists());
        Ok(())
    });
}

#[test]
fn temporary_files_of_commands_lie_with_the_data_and_go_with_the_server() {
    tell(LIMIT, async {
        use std::os::unix::fs::PermissionsExt;
        let scratch = Scratch::new()?;
        let (mut server, _visitor) = with_a_command_running(&scratch).await?;
        let temporary = scratch.home().join("sandbox/temp");
        let mode = temporary.metadata()?.permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert_eq!(std::fs::read_dir(&temporary)?.count(), 1);
        server.terminate().await?;
        assert_eq!(std::fs::read_dir(&temporary)?.count(), 0);
        Ok(())
    });
}
