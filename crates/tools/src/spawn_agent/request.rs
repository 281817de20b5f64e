//! What a call asks of a sub-agent.

use std::sync::Arc;

use serde_json::Value;

use super::{OwnKind, SPAWN_AGENT};
use crate::Failure;
use crate::input::Fields;

const TASK_CHARS_MAX: usize = 20_000;
const NAME_CHARS_MAX: usize = 64;
const DESCRIPTION_CHARS_MAX: usize = 200;
const FILES_MAX: usize = 100;
const PATH_CHARS_MAX: usize = 1_000;
pub(super) const MODELS: [&str; 2] = ["small", "same"];

/// A task for a sub-agent, and how it is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpawnRequest {
    pub task: String,
    pub kind: SpawnKind,
    /// The id of the sub-agent that goes on; a new one otherwise.
    pub resume: Option<String>,
    pub model: Option<SubAgentModel>,
    pub thoroughness: Option<Thoroughness>,
    /// What it will change; empty where it does not say.
    pub files: Vec<String>,
}

/// What a sub-agent is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpawnKind {
    Explore,
    Research,
    General,
    /// For the server's own reviews: no call can ask for it.
    Review,
    /// One that somebody wrote down, by its name alone.
    Named(String),
    Own(Arc<OwnKind>),
}

impl SpawnKind {
    pub const BUILT_IN: [SpawnKind; 3] =
        [SpawnKind::Explore, SpawnKind::Research, SpawnKind::General];

    pub fn name(&self) -> &str {
        match self {
            SpawnKind::Explore => "explore",
            SpawnKind::Research => "research",
            SpawnKind::General => "general",
            // No file of a kind can have this name.
            SpawnKind::Review => "review of changes",
            SpawnKind::Named(name) => name,
            SpawnKind::Own(own) => &own.name,
        }
    }

    /// Whether it has no tool that changes anything.
    pub fn only_reads(&self) -> bool {
        match self {
            SpawnKind::Explore | SpawnKind::Research | SpawnKind::Review => true,
            SpawnKind::General | SpawnKind::Named(_) | SpawnKind::Own(_) => false,
        }
    }
}

/// Which model works as a sub-agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubAgentModel {
    /// The provider's model for small work.
    Small,
    /// The thread's own.
    Same,
    /// Another of the same provider.
    Named(String),
}

impl SubAgentModel {
    pub(super) fn of(name: &str) -> SubAgentModel {
        match name {
            "small" => SubAgentModel::Small,
            "same" | "inherit" => SubAgentModel::Same,
            name => SubAgentModel::Named(name.to_owned()),
        }
    }
}

/// How far a sub-agent goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thoroughness {
    Quick,
    Medium,
    Thorough,
}

impl Thoroughness {
    pub(super) const NAMES: [&str; 3] = ["quick", "medium", "thorough"];

    fn of(name: &str) -> Option<Thoroughness> {
        match name {
            "quick" => Some(Thoroughness::Quick),
            "medium" => Some(Thoroughness::Medium),
            "thorough" => Some(Thoroughness::Thorough),
            _ => None,
        }
    }
}

impl SpawnRequest {
    /// Reads a call's input. A kind that is not built in is known by its name only.
    pub fn parse(input: &Value) -> Result<SpawnRequest, Failure> {
        let fields = Fields::of(SPAWN_AGENT, input)?;
        fields.optional_text("description", DESCRIPTION_CHARS_MAX)?;
        let optional = |name| -> Result<Option<&str>, Failure> {
            let text = fields.optional_text(name, NAME_CHARS_MAX)?;
            Ok(text.map(str::trim).filter(|text| !text.is_empty()))
        };
        let model = match optional("model")? {
            Some(name) if MODELS.contains(&name) => Some(SubAgentModel::of(name)),
            Some(_) => return Err(fields.refuse("model", MODELS.join(" or "))),
            None => None,
        };
        let thoroughness = match optional("thoroughness")? {
            Some(name) => {
                let known = Thoroughness::of(name).ok_or_else(|| {
                    fields.refuse("thoroughness", Thoroughness::NAMES.join(" or "))
                })?;
                Some(known)
            }
            None => None,
        };
        Ok(SpawnRequest {
            task: fields.filled_text("task", TASK_CHARS_MAX)?.to_owned(),
            kind: kind_of(optional("kind")?),
            resume: optional("resume")?.map(str::to_owned),
            model,
            thoroughness,
            files: files_of(&fields)?,
        })
    }
}

fn kind_of(name: Option<&str>) -> SpawnKind {
    let Some(name) = name else {
        return SpawnKind::General;
    };
    let name = name.to_lowercase();
    match name.as_str() {
        "explore" | "explorer" => SpawnKind::Explore,
        "research" | "researcher" => SpawnKind::Research,
        // As models know it from elsewhere.
        "general" | "general-purpose" | "generalist" | "default" | "worker" => SpawnKind::General,
        _ => SpawnKind::Named(name),
    }
}

fn files_of(fields: &Fields<'_>) -> Result<Vec<String>, Failure> {
    let refuse = || {
        let expected = format!("a list of at most {FILES_MAX} paths or globs");
        fields.refuse("files", expected)
    };
    let files = match fields.get("files") {
        None => return Ok(Vec::new()),
        Some(Value::Array(files)) if files.len() <= FILES_MAX => files,
        Some(_) => return Err(refuse()),
    };
    let texts = files.iter().map(|file| match file {
        Value::String(file) if file.len() <= PATH_CHARS_MAX => Ok(file.trim().to_owned()),
        // tidy: wildcard, because nothing else is a path.
        _ => Err(refuse()),
    });
    texts.collect()
}
