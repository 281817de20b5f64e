//! Whole turns with MCP servers that others wrote.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::peer::Aimock;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::{RESPONSES, Site};

const LIMIT: Duration = Duration::from_secs(90);

fn entry(package: &str) -> anyhow::Result<String> {
    let folder = std::env::var_os("DRAGOMAN_PEER_MCP_SERVERS")
        .context("it is not known where the MCP servers are: run `cargo xtask test`")?;
    let modules = PathBuf::from(folder).join("node_modules/@modelcontextprotocol");
    let path = modules.join(package).join("dist/index.js");
    Ok(path.display().to_string())
}

/// `server-everything` as a process that listens.
async fn listening(transport: &str) -> anyhow::Result<(Child, u16)> {
    let free = std::net::TcpListener::bind("127.0.0.1:0")?;
    let port = free.local_addr()?.port();
    drop(free);
    let mut child = Command::new("node")
        .arg(entry("server-everything")?)
        .arg(transport)
        .env("PORT", port.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let errors = child.stderr.take().context("no standard error")?;
    let mut lines = BufReader::new(errors).lines();
    while let Some(line) = lines.next_line().await? {
        if line.contains(&format!("on port {port}")) {
            // It ends when nobody reads what it writes.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return Ok((child, port));
        }
    }
    anyhow::bail!("server-everything does not listen")
}

#[test]
fn a_turn_with_five_servers_by_all_transports() {
    crate::tell(LIMIT, turn_with_servers());
}

fn script() -> Value {
    let call = |name: &str, arguments: Value| json!({ "name": name, "arguments": arguments });
    let ada = json!({ "name": "Ada", "entityType": "person", "observations": ["engines"] });
    json!([
        {
            "match": { "userMessage": "everything", "hasToolResult": false },
            "response": { "content": "I will try.", "toolCalls": [
                call("mcp__child__echo", json!({ "message": "by a pipe" })),
                call("mcp__web__echo", json!({ "message": "by the web" })),
                call("mcp__older__echo", json!({ "message": "by the older web" })),
                call("mcp__files__write_file", json!({ "path": "note.txt", "content": "by files" })),
                call("mcp__memory__create_entities", json!({ "entities": [ada] })),
            ] },
        },
        {
            "match": { "userMessage": "everything", "hasToolResult": true },
            "response": { "content": "All of them work." },
        },
        {
            "match": { "userMessage": "What's weather in Lagos, Lagos State?" },
            "response": { "content": "Warm." },
        },
    ])
}

async fn turn_with_servers() -> anyhow::Result<()> {
    let (_web, web) = listening("streamableHttp").await?;
    let (_older, older) = listening("sse").await?;
    let aimock = Aimock::start(&script()).await?;
    let mut site = Site::open(
        &RESPONSES,
        &format!("http://127.0.0.1:{}/v1", aimock.port()),
    )
    .await?;
    let directory = site.scratch.workspace().to_owned();
    let node = |package: &str, more: Vec<String>| -> anyhow::Result<Value> {
        let mut arguments = vec![entry(package)?];
        arguments.extend(more);
        Ok(json!({ "type": "stdio", "command": "node", "args": arguments }))
    };
    let named = |name: &str, transport: Value| json!({ "name": name, "required": true, "transport": transport });
    let memory = json!({ "MEMORY_FILE_PATH": directory.join("memory.jsonl") });
    let mut of_memory = node("server-memory", Vec::new())?;
    of_memory["env"] = memory;
    let servers = json!({ "servers": [
        named("child", node("server-everything", vec!["stdio".to_owned()])?),
        named("web", json!({ "type": "http", "url": format!("http://127.0.0.1:{web}/mcp") })),
        named("older", json!({ "type": "sse", "url": format!("http://127.0.0.1:{older}/sse") })),
        named("files", node("server-filesystem", vec![directory.display().to_string()])?),
        named("memory", of_memory),
    ] });
    let folder = site.scratch.home().join("config");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("mcp-servers.json"), servers.to_string())?;

    let from = site.visitor.client.heard().len();
    site.visitor.say("Try everything!").await?;
    for _ in 0..2 {
        let ask = site.visitor.client.until_type("approval").await?;
        let command = ask["command"].as_str().unwrap_or_default();
        let is_known = ["mcp files.write_file ", "mcp memory.create_entities "];
        ensure!(
            is_known.iter().any(|known| command.starts_with(known)),
            "{ask}"
        );
        let yes = json!({ "requestId": ask["requestId"], "approved": true });
        site.visitor.send("approval_response", yes).await?;
    }
    site.visitor.rest().await?;
    let turn = site.turn(from)?;
    assert_eq!(turn.outcome(), "completed", "{:?}", turn.trouble());
    assert_eq!(turn.answer()?, "I will try.\n\nAll of them work.");
    assert_eq!(site.scratch.read("note.txt"), "by files");
    let kept = std::fs::read_to_string(directory.join("memory.jsonl"))?;
    ensure!(kept.contains("engines"), "{kept}");
    // What the model was shown of them.
    let asked = Value::from(aimock.requests().await?).to_string();
    for said in [
        "Echo: by a pipe",
        "Echo: by the web",
        "Echo: by the older web",
    ] {
        ensure!(asked.contains(said), "{said} is not in {asked}");
    }
    prompt_as_command(&mut site).await
}

/// A prompt of a server is a slash command: listed, and said with its arguments.
async fn prompt_as_command(site: &mut Site) -> anyhow::Result<()> {
    site.visitor.send("list_commands", json!({})).await?;
    let listed = site.visitor.client.until_type("commands").await?;
    let commands = listed["commands"].as_array().context("no list")?;
    let mut commands = commands.iter();
    let prompt = commands.find(|each| each["name"] == "child:args-prompt");
    let prompt = prompt.with_context(|| format!("no prompt in {listed}"))?;
    assert_eq!(prompt["source"], "mcp");
    assert_eq!(prompt["hints"], json!(["$1", "$2"]));

    let from = site.visitor.client.heard().len();
    let run = json!({ "name": "child:args-prompt", "arguments": "Lagos 'Lagos State'" });
    site.visitor.send("execute_command", run).await?;
    let said = site.visitor.client.until_type("user_message").await?;
    assert_eq!(said["text"], "/child:args-prompt Lagos 'Lagos State'");
    site.visitor.rest().await?;
    assert_eq!(site.turn(from)?.answer()?, "Warm.");
    Ok(())
}
