//! What changing a file does to it, to what stands beside, and to credentials.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use serde_json::{Value, json};
use vocabulary::{McpAuth, McpAuthMode, McpLayer, McpSnapshot, McpTransport, Secret, TenantId};

use super::*;
use crate::{ConfiguredServer, McpOptions};

const FILE: &str = "ws/.cowork/mcp-servers.json";
const LEGACY: &str = "ws/.agent/mcp-servers.json";
const CREDENTIALS: &str = "ws/.cowork/auth/mcp-credentials.json";

struct Ground {
    scratch: tempfile::TempDir,
    servers: Servers,
    place: McpPlace,
}

impl Ground {
    fn new() -> Self {
        let scratch = tempfile::tempdir().expect("a directory");
        let at = |name: &str| scratch.path().join(name);
        std::fs::create_dir(at("ws")).expect("a workspace");
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
        Self {
            scratch,
            servers,
            place,
        }
    }

    fn with(file: &Value) -> Self {
        let ground = Self::new();
        ground.write(FILE, &file.to_string());
        ground
    }

    fn at(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.at(name);
        let directory = path.parent().expect("a directory");
        std::fs::create_dir_all(directory).expect("directories");
        std::fs::write(path, text).expect("written");
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.at(name)).expect("a file")
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name)).expect("JSON")
    }

    fn mode(&self, name: &str) -> u32 {
        let found = self.at(name).metadata().expect("it is there");
        found.permissions().mode() & 0o777
    }

    async fn save(&self, server: McpServer, previous: Option<&str>) -> Result<(), Refusal> {
        self.servers.save(&self.place, server, previous).await
    }

    async fn delete(&self, name: &str) -> Result<(), Refusal> {
        self.servers.delete(&self.place, name).await
    }

    async fn key(&self, name: &str) -> bool {
        let saved = self
            .servers
            .credentials
            .read_all(&self.place, McpScope::Workspace);
        saved.await.expect("read").of(name).key().is_some()
    }

    async fn set_key(&self, server: McpServer) -> (SignedInResult, McpAuthMode) {
        let server = ConfiguredServer {
            server,
            layer: McpLayer::Workspace,
        };
        let set = self
            .servers
            .set_key(&self.place, &server, Secret::new(" sk-1 "));
        let (result, mode) = set.await.expect("an answer");
        ((result.ok, result.message), mode)
    }
}

type SignedInResult = (bool, String);

fn http(name: &str) -> McpServer {
    McpServer {
        name: name.to_owned(),
        transport: McpTransport::Http {
            url: "https://mcp.example".to_owned(),
            headers: Default::default(),
        },
        required: None,
        retries: None,
        auth: Some(McpAuth::ApiKey {
            header: None,
            prefix: None,
            key_id: None,
        }),
    }
}

fn entry(name: &str) -> Value {
    let transport = json!({ "type": "http", "url": "https://mcp.example" });
    json!({ "name": name, "transport": transport, "auth": { "type": "api_key" } })
}

fn message(outcome: Result<(), Refusal>) -> String {
    outcome.expect_err("refused").message
}

#[tokio::test]
async fn a_server_is_written_into_the_workspaces_file_and_counts() {
    let ground = Ground::new();
    ground.save(http("a"), None).await.expect("saved");
    ground.save(http("b"), None).await.expect("saved");
    assert_eq!(
        ground.json(FILE),
        json!({ "servers": [entry("a"), entry("b")] })
    );
    assert!(ground.text(FILE).ends_with("}\n"));
    assert_eq!(ground.mode(FILE), 0o644);
    let configured = ground.servers.configured(&ground.place).await;
    let names = configured.iter().map(|each| each.server.name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["a", "b"]);
}

#[tokio::test]
async fn a_new_file_with_what_may_be_keys_is_its_owners_alone() {
    let ground = Ground::new();
    let mut server = http("a");
    server.transport = McpTransport::Stdio {
        command: "node".to_owned(),
        args: Vec::new(),
        env: [("TOKEN".to_owned(), "t".to_owned())].into(),
        cwd: None,
    };
    ground.save(server, None).await.expect("saved");
    assert_eq!(ground.mode(FILE), 0o600);

    // A file that is there keeps what its owner chose.
    let open = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(ground.at(FILE), open).expect("changed");
    ground.save(http("b"), None).await.expect("saved");
    assert_eq!(ground.mode(FILE), 0o640);
}

#[tokio::test]
async fn what_only_others_know_of_stays() {
    let file = json!({
        "$schema": "theirs",
        "servers": [
            { "name": "first", "transport": { "type": "sse", "url": "http://a.example" } },
            {
                "note": "mine",
                "name": "a",
                "transport": { "type": "http", "url": "http://old.example", "timeout": 5, "headers": { "A": "b" } },
                "auth": { "type": "oauth", "theirs": true },
                "required": true,
            },
            { "name": "last", "transport": { "type": "sse", "url": "http://b.example" } },
        ],
        "inputs": [],
    });
    let ground = Ground::with(&file);
    ground.save(http("a"), Some("a")).await.expect("saved");
    let mut expected = file.clone();
    expected["servers"][1] = json!({
        "note": "mine",
        "name": "a",
        "transport": { "type": "http", "url": "https://mcp.example", "timeout": 5 },
        "auth": { "type": "api_key" },
    });
    assert_eq!(ground.json(FILE), expected);

    ground.delete("a").await.expect("deleted");
    expected["servers"]
        .as_array_mut()
        .expect("a list")
        .remove(1);
    assert_eq!(ground.json(FILE), expected);
}

#[tokio::test]
async fn a_server_keeps_its_credentials_under_another_name_and_loses_them_when_deleted() {
    let ground = Ground::new();
    ground.save(http("old"), None).await.expect("saved");
    ground.save(http("other"), None).await.expect("saved");
    assert_eq!(
        ground.set_key(http("old")).await,
        ((true, "API key saved.".to_owned()), McpAuthMode::ApiKey)
    );
    assert_eq!(
        ground.json(CREDENTIALS)["servers"]["old"]["apiKey"]["value"],
        "sk-1"
    );

    ground
        .save(http("new"), Some("old"))
        .await
        .expect("renamed");
    assert!(ground.key("new").await && !ground.key("old").await);
    assert_eq!(
        ground.json(FILE),
        json!({ "servers": [entry("new"), entry("other")] })
    );

    // What cannot be renamed keeps what it has, and so does what is in its way.
    let taken = ground.save(http("other"), Some("new")).await;
    assert_eq!(message(taken), "MCP server \"other\" already exists.");
    let unknown = ground.save(http("x"), Some("nobody")).await;
    assert_eq!(message(unknown), "MCP server \"nobody\" not found.");
    assert!(ground.key("new").await);

    ground.delete("new").await.expect("deleted");
    assert!(!ground.key("new").await);
    assert_eq!(ground.json(FILE), json!({ "servers": [entry("other")] }));
}

#[tokio::test]
async fn nothing_is_made_where_nothing_is_saved() {
    let ground = Ground::new();
    assert_eq!(
        message(ground.delete("a").await),
        "MCP server \"a\" not found."
    );
    assert!(!ground.at("ws/.cowork").exists());
    ground.save(http("a"), None).await.expect("saved");
    ground.save(http("b"), Some("a")).await.expect("renamed");
    ground.delete("b").await.expect("deleted");
    assert!(!ground.at("ws/.cowork/auth").exists());
}

#[tokio::test]
async fn a_malformed_file_is_refused_and_stays_as_it_is() {
    for text in ["{", "[]", "{\"servers\":[{\"name\":1}]}"] {
        let ground = Ground::new();
        ground.write(FILE, text);
        let refusals = [
            ground.save(http("a"), None).await,
            ground.save(http("a"), Some("b")).await,
            ground.delete("a").await,
        ];
        for refused in refusals {
            let message = message(refused);
            let words = "mcp-servers.json is malformed and was not changed; mend or remove it: ";
            assert!(message.contains(words), "{message}");
        }
        assert_eq!(ground.text(FILE), text);
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_server_is_told_and_nothing_written() {
    let ground = Ground::new();
    let mut server = http("a");
    server.transport = McpTransport::Sse {
        url: "ftp://mcp.example".to_owned(),
        headers: Default::default(),
    };
    let refusal = ground.save(server, None).await.expect_err("refused");
    let message = "mcp-servers.json: servers.0.transport.url: must begin with http:// or https://";
    assert_eq!(refusal, Refusal::invalid("server", message));
    assert!(!ground.at("ws/.cowork").exists());
}

#[tokio::test]
async fn a_server_of_another_layer_is_changed_there() {
    let ground = Ground::new();
    ground.write(LEGACY, &json!({ "servers": [entry("a")] }).to_string());
    let path = ground.at(LEGACY);
    let words = format!(
        "MCP server \"a\" is configured in the workspace_legacy file {}; it can only be changed there.",
        path.display()
    );
    assert_eq!(message(ground.delete("a").await), words);
    // Saved, ours counts instead of it.
    ground.save(http("a"), None).await.expect("saved");
    let configured = ground.servers.configured(&ground.place).await;
    assert_eq!(configured[0].layer, McpLayer::Workspace);
}

#[tokio::test]
async fn nothing_is_written_through_a_link() {
    let ground = Ground::new();
    std::fs::create_dir(ground.at("elsewhere")).expect("a directory");
    symlink(ground.at("elsewhere"), ground.at("ws/.cowork")).expect("a link");
    let message = message(ground.save(http("a"), None).await);
    assert!(
        message.contains("a link, or no directory, is in its way"),
        "{message}"
    );
    assert!(!ground.at("elsewhere/mcp-servers.json").exists());
}

#[tokio::test]
async fn only_who_wants_a_key_gets_one() {
    let ground = Ground::new();
    let mut server = http("a");
    server.auth = None;
    let ((ok, words), mode) = ground.set_key(server).await;
    assert!(!ok && words.contains("takes no API key"), "{words}");
    assert_eq!(mode, McpAuthMode::None);
    assert!(!ground.at("ws/.cowork").exists());
}

async fn migrated(ground: &Ground, scope: McpScope) -> (u32, u32, Option<PathBuf>, McpSnapshot) {
    let reply = ground.servers.migrate(&ground.place, scope).await;
    let McpReply::Migrated {
        imported,
        skipped,
        archived,
        now,
    } = reply.expect("migrated")
    else {
        panic!("another reply");
    };
    (imported, skipped, archived, now)
}

#[tokio::test]
async fn older_files_are_taken_over_once_and_kept_aside() {
    let mut theirs = entry("a");
    theirs["theirs"] = json!(1);
    let older = json!({ "servers": [theirs, entry("both")] });
    for (scope, older_path, path) in [
        (McpScope::Workspace, LEGACY, FILE),
        (
            McpScope::User,
            "user/.agent/mcp-servers.json",
            "home/config/mcp-servers.json",
        ),
    ] {
        let ground = Ground::new();
        ground.write(older_path, &older.to_string());
        let mut ours = entry("both");
        ours["required"] = json!(true);
        ground.write(path, &json!({ "servers": [ours] }).to_string());

        let (imported, skipped, archived, now) = migrated(&ground, scope).await;
        let aside = older_path.replace(".json", ".legacy-migrated.json");
        assert_eq!((imported, skipped), (1, 1));
        assert_eq!(archived, Some(ground.at(&aside)));
        assert_eq!(ground.json(path), json!({ "servers": [ours, theirs] }));
        assert_eq!(ground.json(&aside), older);
        assert!(!ground.at(older_path).exists());
        assert_eq!(now.servers.len(), 2);

        let (imported, skipped, archived, _) = migrated(&ground, scope).await;
        assert_eq!((imported, skipped, archived), (0, 0, None));

        // Another one later does not replace the first.
        ground.write(older_path, &json!({ "servers": [] }).to_string());
        let (_, _, archived, _) = migrated(&ground, scope).await;
        let second = older_path.replace(".json", ".legacy-migrated-2.json");
        assert_eq!(archived, Some(ground.at(&second)));
        assert_eq!(ground.json(&aside), older);
    }
}

#[tokio::test]
async fn a_malformed_older_file_is_left_where_it_is() {
    let ground = Ground::new();
    ground.write(LEGACY, "{");
    let refused = ground
        .servers
        .migrate(&ground.place, McpScope::Workspace)
        .await;
    let message = refused.expect_err("refused").message;
    assert!(
        message.contains("is malformed and was not taken over"),
        "{message}"
    );
    assert_eq!(ground.text(LEGACY), "{");
    assert!(!ground.at(FILE).exists());
}

#[tokio::test]
async fn servers_saved_at_the_same_time_are_all_there() {
    let ground = std::sync::Arc::new(Ground::new());
    let saving: Vec<_> = (0..8)
        .map(|n| {
            let ground = std::sync::Arc::clone(&ground);
            tokio::spawn(async move { ground.save(http(&format!("s{n}")), None).await })
        })
        .collect();
    for saved in saving {
        saved.await.expect("no panic").expect("saved");
    }
    let configured = ground.servers.configured(&ground.place).await;
    assert_eq!(configured.len(), 8);
}
