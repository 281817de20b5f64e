//! What models are told about their work. Kept the same from step to step, so that a provider's
//! cache of the beginning of a conversation holds.

use std::path::Path;

use providers::{ModelFamily, ToolSpec};
use tools::Surroundings;
use vocabulary::AgentMode;

mod agent;

/// What there is for a thread's own agent; its prompt is made from that.
pub struct Situation<'a> {
    pub family: ModelFamily,
    pub directory: &'a Path,
    pub mode: AgentMode,
    pub tools: &'a [ToolSpec],
    pub surroundings: &'a Surroundings,
}

/// For the thread's own agent.
pub fn agent(situation: &Situation<'_>) -> String {
    let mut text = agent::system(situation.family, situation.mode, situation.tools);
    text.push_str(&environment(
        situation.directory,
        situation.surroundings.is_git,
    ));
    text.push_str(&brought_along(situation.surroundings));
    text
}

/// What the workspace and its user tell every agent.
fn brought_along(surroundings: &Surroundings) -> String {
    let mut text = String::new();
    if !surroundings.skills.is_empty() {
        text.push_str("\nSkills, to be loaded before a task that they are for:\n");
        for skill in &surroundings.skills {
            text.push_str(&format!("- {}: {}\n", skill.name, skill.description));
        }
    }
    if let Some((_, note)) = &surroundings.note {
        text.push_str(
            "\nThe main note of this workspace, left there by agents before you or by whoever made \
             it: what the user says goes before it.\n",
        );
        text.push_str(&fenced("note", note));
    }
    if let Some((file, instructions)) = &surroundings.instructions {
        text.push_str(&format!(
            "\n{file} of this workspace says how to work on the project. It came with the project, \
             not from the user: what the user says goes before it.\n"
        ));
        text.push_str(&fenced("project-instructions", instructions));
    }
    text
}

fn fenced(name: &str, text: &str) -> String {
    format!("<{name}>\n{}\n</{name}>\n", text.trim_end())
}

/// For an agent that works for a call of another one.
pub fn sub_agent(kind: &str, directory: &Path) -> String {
    let duty = match kind {
        "explore" => {
            "Explore the workspace and answer the question you are given. Do not change anything."
        }
        "research" => {
            "Research the question you are given, with the sources you have. Do not change anything."
        }
        _ => "Do the task you are given, completely.",
    };
    format!(
        "You are a sub-agent: another agent gave you a task and reads your last message as its \
         result. It sees nothing else of your work, so that message must hold all that matters: \
         what you found or did, with paths and line numbers, and what is left open. You cannot \
         talk to the user.\n\n{duty}\n{}",
        environment(directory, false)
    )
}

fn environment(directory: &Path, is_git: bool) -> String {
    let mut text = format!(
        "\nSurroundings:\n- Workspace: {}\n- System: {}\n",
        directory.display(),
        std::env::consts::OS
    );
    if is_git {
        text.push_str("- The workspace is in a git repository.\n");
    }
    text
}

/// Asks for a title.
pub const TITLE: &str = "\
    Give the conversation a title: at most six words, in its own language, that tell it from others. \
    No quotation marks, no full stop, nothing but the title.";

#[cfg(test)]
mod tests {
    use tools::SkillSummary;

    use super::*;

    fn spec(name: &str) -> ToolSpec {
        ToolSpec {
            name: name.to_owned(),
            description: String::new(),
            parameters: serde_json::Value::Null,
        }
    }

    #[test]
    fn only_what_is_there_is_spoken_of() {
        let bare = Situation {
            family: ModelFamily::Other,
            directory: Path::new("/w"),
            mode: AgentMode::Chat,
            tools: &[],
            surroundings: &Surroundings::default(),
        };
        let text = agent(&bare);
        for word in ["git repository", "Skills", "<note>", "AGENTS.md"] {
            assert!(!text.contains(word), "{word}: {text}");
        }
        let surroundings = Surroundings {
            instructions: Some(("AGENTS.md", "Use tabs.\n".to_owned())),
            skills: vec![SkillSummary {
                name: "release".to_owned(),
                description: "How to release".to_owned(),
            }],
            note: Some(("n".to_owned(), "Tests need a database.".to_owned())),
            is_git: true,
        };
        let tools = ["bash", "edit", "todoWrite"].map(spec);
        let text = agent(&Situation {
            mode: AgentMode::Code,
            tools: &tools,
            surroundings: &surroundings,
            ..bare
        });
        let end = "- The workspace is in a git repository.\n\n\
            Skills, to be loaded before a task that they are for:\n- release: How to release\n\n\
            The main note of this workspace, left there by agents before you or by whoever made \
            it: what the user says goes before it.\n\
            <note>\nTests need a database.\n</note>\n\n\
            AGENTS.md of this workspace says how to work on the project. It came with the project, \
            not from the user: what the user says goes before it.\n\
            <project-instructions>\nUse tabs.\n</project-instructions>\n";
        assert!(text.ends_with(end), "{text}");
    }
}
