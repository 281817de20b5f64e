//! Kinds of sub-agents that people wrote down: Markdown files with a front matter (`name`,
//! `description`, `tools`, `model`) whose body is the sub-agent's prompt.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use vocabulary::{did_you_mean, nearest};

use super::{SPAWN_AGENT, SpawnKind, SubAgentModel};
use crate::folders::GUARDED;
use crate::skill::front::{FrontMatter, is_name};
use crate::skill::limited_text;
use crate::{Failure, Scope, Trusted, path};

/// In a folder of settings, where the kinds are; and beside a folder of skills.
const AGENTS: &str = "agents";
/// How many are told.
const KINDS_MAX: usize = 50;

/// A kind of sub-agent that somebody wrote down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnKind {
    pub name: String,
    pub description: String,
    /// The tools it has, as they were written; all that a general one has where there is nothing.
    pub tools: Option<Vec<String>>,
    pub model: Option<SubAgentModel>,
    pub prompt: String,
}

/// A kind as it is told before it is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubAgentKindSummary {
    pub name: String,
    pub description: String,
}

/// Reads the kind of this name. Blocks.
pub(super) fn load(scope: &Scope, trusted: &Trusted, name: &str) -> Result<OwnKind, Failure> {
    match find(scope, trusted, name)? {
        Some(text) => parse(&text, name)
            .map_err(|problem| error(format!("{name}.md is not a valid kind: {problem}"))),
        None => Err(unknown(scope, trusted, name)),
    }
}

/// The kinds that may be used, sorted by name; those that are not valid are left out. Blocks.
pub(crate) fn summaries(scope: &Scope, trusted: &Trusted) -> Vec<SubAgentKindSummary> {
    let summary = |name: String| {
        let text = find(scope, trusted, &name).ok()??;
        let OwnKind {
            name, description, ..
        } = parse(&text, &name).ok()?;
        Some(SubAgentKindSummary { name, description })
    };
    let names = names(scope).into_iter();
    names.filter_map(summary).take(KINDS_MAX).collect()
}

/// Whether a call means a kind that came with the workspace, so that it must be trusted. Blocks.
pub fn comes_with_workspace(scope: &Scope, input: &serde_json::Value) -> bool {
    let named = super::SpawnRequest::parse(input).map(|request| request.kind);
    match named {
        Ok(SpawnKind::Named(name)) => matches!(of_workspace(scope, &name), Ok(Some(_))),
        Ok(_) | Err(_) => false,
    }
}

/// The text of the kind's file: of the workspace where that is trusted, or of the user.
fn find(scope: &Scope, trusted: &Trusted, name: &str) -> Result<Option<String>, Failure> {
    if !is_name(name) {
        return Ok(None);
    }
    if scope.trusted
        && let Some((path, file)) = of_workspace(scope, name)?
    {
        let text = text_of(&file, name)?;
        if !trusted.has(&path, text.as_bytes()) {
            return Err(error(format!(
                "{name}.md is not what the user trusted: it was changed just now; try again, and \
                 the user will be asked about what it says then"
            )));
        }
        return Ok(Some(text));
    }
    let folders = user_folders(scope).into_iter();
    let file = folders
        .filter_map(|folder| std::fs::canonicalize(folder.join(format!("{name}.md"))).ok())
        .find(|file| file.is_file());
    file.map(|file| text_of(&file, name)).transpose()
}

fn text_of(file: &Path, name: &str) -> Result<String, Failure> {
    limited_text(file).map_err(|problem| error(format!("{name}.md {problem}")))
}

/// The kind's file in the workspace: its path from there on, and where it lies.
fn of_workspace(scope: &Scope, name: &str) -> Result<Option<(PathBuf, PathBuf)>, Failure> {
    if !is_name(name) {
        return Ok(None);
    }
    for folder in GUARDED {
        let path = format!("{folder}/{AGENTS}/{name}.md");
        let file = path::resolve(SPAWN_AGENT, scope, &path)?;
        if file.is_file() {
            return Ok(Some((path.into(), file)));
        }
    }
    Ok(None)
}

/// The user's own kinds lie beside the user's own skills.
fn user_folders(scope: &Scope) -> Vec<PathBuf> {
    let beside = |skills: &PathBuf| Some(skills.parent()?.join(AGENTS));
    scope.skills.iter().filter_map(beside).collect()
}

fn names(scope: &Scope) -> BTreeSet<String> {
    let mut folders = user_folders(scope);
    if scope.trusted {
        folders.extend(GUARDED.map(|folder| scope.directory.join(folder).join(AGENTS)));
    }
    let mut names = BTreeSet::new();
    for folder in folders {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let file = entry.file_name();
            let name = file.to_str().and_then(|file| file.strip_suffix(".md"));
            names.extend(name.filter(|name| is_name(name)).map(str::to_owned));
        }
    }
    names
}

fn parse(text: &str, name: &str) -> Result<OwnKind, String> {
    let front = FrontMatter::of(text)?;
    let (description, body) = front.described(name, "its file")?;
    if body.trim().is_empty() {
        return Err("there is no prompt behind its front matter".to_owned());
    }
    let words = |text: String| {
        let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
        let words = inner.split([',', ' ', '\n']);
        let words = words.map(|word| word.trim_matches(['"', '\'', '-']).to_owned());
        words.filter(|word| !word.is_empty()).collect::<Vec<_>>()
    };
    Ok(OwnKind {
        name: name.to_owned(),
        description,
        tools: front.field("tools").map(words),
        model: front.field("model").map(|model| SubAgentModel::of(&model)),
        prompt: body.trim().to_owned(),
    })
}

fn unknown(scope: &Scope, trusted: &Trusted, name: &str) -> Failure {
    if matches!(of_workspace(scope, name), Ok(Some(_))) {
        return error(format!(
            "the kind {name} comes with this workspace, which is not trusted ({}); ask the user to \
             trust the workspace before its kinds can be used",
            trusted.why_not()
        ));
    }
    let own = names(scope);
    let built_in = SpawnKind::BUILT_IN;
    let all = built_in.iter().map(SpawnKind::name);
    let all = all.chain(own.iter().map(String::as_str));
    let near = did_you_mean(&nearest(name, all.clone()));
    let end = if near.is_empty() { "." } else { "" };
    let all: Vec<&str> = all.take(KINDS_MAX).collect();
    error(format!(
        "there is no kind {name:?}{near}{end} There are: {}",
        all.join(", ")
    ))
}

fn error(message: impl std::fmt::Display) -> Failure {
    Failure::Error(format!("{SPAWN_AGENT}: {message}"))
}
