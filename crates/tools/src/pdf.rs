//! The text of PDF files, page by page.
//!
//! A file may be made to harm whoever reads it: to run for ever, to unpack without end, to hit a mistake
//! of the reader. So it is read in a process of its own, this very binary, with little memory and little
//! time; all that comes back is text.

mod pages;
mod placed_text;
mod widths;

use std::io::{Read as _, Write as _};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Resource, Rlimit};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use crate::Sandbox;
use crate::sandbox::launcher;

/// What the launcher's binary is asked for to be the reader.
pub(crate) const STEP: &str = "pdf-text";
/// Of one reading.
const TIME_MAX: Duration = Duration::from_secs(20);
const MEMORY_BYTES_MAX: u64 = 512 << 20;
/// Of what the reader says: a whole answer, in which every letter may be written as six.
const REPLY_BYTES_MAX: u64 = 1 << 20;

/// Which pages are wanted.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct WantedPages {
    /// Counted from 1, or from the end where it is negative.
    pub first: i64,
    pub limit: u64,
    /// No page more, once there is so much text.
    pub bytes_max: usize,
}

/// The text of some pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PdfPages {
    /// Of the whole file.
    pub total: u64,
    /// The number of the first that is shown.
    pub first: u64,
    pub texts: Vec<String>,
}

/// Reads the text of pages; says in words why it cannot, as in "it …".
pub(crate) async fn text(
    sandbox: &Sandbox,
    file: Vec<u8>,
    wanted: WantedPages,
) -> Result<PdfPages, String> {
    let reading = async {
        let launcher = sandbox.launcher();
        match launcher.map_err(|problem| format!("cannot be read: {problem}"))? {
            Some(binary) => apart(binary.as_os_str(), &file, wanted).await,
            // Only where there is no binary to start, as in tests of single tools.
            None => tokio::task::spawn_blocking(move || pages::read(&file, wanted))
                .await
                .unwrap_or_else(|_| Err(broken())),
        }
    };
    let timeout = tokio::time::timeout(TIME_MAX, reading);
    timeout.await.unwrap_or_else(|_| Err(broken()))
}

fn broken() -> String {
    "is damaged, or takes more time or memory to read than there is for it".to_owned()
}

/// Has another process read it, which goes with this call.
async fn apart(
    binary: &std::ffi::OsStr,
    file: &[u8],
    wanted: WantedPages,
) -> Result<PdfPages, String> {
    let failed = |problem: std::io::Error| format!("cannot be read: {problem}");
    let orders = serde_json::to_string(&wanted).map_err(|problem| failed(problem.into()))?;
    let mut reader = Command::new(binary)
        .args([launcher::ARGUMENT, STEP, &orders])
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    if let Some(mut input) = reader.stdin.take() {
        // Who has ended has said why, or is broken.
        let _ = input.write_all(file).await;
    }
    let mut reply = Vec::new();
    if let Some(output) = reader.stdout.take() {
        let mut output = output.take(REPLY_BYTES_MAX);
        output.read_to_end(&mut reply).await.map_err(failed)?;
    }
    reader.wait().await.map_err(failed)?;
    serde_json::from_slice(&reply).unwrap_or_else(|_| Err(broken()))
}

/// Is the reader: takes the file from the standard input and writes what it found.
pub(crate) fn serve(wanted: WantedPages) -> Result<i32, String> {
    let limit = |resource, most| {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        rustix::process::setrlimit(resource, limit).map_err(|error| error.to_string())
    };
    limit(Resource::As, MEMORY_BYTES_MAX)?;
    limit(Resource::Cpu, TIME_MAX.as_secs())?;
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, 0)?;
    let mut file = Vec::new();
    let failed = |error: std::io::Error| error.to_string();
    std::io::stdin().read_to_end(&mut file).map_err(failed)?;
    let reply = serde_json::to_vec(&pages::read(&file, wanted)).map_err(|e| e.to_string())?;
    std::io::stdout().write_all(&reply).map_err(failed)?;
    Ok(0)
}

#[cfg(test)]
pub(crate) mod tests;
