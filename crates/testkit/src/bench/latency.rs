//! How long things take: starting, connecting, a ping, a turn.

use std::time::Instant;

use super::server::{Bench, millis};
use super::socket::Socket;
use super::table::{Bound, Row, Table, Times};

const STARTS: usize = 10;
/// Turns of one session, so that the length of its history does not count.
const TURNS_PER_SESSION: usize = 25;
const PINGS_IN_FLIGHT: usize = 100;

pub async fn start(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let (mut fresh, mut again) = (Vec::new(), Vec::new());
    for _ in 0..bench.count(STARTS, STARTS) {
        let started = Instant::now();
        let mut server = bench.server().await?;
        server.ready().await?;
        fresh.push(millis(started));
        again.push(server.restart().await?.as_secs_f64() * 1e3);
    }
    let (fresh, again) = (Times::new(fresh), Times::new(again));
    let best = Row::new("process start to /readyz, best of 10", "ms", again.best());
    table.add(best.floor(Bound::Below(50.0)).goal(Bound::Below(30.0)));
    let median = Row::new("process start to /readyz, median", "ms", again.p50());
    table.add(median.floor(Bound::Below(50.0)).goal(Bound::Below(30.0)));
    let first = Row::new("the same with a new home, median", "ms", fresh.p50());
    table.add(first.note(format!("best {:.0}", fresh.best())));
    Ok(())
}

pub async fn connect(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let server = bench.server().await?;
    let mut times = Vec::new();
    for _ in 0..bench.count(500, 100) {
        let started = Instant::now();
        let mut socket = Socket::connect(server.port()).await?;
        times.push(millis(started));
        socket.settled().await?;
    }
    let times = Times::new(times);
    let p50 = Row::new("connect to server_hello, p50", "ms", times.p50());
    table.add(p50.goal(Bound::Below(0.5)));
    let p99 = Row::new("connect to server_hello, p99", "ms", times.p99());
    table.add(p99.goal(Bound::Below(3.0)));
    Ok(())
}

pub async fn ping(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let server = bench.server().await?;
    let mut socket = Socket::connect(server.port()).await?;
    socket.settled().await?;
    let mut burst = Vec::new();
    for _ in 0..PINGS_IN_FLIGHT {
        socket.spell(&mut burst, "ping", "");
    }
    let rounds = bench.count(1_000, 100);
    let (started, used) = (Instant::now(), server.processor_time()?);
    for _ in 0..rounds {
        socket.write(&burst).await?;
        for _ in 0..PINGS_IN_FLIGHT {
            socket.count_until("\"pong\"").await?;
        }
    }
    let used = server.processor_time()? - used;
    let count = (rounds * PINGS_IN_FLIGHT) as f64;
    let rate = count / started.elapsed().as_secs_f64();
    let micros = used.as_secs_f64() * 1e6 / count;
    let row = Row::new("server CPU per small message", "µs", micros);
    table.add(row.floor(Bound::Below(5.0)));
    let row = Row::new("pings answered on one socket", "/s", rate);
    table.add(row.note(format!("{PINGS_IN_FLIGHT} in flight")));
    Ok(())
}

pub async fn echo(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let server = bench.server().await?;
    let (mut first, mut whole) = (Vec::new(), Vec::new());
    for _ in 0..bench.count(20, 4) {
        let mut socket = Socket::connect(server.port()).await?;
        socket.settled().await?;
        for _ in 0..TURNS_PER_SESSION {
            let (delta, turn) = one_echo(&mut socket).await?;
            first.push(delta);
            whole.push(turn);
        }
    }
    let (first, whole) = (Times::new(first), Times::new(whole));
    let p50 = Row::new("echo turn, p50", "ms", whole.p50());
    table.add(p50.floor(Bound::Below(3.0)));
    table.add(Row::new("echo turn, p99", "ms", whole.p99()));
    let p50 = Row::new("prompt to first delta, p50", "ms", first.p50());
    table.add(p50.note("one commit: the message is on disk first"));
    table.add(Row::new("prompt to first delta, p99", "ms", first.p99()));
    Ok(())
}

/// Milliseconds to the first delta and to the end of a turn.
pub async fn one_echo(socket: &mut Socket) -> anyhow::Result<(f64, f64)> {
    let started = Instant::now();
    socket.user_message("echo hello").await?;
    socket.count_until("\"text_delta\"").await?;
    let delta = millis(started);
    socket.turn_end().await?;
    Ok((delta, millis(started)))
}
