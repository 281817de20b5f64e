//! The defaults of a project: what `config.json` says, in the workspace and with the user, under the names
//! that other agents use too. Keys that are not ours stay as they are.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::folders::{GUARDED, OWN};
use crate::held::{NodeKind, Place};
use crate::skill::limited_text;
use crate::{Scope, path};

const FILE: &str = "config.json";
/// Below the server's own data.
const CONFIG: &str = "config";
/// A file that is longer is neither read nor written.
const BYTES_MAX: u64 = 256 * 1024;
/// How often a change is tried again when others write at the same time.
const TRIES_MAX: usize = 8;

/// Names of keys that are written.
pub const PROVIDER: &str = "provider";
pub const MODEL: &str = "model";
pub const EFFORT: &str = "reasoningEffort";
pub const SUB_AGENT_MODEL: &str = "subAgentModel";
pub const ENABLE_MCP: &str = "enableMcp";
pub const OBSERVABILITY: &str = "observabilityEnabled";

/// What new threads of a workspace begin with, where their clients say nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectDefaults {
    pub provider: Option<String>,
    pub model: Option<String>,
    /// How hard the model thinks.
    pub effort: Option<String>,
    pub sub_agent_model: Option<String>,
    pub mcp: Option<bool>,
    pub observability: Option<bool>,
    /// For results, and for uploads.
    pub output: Option<PathBuf>,
    pub uploads: Option<PathBuf>,
    /// Whether clients are sent what providers sent, beside what it means.
    pub raw_chunks: Option<bool>,
}

/// Who wrote a file: a repository may not open directories outside of itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DefaultsAuthor {
    Workspace,
    User,
}

impl ProjectDefaults {
    /// What the files say, the stronger before the weaker: the workspace's own, what other agents have
    /// there, the server's data, what other agents have with the user. Blocks.
    pub fn read(scope: &Scope) -> Self {
        let mut all = Self::default();
        for folder in GUARDED {
            let file = Path::new(folder).join(FILE);
            let found = path::resolve("config", scope, &file.to_string_lossy());
            let root = found.ok().and_then(|file| object_in(&file));
            all = all.or(Self::of(root, &scope.directory, DefaultsAuthor::Workspace));
        }
        for (index, skills) in scope.skills.iter().enumerate() {
            let Some(home) = skills.parent() else {
                continue;
            };
            // The server's data has its settings in a directory of their own; other agents' have not.
            let file = match index {
                0 => home.join(CONFIG).join(FILE),
                _ => home.join(FILE),
            };
            let root = std::fs::canonicalize(file).ok();
            let root = root.and_then(|file| object_in(&file));
            all = all.or(Self::of(root, &scope.directory, DefaultsAuthor::User));
        }
        all
    }

    /// What is of another kind than it should be says nothing.
    fn of(root: Option<Map<String, Value>>, directory: &Path, author: DefaultsAuthor) -> Self {
        let Some(root) = root else {
            return Self::default();
        };
        let text = |name: &str| {
            let text = root.get(name).and_then(Value::as_str).map(str::trim);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let flag = |name: &str| root.get(name).and_then(Value::as_bool);
        let folder = |name: &str| {
            let folder = path::home_expanded(&text(name)?);
            let folder = path::flatten(&directory.join(folder));
            let is_open = author == DefaultsAuthor::User || folder.starts_with(directory);
            is_open.then_some(folder)
        };
        Self {
            provider: text(PROVIDER),
            model: text(MODEL),
            effort: text(EFFORT),
            sub_agent_model: text(SUB_AGENT_MODEL).or_else(|| text("preferredChildModel")),
            mcp: flag(ENABLE_MCP),
            observability: flag(OBSERVABILITY),
            output: folder("outputDirectory"),
            uploads: folder("uploadsDirectory"),
            raw_chunks: flag("includeRawChunks"),
        }
    }

    /// These, and what the weaker ones say besides. A model belongs to its provider: who names another
    /// provider takes no model from the weaker ones.
    pub fn or(self, weaker: Self) -> Self {
        let is_other = self.provider.is_some() && self.provider != weaker.provider;
        Self {
            model: match (self.model, is_other) {
                (None, false) => weaker.model,
                (model, _) => model,
            },
            provider: self.provider.or(weaker.provider),
            effort: self.effort.or(weaker.effort),
            sub_agent_model: self.sub_agent_model.or(weaker.sub_agent_model),
            mcp: self.mcp.or(weaker.mcp),
            observability: self.observability.or(weaker.observability),
            output: self.output.or(weaker.output),
            uploads: self.uploads.or(weaker.uploads),
            raw_chunks: self.raw_chunks.or(weaker.raw_chunks),
        }
    }
}

fn object_in(file: &Path) -> Option<Map<String, Value>> {
    let text = limited_text(file).ok()?;
    match serde_json::from_str(&text).ok()? {
        Value::Object(root) => Some(root),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            None
        }
    }
}

/// The content of a file before and after it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenDefaults {
    pub before: Option<blake3::Hash>,
    pub after: blake3::Hash,
}

/// The file that is written, from the workspace on.
pub fn own_file() -> PathBuf {
    Path::new(OWN).join(FILE)
}

/// Writes these keys into the workspace's own file, in one step; nothing where they say so already. A
/// file that cannot be read is left alone. Blocks.
pub fn write(
    workspace: &Path,
    changes: &[(&'static str, Value)],
) -> Result<Option<WrittenDefaults>, String> {
    let shown = workspace.join(own_file());
    let shown = shown.display();
    let failed = |error: std::io::Error| format!("{shown} cannot be written: {error}");
    let file = std::fs::canonicalize(workspace)
        .map_err(failed)?
        .join(own_file());
    let place = Place::make(&file).map_err(failed)?;
    for _ in 0..TRIES_MAX {
        let (bytes, stamp) = match place.kind().map_err(failed)? {
            None => (None, None),
            Some(
                NodeKind::File { .. } | NodeKind::Directory | NodeKind::Link | NodeKind::Special,
            ) => {
                let (file, stamp) = place.open().map_err(failed)?;
                let mut bytes = Vec::new();
                let read = file.take(BYTES_MAX + 1).read_to_end(&mut bytes);
                read.map_err(failed)?;
                (Some(bytes), Some(stamp))
            }
        };
        let before = bytes.as_deref().unwrap_or(b"{}");
        let mut root: Map<String, Value> = match serde_json::from_slice(before) {
            Ok(root) if before.len() as u64 <= BYTES_MAX => root,
            Ok(_) => return Err(format!("{shown} is too large and was left alone")),
            Err(error) => {
                let why = "is not an object in JSON and was left alone; mend or remove it";
                return Err(format!("{shown} {why}: {error}"));
            }
        };
        if changes
            .iter()
            .all(|(name, value)| root.get(*name) == Some(value))
        {
            return Ok(None);
        }
        for (name, value) in changes {
            root.insert((*name).to_owned(), value.clone());
        }
        let text = serde_json::to_vec_pretty(&root);
        let mut text = text.map_err(|error| failed(error.into()))?;
        text.push(b'\n');
        match place.replace(&text, stamp) {
            Ok(_) => {
                return Ok(Some(WrittenDefaults {
                    before: bytes.map(|bytes| blake3::hash(&bytes)),
                    after: blake3::hash(&text),
                }));
            }
            // Somebody else wrote meanwhile: theirs is read again.
            Err(error) if error.kind() == ErrorKind::StaleNetworkFileHandle => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Err(format!("{shown} is being written by others; try again"))
}

#[cfg(test)]
mod tests;
