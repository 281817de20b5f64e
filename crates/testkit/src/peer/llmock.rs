//! PyPI `llmock`: injects faults, watches every attempt, and judges its client.

use anyhow::Context;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::process::Command;

use super::{Peer, folder};
use crate::http;

/// Ends the process when its standard input does.
const SERVE: &str = "\
import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
from llmock.cli import app
app()";

pub struct Llmock(Peer);

/// What it says of the client that called it.
#[derive(Debug, Deserialize)]
pub struct Verdict {
    /// No errors; there may be warnings.
    pub passed: bool,
    /// Requests as the client meant them, and as often as it tried.
    pub calls: usize,
    pub attempts: usize,
    pub faults_injected: usize,
    pub findings: Vec<Finding>,
}

#[derive(Debug, Deserialize)]
pub struct Finding {
    pub severity: String,
    pub code: String,
    pub title: String,
    pub path: String,
}

impl Llmock {
    pub async fn start() -> anyhow::Result<Self> {
        let python = folder("DRAGOMAN_PEER_LLMOCK")?.join("bin/python");
        let mut command = Command::new(python);
        command.args(["-u", "-c", SERVE, "serve", "--port", "0"]);
        // Left to itself it would call whatever tool it is offered.
        command.args(["--tool-mode", "off", "--log-level", "info"]);
        // Eight words one by one: an answer that is on its way as a whole when a fault is met counts
        // as read to its end.
        command.args(["--response-style", "hello", "--stream-chunk-delay-ms", "20"]);
        Ok(Self(Peer::start(command, "Uvicorn running on ").await?))
    }

    /// Where it serves a provider: OpenAI below `/v1`, Anthropic below `/anthropic`, Gemini below
    /// `/gemini`.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.0.url())
    }

    pub fn port(&self) -> u16 {
        self.0.port
    }

    /// Queues behaviours; a request takes the first of each kind that matches it, such as
    /// `{"type": "fail", "status": 429, "retry_after": 0.5, "match": {"tools": true}}`.
    pub async fn queue(&self, behaviors: &Value) -> anyhow::Result<()> {
        let body = json!({ "behaviors": behaviors });
        self.ask("POST", "/_llmock/scenario", Some(&body)).await?;
        Ok(())
    }

    /// Behaviours that no request has taken yet.
    pub async fn pending(&self) -> anyhow::Result<usize> {
        let answer = self.ask("GET", "/_llmock/scenario", None).await?;
        Ok(answer["pending"].as_array().map_or(0, Vec::len))
    }

    pub async fn verdict(&self) -> anyhow::Result<Verdict> {
        let answer = self.ask("GET", "/_llmock/verdict", None).await?;
        serde_json::from_value(answer).context("not a verdict")
    }

    /// Every request so far, with the fault it got.
    pub async fn requests(&self) -> anyhow::Result<Vec<Value>> {
        let answer = self.ask("GET", "/_llmock/requests", None).await?;
        let requests = answer["requests"].as_array();
        Ok(requests.context("the journal is no list")?.clone())
    }

    /// Forgets requests and behaviours.
    pub async fn reset(&self) -> anyhow::Result<()> {
        self.ask("POST", "/_llmock/reset", None).await?;
        Ok(())
    }

    async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> anyhow::Result<Value> {
        http::json(method, self.0.port, path, body).await
    }
}
