//! The `dragoman` binary: reads the command line, serves until it is told to stop.

use std::path::PathBuf;

use anyhow::Context;
use clap::Parser;
use server::cli::Arguments;
use server::{Running, Settings, start};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let filter = EnvFilter::try_from_env("DRAGOMAN_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    let json = arguments.json;
    let settings = settings(arguments)?;
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start")?
        .block_on(serve(settings, json))
}

fn settings(arguments: Arguments) -> anyhow::Result<Settings> {
    let directory = arguments
        .dir
        .canonicalize()
        .with_context(|| format!("cannot use the directory {}", arguments.dir.display()))?;
    let home = match arguments.home {
        Some(home) => std::path::absolute(home).context("DRAGOMAN_HOME is not a path")?,
        None => user_home()?.join(".cowork"),
    };
    let read = |path: PathBuf| {
        std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read the rehearsal script {}", path.display()))
    };
    Ok(Settings {
        directory,
        home,
        port: arguments.port,
        auto_approve: arguments.yolo,
        raw_parts: arguments.raw_parts,
        rehearsal: arguments.rehearsal.map(read).transpose()?,
    })
}

fn user_home() -> anyhow::Result<PathBuf> {
    std::env::home_dir().context("there is no home directory; name one with DRAGOMAN_HOME")
}

async fn serve(settings: Settings, json: bool) -> anyhow::Result<()> {
    // Listened for before anyone can know of us: a signal is never lost.
    let mut terminate = signal(SignalKind::terminate()).context("cannot hear SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot hear SIGINT")?;
    let mut hangup = signal(SignalKind::hangup()).context("cannot hear SIGHUP")?;
    let cwd = settings.directory.display().to_string();
    let running = start(settings).await?;
    announce(&running, &cwd, json);
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        _ = hangup.recv() => {}
    }
    running.stop().await;
    Ok(())
}

fn announce(running: &Running, cwd: &str, json: bool) {
    let url = running.url();
    if json {
        let port = running.address.port();
        println!(
            "{}",
            serde_json::json!({ "type": "server_listening", "url": url, "port": port, "cwd": cwd })
        );
    } else {
        println!(
            "Dragoman is ready: http://{}/  (clients: {url}, model: rehearsal, directory: {cwd})",
            running.address
        );
    }
}
