//! The tool `skill`: gives the instructions of a skill to the model.

pub(crate) mod front;

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use serde_json::{Value, json};

use vocabulary::{Effects, Subject, ToolOutput};

use crate::folders::GUARDED;
use crate::input::{Fields, blocking};
use crate::path::{self, PathDisplay};
use crate::{Failure, Judgement, Scope, Tool, ToolCx, Trusted, held, spill};
use front::{NAME_CHARS_MAX, is_name};

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
    let project = project(scope, name)?;
    let (file, skill) = match (&project, scope.trusted) {
        (Some((path, file)), true) => {
            let skill = content(file)?;
            if !trusted.has(path, skill.as_bytes()) {
                return Err(error(format!(
                    "{name} is not what the user trusted: it was changed just now; load it again, \
                     and the user will be asked about what it says then"
                )));
            }
            (file.clone(), skill)
        }
        // What came with a workspace does nothing until it is trusted, and so hides nothing.
        (_, false) | (None, true) => {
            let file =
                global(scope, name).ok_or_else(|| missing(scope, trusted, &project, name))?;
            let skill = content(&file)?;
            (file, skill)
        }
    };
    let body = front::body(&skill, name)
        .map_err(|problem| error(format!("{name} is not a valid skill: {problem}")))?;
    let directory = file.parent().unwrap_or(&file);
    let shown = PathDisplay::of(scope).path(directory);
    let text = format!(
        "{}\n\n[the files of this skill are in {shown}]",
        body.trim()
    );
    let text = spill::cut(scope, "skill", text, ANSWER_CHARS_MAX);
    Ok(ToolOutput::Text(text))
}

/// Why there is no skill of this name that could be used.
fn missing(scope: &Scope, trusted: &Trusted, project: &Option<Project>, name: &str) -> Failure {
    match project {
        Some(_) => error(format!(
            "{name} comes with this workspace, which is not trusted ({}); ask the user to trust \
             the workspace before its skills can be used",
            trusted.why_not()
        )),
        None => not_found(scope, name),
    }
}

/// A file of the workspace: its path from there on, and where it lies.
type Project = (PathBuf, PathBuf);

/// The skill's file in the workspace, if it has one.
fn project(scope: &Scope, name: &str) -> Result<Option<Project>, Failure> {
    for folder in GUARDED {
        let path = format!("{folder}/{SKILLS}/{name}/{FILE}");
        let file = path::resolve("skill", scope, &path)?;
        if file.is_file() {
            return Ok(Some((path.into(), file)));
        }
    }
    Ok(None)
}

/// The skill's file in the user's own directories, whose links lead where the user wants.
fn global(scope: &Scope, name: &str) -> Option<PathBuf> {
    let tiers = scope.skills.iter();
    tiers
        .filter_map(|tier| std::fs::canonicalize(tier.join(name).join(FILE)).ok())
        .find(|file| file.is_file())
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
    let names: Vec<String> = names(scope).into_iter().take(NAMES_MAX).collect();
    error(match names.is_empty() {
        true => format!("there is no skill {name}, nor any other"),
        false => format!("there is no skill {name}; there are: {}", names.join(", ")),
    })
}

/// A skill as it is told before it is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillSummary {
    pub name: String,
    pub description: String,
}

/// The skills that may be used, sorted by name; those that are not valid are left out.
pub(crate) fn summaries(scope: &Scope, trusted: &Trusted) -> Vec<SkillSummary> {
    let summary = |name: String| {
        let skill = match project(scope, &name) {
            Ok(Some((path, file))) if scope.trusted => {
                let skill = content(&file).ok()?;
                trusted.has(&path, skill.as_bytes()).then_some(skill)?
            }
            Ok(_) | Err(_) => content(&global(scope, &name)?).ok()?,
        };
        let description = front::description(&skill, &name).ok()?;
        Some(SkillSummary { name, description })
    };
    let names = names(scope).into_iter();
    names.filter_map(summary).take(NAMES_MAX).collect()
}

/// The names of all skills that may be used.
fn names(scope: &Scope) -> BTreeSet<String> {
    let mut tiers: Vec<PathBuf> = scope.skills.clone();
    if scope.trusted {
        tiers.extend(GUARDED.map(|folder| scope.directory.join(folder).join(SKILLS)));
    }
    let mut names = BTreeSet::new();
    for tier in tiers {
        for entry in std::fs::read_dir(tier).into_iter().flatten().flatten() {
            let file = entry.file_name();
            let name = file.to_str().filter(|name| is_name(name));
            if let Some(name) = name.filter(|_| entry.path().join(FILE).is_file()) {
                names.insert(name.to_owned());
            }
        }
    }
    names
}

fn error(message: impl std::fmt::Display) -> Failure {
    Failure::Error(format!("skill: {message}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::scratch::Scratch;

    fn put(scratch: &Scratch, tier: &str, name: &str, body: &str) {
        let directory = scratch.path(tier).join(name);
        std::fs::create_dir_all(&directory).unwrap();
        let text = format!("---\nname: {name}\ndescription: About {name}\n---\n\n{body}\n");
        std::fs::write(directory.join(FILE), text).unwrap();
    }

    struct World {
        scratch: Scratch,
        home: Scratch,
        trusted: bool,
    }

    impl World {
        /// Every skill of the workspace with the content that it has now.
        fn as_they_are(&self) -> Trusted {
            let mut files = std::collections::BTreeMap::new();
            for folder in GUARDED {
                let tier = Path::new(folder).join(SKILLS);
                let entries = std::fs::read_dir(self.scratch.path("").join(&tier));
                for entry in entries.into_iter().flatten().flatten() {
                    let path = tier.join(entry.file_name()).join(FILE);
                    let content = std::fs::read(self.scratch.path("").join(&path)).unwrap();
                    files.insert(path, blake3::hash(&content));
                }
            }
            Trusted::new(files)
        }

        async fn skill(&self, name: &str) -> Result<String, String> {
            let mut cx = self.scratch.cx(&std::sync::Arc::default());
            cx.scope.private.push(self.home.path(""));
            cx.scope.skills.push(self.home.path("skills"));
            cx.scope.trusted = self.trusted;
            cx.trusted = match self.trusted {
                true => self.as_they_are(),
                false => Trusted::nothing("nobody said so"),
            };
            match SkillTool.run(&cx, json!({"skillName": name})).await {
                Ok(ToolOutput::Text(text)) => Ok(text),
                Err(Failure::Error(message)) => Err(message),
                other => panic!("{other:?}"),
            }
        }
    }

    fn world() -> World {
        let (scratch, home) = (Scratch::new(), Scratch::new());
        put(&scratch, ".agent/skills", "commit", "theirs");
        put(&scratch, ".agent/skills", "deploy", "Push it.");
        put(&home, "skills", "commit", "mine");
        World {
            scratch,
            home,
            trusted: false,
        }
    }

    #[tokio::test]
    async fn skills_of_the_workspace_wait_for_trust() {
        let mut world = world();
        let mine = world.skill("commit").await.unwrap();
        assert!(
            mine.starts_with("mine\n\n[the files of this skill are in /"),
            "{mine}"
        );
        let message = world.skill("deploy").await.unwrap_err();
        assert!(
            message.starts_with("skill: deploy comes with this workspace, which is not trusted")
        );
        world.trusted = true;
        let deploy = world.skill("deploy").await.unwrap();
        assert_eq!(
            deploy,
            "Push it.\n\n[the files of this skill are in .agent/skills/deploy]"
        );
        assert!(world.skill("commit").await.unwrap().starts_with("theirs"));
        put(&world.scratch, ".cowork/skills", "commit", "ours");
        assert!(world.skill("commit").await.unwrap().starts_with("ours"));
    }

    #[tokio::test]
    async fn a_skill_is_used_only_as_it_was_trusted() {
        let world = world();
        let mut cx = world.scratch.cx(&std::sync::Arc::default());
        cx.scope.trusted = true;
        cx.trusted = world.as_they_are();
        put(
            &world.scratch,
            ".agent/skills",
            "deploy",
            "Push it to them.",
        );
        put(&world.scratch, ".agent/skills", "new", "Came later.");
        for name in ["deploy", "new"] {
            let used = SkillTool.run(&cx, json!({"skillName": name})).await;
            let Err(Failure::Error(message)) = used else {
                panic!("{used:?}")
            };
            assert!(
                message.contains("is not what the user trusted"),
                "{message}"
            );
        }
        assert!(
            SkillTool
                .run(&cx, json!({"skillName": "commit"}))
                .await
                .is_ok()
        );
    }

    #[tokio::test]
    async fn what_is_no_skill_is_refused() {
        let mut world = world();
        let message = world.skill("none").await.unwrap_err();
        assert_eq!(message, "skill: there is no skill none; there are: commit");
        world.trusted = true;
        let message = world.skill("none").await.unwrap_err();
        assert_eq!(
            message,
            "skill: there is no skill none; there are: commit, deploy"
        );
        for name in ["../x", "Commit", "a--b", "-a", "a/b"] {
            let message = world.skill(name).await.unwrap_err();
            assert!(
                message.contains("\"skillName\" must be small letters"),
                "{message}"
            );
        }
        std::fs::create_dir(world.home.path("skills/other")).unwrap();
        std::fs::copy(
            world.home.path("skills/commit/SKILL.md"),
            world.home.path("skills/other/SKILL.md"),
        )
        .unwrap();
        let message = world.skill("other").await.unwrap_err();
        assert!(message.contains("its name is \"commit\""), "{message}");
        let large = "x".repeat(SKILL_BYTES_MAX as usize);
        put(&world.home, "skills", "large", &large);
        let message = world.skill("large").await.unwrap_err();
        assert!(message.contains("more than 262144 bytes"), "{message}");
    }

    #[tokio::test]
    async fn a_link_out_of_the_workspace_is_not_followed() {
        let (mut world, other) = (world(), Scratch::new());
        world.trusted = true;
        put(&other, "", "evil", "Obey.");
        std::os::unix::fs::symlink(other.path("evil"), world.scratch.path(".agent/skills/evil"))
            .unwrap();
        let message = world.skill("evil").await.unwrap_err();
        assert!(message.contains("leads outside"), "{message}");
    }
}
