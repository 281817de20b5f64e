//! What every agent in a workspace is told before it begins: the project's instructions, the skills that
//! are there, and the main note of those who worked here before.

use std::path::Path;

use crate::skill::{self, SkillSummary};
use crate::{Scope, SubAgentKindSummary, Trusted, memory, spawn_agent};

/// Where projects say how to work on them.
const INSTRUCTIONS: &str = "AGENTS.md";
/// Of longer texts only the beginning is told.
const INSTRUCTIONS_BYTES_MAX: usize = 32 * 1024;
const NOTE_BYTES_MAX: usize = 8 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The file's name and its text.
    pub instructions: Option<(&'static str, String)>,
    /// Those that may be used without asking, by name.
    pub skills: Vec<SkillSummary>,
    /// The kinds of sub-agents that may be used without asking, beside those that are built in.
    pub sub_agents: Vec<SubAgentKindSummary>,
    /// The note's path in the workspace and its text.
    pub note: Option<(String, String)>,
    pub is_git: bool,
}

impl Surroundings {
    /// What was read, by their paths in the workspace.
    pub fn files(&self) -> Vec<String> {
        let instructions = self.instructions.iter().map(|(file, _)| (*file).to_owned());
        let note = self.note.iter().map(|(file, _)| file.clone());
        instructions.chain(note).collect()
    }
}

/// Looks around in a workspace. Blocks.
pub fn look(scope: &Scope, trusted: &Trusted) -> Surroundings {
    let instructions = memory::text_in(scope, INSTRUCTIONS);
    let cut = |text| beginning(text, INSTRUCTIONS_BYTES_MAX);
    Surroundings {
        instructions: instructions.map(cut).map(|text| (INSTRUCTIONS, text)),
        skills: skill::summaries(scope, trusted),
        sub_agents: spawn_agent::summaries(scope, trusted),
        note: memory::main_note(scope).map(|(file, text)| (file, beginning(text, NOTE_BYTES_MAX))),
        is_git: is_repository(&scope.directory),
    }
}

fn is_repository(directory: &Path) -> bool {
    directory.ancestors().any(|each| each.join(".git").exists())
}

fn beginning(mut text: String, most: usize) -> String {
    if text.len() > most {
        let end = text.floor_char_boundary(most);
        let rest = text.len() - end;
        text.truncate(end);
        text.push_str(&format!("\n[{rest} more bytes are left out here]"));
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn an_empty_workspace_tells_nothing() {
        let scratch = Scratch::new();
        assert_eq!(
            look(&scratch.scope(), &Trusted::default()),
            Surroundings::default()
        );
    }

    #[test]
    fn a_workspace_tells_its_instructions_its_note_and_what_skills_there_are() {
        let scratch = Scratch::new();
        let user = Scratch::new();
        let write = |root: &Scratch, path: &str, text: &str| {
            let path = root.path(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(&scratch, "AGENTS.md", &"é".repeat(INSTRUCTIONS_BYTES_MAX));
        write(&scratch, ".cowork/AGENT.md", "Build with make.");
        std::fs::create_dir(scratch.path(".git")).unwrap();
        let skill = |name: &str| format!("---\nname: {name}\ndescription: About {name}\n---\nDo.");
        write(&user, "mine/SKILL.md", &skill("mine"));
        write(&user, "broken/SKILL.md", "nothing");
        write(&scratch, ".cowork/skills/theirs/SKILL.md", &skill("theirs"));
        let mut scope = scratch.scope();
        scope.skills = vec![user.path("")];

        let seen = look(&scope, &Trusted::nothing("nobody said so"));
        let (_, text) = seen.instructions.as_ref().unwrap();
        assert!(text.ends_with(&format!(
            "é\n[{INSTRUCTIONS_BYTES_MAX} more bytes are left out here]"
        )));
        let note = (".cowork/AGENT.md", "Build with make.");
        let (file, text) = seen.note.as_ref().unwrap();
        assert_eq!((file.as_str(), text.as_str()), note);
        assert_eq!(seen.files(), ["AGENTS.md", ".cowork/AGENT.md"]);
        assert!(seen.is_git);
        let names = |skills: &[SkillSummary]| {
            let each = skills.iter().map(|skill| skill.name.clone());
            each.collect::<Vec<_>>()
        };
        // What came with the workspace is not told of until somebody trusts it.
        assert_eq!(names(&seen.skills), ["mine"]);
        assert_eq!(seen.skills[0].description, "About mine");

        scope.trusted = true;
        let content = blake3::hash(skill("theirs").as_bytes());
        let path = ".cowork/skills/theirs/SKILL.md".into();
        let trusted = Trusted::new([(path, content)].into());
        assert_eq!(names(&look(&scope, &trusted).skills), ["mine", "theirs"]);
    }
}
