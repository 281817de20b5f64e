//! Measures the real server over real sockets and prints one table: `cargo xtask bench`.
//!
//! Client and server share the machine, so every number includes what the client costs; the
//! clients are therefore as cheap as they can be. Each bench starts a server on a home of its own.

mod disk;
mod latency;
mod memory;
mod relay;
mod server;
mod socket;
mod stream;
mod table;
mod upstream;

use std::path::PathBuf;

use anyhow::{Context, bail};

use server::Bench;
use table::Table;

/// Every bench, in the order of the table.
const NAMES: [&str; 16] = [
    "fsync",
    "start",
    "idle",
    "connect",
    "ping",
    "echo",
    "stream",
    "fanout",
    "concurrent",
    "relay",
    "relay-cost",
    "written",
    "resume",
    "list",
    "turns",
    "sockets",
];

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> anyhow::Result<()> {
    let (bench, names, json) = arguments()?;
    let mut table = Table::default();
    for name in names {
        eprintln!("bench {name}");
        run(&name, &bench, &mut table)
            .await
            .with_context(|| format!("bench {name} failed"))?;
    }
    table.print();
    if let Some(path) = json {
        let text = serde_json::to_string_pretty(&table.json())?;
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

async fn run(name: &str, bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    match name {
        "fsync" => disk::fsync(bench, table),
        "start" => latency::start(bench, table).await,
        "idle" => memory::idle(bench, table).await,
        "connect" => latency::connect(bench, table).await,
        "ping" => latency::ping(bench, table).await,
        "echo" => latency::echo(bench, table).await,
        "stream" => stream::one(bench, table).await,
        "fanout" => stream::fanout(bench, table).await,
        "concurrent" => stream::concurrent(bench, table).await,
        "relay" => relay::latency(bench, table).await,
        "relay-cost" => relay::cost(bench, table).await,
        "written" => disk::written(bench, table).await,
        "resume" => disk::resume(bench, table).await,
        "list" => disk::list(bench, table).await,
        "turns" => memory::turns(bench, table).await,
        "sockets" => memory::sockets(bench, table).await,
        unknown => bail!(
            "there is no bench `{unknown}`; there are {}",
            NAMES.join(", ")
        ),
    }
}

fn arguments() -> anyhow::Result<(Bench, Vec<String>, Option<PathBuf>)> {
    let mut words = std::env::args().skip(1);
    let binary = words
        .next()
        .context("which server? `cargo xtask bench` knows")?;
    let (mut quick, mut json, mut names) = (false, None, Vec::new());
    while let Some(word) = words.next() {
        match word.as_str() {
            "--quick" => quick = true,
            "--json" => json = Some(words.next().context("--json needs a file")?.into()),
            name if NAMES.contains(&name) => names.push(word),
            unknown => bail!(
                "`bench` knows --quick, --json FILE and {}, not `{unknown}`",
                NAMES.join(", ")
            ),
        }
    }
    if names.is_empty() {
        names = NAMES.map(str::to_owned).to_vec();
    }
    let binary = binary.into();
    Ok((Bench { binary, quick }, names, json))
}
