//! The server between clients and model services that we did not write.
//!
//! They come from the package registries; `cargo xtask test` installs them and says where they are.

mod broken;
mod codex_schema;
mod external_agent;
mod golden;
mod journey;
mod judged;
mod mcp_conformance;
mod mcp_servers;
mod mcp_sign_in;
mod open_id;
mod small_model;
mod terminal;
mod traces;
mod turns;

use std::time::Duration;

use anyhow::Context;
use serde_json::Value;
use testkit::process::Launch;
use testkit::{Process, Scratch, Visitor};

/// The program under test.
const DRAGOMAN: &str = env!("CARGO_BIN_EXE_dragoman");
/// Looks like one, opens nothing.
const KEY: &str = "sk-live-test-0123456789abcdef";
/// A picture of one pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// A way to reach a model: its wire format, and how one chooses it.
struct Service {
    base_url: &'static str,
    key: Option<&'static str>,
    provider: &'static str,
    /// The provider's first in the catalog when absent.
    model: Option<&'static str>,
    /// Whose SDK has the types of its requests.
    sdk: &'static str,
}

const RESPONSES: Service = Service {
    base_url: "OPENAI_BASE_URL",
    key: Some("OPENAI_API_KEY"),
    provider: "openai",
    model: None,
    sdk: "openai",
};
const CHAT: Service = Service {
    base_url: "LLAMACPP_BASE_URL",
    key: None,
    provider: "openai",
    model: Some("llamacpp/smollm2"),
    sdk: "llamacpp",
};
const ANTHROPIC: Service = Service {
    base_url: "ANTHROPIC_BASE_URL",
    key: Some("ANTHROPIC_API_KEY"),
    provider: "anthropic",
    model: None,
    sdk: "anthropic",
};
const GEMINI: Service = Service {
    base_url: "GEMINI_BASE_URL",
    key: Some("GEMINI_API_KEY"),
    provider: "google",
    model: None,
    sdk: "google",
};

/// A server on a scratch home whose model is at `url`, and a client of it.
struct Site {
    /// Before the scratch it works in, so that it ends first.
    server: Process,
    visitor: Visitor,
    scratch: Scratch,
}

impl Site {
    async fn open(service: &Service, url: &str) -> anyhow::Result<Self> {
        Self::open_with(service, url, &[]).await
    }

    /// With these variables beside.
    async fn open_with(
        service: &Service,
        url: &str,
        variables: &[(&str, &str)],
    ) -> anyhow::Result<Self> {
        let scratch = Scratch::new()?;
        let mut launch = Launch::new(DRAGOMAN, &scratch).variable(service.base_url, url);
        for (name, value) in variables {
            launch = launch.variable(name, value);
        }
        if let Some(key) = service.key {
            launch = launch.variable(key, KEY);
        }
        let server = Process::start(&launch).await?;
        let mut visitor = Visitor::arrive(&server).await?;
        visitor.client.set_limit(Duration::from_secs(60));
        let model = match service.model {
            Some(model) => model.to_owned(),
            None => first_model(&visitor, service.provider)?,
        };
        visitor.choose(service.provider, &model).await?;
        Ok(Self {
            server,
            visitor,
            scratch,
        })
    }

    /// Says it and hears the turn out.
    async fn converse(&mut self, text: &str) -> anyhow::Result<Turn> {
        let from = self.visitor.client.heard().len();
        self.visitor.say(text).await?;
        self.visitor.rest().await?;
        self.turn(from)
    }

    /// What was heard since then.
    fn turn(&self, from: usize) -> anyhow::Result<Turn> {
        let frames = self.visitor.client.heard()[from..].iter();
        let frames: Result<_, _> = frames.map(|frame| serde_json::from_str(frame)).collect();
        Ok(Turn(frames?))
    }
}

/// As the greeting tells it.
fn first_model(visitor: &Visitor, provider: &str) -> anyhow::Result<String> {
    let frames = visitor.client.heard().iter();
    let mut frames = frames.filter_map(|frame| serde_json::from_str::<Value>(frame).ok());
    let catalog = frames.find(|frame| frame["type"] == "provider_catalog");
    let catalog = catalog.context("no catalog in the greeting")?;
    let mut all = catalog["all"].as_array().into_iter().flatten();
    let entry = all.find(|entry| entry["id"] == provider);
    let model = entry.and_then(|entry| entry["defaultModel"].as_str());
    Ok(model.context("a provider without models")?.to_owned())
}

/// The frames of one turn.
struct Turn(Vec<Value>);

impl Turn {
    fn of_type(&self, kind: &str) -> Vec<&Value> {
        let all = self.0.iter();
        all.filter(|frame| frame["type"] == kind).collect()
    }

    fn outcome(&self) -> &str {
        let last = self.0.last();
        last.and_then(|frame| frame["outcome"].as_str())
            .unwrap_or_default()
    }

    /// What the assistant said in the end.
    fn answer(&self) -> anyhow::Result<&str> {
        let messages = self.of_type("assistant_message");
        let last = messages.last().context("no assistant_message")?;
        last["text"].as_str().context("a message without text")
    }

    /// The texts of all chunks of this kind, put together.
    fn streamed(&self, part: &str) -> String {
        let chunks = self.0.iter().filter(|frame| frame["partType"] == part);
        chunks
            .filter_map(|frame| frame["part"]["text"].as_str())
            .collect()
    }

    /// The error that was told.
    fn trouble(&self) -> anyhow::Result<&str> {
        let errors = self.of_type("error");
        let error = errors.first().context("no error was told")?;
        error["message"].as_str().context("an error without words")
    }
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
