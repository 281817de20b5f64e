//! Hostile files, all the way to what people are shown.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::json;
use vocabulary::{McpAuthMode, McpLayer, McpRunning, TenantId};

use super::*;
use crate::McpOptions;

struct Ground {
    scratch: tempfile::TempDir,
    servers: Servers,
    place: McpPlace,
}

impl Ground {
    fn new() -> Self {
        let scratch = tempfile::tempdir().expect("a directory");
        let at = |name: &str| scratch.path().join(name);
        let servers = Servers::new(McpOptions {
            home: at("home"),
            user: Some(at("user")),
            system: at("system.json"),
            fenced: true,
        });
        let place = McpPlace {
            tenant: TenantId::new("local"),
            directory: at("ws"),
        };
        for directory in [
            "ws/.cowork/auth",
            "ws/.agent",
            "home/config",
            "home/auth",
            "user/.agent",
        ] {
            std::fs::create_dir_all(at(directory)).expect("directories");
        }
        Self {
            scratch,
            servers,
            place,
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.at(name), text).expect("written");
    }
}

#[tokio::test]
async fn every_file_hostile_is_six_warnings_and_nothing_run() {
    let ground = Ground::new();
    let mark = ground.at("was-run");
    let run = json!({ "type": "stdio", "command": "touch", "args": [mark] });
    // One that would run something, with one thing wrong at its end.
    let entry = json!({ "name": "a", "transport": run });
    let broken = json!({ "servers": [entry, { "name": "b", "transport": { "type": "?" } }] });
    ground.write("ws/.cowork/mcp-servers.json", &broken.to_string());
    ground.write("ws/.agent/mcp-servers.json", &" ".repeat(10 << 20));
    symlink(
        "mcp-servers.json",
        ground.at("home/config/mcp-servers.json"),
    )
    .expect("a link");
    std::fs::create_dir(ground.at("system.json")).expect("a directory");
    std::fs::write(ground.at("user/.agent/mcp-servers.json"), [0xff, 0xfe]).expect("written");
    ground.write("home/auth/mcp-credentials.json", "{\"servers\":1}");

    let snapshot = ground.servers.snapshot(&ground.place).await;
    assert_eq!(snapshot.servers, []);
    let errors = snapshot.files.iter().map(|file| {
        assert!(file.exists && file.server_count == 0);
        file.parse_error.as_deref().expect("malformed")
    });
    let expected = [
        "mcp-servers.json: servers.1.transport.type: must be \"stdio\", \"http\" or \"sse\"",
        "mcp-servers.json: links lead in a circle",
        "mcp-servers.json: it is not a file",
        "mcp-servers.json: it is larger than 1048576 bytes",
        "mcp-servers.json: it is not UTF-8",
    ];
    assert_eq!(errors.collect::<Vec<_>>(), expected);
    assert_eq!(snapshot.warnings.len(), 6);
    assert!(
        snapshot.warnings[5].contains("is damaged"),
        "{:?}",
        snapshot.warnings
    );
    assert!(!mark.exists());
}

#[tokio::test]
async fn each_server_stands_by_the_credentials_of_its_scope() {
    let ground = Ground::new();
    let file = |name: &str| {
        let transport = json!({ "type": "http", "url": "https://mcp.example" });
        let auth = json!({ "type": "api_key" });
        json!({ "servers": [{ "name": name, "transport": transport, "auth": auth }] }).to_string()
    };
    ground.write("ws/.cowork/mcp-servers.json", &file("ours"));
    ground.write("home/config/mcp-servers.json", &file("theirs"));
    let key = json!({ "apiKey": { "value": "k" } });
    let saved = json!({ "version": 1, "servers": { "ours": key, "theirs": key } });
    ground.write("home/auth/mcp-credentials.json", &saved.to_string());

    let snapshot = ground.servers.snapshot(&ground.place).await;
    let states = snapshot.servers.iter().map(|state| {
        assert_eq!(state.running, McpRunning::NotStarted);
        (state.layer, state.auth.scope, state.auth.mode)
    });
    let expected = [
        (
            McpLayer::Workspace,
            McpScope::Workspace,
            McpAuthMode::Missing,
        ),
        (McpLayer::User, McpScope::User, McpAuthMode::ApiKey),
    ];
    assert_eq!(states.collect::<Vec<_>>(), expected);
    assert_eq!(snapshot.warnings, [""; 0]);
}
