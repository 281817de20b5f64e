//! The system prompt of a thread's own agent: the same for all threads of one family of models, mode and
//! set of tools, so that they share a provider's cache. The words are in `prompts/`.

use providers::{ModelFamily, ToolSpec};
use vocabulary::AgentMode;

const AGENT: &str = include_str!("../../prompts/agent.md");
const CHAT: &str = include_str!("../../prompts/chat.md");
const CHANGE: &str = include_str!("../../prompts/change.md");
const CHECK: &str = include_str!("../../prompts/check.md");
const PLAN_TOOL: &str = include_str!("../../prompts/plan_tool.md");
const PLAN_MODE: &str = include_str!("../../prompts/plan_mode.md");
const DELEGATE: &str = include_str!("../../prompts/delegate.md");
const PERSON: &str = include_str!("../../prompts/person.md");

/// Only what is there is spoken of.
pub fn system(family: ModelFamily, mode: AgentMode, tools: &[ToolSpec]) -> String {
    if mode == AgentMode::Chat || tools.is_empty() {
        return CHAT.to_owned();
    }
    let has = |names: &[&str]| tools.iter().any(|tool| names.contains(&tool.name.as_str()));
    let sections = [
        (true, AGENT),
        (has(&["edit", "apply_patch"]), CHANGE),
        (has(&["bash"]), CHECK),
        (has(&["todoWrite", "update_plan"]), PLAN_TOOL),
        // A small model has enough to do with its own work.
        (
            has(&["spawnAgent"]) && family != ModelFamily::Local,
            DELEGATE,
        ),
        (true, PERSON),
        (true, of_family(family)),
        (mode == AgentMode::Plan, PLAN_MODE),
    ];
    let there = sections.iter().filter(|(there, _)| *there);
    there.map(|(_, section)| *section).collect()
}

fn of_family(family: ModelFamily) -> &'static str {
    match family {
        ModelFamily::Gpt => include_str!("../../prompts/family/gpt.md"),
        ModelFamily::Claude => include_str!("../../prompts/family/claude.md"),
        ModelFamily::Gemini => include_str!("../../prompts/family/gemini.md"),
        ModelFamily::Local => include_str!("../../prompts/family/local.md"),
        ModelFamily::Other => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str) -> ToolSpec {
        ToolSpec::new(name, "", serde_json::json!({}))
    }

    #[test]
    fn only_what_is_there_is_spoken_of() {
        let reads = [spec("read")];
        let text = system(ModelFamily::Other, AgentMode::Code, &reads);
        for word in ["# Change", "# Check", "# Plan", "# Delegate", "apply_patch"] {
            assert!(!text.contains(word), "{word}: {text}");
        }
        let all = ["edit", "bash", "todoWrite", "spawnAgent"].map(spec);
        let text = system(ModelFamily::Claude, AgentMode::Code, &all);
        for word in ["# Change", "# Check", "# Plan\n", "# Delegate", "# Ways of"] {
            assert_eq!(text.matches(word).count(), 1, "{word}: {text}");
        }
        assert!(!text.contains("You are planning"));
        let planning = system(ModelFamily::Other, AgentMode::Plan, &reads);
        assert!(planning.contains("# You are planning"));
        let chat = system(ModelFamily::Gpt, AgentMode::Chat, &[]);
        assert!(chat.contains("There are no tools now"));
    }

    #[test]
    fn every_family_has_the_same_rules_and_a_few_words_of_its_own() {
        let tools = ["edit", "bash", "todoWrite", "spawnAgent"].map(spec);
        let common = system(ModelFamily::Other, AgentMode::Code, &tools);
        for family in ModelFamily::ALL {
            let text = system(family, AgentMode::Code, &tools);
            let own = text.len().saturating_sub(common.len());
            assert!(own < 1_000, "{family:?}: {own}");
            // Sections are told apart by an empty line, and end with a line end.
            assert!(
                text.ends_with('\n') && !text.contains("\n\n\n"),
                "{family:?}"
            );
        }
    }
}
