//! The `dragoman` binary: reads the command line, serves until it is told to stop.

mod allocator;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Parser;
use engine::{CheckpointSetting, Fence};
use server::cli::{ApprovalsChoice, Arguments, CheckpointsChoice, Command, SandboxChoice};
use server::greeting::{self, Tone};
use server::limits::LAST_WORK_MAX;
use server::token::Token;
use server::{Running, Settings, commands, screen, start};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tools::sandbox::Mode;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;
use vocabulary::Budgets;

/// What is logged where nobody says otherwise.
const LOGGED: LevelFilter = LevelFilter::WARN;
const LOG_VARIABLE: &str = "DRAGOMAN_LOG";

fn main() -> ExitCode {
    // Between the server and a command stands this very binary; it knows no other arguments then.
    if let Some(code) = tools::sandbox::launcher::run_if_asked() {
        return ExitCode::from(u8::try_from(code).unwrap_or(1));
    }
    let arguments = Arguments::parse();
    start_logging();
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let error = screen::harmless_but(&format!("{error:#}"), "\n");
            eprintln!("dragoman: {error}");
            ExitCode::FAILURE
        }
    }
}

fn start_logging() {
    let (filter, trouble) = match std::env::var(LOG_VARIABLE).map(|wish| wish.parse::<Targets>()) {
        Ok(Ok(filter)) => (filter, None),
        Ok(Err(trouble)) => (Targets::new().with_default(LOGGED), Some(trouble)),
        Err(_) => (Targets::new().with_default(LOGGED), None),
    };
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(screen::has_colours(&std::io::stderr()));
    tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .init();
    if let Some(trouble) = trouble {
        tracing::warn!("{LOG_VARIABLE} cannot be understood ({trouble}); logging `{LOGGED}`");
    }
}

fn run(mut arguments: Arguments) -> anyhow::Result<()> {
    // Without this, the first request over TLS would find no cryptography.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start")?;
    let outcome = match arguments.command.take() {
        None => {
            allocator::give_back_when_idle();
            let json = arguments.json;
            let settings = settings(arguments)?;
            runtime.block_on(serve(settings, json))
        }
        Some(command) => {
            let home = home(arguments.home)?;
            runtime.block_on(async {
                match command {
                    Command::Models(arguments) => commands::models::run(arguments, &home).await,
                    Command::Auth(arguments) => commands::auth::run(arguments, &home).await,
                    Command::Sandbox(arguments) => commands::sandbox::run(arguments).await,
                    Command::Checkpoints(arguments) => {
                        commands::checkpoints::run(arguments, &home).await
                    }
                    Command::Grants(arguments) => commands::grants::run(arguments, &home).await,
                }
            })
        }
    };
    // Work that blocks must not hold up the end; what was acknowledged is on disk.
    runtime.shutdown_timeout(LAST_WORK_MAX);
    outcome
}

fn settings(arguments: Arguments) -> anyhow::Result<Settings> {
    let directory = arguments
        .dir
        .canonicalize()
        .with_context(|| format!("cannot use the directory {}", arguments.dir.display()))?;
    let home = home(arguments.home)?;
    let read = |path: PathBuf| {
        std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read the rehearsal script {}", path.display()))
    };
    Ok(Settings {
        directory,
        home,
        host: arguments.host,
        port: arguments.port,
        listen: arguments.listen,
        token: Token::configured(arguments.token_file.as_deref())?,
        token_file: arguments.token_file,
        allow_hosts: arguments.allow_host,
        allow_origins: arguments.allow_origin,
        auto_approve: arguments.yolo,
        approvals: arguments.approvals.map(ApprovalsChoice::setting),
        raw_parts: arguments.raw_parts,
        model: arguments.model,
        sandbox: match arguments.sandbox {
            SandboxChoice::Auto => Fence::Best {
                network: arguments.network,
            },
            SandboxChoice::Bubblewrap => Fence::Only {
                mode: Mode::Bubblewrap,
                network: arguments.network,
            },
            SandboxChoice::Landlock => Fence::Only {
                mode: Mode::Landlock,
                network: arguments.network,
            },
            SandboxChoice::Off => Fence::Nothing,
        },
        checkpoints: match arguments.checkpoints {
            CheckpointsChoice::On => CheckpointSetting::default(),
            CheckpointsChoice::Off => CheckpointSetting::Off,
        },
        allow_private: arguments.allow_private,
        budgets: Budgets {
            turn_tokens: arguments.turn_tokens,
            turn_micro_dollars: arguments.turn_cost.map(|cost| cost.0),
            thread_tokens: arguments.thread_tokens,
            thread_micro_dollars: arguments.thread_cost.map(|cost| cost.0),
        },
        rehearsal: arguments.rehearsal.map(read).transpose()?,
    })
}

fn home(given: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    match given {
        Some(home) => std::path::absolute(home).context("DRAGOMAN_HOME is not a path"),
        None => Ok(user_home()?.join(server::USUAL_HOME)),
    }
}

fn user_home() -> anyhow::Result<PathBuf> {
    std::env::home_dir().context("there is no home directory; name one with DRAGOMAN_HOME")
}

async fn serve(settings: Settings, json: bool) -> anyhow::Result<()> {
    // Listened for before anyone can know of us: a signal is never lost.
    let mut signals = Signals::new()?;
    let running = tokio::select! {
        running = start(settings) => running?,
        () = signals.next() => return Ok(()),
    };
    tokio::select! {
        () = announce(&running, json) => signals.next().await,
        () = signals.next() => {}
    }
    if !json {
        say("Stopping …");
    }
    tokio::select! {
        () = running.stop() => Ok(()),
        () = signals.next() => bail!("told twice to stop; left at once"),
    }
}

/// Whatever tells a process to end.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn new() -> anyhow::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate()).context("cannot hear SIGTERM")?,
            interrupt: signal(SignalKind::interrupt()).context("cannot hear SIGINT")?,
            hangup: signal(SignalKind::hangup()).context("cannot hear SIGHUP")?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}

/// Says that the server is ready, and then what takes a moment to find out.
async fn announce(running: &Running, json: bool) {
    if json {
        say(&greeting::to_json(running).to_string());
        let mut lines = greeting::lines(running);
        // Looking for one that nobody named reads every key and asks local servers; it can wait.
        if running.settings().model.is_some() {
            lines.push(greeting::model(running).await);
        }
        for line in lines.iter().filter(|line| line.tone != Tone::Plain) {
            tracing::warn!("{}: {}", line.name, line.text);
        }
        return;
    }
    let (colours, width) = (
        screen::has_colours(&std::io::stdout()),
        screen::width(&std::io::stdout()),
    );
    say(&greeting::headline(running));
    for line in greeting::lines(running) {
        say(&line.shown(colours, width));
    }
    say(&greeting::model(running).await.shown(colours, width));
    say(&greeting::sandbox(running).await.shown(colours, width));
}

/// Prints a line. Nobody reading it is fine: the server goes on.
fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}
