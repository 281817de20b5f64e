//! The real server as a child process: start, kill, restart.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::Scratch;

const START_LIMIT: Duration = Duration::from_secs(15);
const STOP_LIMIT: Duration = Duration::from_secs(15);
/// As much of the server's log as a failed test shows.
const LOG_LINES_SHOWN: usize = 60;

/// How to start a server; the same again after a kill.
#[derive(Clone, Debug)]
pub struct Launch {
    binary: PathBuf,
    user: PathBuf,
    home: PathBuf,
    workspace: PathBuf,
    rehearsal: Option<PathBuf>,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
}

impl Launch {
    pub fn new(binary: impl Into<PathBuf>, scratch: &Scratch) -> Self {
        Self {
            binary: binary.into(),
            user: scratch.user().to_path_buf(),
            home: scratch.home().to_path_buf(),
            workspace: scratch.workspace().to_path_buf(),
            rehearsal: None,
            arguments: Vec::new(),
            variables: Vec::new(),
        }
    }

    /// Another file to start it from.
    pub fn binary(mut self, binary: &Path) -> Self {
        self.binary = binary.to_path_buf();
        self
    }

    /// A further word of the command line.
    pub fn argument(mut self, word: impl Into<String>) -> Self {
        self.arguments.push(word.into());
        self
    }

    /// A further environment variable.
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Another workspace on the same home.
    pub fn workspace(mut self, workspace: &Path) -> Self {
        self.workspace = workspace.to_path_buf();
        self
    }

    /// The script the model follows; without one it is interactive.
    pub fn rehearsal(mut self, script: &Path) -> Self {
        self.rehearsal = Some(script.to_path_buf());
        self
    }

    fn command(&self) -> Command {
        let mut command = self.other_command(&[]);
        command
            .arg("--dir")
            .arg(&self.workspace)
            .args(["--port", "0", "--json"])
            .args(&self.arguments);
        if let Some(script) = &self.rehearsal {
            command.env("DRAGOMAN_REHEARSAL", script);
        }
        command
    }

    fn other_command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .args(words)
            .current_dir(&self.workspace)
            // A developer's keys and settings must not reach a test.
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, _)| kept(&name.to_string_lossy())))
            .env("HOME", &self.user)
            .env("DRAGOMAN_HOME", &self.home)
            // Whatever else this machine offers, such as a model server of its own.
            .env("DRAGOMAN_MODEL", "rehearsal/rehearsal-1")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }
}

fn kept(name: &str) -> bool {
    matches!(
        name,
        "PATH" | "LANG" | "TMPDIR" | "RUST_LOG" | "RUST_BACKTRACE" | "LLVM_PROFILE_FILE"
    )
}

/// The one line a server started with `--json` prints.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listening {
    #[serde(rename = "type")]
    kind: String,
    url: String,
    port: u16,
    cwd: String,
    listeners: Vec<Listener>,
}

/// A port of one dialect.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listener {
    pub dialect: String,
    pub url: String,
    pub port: u16,
}

pub struct Process {
    launch: Launch,
    child: Child,
    listening: Listening,
    stdout: Lines<BufReader<ChildStdout>>,
    log: Arc<Mutex<Vec<String>>>,
    log_reader: JoinHandle<()>,
    hushed: bool,
}

impl Process {
    /// Runs another command of the program on the same home; gives what it printed.
    pub async fn operate(&self, words: &[&str]) -> anyhow::Result<String> {
        let ran = timeout(START_LIMIT, self.launch.other_command(words).output());
        let output = ran.await.context("it did not end in time")??;
        if !output.status.success() {
            bail!("{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    pub async fn start(launch: &Launch) -> anyhow::Result<Self> {
        let mut child = launch
            .command()
            .spawn()
            .with_context(|| format!("cannot start {}", launch.binary.display()))?;
        let stdout = child.stdout.take().context("the child has no stdout")?;
        let stderr = child.stderr.take().context("the child has no stderr")?;
        let log = Arc::new(Mutex::new(Vec::new()));
        let log_reader = tokio::spawn(keep_log(BufReader::new(stderr).lines(), log.clone()));
        let mut stdout = BufReader::new(stdout).lines();
        let listening = match timeout(START_LIMIT, listening(&mut stdout)).await {
            Ok(Ok(listening)) => listening,
            Ok(Err(error)) => {
                // It is ending or ended: what it said on the way explains why.
                let _ = timeout(STOP_LIMIT, log_reader).await;
                bail!("the server did not start: {error:#}\n{}", shown(&log));
            }
            Err(_) => bail!("no listening line within {START_LIMIT:?}\n{}", shown(&log)),
        };
        Ok(Self {
            launch: launch.clone(),
            child,
            listening,
            stdout,
            log,
            log_reader,
            hushed: false,
        })
    }

    /// Where it serves: `ws://127.0.0.1:PORT/ws`.
    pub fn url(&self) -> &str {
        &self.listening.url
    }

    pub fn port(&self) -> u16 {
        self.listening.port
    }

    /// Its ports besides the main one.
    pub fn listeners(&self) -> &[Listener] {
        &self.listening.listeners
    }

    /// The directory it says it works in.
    pub fn cwd(&self) -> &str {
        &self.listening.cwd
    }

    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        shown(&self.log)
    }

    /// All it has logged so far, to search in.
    pub fn whole_log(&self) -> String {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.join("\n")
    }

    /// Keeps the log out of the test's output: for runs that kill many servers.
    pub fn hush(&mut self) {
        self.hushed = true;
    }

    /// Ends it with SIGKILL: it gets no chance to tidy up.
    pub async fn kill9(&mut self) -> anyhow::Result<()> {
        self.child.kill().await.context("cannot kill the server")?;
        let _ = timeout(STOP_LIMIT, &mut self.log_reader).await;
        Ok(())
    }

    /// Asks it to end with SIGTERM, and waits for that.
    pub async fn terminate(&mut self) -> anyhow::Result<ExitStatus> {
        let id = self.child.id().context("the server has ended before")?;
        // The standard library sends no signal but KILL, and `unsafe` is forbidden here.
        let sent = Command::new("kill")
            .args(["-TERM", &id.to_string()])
            .status()
            .await?;
        if !sent.success() {
            bail!("kill -TERM {id} ended with {sent}");
        }
        let status = timeout(STOP_LIMIT, self.child.wait())
            .await
            .with_context(|| format!("still running {STOP_LIMIT:?} after SIGTERM"))??;
        if let Some(line) = self.stdout.next_line().await? {
            bail!("a second line on stdout: {line}");
        }
        Ok(status)
    }

    /// Starts the same again; what ran is killed.
    pub async fn restart(&mut self) -> anyhow::Result<()> {
        if self.child.id().is_some() {
            self.kill9().await?;
        }
        let hushed = self.hushed;
        let next = Self::start(&self.launch).await?;
        // The old log has served its purpose once the new server listens.
        self.hushed = true;
        *self = next;
        self.hushed = hushed;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Test harnesses show a test's output when it fails, and only then.
        if !self.hushed || std::thread::panicking() {
            eprintln!("--- server log\n{}\n--- end of log", shown(&self.log));
        }
    }
}

async fn listening(stdout: &mut Lines<BufReader<ChildStdout>>) -> anyhow::Result<Listening> {
    let line = stdout
        .next_line()
        .await?
        .context("it closed stdout without a line")?;
    let listening: Listening = serde_json::from_str(&line)
        .with_context(|| format!("not the line that `--json` promises: {line}"))?;
    if listening.kind != "server_listening" {
        bail!("not a server_listening line: {line}");
    }
    Ok(listening)
}

async fn keep_log(
    mut lines: Lines<BufReader<tokio::process::ChildStderr>>,
    log: Arc<Mutex<Vec<String>>>,
) {
    while let Ok(Some(line)) = lines.next_line().await {
        log.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(line);
    }
}

fn shown(log: &Mutex<Vec<String>>) -> String {
    let log = log.lock().unwrap_or_else(PoisonError::into_inner);
    let from = log.len().saturating_sub(LOG_LINES_SHOWN);
    log[from..].join("\n")
}
