//! `@copilotkit/aimock`: a scripted model that speaks four wire formats on one port.

use std::path::PathBuf;

use anyhow::Context;
use serde_json::{Value, json};
use tempfile::NamedTempFile;
use tokio::process::Command;

use super::{Peer, folder};
use crate::http;

/// Ends the process when its standard input does.
const END_WITH_INPUT: &str =
    "data:text/javascript,process.stdin.resume().on(\"end\",()=>process.exit())";
const MARK: &str = "listening on ";

pub struct Aimock {
    peer: Peer,
    entry: PathBuf,
    script: NamedTempFile,
}

impl Aimock {
    /// Starts it with a list of fixtures: `{"match": …, "response": …}` each, tried in order.
    ///
    /// What no fixture matches is answered with 404, which no client should try again.
    pub async fn start(fixtures: &Value) -> anyhow::Result<Self> {
        let entry =
            folder("DRAGOMAN_PEER_AIMOCK")?.join("node_modules/@copilotkit/aimock/dist/cli.js");
        let script = tempfile::Builder::new()
            .prefix("fixtures-")
            .suffix(".json")
            .tempfile()?;
        std::fs::write(&script, json!({ "fixtures": fixtures }).to_string())?;
        let peer = Peer::start(command(&entry, &script, 0), MARK).await?;
        Ok(Self {
            peer,
            entry,
            script,
        })
    }

    /// `http://127.0.0.1:PORT`, without a path.
    pub fn url(&self) -> String {
        self.peer.url()
    }

    pub fn port(&self) -> u16 {
        self.peer.port
    }

    pub async fn kill9(&mut self) -> anyhow::Result<()> {
        self.peer.kill9().await
    }

    /// The same again at the same place, after a kill.
    pub async fn revive(&mut self) -> anyhow::Result<()> {
        let again = command(&self.entry, &self.script, self.peer.port);
        self.peer = Peer::start(again, MARK).await?;
        Ok(())
    }

    /// Further fixtures, tried after those that are there.
    pub async fn add(&self, fixtures: &Value) -> anyhow::Result<()> {
        let body = json!({ "fixtures": fixtures });
        http::json("POST", self.port(), "/__aimock/fixtures", Some(&body)).await?;
        Ok(())
    }

    /// Every request so far: `path`, `headers`, `body` (as a chat request, whatever the format
    /// was) and `response.status`.
    pub async fn requests(&self) -> anyhow::Result<Vec<Value>> {
        let journal = http::json("GET", self.port(), "/__aimock/journal", None).await?;
        let requests = journal.as_array().context("the journal is no list")?;
        Ok(requests.clone())
    }
}

fn command(entry: &PathBuf, script: &NamedTempFile, port: u16) -> Command {
    let mut command = Command::new("node");
    command
        .args(["--import", END_WITH_INPUT])
        .arg(entry)
        .arg("--fixtures")
        .arg(script.path())
        .args(["--port", &port.to_string(), "--log-level", "info"]);
    command
}
