//! What runs without a question, what asks, and what never leaves the sandbox: over the codex
//! endpoint, with real commands in every fence that this machine has.

mod everyday;
mod joined;
mod kept;
mod modes;
mod replaced;
mod unwritten;
mod ways;

use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::{Value, json};
use testkit::process::Launch;
use testkit::{Client, Process, Scratch};

use crate::DRAGOMAN;

/// The fences that hold on this machine, by the name that the command line knows them by.
const FENCES: [&str; 2] = ["bubblewrap", "landlock"];

/// A server and a client with a thread of its own.
pub(crate) struct Desk {
    client: Client,
    pub(crate) thread: String,
    /// What the server said of the thread.
    opened: Value,
    next: u64,
    pub(crate) scratch: Scratch,
    server: Process,
}

/// What came of one call that the model was told to make.
#[derive(Debug)]
pub(crate) struct Call {
    /// The requests for approval, in their order.
    asks: Vec<Value>,
    item: Value,
}

/// What came of one turn.
#[derive(Debug, Default)]
pub(crate) struct DeskTurn {
    asks: Vec<Value>,
    items: Vec<Value>,
    deltas: Vec<Value>,
    pub(crate) end: Value,
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
    pub(crate) async fn open(arguments: &[&str], start: Value) -> anyhow::Result<Self> {
        Self::open_with(arguments, start, None).await
    }

    /// With a script for the model.
    async fn open_with(
        arguments: &[&str],
        start: Value,
        script: Option<&str>,
    ) -> anyhow::Result<Self> {
        let mut desk = DeskStart::new(arguments)?;
        if let Some(script) = script {
            desk.script(script)?;
        }
        desk.open(start).await
    }

    /// Another client of the same server.
    async fn another(&self) -> anyhow::Result<Client> {
        greeted(&self.server).await
    }

    /// What the server answers to a request; what comes before is passed over.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        let id = self.next;
        self.next += 1;
        let frame = json!({"id": id, "method": method, "params": params});
        self.client.send_json(&frame).await?;
        self.client
            .until(|frame| frame["id"] == id && frame.get("method").is_none())
            .await
    }
}

async fn greeted(server: &Process) -> anyhow::Result<Client> {
    let url = server.url().replace("/ws", "/codex");
    let mut client = Client::connect(&url).await?;
    // A program that takes its time to start on a busy machine is no failure.
    client.set_limit(Duration::from_secs(60));
    let hello = json!({"id": 0, "method": "initialize",
                       "params": {"clientInfo": {"name": "test", "version": "1"}}});
    client.send_json(&hello).await?;
    client.until(|frame| frame["id"] == 0).await?;
    Ok(client)
}

/// What is there before the server is.
pub(crate) struct DeskStart {
    pub(crate) scratch: Scratch,
    launch: Launch,
}

impl DeskStart {
    pub(crate) fn new(arguments: &[&str]) -> anyhow::Result<Self> {
        let scratch = Scratch::new()?;
        let mut launch = Launch::new(DRAGOMAN, &scratch);
        for argument in arguments {
            launch = launch.argument(*argument);
        }
        Ok(Self { scratch, launch })
    }

    /// What the model will say.
    fn script(&mut self, script: &str) -> anyhow::Result<()> {
        let path = self.scratch.user().join("script.txt");
        std::fs::write(&path, script)?;
        self.launch = self.launch.clone().rehearsal(&path);
        Ok(())
    }

    pub(crate) async fn open(self, start: Value) -> anyhow::Result<Desk> {
        let server = Process::start(&self.launch).await?;
        Desk::at(server, self.scratch, start).await
    }
}

impl Desk {
    /// At a server that runs already.
    async fn at(server: Process, scratch: Scratch, start: Value) -> anyhow::Result<Desk> {
        let mut client = greeted(&server).await?;
        let ask = json!({"id": 1, "method": "thread/start", "params": start});
        client.send_json(&ask).await?;
        let opened = client.until(|frame| frame["id"] == 1).await?;
        let opened = opened.get("result").context(opened.to_string())?.clone();
        let thread = opened["thread"]["id"].as_str().context("no thread")?;
        Ok(Desk {
            thread: thread.to_owned(),
            opened,
            client,
            next: 2,
            scratch,
            server,
        })
    }
}

impl Desk {
    /// Has the model make one call; whoever is asked gives this decision.
    async fn call(&mut self, tool: &str, input: Value, decision: &str) -> anyhow::Result<Call> {
        self.say(&format!("tool {tool} {input}"), decision).await
    }

    pub(crate) async fn bash(&mut self, command: &str, decision: &str) -> anyhow::Result<Call> {
        let input = json!({ "command": command });
        self.call("bash", input, decision).await
    }

    async fn say(&mut self, text: &str, decision: &str) -> anyhow::Result<Call> {
        let done = self.turn(text, json!({}), decision).await?;
        let spoken = ["userMessage", "agentMessage", "reasoning"];
        let mut items = done.items.into_iter();
        let item = items.rfind(|item| !spoken.iter().any(|kind| item["type"] == *kind));
        Ok(Call {
            asks: done.asks,
            item: item.unwrap_or_default(),
        })
    }

    /// A whole turn, with these fields beside what is said.
    pub(crate) async fn turn(
        &mut self,
        text: &str,
        more: Value,
        decision: &str,
    ) -> anyhow::Result<DeskTurn> {
        let id = self.next;
        self.next += 1;
        let input = json!([{"type": "text", "text": text}]);
        let mut params = json!({"threadId": self.thread, "input": input});
        let fields = more.as_object().cloned().unwrap_or_default();
        if let Some(params) = params.as_object_mut() {
            params.extend(fields);
        }
        let frame = json!({"id": id, "method": "turn/start", "params": params});
        self.client.send_json(&frame).await?;
        self.rest(decision).await
    }

    /// The end of a turn that was begun; whoever is asked gives this decision.
    async fn rest(&mut self, decision: &str) -> anyhow::Result<DeskTurn> {
        let mut done = DeskTurn::default();
        loop {
            let frame = self.client.json().await?;
            if let Some(error) = frame.get("error") {
                bail!("refused: {error}");
            }
            let method = frame["method"].as_str().unwrap_or_default();
            match method {
                _ if frame.get("id").is_some() && !method.is_empty() => {
                    let answer = match method == "mcpServer/elicitation/request" {
                        true => json!({"action": decision}),
                        false => json!({ "decision": decision }),
                    };
                    let answer = json!({"id": frame["id"], "result": answer});
                    self.client.send_json(&answer).await?;
                    done.asks.push(frame["params"].clone());
                }
                "item/completed" => done.items.push(frame["params"]["item"].clone()),
                "turn/completed" => {
                    done.end = frame["params"]["turn"].clone();
                    return Ok(done);
                }
                _ if method.ends_with("/delta") => done.deltas.push(frame["params"].clone()),
                _ => {}
            }
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.scratch.workspace().join(name).exists()
    }
}
