//! Many sockets that have joined many sessions, of which some run: what it costs, and how late the last
//! one hears.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use tokio::runtime;
use tokio::sync::{Barrier, oneshot};
use tokio::task::LocalSet;

use super::server::{Bench, Server};
use super::socket::Socket;
use super::table::{Bound, Row, Table, Times};

const CLIENT_THREADS: usize = 2;
const SOCKETS_PER_SESSION: usize = 10;
const KIB_PER_MIB: f64 = 1024.0;

/// How large the house is.
#[derive(Clone, Copy)]
struct JoinedSize {
    sessions: usize,
    /// Of them have a running turn.
    running: usize,
    /// Of each turn, fifty milliseconds apart.
    deltas: usize,
}

pub async fn joined(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let server = bench.server().await?;
    let size = JoinedSize {
        sessions: bench.count(500, 100),
        running: bench.count(100, 20),
        deltas: bench.count(100, 50),
    };
    let mut drivers = Vec::new();
    for _ in 0..size.sessions {
        drivers.push(Driver::connect(server.port()).await?);
    }
    let heard = listen_to_all(&server, &mut drivers, size).await?;
    let wanted = size.running * SOCKETS_PER_SESSION * size.deltas;
    ensure!(
        heard.latencies.len() == wanted,
        "{} deltas came to the listeners of {wanted}",
        heard.latencies.len()
    );
    let sockets = size.sessions * SOCKETS_PER_SESSION;
    let place = format!("{sockets} sockets joined to {} sessions", size.sessions);
    let row = Row::new(format!("{place}, memory"), "MiB", heard.resident_mib);
    table.add(row);
    let times = Times::new(heard.latencies);
    let row = Row::new(
        format!("event latency there, {} turns, p99", size.running),
        "ms",
        times.p99(),
    );
    let note = format!(
        "p50 {:.1}, all {wanted} deltas arrived; the clients run on the same cores",
        times.p50()
    );
    table.add(row.floor(Bound::Below(250.0)).note(note));
    Ok(())
}

/// What the listeners heard.
struct HeardDeltas {
    /// From the event's own time to its arrival, in milliseconds.
    latencies: Vec<f64>,
    /// What the server held while the turns ran.
    resident_mib: f64,
}

/// A client that made a session and runs its turns.
struct Driver {
    socket: Socket,
    session: String,
}

impl Driver {
    async fn connect(port: u16) -> anyhow::Result<Self> {
        let mut socket = signed_in(port).await?;
        let create = r#"{"type":"create_session","agentType":"coding-agent"}"#;
        socket.send(create).await?;
        let created = socket.until(r#""session_created""#).await?;
        let created: serde_json::Value = serde_json::from_str(&created)?;
        let session = created["session"]["id"].as_str();
        Ok(Self {
            session: session.context("a session without an id")?.to_owned(),
            socket,
        })
    }

    async fn run(&mut self, text: &str) -> anyhow::Result<()> {
        let session = &self.session;
        let run = format!(r#"{{"type":"run_turn","sessionId":"{session}","text":"{text}"}}"#);
        self.socket.send(&run).await
    }
}

async fn signed_in(port: u16) -> anyhow::Result<Socket> {
    let mut socket = Socket::upgrade(port, "/diminuendo").await?;
    socket.until(r#""authenticated""#).await?;
    Ok(socket)
}

async fn join(port: u16, session: &str) -> anyhow::Result<Socket> {
    let mut socket = signed_in(port).await?;
    let join = format!(r#"{{"type":"join_session","sessionId":"{session}"}}"#);
    socket.send(&join).await?;
    socket.until(r#""replay_complete""#).await?;
    Ok(socket)
}

async fn listen_to_all(
    server: &Server,
    drivers: &mut [Driver],
    size: JoinedSize,
) -> anyhow::Result<HeardDeltas> {
    let ready = Arc::new(Barrier::new(CLIENT_THREADS + 1));
    let mut threads = Vec::new();
    for part in 0..CLIENT_THREADS {
        // Every thread has listeners of running sessions and of others.
        let sessions = drivers
            .iter()
            .enumerate()
            .skip(part)
            .step_by(CLIENT_THREADS);
        let sessions: Vec<(String, bool)> = sessions
            .map(|(index, driver)| (driver.session.clone(), index < size.running))
            .collect();
        let (done, heard) = oneshot::channel();
        let (port, ready) = (server.port(), Arc::clone(&ready));
        std::thread::spawn(move || {
            // Who waited for it may have given up.
            let _ = done.send(listen(port, &sessions, size.deltas, &ready));
        });
        threads.push(heard);
    }
    ready.wait().await;
    let order = format!("slow {}", size.deltas);
    for driver in &mut drivers[..size.running] {
        driver.run(&order).await?;
    }
    let resident_mib = server.resident_kib()? / KIB_PER_MIB;
    let mut latencies = Vec::new();
    for heard in threads {
        latencies.extend(heard.await.context("a client thread failed")??);
    }
    Ok(HeardDeltas {
        latencies,
        resident_mib,
    })
}

/// One thread of listeners: joins them all, then reads until the turns of those that run are over.
fn listen(
    port: u16,
    sessions: &[(String, bool)],
    deltas: usize,
    ready: &Barrier,
) -> anyhow::Result<Vec<f64>> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (mut running, mut silent) = (Vec::new(), Vec::new());
    let joined = runtime.block_on(async {
        for (session, runs) in sessions {
            for _ in 0..SOCKETS_PER_SESSION {
                let socket = join(port, session).await?;
                match runs {
                    true => running.push(socket),
                    false => silent.push(socket),
                }
            }
        }
        anyhow::Ok(())
    });
    runtime.block_on(ready.wait());
    joined?;
    LocalSet::new().block_on(&runtime, async {
        let hear = |socket: Socket| tokio::task::spawn_local(hear_turn(socket, deltas));
        let tasks: Vec<_> = running.into_iter().map(hear).collect();
        let mut latencies = Vec::new();
        for task in tasks {
            latencies.extend(task.await??);
        }
        drop(silent);
        Ok(latencies)
    })
}

/// How late each delta of a turn came.
async fn hear_turn(mut socket: Socket, deltas: usize) -> anyhow::Result<Vec<f64>> {
    let mut latencies = Vec::with_capacity(deltas);
    loop {
        let frame = socket.frame().await?;
        if frame.starts_with(br#"{"type":"text_delta""#) {
            let frame: serde_json::Value = serde_json::from_slice(frame)?;
            let ts = frame["ts"].as_f64().context("a delta without its time")?;
            latencies.push(now_ms()? - ts);
        } else if frame.starts_with(br#"{"type":"turn_complete""#) {
            return Ok(latencies);
        }
    }
}

fn now_ms() -> anyhow::Result<f64> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64() * 1e3)
}
