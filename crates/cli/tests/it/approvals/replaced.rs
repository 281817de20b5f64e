//! Another version is installed while a server runs: its sandbox holds as before.

use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use serde_json::json;
use testkit::Process;

use super::{Desk, DeskStart, FENCES};
use crate::{DRAGOMAN, tell};

const LIMIT: Duration = Duration::from_secs(60);

/// A program that knows nothing of what a server tells its launcher.
const OTHER: &str = "#!/bin/sh\necho another version >&2\nexit 1\n";

fn replace(program: &Path) -> anyhow::Result<()> {
    std::fs::remove_file(program)?;
    Ok(std::fs::write(program, OTHER)?)
}

#[test]
fn a_server_whose_program_was_replaced_has_its_sandbox_still() {
    for fence in FENCES {
        tell(LIMIT, async {
            for is_early in [true, false] {
                let mut desk = DeskStart::new(&["--sandbox", fence])?;
                let program = desk.scratch.user().join("dragoman");
                std::fs::hard_link(DRAGOMAN, &program)
                    .or_else(|_| std::fs::copy(DRAGOMAN, &program).map(drop))?;
                desk.launch = desk.launch.binary(&program);
                let server = Process::start(&desk.launch).await?;
                // Before anything was tried, or after it was found to hold.
                if is_early {
                    replace(&program)?;
                }
                let start = json!({"approvalPolicy": "never", "sandbox": "workspace-write"});
                let mut desk = Desk::at(server, desk.scratch, start).await?;
                ensure!(
                    desk.opened["sandbox"]["type"] == "workspaceWrite",
                    "{}",
                    desk.opened
                );
                let first = desk.bash("echo one > first", "decline").await?;
                ensure!(desk.has("first"), "{fence} {is_early}: {first:?}");
                if !is_early {
                    replace(&program)?;
                }
                let outside = desk.scratch.user().join("outside");
                let command = format!("echo two > second; echo x > {}", outside.display());
                let input = json!({ "command": command });
                let second = desk.call("bash", input, "decline").await?;
                ensure!(!outside.exists(), "{fence} {is_early}: {second:?}");
                let third = desk.bash("echo three > third", "decline").await?;
                ensure!(desk.has("third"), "{fence} {is_early}: {third:?}");
            }
            Ok(())
        });
    }
}
