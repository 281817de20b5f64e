//! One task: `task.toml` with the files beside it.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;

/// What is asked of the model, and what counts as done.
#[derive(Clone, Debug)]
pub struct EvalTask {
    /// The name of its folder.
    pub name: String,
    pub folder: PathBuf,
    pub file: TaskFile,
}

/// `task.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskFile {
    /// One sentence: what it is about.
    pub about: String,
    /// `fix`, `feature`, `question` and so on.
    pub kind: String,
    /// The rules of the system prompt that it checks.
    #[serde(default)]
    pub rules: Vec<String>,
    pub prompt: String,
    /// How long the model may work.
    #[serde(default = "five")]
    pub minutes: u64,
    /// The only files that may be another afterwards, or whole folders (`src/`); all where absent.
    pub may_change: Option<Vec<String>>,
    /// What the last message must say, whatever its letters' case.
    #[serde(default)]
    pub answer: Vec<String>,
    /// What it must not say.
    #[serde(default)]
    pub never: Vec<String>,
}

fn five() -> u64 {
    5
}

impl EvalTask {
    pub fn load(folder: &Path) -> anyhow::Result<Self> {
        let path = folder.join("task.toml");
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let name = folder.file_name().context("a folder without a name")?;
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            folder: folder.canonicalize()?,
            file: toml::from_str(&text).with_context(|| format!("in {}", path.display()))?,
        })
    }

    /// A file beside `task.toml`, where there is one.
    pub fn beside(&self, name: &str) -> Option<PathBuf> {
        let path = self.folder.join(name);
        path.exists().then_some(path)
    }

    /// The calls of a model that solves it, in the words of the rehearsal model.
    pub fn solution(&self) -> PathBuf {
        self.folder.join("solution.rehearsal")
    }

    /// Whether a file may be another after the task.
    pub fn may_change(&self, path: &str) -> bool {
        let covers = |each: &String| match each.ends_with('/') {
            true => path.starts_with(each.as_str()),
            false => path == each,
        };
        let allowed = self.file.may_change.as_ref();
        allowed.is_none_or(|allowed| allowed.iter().any(covers))
    }
}
