//! What runs without a question, what asks, and what never leaves the sandbox: over the codex
//! endpoint, with real commands in every fence that this machine has.

mod everyday;
mod modes;

use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::{Value, json};
use testkit::process::Launch;
use testkit::{Client, Process, Scratch};

use crate::DRAGOMAN;

/// The fences that hold on this machine, by the name that the command line knows them by.
const FENCES: [&str; 2] = ["bubblewrap", "landlock"];

/// A server and a client with a thread of its own.
struct Desk {
    client: Client,
    thread: String,
    /// What the server said of the thread.
    opened: Value,
    next: u64,
    scratch: Scratch,
    _server: Process,
}

/// What came of one call that the model was told to make.
#[derive(Debug)]
struct Call {
    /// The requests for approval, in their order.
    asks: Vec<Value>,
    item: Value,
}

impl Call {
    fn output(&self) -> &str {
        let output = &self.item["aggregatedOutput"];
        output.as_str().unwrap_or_default()
    }

    fn asked(&self) -> bool {
        !self.asks.is_empty()
    }
}

impl Desk {
    async fn open(arguments: &[&str], start: Value) -> anyhow::Result<Self> {
        Self::open_with(arguments, start, None).await
    }

    /// With a script for the model.
    async fn open_with(
        arguments: &[&str],
        start: Value,
        script: Option<&str>,
    ) -> anyhow::Result<Self> {
        let scratch = Scratch::new()?;
        let mut launch = Launch::new(DRAGOMAN, &scratch);
        if let Some(script) = script {
            let path = scratch.user().join("script.txt");
            std::fs::write(&path, script)?;
            launch = launch.rehearsal(&path);
        }
        for argument in arguments {
            launch = launch.argument(*argument);
        }
        let server = Process::start(&launch).await?;
        let url = server.url().replace("/ws", "/codex");
        let mut client = Client::connect(&url).await?;
        // A program that takes its time to start on a busy machine is no failure.
        client.set_limit(Duration::from_secs(60));
        let hello = json!({"id": 0, "method": "initialize",
                           "params": {"clientInfo": {"name": "test", "version": "1"}}});
        client.send_json(&hello).await?;
        client.until(|frame| frame["id"] == 0).await?;
        let ask = json!({"id": 1, "method": "thread/start", "params": start});
        client.send_json(&ask).await?;
        let opened = client.until(|frame| frame["id"] == 1).await?;
        let opened = opened.get("result").context(opened.to_string())?.clone();
        let thread = opened["thread"]["id"].as_str().context("no thread")?;
        Ok(Self {
            thread: thread.to_owned(),
            opened,
            client,
            next: 2,
            scratch,
            _server: server,
        })
    }

    /// Has the model make one call; whoever is asked gives this decision.
    async fn call(&mut self, tool: &str, input: Value, decision: &str) -> anyhow::Result<Call> {
        self.say(&format!("tool {tool} {input}"), decision).await
    }

    async fn bash(&mut self, command: &str, decision: &str) -> anyhow::Result<Call> {
        let input = json!({ "command": command });
        self.call("bash", input, decision).await
    }

    async fn say(&mut self, text: &str, decision: &str) -> anyhow::Result<Call> {
        let id = self.next;
        self.next += 1;
        let input = json!([{"type": "text", "text": text}]);
        let params = json!({"threadId": self.thread, "input": input});
        let frame = json!({"id": id, "method": "turn/start", "params": params});
        self.client.send_json(&frame).await?;
        let (mut asks, mut item) = (Vec::new(), Value::Null);
        loop {
            let frame = self.client.json().await?;
            if let Some(error) = frame.get("error") {
                bail!("refused: {error}");
            }
            let method = frame["method"].as_str().unwrap_or_default();
            match method {
                _ if method.ends_with("/requestApproval") => {
                    let answer = json!({"id": frame["id"], "result": {"decision": decision}});
                    self.client.send_json(&answer).await?;
                    asks.push(frame["params"].clone());
                }
                "item/completed" => {
                    let ended = &frame["params"]["item"];
                    let kind = ended["type"].as_str().unwrap_or_default();
                    if !["userMessage", "agentMessage", "reasoning"].contains(&kind) {
                        item = ended.clone();
                    }
                }
                "turn/completed" => return Ok(Call { asks, item }),
                _ => {}
            }
        }
    }

    fn has(&self, name: &str) -> bool {
        self.scratch.workspace().join(name).exists()
    }
}
