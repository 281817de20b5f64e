//! How much streams: on one thread, to many listeners, on many threads.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use tokio::runtime;
use tokio::sync::{Barrier, oneshot};
use tokio::task::LocalSet;

use super::latency::one_echo;
use super::server::{Bench, Server};
use super::socket::{Counter, Socket};
use super::table::{Bound, Row, Table, Times};

/// The machine is shared: the best of a few runs is nearest to what the server can do.
const TRIES: usize = 3;
const CLIENT_THREADS: usize = 2;
const READ_BYTES: usize = 64 << 10;

pub async fn one(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let server = bench.server().await?;
    let events = bench.count(100_000, 20_000);
    let (mut rate, mut micros): (f64, f64) = (0.0, f64::INFINITY);
    for _ in 0..TRIES {
        let mut socket = Socket::connect(server.port()).await?;
        socket.settled().await?;
        let (started, used) = (Instant::now(), server.processor_time()?);
        socket.user_message(&format!("stream {events}")).await?;
        let frames = socket.turn_end().await? as f64;
        let took = started.elapsed();
        let used = server.processor_time()? - used;
        rate = rate.max(frames / took.as_secs_f64());
        micros = micros.min(used.as_secs_f64() * 1e6 / frames);
    }
    let row = Row::new("streamed events on one thread", "/s", rate);
    table.add(row.floor(Bound::Above(50_000.0)).goal(Bound::Above(1e5)));
    let row = Row::new("server CPU per streamed event", "µs", micros);
    table.add(row.goal(Bound::Below(8.0)));
    Ok(())
}

pub async fn fanout(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let server = bench.server().await?;
    let listeners = bench.count(1_000, 200);
    let events = bench.count(5_000, 2_000);
    let mut driver = Socket::connect(server.port()).await?;
    driver.settled().await?;
    let mut best: Option<(f64, f64)> = None;
    for _ in 0..TRIES {
        let Fan {
            deliveries,
            took,
            used,
        } = fan_out(&server, &mut driver, listeners, events).await?;
        anyhow::ensure!(
            deliveries >= (listeners * events) as u64,
            "{deliveries} deliveries of {events} events to {listeners} listeners"
        );
        let rate = deliveries as f64 / took.as_secs_f64();
        let micros = used.as_secs_f64() * 1e6 / deliveries as f64;
        if best.is_none_or(|(known, _)| rate > known) {
            best = Some((rate, micros));
        }
    }
    let (rate, micros) = best.context("no try")?;
    let row = Row::new(format!("deliveries to {listeners} listeners"), "/s", rate);
    let row = row.floor(Bound::Above(600_000.0)).goal(Bound::Above(1e6));
    table.add(row.note(format!(
        "{micros:.2} µs of server CPU each; the clients run on the same cores"
    )));
    Ok(())
}

/// What it took to tell one turn to many listeners.
struct Fan {
    /// Frames, all listeners together.
    deliveries: u64,
    /// Until the last listener had the whole turn.
    took: Duration,
    /// The server's processor time.
    used: Duration,
}

/// Streams once to many listeners.
async fn fan_out(
    server: &Server,
    driver: &mut Socket,
    listeners: usize,
    events: usize,
) -> anyhow::Result<Fan> {
    let ready = Arc::new(Barrier::new(CLIENT_THREADS + 1));
    let (port, session) = (server.port(), driver.session.clone());
    let mut counts = Vec::new();
    for _ in 0..CLIENT_THREADS {
        let (ready, session) = (Arc::clone(&ready), session.clone());
        let count = listeners / CLIENT_THREADS;
        let (done, counted) = oneshot::channel();
        std::thread::spawn(move || {
            // Who waited for it may have given up.
            let _ = done.send(listen(port, &session, count, &ready));
        });
        counts.push(counted);
    }
    ready.wait().await;
    let (started, used) = (Instant::now(), server.processor_time()?);
    driver.user_message(&format!("stream {events}")).await?;
    driver.turn_end().await?;
    let mut deliveries = 0;
    for counted in counts {
        deliveries += counted.await.context("a client thread failed")??;
    }
    Ok(Fan {
        deliveries,
        took: started.elapsed(),
        used: server.processor_time()? - used,
    })
}

/// One thread of listeners: connects them all, then counts until each has had the whole turn.
fn listen(port: u16, session: &str, count: usize, ready: &Barrier) -> anyhow::Result<u64> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut counters = Vec::new();
    let connected = runtime.block_on(async {
        for _ in 0..count {
            let mut socket = Socket::resume(port, session).await?;
            socket.settled().await?;
            counters.push(socket.into_counter());
        }
        anyhow::Ok(())
    });
    runtime.block_on(ready.wait());
    connected?;
    let scratch = std::rc::Rc::new(RefCell::new(vec![0; READ_BYTES]));
    LocalSet::new().block_on(&runtime, async {
        let count_one = |mut counter: Counter| {
            let scratch = std::rc::Rc::clone(&scratch);
            tokio::task::spawn_local(async move { counter.whole_turn(&scratch).await })
        };
        let tasks: Vec<_> = counters.into_iter().map(count_one).collect();
        let mut frames = 0;
        for task in tasks {
            frames += task.await??;
        }
        Ok(frames)
    })
}

/// Twenty threads stream as fast as they can, then at a model's pace; another has short turns
/// meanwhile.
pub async fn concurrent(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let server = bench.server().await?;
    let deltas = bench.count(20_000, 4_000);
    let (rate, times) = beside(&server, &format!("stream {deltas}")).await?;
    table.add(Row::new("events of 20 turns at full speed", "/s", rate));
    table.add(Row::new("echo turn beside them, p50", "ms", times.p50()));
    table.add(Row::new("echo turn beside them, p99", "ms", times.p99()));
    let deltas = bench.count(100, 20);
    let (_, times) = beside(&server, &format!("slow {deltas}")).await?;
    let name = "echo turn beside 20 turns of 20 deltas/s, p50";
    table.add(Row::new(name, "ms", times.p50()).note(format!("p99 {:.1}", times.p99())));
    Ok(())
}

/// Frames per second of twenty turns, and the times of echo turns beside them.
async fn beside(server: &Server, order: &str) -> anyhow::Result<(f64, Times)> {
    const TURNS: usize = 20;
    let mut echoing = Socket::connect(server.port()).await?;
    echoing.settled().await?;
    let mut sockets = Vec::new();
    for _ in 0..TURNS {
        let mut socket = Socket::connect(server.port()).await?;
        socket.settled().await?;
        sockets.push(socket);
    }
    let started = Instant::now();
    let stream = |mut socket: Socket| {
        let order = order.to_owned();
        tokio::spawn(async move {
            socket.user_message(&order).await?;
            socket.turn_end().await
        })
    };
    let streams: Vec<_> = sockets.into_iter().map(stream).collect();
    let mut times = Vec::new();
    while streams.iter().any(|stream| !stream.is_finished()) {
        times.push(one_echo(&mut echoing).await?.1);
    }
    let mut frames = 0;
    for stream in streams {
        frames += stream.await??;
    }
    let rate = frames as f64 / started.elapsed().as_secs_f64();
    Ok((rate, Times::new(times)))
}
