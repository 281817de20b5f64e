//! Stories of accounts, each alone with its own home, environment and servers.

mod choosing;
mod claude;
mod cloud;
mod compatible;
mod devices;
mod lists;
mod renewing;
mod retiring;
mod server;
mod signing_in;
mod standing;
mod tenants;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::provider_set::RemoteProvider;
use super::{Models, ModelsOptions};
use crate::accounts::tokens::unsigned;
use server::Server;

/// A home, and how `Models` is opened on it.
struct Home {
    directory: TempDir,
    options: ModelsOptions,
}

impl Home {
    fn new() -> Home {
        // Whoever runs the tests may have installed one already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let directory = tempfile::tempdir().expect("a directory");
        let options = ModelsOptions {
            second: Duration::from_millis(1),
            ..ModelsOptions::new(directory.path())
        };
        Home { directory, options }
    }

    /// With this authorisation server, ChatGPT at the same place, and a callback on any free port.
    fn with_issuer(issuer: &Server) -> Home {
        let home = Home::new().set("DRAGOMAN_CODEX_ISSUER", &issuer.url).set(
            "DRAGOMAN_CODEX_CLI_BASE_URL",
            &format!("{}/codex", issuer.url),
        );
        home.write(
            "config/catalog.toml",
            "[[provider]]\nid = \"codex-cli\"\n[provider.oauth]\ncallback_ports = [0]\n",
        );
        home
    }

    fn set(mut self, name: &str, value: &str) -> Home {
        self.options
            .environment
            .insert(name.to_owned(), value.to_owned());
        self
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.directory.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        std::fs::write(path, text).expect("written");
    }

    fn json(&self, path: &str) -> Value {
        let text = std::fs::read(self.directory.path().join(path)).expect("the file");
        serde_json::from_slice(&text).expect("JSON")
    }

    fn open(&self) -> Models {
        Models::open(self.options.clone())
    }

    /// Signed in with tokens that end at this moment, in milliseconds since 1970.
    fn signed_in(&self, expires_at: i64) {
        let saved = json!({"version": 1, "services": {"codex-cli": {
            "service": "codex-cli",
            "mode": "oauth",
            "updatedAt": "2026-01-01T00:00:00.000Z",
            "oauth": {"accessToken": "at-old", "refreshToken": "rt-1", "accountId": "acc",
                      "expiresAt": expires_at},
        }}});
        self.write("auth/connections.json", &saved.to_string());
    }
}

fn remote_provider(models: &Models, id: &str) -> Arc<RemoteProvider> {
    let remote = models.remote.as_ref().expect("remote models");
    Arc::clone(
        remote
            .provider_set()
            .remote_provider(id)
            .expect("the provider"),
    )
}

fn id_token() -> String {
    unsigned(&json!({
        "email": "ann@example.com",
        "name": "Ann",
        "https://api.openai.com/auth": {"chatgpt_account_id": "acc-1"},
    }))
}

fn models_list(ids: &[&str]) -> String {
    let data: Vec<_> = ids.iter().map(|id| json!({"id": id})).collect();
    json!({"object": "list", "data": data}).to_string()
}

fn masks(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let pairs = pairs
        .iter()
        .map(|(name, mask)| ((*name).to_owned(), (*mask).to_owned()));
    pairs.collect()
}
