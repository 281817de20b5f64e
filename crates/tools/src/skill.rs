//! The tool `skill`: gives the instructions of a skill to the model.

mod archive;
mod built_in;
mod catalog;
mod fingerprint;
pub(crate) mod front;
mod installing;
mod look;
mod managing;
mod tiers;

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use serde_json::{Value, json};

use vocabulary::{Effects, SkillTier, Subject, ToolOutput};

use crate::input::{Fields, blocking};
use crate::path::PathDisplay;
use crate::{Failure, Judgement, Scope, Tool, ToolCx, Trusted, held, spill};
use front::{NAME_CHARS_MAX, is_name};

pub use archive::UNPACKED_BYTES_MAX as SKILL_UNPACKED_BYTES_MAX;
pub use catalog::{SkillCatalog, SkillProblem, catalog, read};
pub use fingerprint::fingerprint;
pub use installing::{SkillInstallError, install};
pub use managing::{SkillChangeError, create, delete, set_enabled};

const FILE: &str = "SKILL.md";
/// In a folder of settings, where the skills are.
const SKILLS: &str = "skills";
/// A longer skill is not taken.
const SKILL_BYTES_MAX: u64 = 256 * 1024;
/// How many names are told when one was not found.
const NAMES_MAX: usize = 50;
/// The rest of a longer answer goes to a file.
const ANSWER_CHARS_MAX: usize = 100_000;

pub const SKILL: &str = "skill";

pub(crate) struct SkillTool;

#[async_trait]
impl Tool for SkillTool {
    fn name(&self) -> &'static str {
        "skill"
    }

    fn description(&self) -> &'static str {
        "Loads a skill.\n\
         A skill is a set of instructions for one kind of task. Load it by its name before you \
         begin such a task, and follow it."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {"skillName": {"type": "string", "maxLength": NAME_CHARS_MAX}},
            "required": ["skillName"],
            "additionalProperties": false,
        })
    }

    fn effects(&self) -> Effects {
        Effects::READS
    }

    fn subject(&self, _input: &Value) -> Subject {
        Subject::Other
    }

    fn judge(&self, _scope: &Scope, _input: &Value) -> Judgement {
        Judgement::Allow
    }

    async fn run(&self, cx: &ToolCx, input: Value) -> Result<ToolOutput, Failure> {
        let (scope, trusted) = (cx.scope.clone(), cx.trusted.clone());
        blocking(self.name(), move || load(&scope, &trusted, &input)).await
    }
}

fn load(scope: &Scope, trusted: &Trusted, input: &Value) -> Result<ToolOutput, Failure> {
    let fields = Fields::of("skill", input)?;
    let name = fields.filled_text("skillName", NAME_CHARS_MAX)?;
    if !is_name(name) {
        return Err(fields.refuse(
            "skillName",
            "small letters and digits, in words joined by '-'",
        ));
    }
    let skill = usable(scope, trusted, name)?;
    let text = skill.with_place(scope);
    let text = spill::cut(scope, "skill", text, ANSWER_CHARS_MAX);
    Ok(ToolOutput::Text(text))
}

/// A skill that may be used.
pub(crate) struct UsableSkill {
    pub tier: SkillTier,
    pub description: String,
    pub body: String,
    /// Where its files are; none of one that is built in.
    pub directory: Option<PathBuf>,
}

impl UsableSkill {
    /// What it says, and where its files are.
    pub fn with_place(&self, scope: &Scope) -> String {
        let text = self.body.trim();
        match &self.directory {
            Some(directory) => {
                let shown = PathDisplay::of(scope).path(directory);
                format!("{text}\n\n[the files of this skill are in {shown}]")
            }
            None => text.to_owned(),
        }
    }

    /// Whether there are other files than the skill itself.
    pub fn has_files(&self) -> bool {
        let entries = self.directory.iter().flat_map(std::fs::read_dir);
        entries
            .flatten()
            .flatten()
            .any(|entry| entry.file_name() != FILE)
    }
}

/// The names of all skills, also of those that came with a workspace that is not trusted.
pub(crate) fn names(scope: &Scope) -> BTreeSet<String> {
    tiers::names(scope, true)
}

/// The skill of this name that may be used. What came with a workspace does nothing until it is trusted,
/// and so hides nothing; nor does what is not valid.
pub(crate) fn usable(scope: &Scope, trusted: &Trusted, name: &str) -> Result<UsableSkill, Failure> {
    let mut problem = None;
    for place in tiers::places(scope, name) {
        let place = place.map_err(|closed| closed.why);
        let read = place.and_then(|place| Ok((place.text(name)?, place)));
        let (text, place) = match read {
            Ok(read) => read,
            Err(why) => {
                problem.get_or_insert(why);
                continue;
            }
        };
        if let Some(path) = &place.in_workspace {
            if !scope.trusted {
                problem.get_or_insert(untrusted(trusted, name));
                continue;
            }
            if !trusted.has(path, text.as_bytes()) {
                return Err(changed(name));
            }
        }
        match front::parts(&text, name) {
            Ok((description, body)) => {
                return Ok(UsableSkill {
                    tier: place.tier,
                    description,
                    body: body.to_owned(),
                    directory: place.directory().map(Path::to_owned),
                });
            }
            Err(why) => {
                problem.get_or_insert(error(format!("{name} is not a valid skill: {why}")));
            }
        }
    }
    Err(problem.unwrap_or_else(|| not_found(scope, name)))
}

fn changed(name: &str) -> Failure {
    error(format!(
        "{name} is not what the user trusted: it was changed just now; load it again, and the user \
         will be asked about what it says then"
    ))
}

fn untrusted(trusted: &Trusted, name: &str) -> Failure {
    error(format!(
        "{name} comes with this workspace, which is not trusted ({}); ask the user to trust the \
         workspace before its skills can be used",
        trusted.why_not()
    ))
}

fn content(file: &Path) -> Result<String, Failure> {
    limited_text(file).map_err(|problem| error(format!("{FILE} {problem}")))
}

/// The text of a file with instructions, or what is wrong with it.
pub(crate) fn limited_text(file: &Path) -> Result<String, String> {
    let failed = |problem: std::io::Error| format!("cannot be read: {problem}");
    let mut bytes = Vec::new();
    let opened = held::open(file).map_err(failed)?;
    let mut opened = opened.take(SKILL_BYTES_MAX + 1);
    opened.read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > SKILL_BYTES_MAX {
        return Err(format!("has more than {SKILL_BYTES_MAX} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())
}

fn not_found(scope: &Scope, name: &str) -> Failure {
    let names = tiers::names(scope, scope.trusted).into_iter();
    let names: Vec<String> = names.take(NAMES_MAX).collect();
    let names = names.join(", ");
    error(format!("there is no skill {name}; there are: {names}"))
}

/// A skill as it is told before it is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillSummary {
    pub name: String,
    pub description: String,
    pub tier: SkillTier,
}

/// The skills that may be used, sorted by name, those that are built in last; those that are not valid
/// are left out.
pub(crate) fn summaries(scope: &Scope, trusted: &Trusted) -> Vec<SkillSummary> {
    let summary = |name: String| {
        let skill = usable(scope, trusted, &name).ok()?;
        Some(SkillSummary {
            name,
            description: skill.description,
            tier: skill.tier,
        })
    };
    let names = tiers::names(scope, scope.trusted).into_iter();
    let mut summaries: Vec<SkillSummary> = names.filter_map(summary).collect();
    summaries.sort_by_key(|skill| skill.tier == SkillTier::BuiltIn);
    summaries.truncate(NAMES_MAX);
    summaries
}

fn error(message: impl std::fmt::Display) -> Failure {
    Failure::Error(format!("skill: {message}"))
}

#[cfg(test)]
mod tests;
