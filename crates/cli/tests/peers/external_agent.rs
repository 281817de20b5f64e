//! An external agent that others wrote, on a model by script: a turn with an approval through cowork 7
//! and 1, seen from codex.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::process::Launch;
use testkit::service::{ScriptedReply, ServedService, Vendor};
use testkit::{Client, Process, Scratch, Visitor};

use crate::DRAGOMAN;

const LIMIT: Duration = Duration::from_secs(90);
const BINARY: &str = "node_modules/@zed-industries/codex-acp-linux-x64/bin/codex-acp";

/// The agent's own program, without the Node.js around it.
fn binary() -> anyhow::Result<PathBuf> {
    let folder = std::env::var_os("DRAGOMAN_PEER_CODEX_ACP")
        .context("it is not known where codex-acp is: run `cargo xtask test`")?;
    Ok(PathBuf::from(folder).join(BINARY))
}

/// A server whose `codex-acp` is the real one, with a home of its own, on a model by script.
async fn server(scratch: &Scratch, model: &ServedService) -> anyhow::Result<Process> {
    let codex = scratch.home().join("of-codex");
    std::fs::create_dir_all(&codex)?;
    let url = model.url();
    std::fs::write(
        codex.join("config.toml"),
        format!(
            "model = \"gpt-5.4\"\nmodel_provider = \"scripted\"\napproval_policy = \"untrusted\"\n\
             sandbox_mode = \"workspace-write\"\n\n[model_providers.scripted]\nname = \"Scripted\"\n\
             base_url = \"{url}\"\nwire_api = \"responses\"\n"
        ),
    )?;
    let config = scratch.home().join("config");
    std::fs::create_dir_all(&config)?;
    let (binary, codex) = (binary()?, codex.display());
    let text = format!(
        "[agents.codex-acp]\ncommand = {:?}\nenv = {{ CODEX_HOME = \"{codex}\", HOME = \"{codex}\" }}\n",
        binary.display().to_string()
    );
    std::fs::write(config.join("config.toml"), text)?;
    Process::start(&Launch::new(DRAGOMAN, scratch)).await
}

fn run(command: &str) -> [ScriptedReply; 2] {
    let arguments = json!({ "cmd": command });
    [
        ScriptedReply::says("I will run it.").calls("exec_command", arguments),
        ScriptedReply::says("All done."),
    ]
}

#[test]
fn a_turn_with_an_approval_through_cowork_and_seen_from_codex() {
    crate::tell(LIMIT, turns());
}

async fn turns() -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let replies = run("touch seven.txt")
        .into_iter()
        .chain(run("touch one.txt"));
    let model = ServedService::start_with(Vendor::OpenAi, replies).await?;
    let server = server(&scratch, &model).await?;
    seven(&server, &scratch).await?;
    one(&server, &scratch).await?;
    ensure!(model.refusals().is_empty(), "{:?}", model.refusals());
    Ok(())
}

async fn seven(server: &Process, scratch: &Scratch) -> anyhow::Result<()> {
    let mut visitor = Visitor::arrive(server).await?;
    visitor.client.set_limit(Duration::from_secs(60));
    visitor.choose("openai", "codex-acp/default").await?;
    let mut watcher = CodexWatcher::open(server, &visitor.session).await?;
    let from = visitor.client.heard().len();
    visitor.say("Make a file.").await?;
    let ask = visitor.client.until_type("approval").await?;
    assert_eq!(ask["command"], "touch seven.txt", "{ask}");
    let yes = json!({ "requestId": ask["requestId"], "approved": true });
    visitor.send("approval_response", yes).await?;
    let rest = visitor.rest().await?;
    assert_eq!(rest["outcome"], "completed", "{rest}");
    let frames = visitor.client.heard()[from..].iter();
    let frames: Vec<Value> = frames
        .filter_map(|frame| serde_json::from_str(frame).ok())
        .collect();
    let of_type = |kind: &str| frames.iter().find(|frame| frame["type"] == kind);
    let said = of_type("assistant_message").context("no message")?;
    assert_eq!(said["text"], "I will run it.\n\nAll done.");
    let chunk = |kind: &str| frames.iter().find(|frame| frame["partType"] == kind);
    let result = chunk("tool_result").context("no result")?;
    assert_eq!(result["part"]["output"]["exitCode"], 0, "{result}");
    assert_eq!(result["model"], "codex-acp/default", "{result}");
    ensure!(scratch.workspace().join("seven.txt").is_file(), "no file");
    watcher.saw("touch seven.txt", "All done.").await
}

async fn one(server: &Process, scratch: &Scratch) -> anyhow::Result<()> {
    let url = format!("{}?protocol=1", server.url());
    let mut client = Client::connect(&url).await?;
    client.set_limit(Duration::from_secs(60));
    let hello = client.until_type("server_hello").await?;
    let session = hello["sessionId"].clone();
    let message = |kind: &str, mut fields: Value| {
        fields["type"] = json!(kind);
        fields["sessionId"] = session.clone();
        fields
    };
    let chosen = json!({ "provider": "openai", "model": "codex-acp/default" });
    client.send_json(&message("set_model", chosen)).await?;
    let updated = client.until_type("config_updated").await?;
    assert_eq!(updated["config"]["model"], "codex-acp/default", "{updated}");
    let said = json!({ "text": "Make another." });
    client.send_json(&message("user_message", said)).await?;
    let ask = client.until_type("approval").await?;
    assert_eq!(ask["command"], "touch one.txt", "{ask}");
    let yes = json!({ "requestId": ask["requestId"], "approved": true });
    client.send_json(&message("approval_response", yes)).await?;
    let answer = client.until_type("assistant_message").await?;
    assert_eq!(answer["text"], "I will run it.\n\nAll done.", "{answer}");
    ensure!(scratch.workspace().join("one.txt").is_file(), "no file");
    Ok(())
}

/// A codex client that only looks on.
struct CodexWatcher {
    client: Client,
}

impl CodexWatcher {
    async fn open(server: &Process, thread: &str) -> anyhow::Result<Self> {
        let url = format!("ws://127.0.0.1:{}/codex", server.port());
        let mut client = Client::connect(&url).await?;
        client.set_limit(Duration::from_secs(60));
        let own = json!({ "clientInfo": { "name": "watcher", "title": null, "version": "1" } });
        client
            .send_json(&json!({ "id": 1, "method": "initialize", "params": own }))
            .await?;
        client.until(|frame| frame["id"] == 1).await?;
        client
            .send_json(&json!({ "method": "initialized" }))
            .await?;
        let resume = json!({ "threadId": thread });
        client
            .send_json(&json!({ "id": 2, "method": "thread/resume", "params": resume }))
            .await?;
        let resumed = client.until(|frame| frame["id"] == 2).await?;
        ensure!(resumed.get("error").is_none(), "{resumed}");
        // Nothing of ours holds such a thread, and nobody says so.
        let sandbox = &resumed["result"]["sandbox"]["type"];
        assert_eq!(sandbox, "dangerFullAccess", "{resumed}");
        Ok(Self { client })
    }

    /// The command, that a person was asked, what was said, and the end.
    async fn saw(&mut self, command: &str, said: &str) -> anyhow::Result<()> {
        let asked = "item/commandExecution/requestApproval";
        self.client.until(|frame| frame["method"] == asked).await?;
        let ran = |frame: &Value| {
            let item = &frame["params"]["item"];
            frame["method"] == "item/completed" && item["type"] == "commandExecution"
        };
        let ran = self.client.until(ran).await?;
        let item = &ran["params"]["item"];
        assert_eq!(
            (&item["command"], &item["exitCode"]),
            (&json!(command), &json!(0)),
            "{ran}"
        );
        let told = |frame: &Value| frame["params"]["item"]["text"] == said;
        self.client.until(told).await?;
        let over = |frame: &Value| frame["method"] == "turn/completed";
        let over = self.client.until(over).await?;
        assert_eq!(over["params"]["turn"]["status"], "completed", "{over}");
        Ok(())
    }
}
