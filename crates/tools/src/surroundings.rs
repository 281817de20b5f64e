//! What every agent in a workspace is told before it begins: the project's instructions, the skills that
//! are there, the notes of those who worked here before, and what the workspace looks like.

use std::path::Path;

use crate::skill::{self, SkillSummary};
use crate::{Scope, SubAgentKindSummary, Trusted, memory, spawn_agent};

mod git_facts;
mod instructions;
mod manifests;
mod workspace;

pub use git_facts::GitFacts;
pub use instructions::{
    GLOBAL as GLOBAL_INSTRUCTIONS, InstructionAuthor, InstructionFile, NAMES as INSTRUCTION_NAMES,
    below as instructions_below, gather as instructions,
};
pub use workspace::{WorkspaceFacts, WorkspaceFactsCache};

/// Of a longer note only the beginning is told.
const NOTE_BYTES_MAX: usize = 4 * 1024;
/// How many notes are named beside it.
const NOTE_NAMES_MAX: usize = 50;

/// What can change from turn to turn, and is cheap to look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The one that counts most last.
    pub instructions: Vec<InstructionFile>,
    /// Whether a person trusts what came with the workspace.
    pub trusted: bool,
    /// Those that may be used without asking, by name.
    pub skills: Vec<SkillSummary>,
    /// The kinds of sub-agents that may be used without asking, beside those that are built in.
    pub sub_agents: Vec<SubAgentKindSummary>,
    /// The main note's path in the workspace and its text.
    pub note: Option<(String, String)>,
    /// The names of the other notes.
    pub other_notes: Vec<String>,
    /// Whether the workspace brought something that waits for trust, such as skills.
    pub waits_for_trust: bool,
    /// Whether there is a notebook to edit.
    pub has_notebook: bool,
    /// What is checked out, where the workspace is in a repository.
    pub branch: Option<String>,
}

impl Surroundings {
    /// What was read, as it is shown.
    pub fn files(&self) -> Vec<String> {
        let instructions = self.instructions.iter().map(|file| file.path.clone());
        let note = self.note.iter().map(|(file, _)| file.clone());
        instructions.chain(note).collect()
    }
}

/// Looks around in a workspace. `home`: the server's data. Blocks.
pub fn look(scope: &Scope, trusted: &Trusted, home: Option<&Path>) -> Surroundings {
    let mut other_notes = memory::other_notes(scope);
    other_notes.truncate(NOTE_NAMES_MAX);
    Surroundings {
        instructions: instructions(scope, home),
        trusted: scope.trusted,
        skills: skill::summaries(scope, trusted),
        sub_agents: spawn_agent::summaries(scope, trusted),
        note: memory::main_note(scope).map(|(file, text)| (file, beginning(text, NOTE_BYTES_MAX))),
        other_notes,
        branch: git_facts::branch(&scope.directory),
        ..Surroundings::default()
    }
}

/// The day as the user has it, with their time zone where it has a name.
pub fn date(unix_ms: i64) -> String {
    let zone = jiff::tz::TimeZone::system();
    let now = jiff::Timestamp::from_millisecond(unix_ms).unwrap_or_default();
    let name = zone.iana_name().unwrap_or("UTC").to_owned();
    let day = now.to_zoned(zone).strftime("%Y-%m-%d (%A)");
    format!("{day}, {name}")
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

    use vocabulary::SkillTier;

    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn an_empty_workspace_tells_nothing() {
        let scratch = Scratch::new();
        let home = scratch.path("home");
        let mut seen = look(&scratch.scope(), &Trusted::default(), Some(&home));
        let built_in = |skill: &SkillSummary| skill.tier == SkillTier::BuiltIn;
        assert!(seen.skills.iter().all(built_in));
        seen.skills.clear();
        assert_eq!(seen, Surroundings::default());
    }

    #[test]
    fn a_workspace_tells_its_instructions_its_notes_and_what_skills_there_are() {
        let scratch = Scratch::new();
        let user = Scratch::new();
        let write = |root: &Scratch, path: &str, text: &str| {
            let path = root.path(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(&scratch, "AGENTS.md", "Use tabs.");
        write(&scratch, ".cowork/AGENT.md", &"é".repeat(NOTE_BYTES_MAX));
        write(&scratch, ".cowork/memory/release.md", "Tag it.");
        let skill = |name: &str| format!("---\nname: {name}\ndescription: About {name}\n---\nDo.");
        write(&user, "mine/SKILL.md", &skill("mine"));
        write(&user, "broken/SKILL.md", "nothing");
        write(&scratch, ".cowork/skills/theirs/SKILL.md", &skill("theirs"));
        let mut scope = scratch.scope();
        scope.skills = vec![user.path("")];

        let seen = look(&scope, &Trusted::nothing("nobody said so"), None);
        let (file, text) = seen.note.as_ref().unwrap();
        assert_eq!(file, ".cowork/AGENT.md");
        assert!(text.ends_with(&format!(
            "é\n[{NOTE_BYTES_MAX} more bytes are left out here]"
        )));
        assert_eq!(seen.other_notes, ["release"]);
        assert_eq!(seen.files(), ["AGENTS.md", ".cowork/AGENT.md"]);
        assert!(!seen.trusted);
        let names = |skills: &[SkillSummary]| {
            let own = skills
                .iter()
                .filter(|skill| skill.tier != SkillTier::BuiltIn);
            own.map(|skill| skill.name.clone()).collect::<Vec<_>>()
        };
        // What came with the workspace is not told of until somebody trusts it.
        assert_eq!(names(&seen.skills), ["mine"]);
        assert_eq!(seen.skills[0].description, "About mine");

        scope.trusted = true;
        let content = blake3::hash(skill("theirs").as_bytes());
        let path = ".cowork/skills/theirs/SKILL.md".into();
        let trusted = Trusted::new([(path, content)].into());
        let seen = look(&scope, &trusted, None);
        assert_eq!(names(&seen.skills), ["mine", "theirs"]);
        assert!(seen.trusted);
    }
}
