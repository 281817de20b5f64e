//! The codex and zane endpoints: a long thread read by its last page and as a whole, a list of many
//! threads, and a stream.

use std::time::Instant;

use anyhow::Context;
use serde_json::Value;

use super::server::{Bench, Server, millis};
use super::socket::Socket;
use super::table::{Bound, Row, Table, Times};

const KIB_PER_MIB: f64 = 1024.0;
const TRIES: usize = 3;
const READS: usize = 30;
const THREADS_HEARD: usize = 1_000;

/// A client that has made its handshake.
struct CodexSocket {
    socket: Socket,
    last_id: u64,
}

impl CodexSocket {
    async fn codex(port: u16) -> anyhow::Result<Self> {
        let socket = Socket::upgrade(port, "/codex").await?;
        let mut client = Self { socket, last_id: 0 };
        let info = r#"{"clientInfo":{"name":"bench","title":null,"version":"1"}}"#;
        client.request("initialize", info).await?;
        Ok(client)
    }

    async fn zane(port: u16) -> anyhow::Result<Self> {
        let socket = Socket::upgrade(port, "/zane/ws").await?;
        Ok(Self { socket, last_id: 0 })
    }

    async fn send(&mut self, method: &str, params: &str) -> anyhow::Result<String> {
        self.last_id += 1;
        let id = self.last_id;
        let frame = format!(r#"{{"id":{id},"method":"{method}","params":{params}}}"#);
        self.socket.send(&frame).await?;
        Ok(format!(r#"{{"id":{id},"#))
    }

    /// Gives the answer as it came.
    async fn request(&mut self, method: &str, params: &str) -> anyhow::Result<String> {
        let begins = self.send(method, params).await?;
        let answer = self.socket.until(&begins).await?;
        let refused = answer.contains(r#""error":{"code""#);
        anyhow::ensure!(!refused, "{method} was refused: {answer}");
        Ok(answer)
    }

    /// A new thread, by its id.
    async fn start(&mut self) -> anyhow::Result<String> {
        let answer = self.request("thread/start", "{}").await?;
        let answer: Value = serde_json::from_str(&answer)?;
        let id = answer["result"]["thread"]["id"].as_str();
        Ok(id.context("a thread without an id")?.to_owned())
    }

    /// A whole turn; gives how many frames told it.
    async fn turn(&mut self, thread: &str, text: &str) -> anyhow::Result<u64> {
        let params =
            format!(r#"{{"threadId":"{thread}","input":[{{"type":"text","text":"{text}"}}]}}"#);
        self.send("turn/start", &params).await?;
        self.socket.count_until(r#""turn/completed""#).await
    }
}

/// The last page and the whole of a thread with 2,000 turns.
pub async fn history(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let mut server = bench.server().await?;
    let turns = bench.count(2_000, 300);
    let mut client = CodexSocket::codex(server.port()).await?;
    let thread = client.start().await?;
    for _ in 0..turns {
        client.turn(&thread, "echo hello").await?;
    }
    drop(client);
    server.restart().await?;
    last_page(&server, &thread, turns, table).await?;
    server.restart().await?;
    whole(&server, &thread, turns, table).await
}

async fn last_page(
    server: &Server,
    thread: &str,
    turns: usize,
    table: &mut Table,
) -> anyhow::Result<()> {
    let mut client = CodexSocket::codex(server.port()).await?;
    let params = format!(r#"{{"threadId":"{thread}","limit":25,"itemsView":"full"}}"#);
    let mut times = Vec::new();
    for _ in 0..READS {
        let started = Instant::now();
        client.request("thread/turns/list", &params).await?;
        times.push(millis(started));
    }
    let times = Times::new(times);
    let name = format!("codex: last page of {turns} turns, p50");
    let row = Row::new(name, "ms", times.p50()).floor(Bound::Below(20.0));
    table.add(row.note(format!("25 turns with all items; p99 {:.1}", times.p99())));
    Ok(())
}

async fn whole(
    server: &Server,
    thread: &str,
    turns: usize,
    table: &mut Table,
) -> anyhow::Result<()> {
    let mut client = CodexSocket::zane(server.port()).await?;
    // What a first request costs once is not the history's.
    client
        .request("thread/list", r#"{"cursor":null,"limit":1}"#)
        .await?;
    let before = server.resident_kib_peak()?;
    let started = Instant::now();
    let params = format!(r#"{{"threadId":"{thread}"}}"#);
    let answer = client.request("thread/resume", &params).await?;
    let took = millis(started);
    let grown = (server.resident_kib_peak()? - before) / KIB_PER_MIB;
    let frame = answer.len() as f64 / 1024.0 / KIB_PER_MIB;
    table.add(Row::new(
        format!("zane: resume of {turns} turns"),
        "ms",
        took,
    ));
    let row = Row::new("memory that it takes at most", "MiB", grown);
    // The thread itself is there from then on, with what its model is to read.
    let row = row.floor(Bound::Below(10.0));
    table.add(row.note(format!("for a frame of {frame:.1} MiB")));
    Ok(())
}

/// A page out of many threads.
pub async fn list(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let mut server = bench.server().await?;
    let threads = bench.count(10_000, 1_000);
    let mut client = CodexSocket::codex(server.port()).await?;
    for made in 1..=threads {
        client.start().await?;
        // A connection hears what it starts, and may not hear all of them.
        if made % THREADS_HEARD == 0 {
            client = CodexSocket::codex(server.port()).await?;
        }
    }
    drop(client);
    server.restart().await?;
    let mut client = CodexSocket::codex(server.port()).await?;
    let mut times = Vec::new();
    for _ in 0..READS {
        let started = Instant::now();
        client
            .request("thread/list", r#"{"cursor":null,"limit":25}"#)
            .await?;
        times.push(millis(started));
    }
    let times = Times::new(times);
    let name = format!("codex: 25 of {threads} threads, p50");
    let row = Row::new(name, "ms", times.p50()).floor(Bound::Below(2.0));
    table.add(row.note(format!("p99 {:.1}", times.p99())));
    Ok(())
}

pub async fn stream(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let server = bench.server().await?;
    let deltas = bench.count(100_000, 20_000);
    let mut rate: f64 = 0.0;
    for _ in 0..TRIES {
        let mut client = CodexSocket::codex(server.port()).await?;
        let thread = client.start().await?;
        let started = Instant::now();
        let frames = client.turn(&thread, &format!("stream {deltas}")).await?;
        anyhow::ensure!(
            frames >= deltas as u64,
            "{frames} frames of {deltas} deltas"
        );
        rate = rate.max(deltas as f64 / started.elapsed().as_secs_f64());
    }
    let row = Row::new("codex: deltas on one thread", "/s", rate);
    table.add(row.floor(Bound::Above(50_000.0)));
    Ok(())
}
