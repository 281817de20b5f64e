//! What we add between a model service and a client: time and processor per delta.

use std::time::Duration;

use super::server::{Bench, Server};
use super::socket::{Socket, has};
use super::table::{Bound, Row, Table, Times};
use super::upstream::{self, Upstream};

const TURNS: usize = 20;
/// A fast model's pace.
const EVERY_MS: usize = 12;
/// Streams start apart, as they do in life.
const APART: Duration = Duration::from_millis(7);
/// The machine is shared: the best of a few runs is nearest to what the server can do.
const TRIES: usize = 3;
/// The first turn of a server opens connections.
const WARM_UP: &str = "give 20 every 1";

/// Twenty turns at once, at a model's pace: from a chunk's sending to its frame's arrival.
pub async fn latency(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let upstream = Upstream::start().await?;
    let server = connected(bench, &upstream).await?;
    let order = format!("give {} every {EVERY_MS}", bench.count(800, 200));
    let direct = at_once(|| upstream::directly(upstream.port(), order.clone())).await?;
    let port = server.port();
    relayed(port, WARM_UP.to_owned()).await?;
    let mut best: Option<(Times, f64)> = None;
    for _ in 0..TRIES {
        let used = server.processor_time()?;
        let times = at_once(|| relayed(port, order.clone())).await?;
        let used = server.processor_time()? - used;
        let micros = used.as_secs_f64() * 1e6 / times.len() as f64;
        if best
            .as_ref()
            .is_none_or(|(known, _)| times.p99() < known.p99())
        {
            best = Some((times, micros));
        }
    }
    let Some((times, micros)) = best else {
        return Ok(());
    };
    let name = "provider chunk to client frame, 20 turns, p50";
    let row = Row::new(name, "ms", times.p50());
    let row = row.floor(Bound::Below(0.3)).goal(Bound::Below(0.2));
    table.add(row.note(format!(
        "{} deltas every {EVERY_MS} ms each; without a server between {:.3}",
        times.len(),
        direct.p50()
    )));
    let row = Row::new("provider chunk to client frame, p99", "ms", times.p99());
    let row = row.floor(Bound::Below(3.0)).goal(Bound::Below(2.0));
    table.add(row.note(format!("without a server between {:.3}", direct.p99())));
    let row = Row::new("server CPU per delta at that pace", "µs", micros);
    table.add(row.note("each is read, told and sent by itself"));
    Ok(())
}

/// As fast as it goes: what a delta costs once waking up is shared by many.
pub async fn cost(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let upstream = Upstream::start().await?;
    let server = connected(bench, &upstream).await?;
    relayed(server.port(), WARM_UP.to_owned()).await?;
    let deltas = bench.count(20_000, 4_000);
    let order = format!("give {deltas} every 0");
    let mut least = f64::INFINITY;
    for _ in 0..TRIES {
        let used = server.processor_time()?;
        let told = relayed(server.port(), order.clone()).await?.len();
        anyhow::ensure!(told == deltas, "{told} of {deltas} deltas were told");
        let used = server.processor_time()? - used;
        least = least.min(used.as_secs_f64() * 1e6 / deltas as f64);
    }
    let row = Row::new("added CPU per delta from a provider", "µs", least);
    table.add(row.floor(Bound::Below(15.0)));
    Ok(())
}

/// A server whose one model service is ours.
async fn connected(bench: &Bench, upstream: &Upstream) -> anyhow::Result<Server> {
    let variables = [
        ("OPENAI_BASE_URL", upstream.url()),
        ("OPENAI_API_KEY", "sk-bench-0000000000000000".to_owned()),
        ("DRAGOMAN_MODEL", "openai/gpt-5.2".to_owned()),
    ];
    bench.server_with(&variables).await
}

/// The same twenty times, begun one after the other and running together.
async fn at_once<F>(one: impl Fn() -> F) -> anyhow::Result<Times>
where
    F: Future<Output = anyhow::Result<Vec<f64>>> + Send + 'static,
{
    let mut running = tokio::task::JoinSet::new();
    for _ in 0..TURNS {
        running.spawn(one());
        tokio::time::sleep(APART).await;
    }
    let mut times = Vec::new();
    while let Some(finished) = running.join_next().await {
        times.extend(finished??);
    }
    Ok(Times::new(times))
}

/// One turn through the server: milliseconds from each sending to its arrival.
async fn relayed(port: u16, order: String) -> anyhow::Result<Vec<f64>> {
    let mut socket = Socket::connect(port).await?;
    socket.settled().await?;
    // A thread without a title asks the service for one beside its first turn: twice the deltas.
    socket
        .say("set_session_title", r#","title":"Relayed""#)
        .await?;
    socket.count_until("\"Relayed\"").await?;
    socket.user_message(&order).await?;
    let mut times = Vec::new();
    loop {
        let frame = socket.frame().await?;
        let arrived = upstream::now();
        if has(frame, b"\"text_delta\"") {
            let late = |sent| arrived.saturating_sub(sent) as f64 / 1e6;
            times.extend(upstream::stamps(frame).map(late));
        } else if has(frame, b"\"busy\":false") {
            anyhow::ensure!(!times.is_empty(), "the turn ended without a delta");
            return Ok(times);
        }
    }
}
