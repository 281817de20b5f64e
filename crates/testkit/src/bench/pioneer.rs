//! The pioneer endpoint: the tree of a workspace with many threads in many folders.

use std::time::Instant;

use anyhow::Context;
use serde_json::Value;

use super::server::{Bench, millis};
use super::socket::Socket;
use super::table::{Bound, Row, Table, Times};

const READS: usize = 30;
const WORKSPACE: &str = "bench";

struct PioneerSocket {
    socket: Socket,
    last_id: u64,
}

impl PioneerSocket {
    async fn connect(port: u16) -> anyhow::Result<Self> {
        let socket = Socket::upgrade(port, "/pioneer").await?;
        Ok(Self { socket, last_id: 0 })
    }

    /// Gives the answer as it came.
    async fn request(&mut self, method: &str, params: &str) -> anyhow::Result<String> {
        self.last_id += 1;
        let id = self.last_id;
        let frame =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        self.socket.send(&frame).await?;
        let answer = self
            .socket
            .until(&format!(r#"{{"jsonrpc":"2.0","id":{id},"#))
            .await?;
        let refused = answer.contains(r#""error":{"code""#);
        anyhow::ensure!(!refused, "{method} was refused: {answer}");
        Ok(answer)
    }
}

/// All of a workspace, as a client reads it to show its list.
pub async fn tree(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let mut server = bench.server().await?;
    let (threads, folders) = (bench.count(10_000, 500), bench.count(1_000, 50));
    let mut client = PioneerSocket::connect(server.port()).await?;
    let params = format!(r#"{{"workspace_id":"{WORKSPACE}"}}"#);
    client.request("workspace/create", &params).await?;
    let mut made = Vec::new();
    for number in 0..folders {
        let params = format!(r#"{{"workspace_id":"{WORKSPACE}","name":"Folder {number}"}}"#);
        let answer = client.request("thread/folder/create", &params).await?;
        let answer: Value = serde_json::from_str(&answer)?;
        let id = answer["result"]["folder"]["id"].as_str();
        made.push(id.context("a folder without an id")?.to_owned());
    }
    for number in 0..threads {
        let thread = format!("thread-{number:014}");
        let params = format!(
            r#"{{"workspace_id":"{WORKSPACE}","thread_id":"{thread}","name":"Thread {number}"}}"#
        );
        client.request("thread/start", &params).await?;
        let folder = &made[number % made.len()];
        let params = format!(
            r#"{{"workspace_id":"{WORKSPACE}","thread_id":"{thread}","folder_id":"{folder}"}}"#
        );
        client.request("thread/move", &params).await?;
        // So many are not kept awake by one client.
        let params = format!(r#"{{"threadId":"{thread}"}}"#);
        client.request("thread/unsubscribe", &params).await?;
    }
    drop(client);
    server.restart().await?;
    let mut client = PioneerSocket::connect(server.port()).await?;
    let mut times = Vec::new();
    for _ in 0..READS {
        let started = Instant::now();
        let answer = client.request("thread/tree", &params).await?;
        times.push(millis(started));
        anyhow::ensure!(answer.len() > threads * 100, "threads are missing");
    }
    let times = Times::new(times);
    let name = format!("pioneer: tree of {threads} threads in {folders} folders, p50");
    let row = Row::new(name, "ms", times.p50()).floor(Bound::Below(30.0));
    table.add(row.note(format!("p99 {:.1}", times.p99())));
    Ok(())
}
