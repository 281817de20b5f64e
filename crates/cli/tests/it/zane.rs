//! Zane's web client, as its two versions were recorded: what it asks before it connects, what it sends, and
//! what it must read back. One test for each defect that its users met.

mod anchor;
mod defects;
mod push;
mod returning;
mod sign_in;
mod walk;

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::process::Launch;
use testkit::{Client, Process, Scratch};

use crate::DRAGOMAN;

const LIMIT: Duration = Duration::from_secs(120);

/// A page of that client: a socket, and ids that begin with 1 in each of them.
struct Page {
    socket: Client,
    last: u64,
}

impl Page {
    async fn open(server: &Process) -> anyhow::Result<Self> {
        Self::at(&format!("ws://127.0.0.1:{}/zane/ws/client", server.port())).await
    }

    async fn named(server: &Process, client_id: &str) -> anyhow::Result<Self> {
        let port = server.port();
        Self::at(&format!(
            "ws://127.0.0.1:{port}/zane/ws/client?clientId={client_id}"
        ))
        .await
    }

    async fn at(url: &str) -> anyhow::Result<Self> {
        let mut socket = Client::connect(url).await?;
        let hello = socket.json().await?;
        ensure!(hello["type"] == "orbit.hello" && hello["role"] == "client");
        ensure!(hello["ts"].is_string(), "{hello}");
        Ok(Self { socket, last: 0 })
    }

    async fn post(&mut self, method: &str, params: Value) -> anyhow::Result<u64> {
        self.last += 1;
        let frame = json!({ "id": self.last, "method": method, "params": params });
        self.socket.send_json(&frame).await?;
        Ok(self.last)
    }

    async fn response(&mut self, id: u64) -> anyhow::Result<Value> {
        let meant = |frame: &Value| frame["id"] == id && frame.get("method").is_none();
        self.socket.until(meant).await
    }

    /// The result of a request; an error is one here, too.
    async fn ask(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        let id = self.post(method, params).await?;
        let frame = self.response(id).await?;
        ensure!(frame.get("error").is_none(), "{method}: {frame}");
        Ok(frame["result"].clone())
    }

    /// The error of a request that must have one.
    async fn refused(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        let id = self.post(method, params).await?;
        let frame = self.response(id).await?;
        let error = frame.get("error").cloned();
        error.with_context(|| format!("{method} was not refused: {frame}"))
    }

    async fn control(&mut self, frame: Value) -> anyhow::Result<()> {
        self.socket.send_json(&frame).await
    }

    async fn until(&mut self, method: &str) -> anyhow::Result<Value> {
        let meant = |frame: &Value| frame["method"] == method;
        let found = self.socket.until(meant).await;
        found.with_context(|| format!("waiting for {method}"))
    }

    async fn answer(&mut self, request: &Value, result: Value) -> anyhow::Result<()> {
        let frame = json!({ "id": request["id"], "result": result });
        self.socket.send_json(&frame).await
    }

    /// As the client starts a task: the thread, then that it wants to hear it.
    async fn start_thread(&mut self, cwd: &str) -> anyhow::Result<String> {
        let started = self.ask("thread/start", json!({ "cwd": cwd })).await?;
        let thread = started["thread"]["id"]
            .as_str()
            .context("an id")?
            .to_owned();
        ensure!(started["model"].is_string() && started["sandbox"]["type"].is_string());
        self.subscribe(&thread).await?;
        Ok(thread)
    }

    async fn subscribe(&mut self, thread: &str) -> anyhow::Result<()> {
        let frame = json!({ "type": "orbit.subscribe", "threadId": thread });
        self.control(frame).await?;
        let done = self.socket.until_type("orbit.subscribed").await?;
        ensure!(done["threadId"] == thread);
        Ok(())
    }

    async fn say(&mut self, thread: &str, text: &str) -> anyhow::Result<String> {
        let input = json!([{ "type": "text", "text": text, "text_elements": [] }]);
        let params = json!({ "threadId": thread, "input": input });
        let started = self.ask("turn/start", params).await?;
        let turn = started["turn"]["id"].as_str().context("a turn")?;
        Ok(turn.to_owned())
    }

    /// Says it, and hears the turn out; gives how it ended.
    async fn converse(&mut self, thread: &str, text: &str) -> anyhow::Result<String> {
        self.say(thread, text).await?;
        self.rest().await
    }

    async fn rest(&mut self) -> anyhow::Result<String> {
        let over = self.until("turn/completed").await?;
        let status = over["params"]["turn"]["status"].as_str();
        Ok(status.unwrap_or_default().to_owned())
    }

    /// Every item that was completed so far, of a type.
    fn completed(&self, kind: &str) -> Vec<Value> {
        let frames = self.socket.heard().iter();
        frames
            .filter_map(|frame| serde_json::from_str::<Value>(frame).ok())
            .filter(|frame| frame["method"] == "item/completed")
            .map(|frame| frame["params"]["item"].clone())
            .filter(|item| item["type"] == kind)
            .collect()
    }
}

async fn start(scratch: &Scratch) -> anyhow::Result<Process> {
    Process::start(&Launch::new(DRAGOMAN, scratch)).await
}
