//! Connections and time: a server in memory, and a clock that runs as fast as it may.
#![allow(clippy::unwrap_used)]

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use vocabulary::{McpLayer, McpServer, TenantId};

use super::*;
use crate::limits::PING_MAX;
use crate::transport::{HttpAuthorizer, HttpCredential};
use crate::{ConfiguredServer, McpPlace};

struct Nobody;

#[async_trait]
impl HttpAuthorizer for Nobody {
    async fn credential(&self, _: &McpPlace, _: &ConfiguredServer) -> Option<HttpCredential> {
        None
    }
}

fn order() -> ConnectOrder {
    let transport = McpTransport::Stdio {
        command: "none".to_owned(),
        args: Vec::new(),
        env: BTreeMap::new(),
        cwd: None,
    };
    ConnectOrder {
        place: McpPlace {
            tenant: TenantId::new("local"),
            directory: "/".into(),
        },
        server: ConfiguredServer {
            server: McpServer {
                name: "one".to_owned(),
                transport,
                required: None,
                retries: None,
                auth: None,
            },
            layer: McpLayer::User,
        },
        fence: None,
        authorizer: Arc::new(Nobody),
    }
}

/// Answers these methods, and stays silent otherwise.
async fn serve_methods(stream: DuplexStream, methods: &'static [&'static str]) {
    let (read, mut write) = tokio::io::split(stream);
    let mut lines = BufReader::new(read).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let message: Value = serde_json::from_str(&line).unwrap();
        let method = message["method"].as_str().unwrap();
        if !methods.contains(&method) {
            continue;
        }
        let result = match method {
            "initialize" => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "serverInfo": {"name": "in memory", "version": "1"},
            }),
            _ => json!({}),
        };
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        write
            .write_all(format!("{answer}\n").as_bytes())
            .await
            .unwrap();
    }
}

async fn connected(methods: &'static [&'static str]) -> Arc<McpConnection> {
    let (near, far) = tokio::io::duplex(64 * 1024);
    tokio::spawn(serve_methods(far, methods));
    let notes = ConnectionNotes::default();
    serve(&order(), tokio::io::split(near), &notes)
        .await
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_nobody_uses_is_let_go() {
    let connection = connected(&["initialize", "ping"]).await;
    assert!(connection.answers().await);
    tokio::time::sleep(IDLE_MAX / 2).await;
    connection.touch();
    tokio::time::sleep(IDLE_MAX - Duration::from_secs(1)).await;
    assert!(!connection.is_closed());
    connection.end_token().cancelled().await;
    assert!(connection.was_let_go());
    let lived = connection.begun.elapsed();
    assert!(lived >= IDLE_MAX / 2 + IDLE_MAX, "{lived:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stopped_answering_is_found_out() {
    let connection = connected(&["initialize"]).await;
    let begun = Instant::now();
    assert!(!connection.answers().await);
    assert!(begun.elapsed() <= PING_MAX + Duration::from_secs(1));
    connection.close().await;
    assert!(connection.is_closed());
}
