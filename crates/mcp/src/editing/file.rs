//! One file of servers that we may change; all of this blocks.

use std::path::PathBuf;

use serde_json::{Map, Value};
use tools::folders::OWN;
use vocabulary::{McpScope, Refusal, Why};

use super::invalid;
use crate::config::{FILE, USER_DIRECTORY, spelling};
use crate::files::{FILE_BYTES_MAX, HeldDirectory, SmallFileError};
use crate::{McpOptions, McpPlace};

/// Of a new file, and of one with what may be a key in it.
const MODE: u32 = 0o644;
const MODE_WITH_SECRETS: u32 = 0o600;

pub struct EditedFile {
    /// Links are followed to here and no further.
    base: PathBuf,
    below: &'static [&'static str],
    directory_mode: u32,
}

impl EditedFile {
    pub fn of(options: &McpOptions, place: &McpPlace, scope: McpScope) -> Self {
        match scope {
            McpScope::Workspace => Self {
                base: place.directory.clone(),
                below: &[OWN],
                directory_mode: 0o755,
            },
            McpScope::User => Self {
                base: options.home.clone(),
                below: &[USER_DIRECTORY],
                directory_mode: 0o700,
            },
        }
    }

    pub fn exists(&self) -> Result<bool, Refusal> {
        let failed = |error| self.failed(&error);
        let Some(directory) = HeldDirectory::open(&self.base, self.below).map_err(failed)? else {
            return Ok(false);
        };
        Ok(directory.read(FILE).map_err(failed)?.is_some())
    }

    /// Changes the list of servers under the lock of the directory. What the change refuses, or what
    /// would not be read again, is not written.
    pub fn change<T>(
        &self,
        change: impl FnOnce(&mut Vec<Value>) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let failed = |error| self.failed(&error);
        let directory = HeldDirectory::create(&self.base, self.below, self.directory_mode);
        let directory = directory.map_err(failed)?;
        let _lock = directory.lock().map_err(failed)?;
        let (mut root, mode) = match directory.read(FILE).map_err(failed)? {
            Some((bytes, mode)) => (self.well_formed(&bytes)?, Some(mode)),
            None => (Map::new(), None),
        };
        let mut list = match root.get_mut("servers").map(Value::take) {
            Some(Value::Array(list)) => list,
            // A new file: any other was read as one just now.
            _ => Vec::new(),
        };
        let before = list.clone();
        let done = change(&mut list)?;
        if list == before {
            return Ok(done);
        }
        let mode = mode.unwrap_or_else(|| mode_of_new(&list));
        root.insert("servers".to_owned(), Value::Array(list));
        spelling::servers_of(&root).map_err(invalid)?;
        let text = serde_json::to_vec_pretty(&root);
        let mut text = text.map_err(|error| failed(SmallFileError::Io(error.into())))?;
        text.push(b'\n');
        if text.len() as u64 > FILE_BYTES_MAX {
            return Err(invalid(format!("{FILE}: it would be too large")));
        }
        directory.write(FILE, &text, mode).map_err(failed)?;
        Ok(done)
    }

    fn well_formed(&self, bytes: &[u8]) -> Result<Map<String, Value>, Refusal> {
        let root = spelling::parse_root(bytes);
        let root = root.and_then(|root| spelling::servers_of(&root).map(|_| root));
        root.map_err(|error| {
            let path = self.path();
            let path = path.display();
            let message =
                format!("{path} is malformed and was not changed; mend or remove it: {error}");
            Refusal::new(Why::Conflict, message)
        })
    }

    fn path(&self) -> PathBuf {
        let directory: PathBuf = self.below.iter().collect();
        self.base.join(directory).join(FILE)
    }

    fn failed(&self, error: &SmallFileError) -> Refusal {
        let path = self.path();
        let message = format!("{} cannot be changed: {error}", path.display());
        Refusal::new(Why::Storage, message)
    }
}

fn mode_of_new(list: &[Value]) -> u32 {
    let may_have_secrets = |server: &Value| {
        let transport = &server["transport"];
        [&transport["env"], &transport["headers"]]
            .iter()
            .any(|pairs| pairs.as_object().is_some_and(|pairs| !pairs.is_empty()))
    };
    match list.iter().any(may_have_secrets) {
        true => MODE_WITH_SECRETS,
        false => MODE,
    }
}
