//! `auth/connections.json`: the keys and sign-ins a person saved. Several processes share it.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use secrecy::SecretString;
use serde_json::{Map, Value, json};
use thiserror::Error;

use super::lock;
use super::tokens::Tokens;

/// The most bytes this file may have.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// How long to wait for another process that writes.
const WRITER_WAIT: Duration = Duration::from_secs(5);
const VERSION: u64 = 1;

pub const API_KEY: &str = "api_key";
pub const OAUTH: &str = "oauth";

/// Ours, in a file that others write too: what they do not know they leave alone.
const OURS: &str = "dragoman";

/// What is saved. Secrets are hidden from `Debug` by their type.
#[derive(Debug, Default)]
pub struct Saved {
    pub services: BTreeMap<String, SavedService>,
    pub tool_keys: BTreeMap<String, SecretString>,
    /// The person signed out while the Codex CLI was signed in: its file is then left alone.
    pub ignores_codex_home: bool,
}

#[derive(Debug, Default)]
pub struct SavedService {
    /// `api_key` or `oauth`: which of the two is used.
    pub mode: String,
    pub api_key: Option<SecretString>,
    pub tokens: Option<Tokens>,
    /// When it was saved, in milliseconds since 1970; 0 when the file does not say.
    pub at: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConnectionsError {
    #[error("{path} could not be read or written: {what}")]
    Io { path: String, what: String },
    #[error(
        "{0} is not a valid connections file, so the keys in it are not used: mend or remove it, \
         or save a key again (the broken file is then kept beside the new one)"
    )]
    Broken(String),
    #[error("{0} was written by a newer program: use that one to change it")]
    Newer(String),
}

/// What makes us read the file again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStamp {
    modified: (i64, i64),
    bytes: u64,
    inode: u64,
}

impl From<Metadata> for FileStamp {
    fn from(metadata: Metadata) -> Self {
        Self {
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            bytes: metadata.len(),
            inode: metadata.ino(),
        }
    }
}

type ConnectionsResult = Result<Arc<Saved>, ConnectionsError>;

pub struct Connections {
    path: PathBuf,
    read: Mutex<Option<(FileStamp, ConnectionsResult)>>,
}

impl Connections {
    pub fn new(auth_directory: PathBuf) -> Self {
        Self {
            path: auth_directory.join("connections.json"),
            read: Mutex::new(None),
        }
    }

    /// The directory of this file and of the locks.
    pub fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    /// What is saved at this moment. The file is read only when it has changed.
    pub fn read(&self) -> ConnectionsResult {
        let stamp = match self.path.metadata() {
            Ok(metadata) => FileStamp::from(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Arc::default()),
            Err(error) => return Err(self.io(&error)),
        };
        let mut read = self.read.lock();
        if let Some((of, saved)) = &*read
            && *of == stamp
        {
            return saved.clone();
        }
        let reading = self.load().map(|root| Arc::new(Saved::of(&root)));
        *read = Some((stamp, reading.clone()));
        reading
    }

    /// Changes the file under its lock; a notice for people, if there is one. Whatever we do not
    /// know of it stays as it is.
    pub async fn change(
        self: &Arc<Self>,
        change: impl FnOnce(&mut Map<String, Value>) + Send + 'static,
    ) -> Result<Option<String>, ConnectionsError> {
        let this = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || this.change_now(change)).await;
        done.unwrap_or_else(|error| {
            Err(self.io(&io::Error::other(format!("the writer failed: {error}"))))
        })
    }

    fn change_now(
        &self,
        change: impl FnOnce(&mut Map<String, Value>),
    ) -> Result<Option<String>, ConnectionsError> {
        let lock_path = self.path.with_extension("lock");
        let _lock = lock::wait_for(&lock_path, WRITER_WAIT).map_err(|error| self.io(&error))?;
        let (mut root, notice) = match self.load() {
            Ok(root) => (root, None),
            Err(ConnectionsError::Broken(_)) => (Map::new(), Some(self.move_aside()?)),
            Err(error @ (ConnectionsError::Io { .. } | ConnectionsError::Newer(_))) => {
                return Err(error);
            }
        };
        root.entry("version").or_insert(json!(VERSION));
        root.insert("updatedAt".to_owned(), json!(timestamp()));
        object(&mut root, "services");
        change(&mut root);
        let mut text = serde_json::to_vec_pretty(&root).map_err(|error| self.io(&error.into()))?;
        text.push(b'\n');
        lock::write_private(&self.path, &text).map_err(|error| self.io(&error))?;
        *self.read.lock() = None;
        Ok(notice)
    }

    /// The file as it is; empty when there is none.
    fn load(&self) -> Result<Map<String, Value>, ConnectionsError> {
        let broken = || ConnectionsError::Broken(self.path.display().to_string());
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Map::new()),
            Err(error) => return Err(self.io(&error)),
        };
        let mut text = Vec::new();
        let limited = file.take(FILE_BYTES_MAX + 1).read_to_end(&mut text);
        limited.map_err(|error| self.io(&error))?;
        if text.len() as u64 > FILE_BYTES_MAX {
            return Err(broken());
        }
        let root: Map<String, Value> = serde_json::from_slice(&text).map_err(|_| broken())?;
        match root.get("version").map(Value::as_u64) {
            None | Some(Some(..=VERSION)) => {}
            Some(Some(_)) => {
                return Err(ConnectionsError::Newer(self.path.display().to_string()));
            }
            Some(None) => return Err(broken()),
        }
        let is_object = |name| root.get(name).is_none_or(Value::is_object);
        if !is_object("services") || !is_object("toolApiKeys") {
            return Err(broken());
        }
        Ok(root)
    }

    fn move_aside(&self) -> Result<String, ConnectionsError> {
        let name = format!("connections.json.broken-{}", super::now_ms());
        let aside = self.directory().join(name);
        std::fs::rename(&self.path, &aside).map_err(|error| self.io(&error))?;
        let notice = format!("the broken connections file is kept as {}", aside.display());
        tracing::warn!("{notice}");
        Ok(notice)
    }

    fn io(&self, error: &io::Error) -> ConnectionsError {
        ConnectionsError::Io {
            path: self.path.display().to_string(),
            what: error.to_string(),
        }
    }
}

impl Saved {
    pub fn secrets(&self) -> Vec<SecretString> {
        let services = self.services.values().flat_map(|service| {
            let tokens = service.tokens.iter().flat_map(Tokens::secrets);
            service.api_key.iter().chain(tokens)
        });
        services.chain(self.tool_keys.values()).cloned().collect()
    }

    fn of(root: &Map<String, Value>) -> Saved {
        let entries = |name: &str| {
            root.get(name)
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
        };
        let services = entries("services").map(|(id, each)| (id.clone(), SavedService::of(each)));
        let tool_keys = entries("toolApiKeys")
            .filter_map(|(tool, key)| Some((tool.clone(), secret(Some(key))?)));
        Saved {
            services: services.collect(),
            tool_keys: tool_keys.collect(),
            ignores_codex_home: root
                .get(OURS)
                .and_then(|ours| ours.get("ignoresCodexHome"))
                .and_then(Value::as_bool)
                .unwrap_or(false),
        }
    }
}

impl SavedService {
    fn of(value: &Value) -> SavedService {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let at = text("updatedAt").and_then(|at| at.parse::<jiff::Timestamp>().ok());
        SavedService {
            mode: text("mode").unwrap_or_default().to_owned(),
            api_key: secret(value.get("apiKey")),
            tokens: value.get("oauth").and_then(Tokens::of_saved),
            at: at.map_or(0, jiff::Timestamp::as_millisecond),
        }
    }
}

fn secret(value: Option<&Value>) -> Option<SecretString> {
    let text = value?.as_str()?.trim();
    (!text.is_empty()).then(|| text.into())
}

fn timestamp() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

/// The object of this name, made when it is not there.
fn object<'a>(root: &'a mut Map<String, Value>, name: &str) -> Option<&'a mut Map<String, Value>> {
    root.entry(name)
        .or_insert_with(|| json!({}))
        .as_object_mut()
}

fn service<'a>(root: &'a mut Map<String, Value>, id: &str) -> Option<&'a mut Map<String, Value>> {
    let service = object(object(root, "services")?, id)?;
    service.insert("service".to_owned(), json!(id));
    service.insert("updatedAt".to_owned(), json!(timestamp()));
    Some(service)
}

/// Saves a provider's key; a sign-in there was is forgotten, because nothing would use it.
pub fn put_key(root: &mut Map<String, Value>, id: &str, key: &str) {
    if let Some(service) = service(root, id) {
        service.insert("mode".to_owned(), json!(API_KEY));
        service.insert("apiKey".to_owned(), json!(key));
        service.shift_remove("oauth");
    }
}

/// Saves a sign-in; a key there was stays, unused, until it is replaced or forgotten.
pub fn put_tokens(root: &mut Map<String, Value>, id: &str, tokens: &Tokens) {
    if let Some(service) = service(root, id) {
        service.insert("mode".to_owned(), json!(OAUTH));
        service.insert("oauth".to_owned(), tokens.to_saved());
    }
}

/// Puts renewed tokens in the place of the old ones. A renewal is not a new decision of the person,
/// so the service keeps its time.
pub fn put_renewed(root: &mut Map<String, Value>, id: &str, tokens: &Tokens) {
    let service = object(root, "services").and_then(|services| object(services, id));
    if let Some(service) = service {
        service.insert("oauth".to_owned(), tokens.to_saved());
    }
}

pub fn put_tool_key(root: &mut Map<String, Value>, tool: &str, key: &str) {
    if let Some(keys) = object(root, "toolApiKeys") {
        keys.insert(tool.to_owned(), json!(key));
    }
}

pub fn forget(root: &mut Map<String, Value>, id: &str, tools: &[String]) {
    if let Some(services) = object(root, "services") {
        services.shift_remove(id);
    }
    if let Some(keys) = root.get_mut("toolApiKeys").and_then(Value::as_object_mut) {
        for tool in tools {
            keys.shift_remove(tool);
        }
    }
}

pub fn put_ignores_codex_home(root: &mut Map<String, Value>, ignores: bool) {
    if let Some(ours) = object(root, OURS) {
        ours.insert("ignoresCodexHome".to_owned(), json!(ignores));
    }
}

#[cfg(test)]
mod tests;
