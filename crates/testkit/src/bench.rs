//! Benches: each starts a real server on a home of its own, measures it over real sockets, and adds
//! rows to a table. `cargo xtask bench` runs them in full, the server's tests run each in small.
//!
//! Client and server share the machine, so every number includes what the client costs; the
//! clients are therefore as cheap as they can be.

mod codex;
mod disk;
mod joined;
mod latency;
mod memory;
mod pioneer;
mod relay;
mod server;
mod socket;
mod stream;
mod table;
mod upstream;

use std::time::Duration;

use anyhow::{Context, bail};

pub use server::{Bench, Size};
pub use table::Table;

/// Every bench, in the order of the table.
pub const NAMES: [&str; 22] = [
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
    "memory",
    "sockets",
    "joined",
    "codex-history",
    "codex-list",
    "codex-stream",
    "pioneer-tree",
];

/// Runs one of them. One that takes far longer than it should has failed.
pub async fn run(name: &str, bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let limit = match bench.size {
        Size::Full => Duration::from_secs(600),
        Size::Quick => Duration::from_secs(180),
        Size::Tiny => Duration::from_secs(50),
    };
    match tokio::time::timeout(limit, measure(name, bench, table)).await {
        Ok(measured) => measured.with_context(|| format!("bench {name} failed")),
        Err(_) => bail!("bench {name} is not over after {limit:?}"),
    }
}

async fn measure(name: &str, bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
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
        "memory" => memory::many_turns(bench, table).await,
        "sockets" => memory::sockets(bench, table).await,
        "joined" => joined::joined(bench, table).await,
        "codex-history" => codex::history(bench, table).await,
        "codex-list" => codex::list(bench, table).await,
        "codex-stream" => codex::stream(bench, table).await,
        "pioneer-tree" => pioneer::tree(bench, table).await,
        unknown => bail!(
            "there is no bench `{unknown}`; there are {}",
            NAMES.join(", ")
        ),
    }
}
