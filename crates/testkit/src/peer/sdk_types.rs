//! The SDKs of the model services: their request types say whether a body is one of theirs.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

use super::folder;

const CHECK: &str = include_str!("sdk_types.py");
/// Loading five SDKs on a busy machine takes its time.
const LIMIT: Duration = Duration::from_secs(90);

/// A body, and the service it went to.
pub struct SentBody {
    /// As the catalog has it.
    pub service: &'static str,
    pub body: Value,
}

/// An error names every field of any body that its service's SDK does not know, or knows otherwise.
pub async fn check_against_sdks(bodies: &[SentBody]) -> anyhow::Result<()> {
    let wanted: Vec<_> = bodies
        .iter()
        .map(|each| json!({ "service": each.service, "body": each.body }))
        .collect();
    let verdicts = ask(&Value::from(wanted)).await?;
    ensure!(
        verdicts.len() == bodies.len(),
        "not a verdict for each body"
    );
    let mut problems = Vec::new();
    for (at, (each, found)) in bodies.iter().zip(&verdicts).enumerate() {
        let found = found
            .iter()
            .map(|one| format!("{} {at}: {one}", each.service));
        problems.extend(found);
    }
    ensure!(
        problems.is_empty(),
        "requests that are not as the SDKs have them:\n{}",
        problems.join("\n")
    );
    Ok(())
}

async fn ask(wanted: &Value) -> anyhow::Result<Vec<Vec<String>>> {
    let python = folder("DRAGOMAN_PEER_SDK_TYPES")?.join("bin/python");
    let mut child = Command::new(python)
        .args(["-I", "-c", CHECK])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .context("cannot start Python")?;
    let mut stdin = child.stdin.take().context("the child has no stdin")?;
    let input = wanted.to_string();
    let work = async {
        // It reads all of it before it writes.
        stdin.write_all(input.as_bytes()).await?;
        drop(stdin);
        child.wait_with_output().await
    };
    let output = timeout(LIMIT, work)
        .await
        .with_context(|| format!("no verdict within {LIMIT:?}"))??;
    ensure!(
        output.status.success(),
        "the check failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).context("not a verdict")
}
