//! One thread with thoughts, calls and pictures that goes over seven services and back. No service
//! refuses a request, and each request is one by the types of its service's own SDK.

use std::time::Duration;

use anyhow::{Context, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as STANDARD;
use serde_json::{Value, json};
use testkit::peer::{SentBody, check_against_sdks};
use testkit::process::Launch;
use testkit::service::{NOTES, PICTURE, ServedService, Vendor};
use testkit::{Client, Process, Scratch};

use crate::{DRAGOMAN, KEY, PNG};

const LIMIT: Duration = Duration::from_secs(110);

#[test]
fn a_thread_goes_over_seven_services_and_back() {
    crate::tell(LIMIT, async {
        let mut services = Vec::new();
        for vendor in Vendor::ALL {
            services.push(ServedService::start(vendor).await?);
        }
        let mut traveller = Traveller::depart(&services).await?;
        let there = 0..services.len();
        let mut failures = Vec::new();
        for at in there.clone().chain(there.rev().skip(1)) {
            failures.extend(traveller.visit(services[at].vendor()).await?);
        }
        let refusals = services.iter().flat_map(ServedService::refusals);
        let refusals: Vec<_> = refusals.collect();
        ensure!(
            failures.is_empty() && refusals.is_empty(),
            "refused: {refusals:#?}, failed: {failures:#?}"
        );
        for service in &services {
            check_history(service)?;
        }
        let sent = services.iter().flat_map(|service| {
            let service_id = service.vendor().id();
            service.requests().into_iter().map(move |body| SentBody {
                service: service_id,
                body,
            })
        });
        check_against_sdks(&sent.collect::<Vec<_>>()).await
    });
}

/// A codex client with its thread: the dialect that can choose models and send pictures.
struct Traveller {
    /// Before the scratch it works in, so that it ends first.
    _server: Process,
    _scratch: Scratch,
    client: Client,
    requests: u64,
    thread: String,
    /// Names to choose models by, and whose they are.
    models: Vec<Value>,
}

impl Traveller {
    async fn depart(services: &[ServedService]) -> anyhow::Result<Self> {
        let scratch = Scratch::new()?;
        scratch.write(NOTES, "blue\nred\ngreen\n")?;
        scratch.write_bytes(PICTURE, &STANDARD.decode(PNG)?)?;
        let config = scratch.home().join("config");
        std::fs::create_dir_all(&config)?;
        let mut catalog = String::new();
        let mut launch = Launch::new(DRAGOMAN, &scratch);
        for service in services {
            let (id, url) = (service.vendor().id(), service.url());
            catalog.push_str(&format!(
                "[[provider]]\nid = \"{id}\"\nbase_url = \"{url}\"\n\n"
            ));
            launch = launch.variable(&format!("{}_API_KEY", id.to_uppercase()), KEY);
        }
        std::fs::write(config.join("catalog.toml"), catalog)?;
        let server = Process::start(&launch).await?;
        let base = server.url().trim_end_matches("/ws");
        let mut client = Client::connect(&format!("{base}/codex")).await?;
        client.set_limit(Duration::from_secs(60));
        let mut traveller = Self {
            client,
            _server: server,
            _scratch: scratch,
            requests: 0,
            thread: String::new(),
            models: Vec::new(),
        };
        let about = json!({ "clientInfo": { "name": "traveller", "version": "1" } });
        traveller.ask("initialize", about).await?;
        traveller.client.send(r#"{"method":"initialized"}"#).await?;
        let models = traveller.ask("model/list", json!({})).await?;
        traveller.models = models["data"].as_array().context("no models")?.clone();
        let started = traveller.ask("thread/start", json!({})).await?;
        let thread = started["thread"]["id"].as_str().context("no thread")?;
        traveller.thread = thread.to_owned();
        Ok(traveller)
    }

    async fn ask(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.requests += 1;
        let id = self.requests;
        let request = json!({ "id": id, "method": method, "params": params });
        self.client.send_json(&request).await?;
        let answers = |frame: &Value| frame["id"] == id && frame.get("method").is_none();
        let answer = self.client.until(answers).await?;
        ensure!(answer.get("error").is_none(), "{method}: {answer}");
        Ok(answer["result"].clone())
    }

    /// A whole turn with the first model of a service, which is shown a picture; why it failed, if
    /// it did.
    async fn visit(&mut self, vendor: Vendor) -> anyhow::Result<Option<String>> {
        let whose = format!(" by {}", vendor.id());
        let of_it = |model: &&Value| {
            let description = model["description"].as_str().unwrap_or_default();
            description.ends_with(&whose)
        };
        let model = self.models.iter().find(of_it);
        let model = model.with_context(|| format!("no model of {}", vendor.id()))?;
        let name = model["model"].clone();
        let text = format!("What do you see, {}?", vendor.id());
        let url = format!("data:image/png;base64,{PNG}");
        let params = json!({ "threadId": self.thread, "model": name, "input": [
            { "type": "text", "text": text },
            { "type": "image", "url": url },
        ] });
        self.ask("turn/start", params).await?;
        let over = |frame: &Value| frame["method"] == "turn/completed";
        let over = self.client.until(over).await?;
        let turn = &over["params"]["turn"];
        let failed = turn["status"] != "completed";
        Ok(failed.then(|| format!("{}: {turn}", vendor.id())))
    }
}

/// What a service got of the history: all that was its own, of the others what can be read by
/// anyone, and the pictures where its model has eyes.
fn check_history(service: &ServedService) -> anyhow::Result<()> {
    let vendor = service.vendor();
    let requests = service.requests();
    let steps = requests.iter().filter(|body| body.get("tools").is_some());
    let bodies: Vec<_> = steps.map(Value::to_string).collect();
    let last = bodies.last().context("it was never asked")?;
    let own = match vendor {
        Vendor::OpenAi | Vendor::Anthropic | Vendor::Google | Vendor::OpenRouter => {
            vec![vendor.seal_prefix(), PNG.to_owned()]
        }
        Vendor::DeepSeek | Vendor::Moonshot => vec![format!("Thought 1 of {}.", vendor.id())],
        Vendor::Mistral | Vendor::LlamaCpp => Vec::new(),
    };
    for wanted in own {
        ensure!(
            last.contains(&wanted),
            "{}: no {wanted} in {last}",
            vendor.id()
        );
    }
    for other in Vendor::ALL.into_iter().filter(|other| *other != vendor) {
        let sealed = other.seal_prefix();
        let foreign = bodies.iter().any(|body| body.contains(&sealed));
        ensure!(!foreign, "{} got what {} sealed", vendor.id(), other.id());
    }
    let first = format!("I am {} and have seen it.", Vendor::ALL[0].id());
    ensure!(
        last.contains(&first),
        "{}: no {first:?} in {last}",
        vendor.id()
    );
    Ok(())
}
