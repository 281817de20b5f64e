//! What is written, and how fast it is found again.

use std::io::Write;
use std::time::Instant;

use super::server::{Bench, Server, millis};
use super::socket::Socket;
use super::table::{Bound, Row, Table, Times};

const FILE_BYTES: usize = 30_000;
const COLD_TRIES: usize = 5;
const SEEDING_TASKS: usize = 16;

/// Beside everything that waits for the disk: what one wait costs here.
pub fn fsync(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let mut file = tempfile::tempfile()?;
    let mut times = Vec::new();
    for _ in 0..bench.count(50, 50) {
        let started = Instant::now();
        file.write_all(&[7; 4096])?;
        file.sync_data()?;
        times.push(millis(started));
    }
    let times = Times::new(times);
    let row = Row::new("this disk: write 4 KiB and fsync, p50", "ms", times.p50());
    table.add(row.note(format!("p99 {:.2}", times.p99())));
    Ok(())
}

/// 150 turns, each reads a file of 30 KB.
pub async fn written(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let server = bench.server().await?;
    let line = format!("{}\n", "x".repeat(99));
    server
        .scratch
        .write("file.txt", &line.repeat(FILE_BYTES / line.len()))?;
    let mut socket = Socket::connect(server.port()).await?;
    socket.settled().await?;
    let before = server.written_bytes()?;
    let turns = bench.count(150, 30);
    for _ in 0..turns {
        let call = r#"tool read {"filePath":"file.txt"}"#;
        socket.user_message(call).await?;
        socket.turn_end().await?;
    }
    let written = server.written_bytes()? - before;
    let history = history_bytes(&mut socket).await?;
    let row = Row::new("bytes written per byte of history", "", written / history);
    let row = row.floor(Bound::Below(5.0)).goal(Bound::Below(4.0));
    table.add(row.note(format!(
        "{turns} turns, {:.1} MB of history as get_messages tells it",
        history / 1e6
    )));
    Ok(())
}

/// How long the whole transcript is, as a client is told it.
async fn history_bytes(socket: &mut Socket) -> anyhow::Result<f64> {
    socket.say("get_messages", r#","limit":10000"#).await?;
    Ok(socket.until("\"messages\"").await?.len() as f64)
}

/// A thread with 100,000 events, opened by a server that was just started.
pub async fn resume(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let mut server = bench.server().await?;
    let (session, events) = long_thread(bench, &server).await?;
    let (mut hello, mut page) = (Vec::new(), Vec::new());
    for _ in 0..bench.count(COLD_TRIES, COLD_TRIES) {
        server.restart().await?;
        let started = Instant::now();
        let mut socket = Socket::resume(server.port(), &session).await?;
        hello.push(millis(started));
        socket.say("get_messages", r#","limit":100"#).await?;
        socket.until("\"messages\"").await?;
        page.push(millis(started));
    }
    let (hello, page) = (Times::new(hello), Times::new(page));
    let name = "cold resume of 100,000 events to server_hello";
    let row = Row::new(name, "ms", hello.p50()).goal(Bound::Below(10.0));
    table.add(row.note(format!("best {:.1}", hello.best())));
    let row = Row::new("the same to the first page", "ms", page.p50());
    let row = row.floor(Bound::Below(100.0)).goal(Bound::Below(10.0));
    table.add(row.note(format!("best {:.1}; {events} events told", page.best())));
    Ok(())
}

async fn long_thread(bench: &Bench, server: &Server) -> anyhow::Result<(String, u64)> {
    let mut socket = Socket::connect(server.port()).await?;
    socket.settled().await?;
    let mut events = 0;
    for _ in 0..bench.count(600, 60) {
        socket.user_message("echo hello").await?;
        events += socket.turn_end().await?;
    }
    for _ in 0..4 {
        let deltas = bench.count(23_500, 2_350);
        socket.user_message(&format!("stream {deltas}")).await?;
        events += socket.turn_end().await?;
    }
    Ok((socket.session, events))
}

/// A list of many threads; each is made by a connection that gives its session a title.
pub async fn list(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let mut server = bench.server().await?;
    let threads = bench.count(10_000, 1_000);
    let port = server.port();
    let started = Instant::now();
    let mut seeding = tokio::task::JoinSet::new();
    for _ in 0..SEEDING_TASKS {
        let count = threads / SEEDING_TASKS;
        seeding.spawn(async move {
            for _ in 0..count {
                let mut socket = Socket::connect(port).await?;
                socket.settled().await?;
                socket
                    .say("set_session_title", r#","title":"A thread""#)
                    .await?;
                socket.count_until("\"A thread\"").await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(seeded) = seeding.join_next().await {
        seeded??;
    }
    let rate = threads as f64 / started.elapsed().as_secs_f64();
    let row = Row::new("threads made and titled", "/s", rate);
    table.add(row.note(format!("{SEEDING_TASKS} clients at once")));
    server.restart().await?;
    let mut socket = Socket::connect(server.port()).await?;
    socket.settled().await?;
    let (mut times, mut bytes) = (Vec::new(), 0);
    for _ in 0..20 {
        let started = Instant::now();
        socket.say("list_sessions", "").await?;
        bytes = socket.until("\"sessions\"").await?.len();
        times.push(millis(started));
    }
    let times = Times::new(times);
    let name = format!("list_sessions of {threads} threads, p50");
    let row = Row::new(name, "ms", times.p50());
    table.add(row.note(format!("an answer of {} KB", bytes / 1000)));
    Ok(())
}
