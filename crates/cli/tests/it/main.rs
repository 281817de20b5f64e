//! The server as clients and operators see it: a real process, real sockets.

mod approvals;
mod benches;
mod busy;
mod checkpoints;
mod checks;
mod command;
mod crashes;
mod credits;
mod defaults;
mod deleting;
mod desktop;
mod doctor;
mod eval;
mod forked_files;
mod fresh_sessions;
mod gateway_sessions;
mod grants;
mod guard;
mod harmless;
mod identity;
mod imports;
mod isolation;
mod jobs;
mod judge;
mod late_join;
mod library;
mod mcp;
mod people;
mod protected;
mod reading;
mod replay;
mod scenarios;
mod schemas;
mod sessions;
mod skills;
mod soak;
mod sockets;
mod together;
mod turn_pages;
mod two_processes;
mod zane;

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::process::Launch;
use testkit::{Client, Process, Scratch};

/// The program under test.
const DRAGOMAN: &str = env!("CARGO_BIN_EXE_dragoman");

/// A server on a scratch home, with the interactive rehearsal model.
struct Site {
    server: Process,
    scratch: Scratch,
}

impl Site {
    async fn open() -> anyhow::Result<Self> {
        let scratch = Scratch::new()?;
        let server = Process::start(&Launch::new(DRAGOMAN, &scratch)).await?;
        Ok(Self { server, scratch })
    }
}

/// A cowork client and its session.
struct Visitor {
    client: Client,
    session: String,
    hello: Value,
}

impl Visitor {
    async fn arrive(server: &Process) -> anyhow::Result<Self> {
        Self::greet(Client::connect(server.url()).await?).await
    }

    async fn resume(server: &Process, session: &str) -> anyhow::Result<Self> {
        Self::greet(Client::connect(&resume_url(server, session)).await?).await
    }

    async fn greet(mut client: Client) -> anyhow::Result<Self> {
        let hello = client.until_type("server_hello").await?;
        client.until_type("session_backup_state").await?;
        let session = hello["sessionId"].as_str().unwrap_or_default().to_owned();
        Ok(Self {
            client,
            session,
            hello,
        })
    }

    async fn send(&mut self, kind: &str, mut fields: Value) -> anyhow::Result<()> {
        fields["type"] = json!(kind);
        fields["sessionId"] = json!(self.session);
        self.client.send_json(&fields).await
    }

    async fn say(&mut self, text: &str) -> anyhow::Result<()> {
        self.send("user_message", json!({ "text": text })).await
    }

    /// Says it and hears the turn out; tells the answer.
    async fn converse(&mut self, text: &str) -> anyhow::Result<String> {
        self.say(text).await?;
        let answer = self.client.until_type("assistant_message").await?;
        self.rest().await?;
        Ok(answer["text"].as_str().unwrap_or_default().to_owned())
    }

    async fn rest(&mut self) -> anyhow::Result<Value> {
        let over = |frame: &Value| frame["type"] == "session_busy" && frame["busy"] == false;
        self.client.until(over).await
    }

    /// The sessions that `list_sessions` tells, by id.
    async fn list(&mut self) -> anyhow::Result<Vec<String>> {
        self.send("list_sessions", json!({})).await?;
        let answer = self.client.until_type("sessions").await?;
        let sessions = answer["sessions"].as_array().into_iter().flatten();
        Ok(sessions
            .filter_map(|session| session["sessionId"].as_str())
            .map(str::to_owned)
            .collect())
    }
}

fn resume_url(server: &Process, session: &str) -> String {
    format!("{}?resumeSessionId={session}", server.url())
}

/// Runs a test's story on a runtime of its own, at most so long.
fn tell(limit: Duration, story: impl Future<Output = anyhow::Result<()>>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let outcome = runtime.block_on(async { tokio::time::timeout(limit, story).await });
    match outcome {
        Ok(Ok(())) => {}
        // Not `{:?}`: its backtrace is of the harness and buries the reason.
        Ok(Err(error)) => panic!("{error:#}"),
        Err(_) => panic!("the story did not end within {limit:?}"),
    }
}

/// The folder with all scenarios.
fn scenarios_folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios"))
}
