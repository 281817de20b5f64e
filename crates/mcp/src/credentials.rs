//! `auth/mcp-credentials.json`: what opens the doors of MCP servers. A workspace has a file of its own,
//! and its servers never see what the user saved for theirs.

use std::fs::File;
use std::path::{Path, PathBuf};

use secrecy::SecretString;
use serde_json::{Map, Value, json};
use thiserror::Error;
use tools::folders::{AUTH, OWN};
use vocabulary::{McpLayer, McpScope, Refusal, Why};

use crate::files::{HeldDirectory, SmallFileError};
use crate::{ConfiguredServer, McpPlace};

const FILE: &str = "mcp-credentials.json";
const RENEWAL_LOCK: &str = ".mcp-renewal.lock";
const VERSION: u64 = 1;
const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// Whoever puts a workspace into a repository does not mean its keys.
const IGNORE_FILE: &str = ".gitignore";
const IGNORE_ALL: &[u8] = b"*\n";

#[derive(Debug, Error)]
pub enum CredentialsError {
    #[error("the credentials file {} cannot be used: {error}", .path.display())]
    File {
        path: PathBuf,
        error: SmallFileError,
    },
    #[error(
        "the credentials file {} is damaged, so nothing in it is used: mend or remove it",
        .0.display()
    )]
    Damaged(PathBuf),
    #[error("the credentials file {} was written by a newer program: use that one", .0.display())]
    Newer(PathBuf),
    #[error("the credentials could not be read or written; try again")]
    Interrupted,
}

impl From<CredentialsError> for Refusal {
    fn from(error: CredentialsError) -> Self {
        Refusal::new(Why::Storage, error.to_string())
    }
}

/// The files of credentials, of the user and of every workspace.
#[derive(Clone, Debug)]
pub struct CredentialStore {
    /// The server's own data.
    home: PathBuf,
}

/// What one file has: all of it, so that what we do not know of stays.
#[derive(Default)]
pub struct SavedCredentials(Map<String, Value>);

/// What is saved for one server. Neither it nor its file is ever shown.
#[derive(Clone, Default, PartialEq)]
pub struct ServerCredentials(Map<String, Value>);

/// The three things that signing in leaves behind. What is in each is for who signs in to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OAuthPart {
    /// A sign-in that waits for a person.
    Pending,
    Tokens,
    /// What the authorization server knows us by.
    ClientInformation,
}

impl OAuthPart {
    fn name(self) -> &'static str {
        match self {
            OAuthPart::Pending => "pending",
            OAuthPart::Tokens => "tokens",
            OAuthPart::ClientInformation => "clientInformation",
        }
    }
}

impl std::fmt::Debug for ServerCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ServerCredentials")
    }
}

/// A key as it was saved.
#[derive(Clone, Debug)]
pub struct SavedKey {
    pub value: SecretString,
    pub key_id: Option<String>,
}

impl ServerCredentials {
    pub fn key(&self) -> Option<SavedKey> {
        let key = self.0.get("apiKey")?;
        let text = |name: &str| key.get(name).and_then(Value::as_str);
        let value = text("value").filter(|value| !value.trim().is_empty())?;
        Some(SavedKey {
            value: value.into(),
            key_id: text("keyId").map(str::to_owned),
        })
    }

    pub fn set_key(&mut self, value: &str, key_id: Option<&str>) {
        self.change_object("apiKey", |key| {
            key.insert("value".to_owned(), json!(value));
            key.shift_remove("keyId");
            if let Some(id) = key_id {
                key.insert("keyId".to_owned(), json!(id));
            }
            key.insert("updatedAt".to_owned(), json!(now_iso()));
        });
    }

    pub fn oauth(&self, part: OAuthPart) -> Option<&Value> {
        let value = self.0.get("oauth")?.get(part.name())?;
        (!value.is_null()).then_some(value)
    }

    /// Nothing in its place takes it away.
    pub fn set_oauth(&mut self, part: OAuthPart, value: Option<Value>) {
        self.change_object("oauth", |oauth| {
            match value {
                Some(value) => oauth.insert(part.name().to_owned(), value),
                None => oauth.shift_remove(part.name()),
            };
        });
    }

    /// Changes what is kept under a name; an empty rest goes.
    fn change_object(&mut self, name: &str, change: impl FnOnce(&mut Map<String, Value>)) {
        let mut object = match self.0.get_mut(name).map(Value::take) {
            Some(Value::Object(object)) => object,
            // Nothing else is an object.
            _ => Map::new(),
        };
        change(&mut object);
        match object.is_empty() {
            true => self.0.shift_remove(name),
            false => self.0.insert(name.to_owned(), Value::Object(object)),
        };
    }
}

impl SavedCredentials {
    /// Whether there is nothing, and most likely no file either.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn of(&self, server: &str) -> ServerCredentials {
        let servers = self.0.get("servers").and_then(Value::as_object);
        let entry = servers.and_then(|servers| servers.get(server)?.as_object());
        ServerCredentials(entry.cloned().unwrap_or_default())
    }

    /// An empty one is no entry.
    pub fn set(&mut self, server: &str, credentials: ServerCredentials) {
        let mut servers = match self.0.get_mut("servers").map(Value::take) {
            Some(Value::Object(servers)) => servers,
            // Nothing else is an object.
            _ => Map::new(),
        };
        match credentials.0.is_empty() {
            true => servers.shift_remove(server),
            false => servers.insert(server.to_owned(), Value::Object(credentials.0)),
        };
        self.0.insert("servers".to_owned(), Value::Object(servers));
    }

    fn parse(bytes: &[u8], path: &Path) -> Result<Self, CredentialsError> {
        let damaged = || CredentialsError::Damaged(path.to_owned());
        let root: Map<String, Value> = serde_json::from_slice(bytes).map_err(|_| damaged())?;
        match root.get("version").map(Value::as_u64) {
            None | Some(Some(..=VERSION)) => {}
            Some(Some(_)) => return Err(CredentialsError::Newer(path.to_owned())),
            Some(None) => return Err(damaged()),
        }
        let servers = match root.get("servers") {
            None => return Ok(Self(root)),
            Some(servers) => servers.as_object().ok_or_else(damaged)?,
        };
        for server in servers.values() {
            let server = server.as_object().ok_or_else(damaged)?;
            let is_object = |name| server.get(name).is_none_or(Value::is_object);
            if !is_object("apiKey") || !is_object("oauth") {
                return Err(damaged());
            }
        }
        Ok(Self(root))
    }
}

/// Whose credentials a server of this layer uses.
pub fn scope_of(layer: McpLayer) -> McpScope {
    match layer.is_of_workspace() {
        true => McpScope::Workspace,
        false => McpScope::User,
    }
}

impl CredentialStore {
    pub fn new(home: PathBuf) -> Self {
        Self { home }
    }

    /// What is saved for a server.
    pub async fn read(
        &self,
        place: &McpPlace,
        server: &ConfiguredServer,
    ) -> Result<ServerCredentials, CredentialsError> {
        let saved = self.read_all(place, scope_of(server.layer)).await?;
        Ok(saved.of(&server.server.name))
    }

    /// Changes what is saved for a server, under the lock of its file.
    pub async fn change<T: Send + 'static>(
        &self,
        place: &McpPlace,
        server: &ConfiguredServer,
        change: impl FnOnce(&mut ServerCredentials) -> T + Send + 'static,
    ) -> Result<T, CredentialsError> {
        let name = server.server.name.clone();
        self.change_all(place, scope_of(server.layer), move |saved| {
            let mut credentials = saved.of(&name);
            let done = change(&mut credentials);
            saved.set(&name, credentials);
            done
        })
        .await
    }

    /// A file beside the credentials whose lock says that a token of theirs is being renewed.
    pub async fn renewal_file(
        &self,
        place: &McpPlace,
        server: &ConfiguredServer,
    ) -> Result<File, CredentialsError> {
        let file = self.file(place, scope_of(server.layer));
        let opening = tokio::task::spawn_blocking(move || file.renewal_file());
        opening.await.map_err(|_| CredentialsError::Interrupted)?
    }

    pub async fn read_all(
        &self,
        place: &McpPlace,
        scope: McpScope,
    ) -> Result<SavedCredentials, CredentialsError> {
        let file = self.file(place, scope);
        let reading = tokio::task::spawn_blocking(move || file.read());
        reading.await.map_err(|_| CredentialsError::Interrupted)?
    }

    pub async fn change_all<T: Send + 'static>(
        &self,
        place: &McpPlace,
        scope: McpScope,
        change: impl FnOnce(&mut SavedCredentials) -> T + Send + 'static,
    ) -> Result<T, CredentialsError> {
        let file = self.file(place, scope);
        let writing = tokio::task::spawn_blocking(move || file.change(change));
        writing.await.map_err(|_| CredentialsError::Interrupted)?
    }

    fn file(&self, place: &McpPlace, scope: McpScope) -> CredentialFile {
        match scope {
            McpScope::Workspace => CredentialFile {
                base: place.directory.clone(),
                below: &[OWN, AUTH],
            },
            McpScope::User => CredentialFile {
                base: self.home.clone(),
                below: &[AUTH],
            },
        }
    }
}

/// One file of credentials; all of this blocks.
struct CredentialFile {
    /// Links are followed to here, and no further: what a workspace brings along must not lead to what
    /// the user saved.
    base: PathBuf,
    below: &'static [&'static str],
}

impl CredentialFile {
    fn read(&self) -> Result<SavedCredentials, CredentialsError> {
        let directory = HeldDirectory::open(&self.base, self.below);
        match directory.map_err(|error| self.failed(error))? {
            Some(directory) => self.read_in(&directory),
            None => Ok(SavedCredentials::default()),
        }
    }

    fn read_in(&self, directory: &HeldDirectory) -> Result<SavedCredentials, CredentialsError> {
        let read = directory.read(FILE).map_err(|error| self.failed(error))?;
        read.map_or_else(
            || Ok(SavedCredentials::default()),
            |(bytes, _)| SavedCredentials::parse(&bytes, &self.path()),
        )
    }

    fn renewal_file(&self) -> Result<File, CredentialsError> {
        HeldDirectory::create(&self.base, self.below, DIRECTORY_MODE)
            .and_then(|directory| directory.lock_file(RENEWAL_LOCK))
            .map_err(|error| self.failed(error))
    }

    /// A damaged file is left as it is.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut SavedCredentials) -> T,
    ) -> Result<T, CredentialsError> {
        let failed = |error| self.failed(error);
        let directory =
            HeldDirectory::create(&self.base, self.below, DIRECTORY_MODE).map_err(failed)?;
        directory.make_private().map_err(failed)?;
        let _lock = directory.lock().map_err(failed)?;
        let mut saved = self.read_in(&directory)?;
        let before = saved.0.clone();
        let done = change(&mut saved);
        if saved.0 == before {
            return Ok(done);
        }
        saved.0.entry("version").or_insert(json!(VERSION));
        saved.0.insert("updatedAt".to_owned(), json!(now_iso()));
        let mut text = serde_json::to_vec_pretty(&saved.0)
            .map_err(|error| failed(SmallFileError::Io(error.into())))?;
        text.push(b'\n');
        if directory.read(IGNORE_FILE).map_err(failed)?.is_none() {
            directory
                .write(IGNORE_FILE, IGNORE_ALL, FILE_MODE)
                .map_err(failed)?;
        }
        directory.write(FILE, &text, FILE_MODE).map_err(failed)?;
        Ok(done)
    }

    fn path(&self) -> PathBuf {
        let directory: PathBuf = self.below.iter().collect();
        self.base.join(directory).join(FILE)
    }

    fn failed(&self, error: SmallFileError) -> CredentialsError {
        let path = self.path();
        CredentialsError::File { path, error }
    }
}

fn now_iso() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

#[cfg(test)]
mod tests;
