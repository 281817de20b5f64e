//! Servers that others wrote, as they come from the package registry.
//!
//! `cargo xtask test` installs them and says where they are.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../it/workshop.rs"]
#[expect(dead_code, reason = "the other tests use more of it")]
mod workshop;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use mcp::{ConfiguredServer, Offer};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use vocabulary::{ContentBlock, McpTransport, ToolOutput};

use workshop::{PATIENCE, Person, Workshop, names, server, text, tool};

const VARIABLE: &str = "DRAGOMAN_PEER_MCP_SERVERS";

fn entry(package: &str) -> PathBuf {
    let folder = std::env::var_os(VARIABLE).unwrap_or_else(|| {
        panic!("{VARIABLE} does not say where the servers are: run `cargo xtask test`")
    });
    let modules = PathBuf::from(folder).join("node_modules/@modelcontextprotocol");
    modules.join(package).join("dist/index.js")
}

fn node(name: &str, package: &str, arguments: &[&str], env: &[(&str, &str)]) -> ConfiguredServer {
    let script = entry(package).display().to_string();
    let words = std::iter::once(script.as_str()).chain(arguments.iter().copied());
    let pairs = env
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let transport = McpTransport::Stdio {
        command: "node".to_owned(),
        args: words.map(str::to_owned).collect(),
        env: pairs.collect(),
        cwd: None,
    };
    server(name, transport)
}

/// `server-everything` as a process that listens.
async fn listening(transport: &str) -> (Child, u16) {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let mut child = Command::new("node")
        .arg(entry("server-everything"))
        .arg(transport)
        .env("PORT", port.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let listens = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.contains(&format!("on port {port}")) {
                // It ends when nobody reads what it writes.
                tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
                return;
            }
        }
        panic!("it does not listen");
    };
    tokio::time::timeout(PATIENCE, listens).await.unwrap();
    (child, port)
}

async fn call(workshop: &Workshop, offer: &Offer, name: &str, input: Value) -> ToolOutput {
    let name = format!("mcp__everything__{name}");
    workshop.call(offer, &name, input).await.unwrap()
}

/// What a server with everything can do, by whichever transport.
async fn everything(configured: ConfiguredServer) {
    let workshop = Workshop::new();
    let offer = workshop.offer(&[configured]).await;
    assert_eq!(offer.notes, [""; 0]);
    let said = call(&workshop, &offer, "echo", json!({"message": "hello"})).await;
    assert_eq!(said.words(), "Echo: hello");
    let sum = call(&workshop, &offer, "get-sum", json!({"a": 2, "b": 3})).await;
    assert!(sum.words().contains('5'), "{sum:?}");
    let image = call(&workshop, &offer, "get-tiny-image", json!({})).await;
    let ToolOutput::Content(blocks) = &image else {
        panic!("{image:?}");
    };
    assert!(
        blocks
            .iter()
            .any(|block| matches!(block, ContentBlock::Image { .. }))
    );
    let weather = call(
        &workshop,
        &offer,
        "get-structured-content",
        json!({"location": "Chicago"}),
    )
    .await;
    let ToolOutput::Content(blocks) = &weather else {
        panic!("{weather:?}");
    };
    assert!(
        matches!(&blocks[..], [ContentBlock::Structured(value)] if value["temperature"].is_number())
    );
    let links = call(&workshop, &offer, "get-resource-links", json!({"count": 2})).await;
    let ToolOutput::Content(blocks) = &links else {
        panic!("{links:?}");
    };
    assert!(
        blocks
            .iter()
            .any(|block| matches!(block, ContentBlock::Resource { .. }))
    );

    let person = Person::new([]);
    let cx = workshop.cx(&person);
    let long = tool(&offer, "mcp__everything__trigger-long-running-operation");
    let done = long.run(&cx, json!({"duration": 1, "steps": 2})).await;
    assert!(text(done).contains("Long running operation completed"));
    assert!(
        person.told.lock().iter().any(|told| told.contains("of 2")),
        "{:?}",
        person.told.lock()
    );

    let input = json!({"server": "everything"});
    let resources = text(workshop.call(&offer, "mcpListResources", input).await);
    let uri = resources.split_whitespace().next().unwrap();
    let input = json!({"server": "everything", "uri": uri});
    workshop
        .call(&offer, "mcpReadResource", input)
        .await
        .unwrap();
    let prompts = workshop.servers.prompts(&workshop.place);
    let simple = prompts
        .iter()
        .find(|prompt| prompt.name == "simple-prompt")
        .unwrap();
    let words = workshop
        .servers
        .prompt(&workshop.place, simple, Vec::new())
        .await
        .unwrap();
    assert!(words.contains("simple prompt"), "{words}");
    workshop.servers.stop().await;
}

#[tokio::test]
async fn everything_as_a_child_process() {
    everything(node("everything", "server-everything", &["stdio"], &[])).await;
}

#[tokio::test]
async fn everything_by_streamable_http() {
    let (_child, port) = listening("streamableHttp").await;
    let url = format!("http://127.0.0.1:{port}/mcp");
    let headers = BTreeMap::new();
    everything(server("everything", McpTransport::Http { url, headers })).await;
}

#[tokio::test]
async fn everything_by_the_older_transport() {
    let (_child, port) = listening("sse").await;
    let url = format!("http://127.0.0.1:{port}/sse");
    let headers = BTreeMap::new();
    everything(server("everything", McpTransport::Sse { url, headers })).await;
}

#[tokio::test]
async fn everything_asks_a_person() {
    let workshop = Workshop::new();
    let server = [node("everything", "server-everything", &["stdio"], &[])];
    let asks = "mcp__everything__trigger-elicitation-request";
    // It offers more tools when it knows what we can do.
    let begun = std::time::Instant::now();
    let offer = loop {
        let offer = workshop.offer(&server).await;
        if names(&offer).contains(&asks) {
            break offer;
        }
        assert!(begun.elapsed() < PATIENCE, "{:?}", names(&offer));
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    // Each form has a few fields: the first of each is answered, and the rest passed over.
    let answer = || {
        Some(vec![
            vec!["Ada".to_owned()],
            Vec::new(),
            Vec::new(),
            Vec::new(),
        ])
    };
    let person = Person::new(std::iter::repeat_with(answer).take(5));
    let cx = workshop.cx(&person);
    let said = text(tool(&offer, asks).run(&cx, json!({})).await);
    assert!(!person.asked.lock().is_empty());
    assert!(said.contains("Ada") || said.contains("declined"), "{said}");
    let roots = call(&workshop, &offer, "get-roots-list", json!({})).await;
    let directory = workshop.place.directory.display().to_string();
    assert!(roots.words().contains(&directory), "{}", roots.words());
}

#[tokio::test]
async fn files_of_the_workspace_are_written_and_others_are_not_read() {
    let workshop = Workshop::new();
    let directory = workshop.place.directory.display().to_string();
    let server = node("files", "server-filesystem", &[&directory], &[]);
    let offer = workshop.offer(&[server]).await;
    let path = format!("{directory}/note.txt");
    let input = json!({"path": path, "content": "from afar"});
    workshop
        .call(&offer, "mcp__files__write_file", input)
        .await
        .unwrap();
    assert_eq!(workshop.file("note.txt").as_deref(), Some("from afar"));
    let read = workshop
        .call(&offer, "mcp__files__read_text_file", json!({"path": path}))
        .await;
    assert!(text(read).contains("from afar"));
    let outside = workshop
        .call(
            &offer,
            "mcp__files__read_text_file",
            json!({"path": "/etc/hostname"}),
        )
        .await;
    assert!(workshop::error(outside).contains("denied"));
}

#[tokio::test]
async fn memory_is_kept_from_one_start_to_the_next() {
    let workshop = Workshop::new();
    let file = workshop
        .place
        .directory
        .join("memory.jsonl")
        .display()
        .to_string();
    let server = [node(
        "memory",
        "server-memory",
        &[],
        &[("MEMORY_FILE_PATH", &file)],
    )];
    let offer = workshop.offer(&server).await;
    let ada = json!({"name": "Ada", "entityType": "person", "observations": ["likes engines"]});
    let input = json!({"entities": [ada]});
    workshop
        .call(&offer, "mcp__memory__create_entities", input)
        .await
        .unwrap();
    workshop.servers.stop().await;
    let offer = workshop.offer(&server).await;
    let graph = workshop
        .call(&offer, "mcp__memory__read_graph", json!({}))
        .await;
    assert!(text(graph).contains("likes engines"));
}
