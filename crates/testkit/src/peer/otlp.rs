//! A receiver of traces on the protocol's own types, PyPI `opentelemetry-proto`.

use anyhow::Context as _;
use serde_json::Value;
use tokio::process::Command;

use super::{Peer, folder};
use crate::http;

const RECEIVE: &str = include_str!("otlp_receiver.py");

pub struct OtlpReceiver(Peer);

impl OtlpReceiver {
    /// On any free port.
    pub async fn start() -> anyhow::Result<Self> {
        Self::start_on(0).await
    }

    /// On this port, where another one was.
    pub async fn start_on(port: u16) -> anyhow::Result<Self> {
        let python = folder("DRAGOMAN_PEER_OTLP")?.join("bin/python");
        let mut command = Command::new(python);
        command.args(["-u", "-c", RECEIVE, &port.to_string()]);
        Ok(Self(Peer::start(command, "listening on ").await?))
    }

    pub fn url(&self) -> String {
        self.0.url()
    }

    pub fn port(&self) -> u16 {
        self.0.port
    }

    /// All spans that were sent to this path, once so many of them are roots.
    pub async fn spans(&self, path: &str, roots: usize) -> anyhow::Result<Vec<Value>> {
        let path = format!("/spans?path={path}&roots={roots}");
        let spans = http::json("GET", self.0.port, &path, None).await?;
        Ok(spans.as_array().context("no list of spans")?.clone())
    }

    /// Its connections break, and nothing answers any more.
    pub async fn kill(mut self) -> anyhow::Result<()> {
        self.0.kill9().await
    }
}
