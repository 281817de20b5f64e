//! The `dragoman` binary: reads the command line, serves until it is told to stop.

mod allocator;
mod arguments;
mod commands;
mod config;
mod greeting;
mod logging;
mod screen;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{ArgMatches, FromArgMatches as _};
use server::limits::LAST_WORK_MAX;
use server::{RunningServer, Settings, ShutdownReason, start};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::arguments::{Arguments, Command};
use crate::commands::tui::TuiArguments;
use crate::config::{Configuration, Layers};
use crate::greeting::Tone;

fn main() -> ExitCode {
    // Between the server and a command stands this very binary; it knows no other arguments then.
    if let Some(code) = tools::sandbox::launcher::run_if_asked() {
        return ExitCode::from(u8::try_from(code).unwrap_or(1));
    }
    let flags = arguments::command_line().get_matches();
    match run(flags) {
        Ok(code) => code,
        Err(error) => {
            let error = screen::harmless_but(&format!("{error:#}"), "\n");
            eprintln!("dragoman: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(flags: ArgMatches) -> anyhow::Result<ExitCode> {
    let arguments = Arguments::from_arg_matches(&flags)?;
    let (home, named_by) = config::home(arguments.home)?;
    let Some(command) = arguments.command else {
        return succeeded(run_server(&home, flags, arguments.json));
    };
    if let Command::Config(arguments) = command {
        return succeeded(commands::config::run(arguments, &flags, &home, named_by));
    }
    if let Command::Tui(arguments) = command {
        return run_tui(arguments, &home, flags);
    }
    logging::start_for_command()?;
    succeeded(on_runtime(async {
        match command {
            Command::Models(arguments) => commands::models::run(arguments, &home).await,
            Command::Auth(arguments) => commands::auth::run(arguments, &home).await,
            Command::Sandbox(arguments) => commands::sandbox::run(arguments).await,
            Command::Checkpoints(arguments) => commands::checkpoints::run(arguments, &home).await,
            Command::Grants(arguments) => commands::grants::run(arguments, &home).await,
            Command::Mcp(arguments) => commands::mcp::run(arguments, &home).await,
            Command::Sessions(arguments) => commands::sessions::run(arguments, &home).await,
            Command::Skills(arguments) => commands::skills::run(arguments, &home).await,
            Command::Trust(arguments) => commands::trust::run(arguments, &home).await,
            Command::Tenants(arguments) => commands::tenants::run(arguments, &home).await,
            Command::Members(arguments) => commands::members::run(arguments, &home).await,
            Command::Tokens(arguments) => commands::tokens::run(arguments, &home).await,
            Command::Doctor(arguments) => commands::doctor::run(arguments, &home).await,
            Command::Config(_) | Command::Tui(_) => Ok(()),
        }
    }))
}

fn succeeded(outcome: anyhow::Result<()>) -> anyhow::Result<ExitCode> {
    outcome.map(|()| ExitCode::SUCCESS)
}

/// A server may come up in this process, so it is configured as one.
fn run_tui(arguments: TuiArguments, home: &Path, flags: ArgMatches) -> anyhow::Result<ExitCode> {
    let mut configuration = configuration(home, &flags)?;
    commands::tui::log_aside(&mut configuration);
    let Configuration { settings, log } = configuration;
    drop(flags);
    server::home::prepare(home)?;
    logging::start(log)?;
    on_runtime(commands::tui::run(arguments, settings))
}

/// Takes the flags, so that nothing of them stays in memory while the server runs.
fn run_server(home: &Path, flags: ArgMatches, json: bool) -> anyhow::Result<()> {
    let Configuration { settings, log } = configuration(home, &flags)?;
    drop(flags);
    logging::start(log)?;
    for (name, nearest) in config::misspelt_variables() {
        tracing::warn!("the variable {name} means nothing; did you mean {nearest}?");
    }
    allocator::give_back_when_idle();
    on_runtime(serve(settings, json))
}

fn configuration(home: &Path, flags: &ArgMatches) -> anyhow::Result<Configuration> {
    let variable = |name: &str| std::env::var_os(name);
    let (configuration, said) = Layers::read(home, flags, &variable)?.resolve(home)?;
    config::complete(configuration, &said)
}

fn on_runtime<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    // Without this, the first request over TLS would find no cryptography.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start")?;
    let outcome = runtime.block_on(work);
    // Work that blocks must not hold up the end; what was acknowledged is on disk.
    runtime.shutdown_timeout(LAST_WORK_MAX);
    outcome
}

async fn serve(settings: Settings, json: bool) -> anyhow::Result<()> {
    // Listened for before anyone can know of us: a signal is never lost.
    let mut signals = Signals::new()?;
    let running = tokio::select! {
        running = start(settings) => running?,
        _ = signals.next() => return Ok(()),
    };
    let reason = tokio::select! {
        () = announce(&running, json) => signals.next().await,
        reason = signals.next() => reason,
    };
    if !json {
        say("Stopping …");
    }
    tokio::select! {
        () = running.stop(reason) => Ok(()),
        _ = signals.next() => bail!("told twice to stop; left at once"),
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

    async fn next(&mut self) -> ShutdownReason {
        tokio::select! {
            _ = self.terminate.recv() => ShutdownReason::Terminated,
            _ = self.interrupt.recv() => ShutdownReason::Interrupted,
            _ = self.hangup.recv() => ShutdownReason::HungUp,
        }
    }
}

/// Says that the server is ready, and then what takes a moment to find out.
async fn announce(running: &RunningServer, json: bool) {
    if json {
        say(&greeting::to_json(running).to_string());
        let mut lines = greeting::lines(running);
        // Looking for one that nobody named reads every key and asks local servers; it can wait.
        if running.settings().engine.default_model.is_some() {
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
    say(&greeting::access(running).await.shown(colours, width));
    say(&greeting::model(running).await.shown(colours, width));
    say(&greeting::sandbox(running).await.shown(colours, width));
}

/// Prints a line. Nobody reading it is fine: the server goes on.
fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}
