//! Zane's web client, as its two versions were recorded: what it asks before it connects, what it sends, and
//! what it must read back. One test for each defect that its users met.

mod anchor;
mod defects;
mod push;
mod reference;
mod returning;
mod sign_in;
mod walk;

use std::time::Duration;

use anyhow::{Context, ensure};
use dialects::schemas::all;
use serde_json::{Value, json};
use testkit::process::Launch;
use testkit::{Client, Process, Scratch};

use crate::DRAGOMAN;
use crate::judge::{Judge, Speaker};

const LIMIT: Duration = Duration::from_secs(120);

/// A page of that client: a socket, and ids that begin with 1 in each of them. All that it heard is held against
/// the published schema when the page is closed, whatever the test is about.
struct Page {
    socket: Client,
    last: u64,
    /// What it has sent.
    sent: Vec<Value>,
}

impl Drop for Page {
    fn drop(&mut self) {
        // A test that has failed already says so in its own words.
        if std::thread::panicking() {
            return;
        }
        let misfits = misfits(&self.sent, self.socket.heard());
        assert!(misfits.is_empty(), "misfits:\n{}", misfits.join("\n"));
    }
}

/// What of the frames that a page heard does not fit the schema.
fn misfits(sent: &[Value], heard: &[String]) -> Vec<String> {
    let mut schemas = all().into_iter();
    let schema = schemas.find(|schema| schema.dialect == "zane");
    let mut judge = Judge::of(&schema.expect("zane's schema"));
    for frame in sent {
        judge.asked("page", frame);
    }
    let mut misfits = Vec::new();
    for frame in heard {
        let misfit = match serde_json::from_str(frame) {
            Ok(read) => judge.misfit("page", Speaker::Server, &read),
            Err(_) => Some("no JSON".to_owned()),
        };
        misfits.extend(misfit.map(|misfit| format!("{misfit}: {frame}")));
    }
    misfits
}

#[test]
fn what_a_page_hears_is_held_against_the_schema() {
    let sent = [json!({ "id": 1, "method": "thread/start", "params": {} })];
    let hello = r#"{"type":"orbit.hello","role":"client","ts":"2026-01-01T00:00:00.000Z"}"#;
    assert_eq!(misfits(&sent, &[hello.to_owned()]), [""; 0]);
    for bad in [
        r#"{"type":"orbit.hello","role":"client"}"#,
        r#"{"id":1,"result":{}}"#,
        r#"{"id":2,"result":{}}"#,
        r#"{"method":"turn/started","params":{"threadId":"t"}}"#,
    ] {
        let found = misfits(&sent, &[bad.to_owned()]);
        assert_eq!(found.len(), 1, "{bad}");
    }
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
        Ok(Self {
            socket,
            last: 0,
            sent: Vec::new(),
        })
    }

    async fn post(&mut self, method: &str, params: Value) -> anyhow::Result<u64> {
        self.last += 1;
        let frame = json!({ "id": self.last, "method": method, "params": params });
        self.control(frame).await?;
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
        self.socket.send_json(&frame).await?;
        self.sent.push(frame);
        Ok(())
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
