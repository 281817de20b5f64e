//! Workspaces, folders, skills and MCP servers as clients of the pioneer protocol have them, and what the
//! other dialects see of them.

mod doors;
mod managing;
mod order;
mod places;
mod tree;

use std::collections::VecDeque;
use std::time::Duration;

use anyhow::{bail, ensure};
use serde_json::{Value, json};
use testkit::{Client, Process};

const LIMIT: Duration = Duration::from_secs(120);

/// A client that asks one thing after the other, and keeps what it is told meanwhile.
struct Asker {
    client: Client,
    asked: u64,
    told: VecDeque<Value>,
}

impl Asker {
    async fn connect(server: &Process, path: &str) -> anyhow::Result<Self> {
        let url = format!("ws://127.0.0.1:{}/{path}", server.port());
        let client = Client::connect(&url).await?;
        let (asked, told) = (0, VecDeque::new());
        let mut asker = Self {
            client,
            asked,
            told,
        };
        if path == "codex" {
            let info = json!({ "name": "test", "version": "1" });
            asker
                .ask("initialize", json!({ "clientInfo": info }))
                .await?;
        }
        Ok(asker)
    }

    /// Sends a request, and gives its id.
    async fn send(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        self.asked += 1;
        let id = json!(self.asked);
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.client.send_json(&request).await?;
        Ok(id)
    }

    /// The whole answer to a request.
    async fn answer(&mut self, id: &Value) -> anyhow::Result<Value> {
        loop {
            let frame = self.client.json().await?;
            if frame["id"] == *id && frame.get("method").is_none() {
                return Ok(frame);
            }
            self.told.push_back(frame);
        }
    }

    /// The whole answer, whether it is a refusal or not.
    async fn try_ask(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        let id = self.send(method, &params).await?;
        self.answer(&id).await
    }

    async fn ask(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        let mut answer = self.try_ask(method, params).await?;
        ensure!(answer.get("error").is_none(), "{method}: {answer}");
        Ok(answer["result"].take())
    }

    /// The words of a refusal of this code.
    async fn refused(&mut self, method: &str, params: Value, code: i64) -> anyhow::Result<String> {
        let answer = self.try_ask(method, params).await?;
        ensure!(answer["error"]["code"] == code, "{method}: {answer}");
        Ok(answer["error"]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned())
    }

    /// The next notification of this method, with what was told before it left out.
    async fn told(&mut self, method: &str) -> anyhow::Result<Value> {
        while let Some(frame) = self.told.pop_front() {
            if frame["method"] == method {
                return Ok(frame);
            }
        }
        self.client.until(|frame| frame["method"] == method).await
    }
}

fn texts(list: &Value, field: &str) -> anyhow::Result<Vec<String>> {
    let Some(list) = list.as_array() else {
        bail!("no list: {list}");
    };
    let text = |each: &Value| each[field].as_str().unwrap_or_default().to_owned();
    Ok(list.iter().map(text).collect())
}
