//! `dragoman tui`: the official terminal client of Codex, connected to a server here.
//!
//! It takes the server that is running, where the settings say at which port that speaks to such
//! clients; otherwise one is started in this very process and ends with the client.

use std::fs::File;
use std::io::Read as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};
use std::time::Duration;

use anyhow::{Context, bail};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use clap::Args;
use server::token::{self, Token};
use server::{RunningServer, Settings, ShutdownReason, start};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

use crate::config::Configuration;

const EXAMPLES: &str = "\
Examples:
  dragoman tui                      talk to the agent about this directory
  dragoman tui resume --last        go on where you stopped
  dragoman tui \"what is this?\"      begin with a question
  dragoman tui --model gpt-5.2      every argument is the client's own; `codex --help` lists them

The client is OpenAI's `codex`: the first one in PATH, else one of npm in this directory or above.
Where there is none: npm install -g @openai/codex

A server that is running is used if `listen = [\"codex=7400\"]` in config/config.toml (or
DRAGOMAN_LISTEN) names its port for such clients; its token is taken from DRAGOMAN_TOKEN or
token-file. Otherwise one is started for the moment; it logs into tui.log of the data directory.";

/// Where the client finds the token: never on a command line, which others can read.
const TOKEN_VARIABLE: &str = "DRAGOMAN_TUI_TOKEN";
const DIALECT: &str = "codex";
const PROGRAM: &str = "codex";
const LOG_FILE: &str = "tui.log";
const TOKEN_BYTES: usize = 32;
/// How long a server of this machine may take to say that it is there.
const ANSWER_MAX: Duration = Duration::from_secs(2);
/// How a process that was ended by a signal is told by shells.
const SIGNALLED: i32 = 128;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct TuiArguments {
    /// What the client is started with
    #[arg(
        value_name = "CODEX ARGUMENTS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub arguments: Vec<String>,
}

/// Where the client is to go.
struct TuiServer {
    address: SocketAddr,
    token: Option<String>,
    /// Ended with the client, where it is ours.
    own: Option<RunningServer>,
}

/// Where the log goes: the screen is the client's.
pub fn log_aside(configuration: &mut Configuration) {
    let file = &mut configuration.log.file;
    if file.is_none() {
        *file = Some(configuration.settings.engine.home.join(LOG_FILE));
    }
}

pub async fn run(arguments: TuiArguments, settings: Settings) -> anyhow::Result<ExitCode> {
    let directory = settings.engine.directory.clone();
    let program = find(PROGRAM, &directory)?;
    let remote = match running(&settings).await {
        Some(remote) => remote,
        None => started(settings).await?,
    };
    let mut command = Command::new(program);
    command
        .args(connected(arguments.arguments, &remote))
        .current_dir(directory)
        .kill_on_drop(true);
    if let Some(token) = &remote.token {
        command.env(TOKEN_VARIABLE, token);
    }
    let ended = match command.spawn() {
        Ok(child) => attended(child).await,
        Err(error) => Err(error).with_context(|| format!("cannot start {PROGRAM}")),
    };
    if let Some(own) = remote.own {
        own.stop(ShutdownReason::Terminated).await;
    }
    Ok(code(ended?))
}

/// The client's own arguments, and where it is to go; what follows `--` is a question.
fn connected(mut arguments: Vec<String>, remote: &TuiServer) -> Vec<String> {
    let mut ours = vec!["--remote".to_owned(), format!("ws://{}", remote.address)];
    if remote.token.is_some() {
        ours.extend([
            "--remote-auth-token-env".to_owned(),
            TOKEN_VARIABLE.to_owned(),
        ]);
    }
    let end = arguments.iter().position(|word| word == "--");
    let end = end.unwrap_or(arguments.len());
    arguments.splice(end..end, ours);
    arguments
}

/// Whatever tells us to end tells the client, which puts the terminal right first.
async fn attended(mut child: Child) -> anyhow::Result<ExitStatus> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot hear SIGTERM")?;
    let mut hangup = signal(SignalKind::hangup()).context("cannot hear SIGHUP")?;
    // The terminal's own Ctrl-C is for the client; we end when it does.
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot hear SIGINT")?;
    loop {
        tokio::select! {
            ended = child.wait() => return ended.context("the client cannot be waited for"),
            _ = terminate.recv() => end(&child),
            _ = hangup.recv() => end(&child),
            _ = interrupt.recv() => {}
        }
    }
}

fn end(child: &Child) {
    let id = child.id().and_then(|id| i32::try_from(id).ok());
    if let Some(id) = id.and_then(rustix::process::Pid::from_raw) {
        // One that ended meanwhile needs no word.
        let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
    }
}

fn code(status: ExitStatus) -> ExitCode {
    let signalled = status.signal().map(|signal| SIGNALLED + signal);
    let code = status.code().or(signalled).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// In PATH, else as npm puts it into a project, here or above.
fn find(program: &str, directory: &Path) -> anyhow::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).map(|folder| folder.join(program));
    let in_projects = directory.ancestors();
    let in_projects = in_projects.map(|folder| folder.join("node_modules/.bin").join(program));
    let mut all = in_path.chain(in_projects);
    all.find(|file| is_program(file)).with_context(|| {
        format!(
            "there is no `{program}` in PATH or in node_modules/.bin; get it with `npm install -g \
             @openai/codex`"
        )
    })
}

fn is_program(file: &Path) -> bool {
    let can_run = || rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok();
    file.is_file() && can_run()
}

/// A server that the settings name, if it answers.
async fn running(settings: &Settings) -> Option<TuiServer> {
    let mut listeners = settings.listen.iter();
    let listener = listeners.find(|listen| listen.tongue.name == DIALECT && listen.port != 0)?;
    let host = match settings.host.is_unspecified() {
        true => Ipv4Addr::LOCALHOST.into(),
        false => settings.host,
    };
    let address = SocketAddr::new(host, listener.port);
    let answered = timeout(ANSWER_MAX, answers(address)).await;
    if !matches!(answered, Ok(Ok(true))) {
        return None;
    }
    let in_file = settings.token_file.as_deref();
    let in_file = in_file.and_then(|path| token::read_private(path).ok());
    let token = in_file.or_else(|| std::env::var("DRAGOMAN_TOKEN").ok());
    let token = token.map(|token| token.trim().to_owned());
    Some(TuiServer {
        address,
        token: token.filter(|token| !token.is_empty()),
        own: None,
    })
}

async fn answers(address: SocketAddr) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = [0; b"HTTP/1.1 200".len()];
    stream.read_exact(&mut answer).await?;
    Ok(answer == *b"HTTP/1.1 200")
}

/// One for the moment, on free ports of this machine, with a token that only the client knows.
async fn started(mut settings: Settings) -> anyhow::Result<TuiServer> {
    let token = new_token().context("cannot draw a token")?;
    settings.host = Ipv4Addr::LOCALHOST.into();
    settings.port = 0;
    settings.listen = vec![format!("{DIALECT}=0").parse()?];
    settings.token = Some(Token::new(&token)?);
    settings.token_file = None;
    let own = start(settings).await?;
    let mut listeners = own.others.iter();
    let Some((_, address)) = listeners.find(|(name, _)| *name == DIALECT) else {
        bail!("the server does not listen for such clients");
    };
    Ok(TuiServer {
        address: *address,
        token: Some(token),
        own: Some(own),
    })
}

fn new_token() -> std::io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn where_to_go_stands_behind_the_clients_own_words_and_before_a_question() {
        let mut remote = TuiServer {
            address: SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 7400),
            token: None,
            own: None,
        };
        assert_eq!(
            connected(words("resume --last"), &remote),
            words("resume --last --remote ws://127.0.0.1:7400")
        );
        remote.token = Some("secret".to_owned());
        let told = connected(words("exec -- a b"), &remote).join(" ");
        assert_eq!(
            told,
            "exec --remote ws://127.0.0.1:7400 --remote-auth-token-env DRAGOMAN_TUI_TOKEN -- a b"
        );
        assert!(!told.contains("secret"));
    }

    #[test]
    fn a_client_of_a_project_above_is_found_and_none_is_told_how_to_get() {
        let scratch = tempfile::tempdir().expect("a directory");
        let folder = scratch.path().join("node_modules/.bin");
        std::fs::create_dir_all(&folder).expect("made");
        let deep = scratch.path().join("a/b");
        let error = find("no-such-client", &deep).expect_err("there is none");
        assert!(error.to_string().contains("npm install"), "{error}");
        let file = folder.join("no-such-client");
        std::fs::write(&file, "#!/bin/sh\n").expect("written");
        assert!(find("no-such-client", &deep).is_err(), "it cannot be run");
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&file, open).expect("set");
        assert_eq!(find("no-such-client", &deep).expect("found"), file);
    }

    #[test]
    fn how_the_client_ended_is_how_we_end() {
        assert_eq!(code(ExitStatus::from_raw(0)), ExitCode::SUCCESS);
        assert_eq!(code(ExitStatus::from_raw(3 << 8)), ExitCode::from(3));
        assert_eq!(code(ExitStatus::from_raw(9)), ExitCode::from(137));
    }
}
