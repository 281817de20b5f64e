//! All tools of an agent, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Tool;
use crate::ask::Ask;
use crate::bash::Bash;
use crate::edit::Edit;
use crate::read::Read;
use crate::spawn_agent::SpawnAgent;
use crate::todo_write::TodoWrite;
use crate::write::Write;

/// The tools that an agent has.
#[derive(Clone, Default)]
pub struct Toolbox {
    tools: BTreeMap<&'static str, Arc<dyn Tool>>,
}

impl Toolbox {
    /// The tools that come with the server. A new tool is one line here.
    pub fn builtin() -> Toolbox {
        let mut toolbox = Toolbox::default();
        toolbox.add(Arc::new(Ask));
        toolbox.add(Arc::new(Bash::default()));
        toolbox.add(Arc::new(Edit));
        toolbox.add(Arc::new(Read));
        toolbox.add(Arc::new(SpawnAgent));
        toolbox.add(Arc::new(TodoWrite));
        toolbox.add(Arc::new(Write));
        toolbox
    }

    /// Adds a tool; one of the same name is replaced.
    pub fn add(&mut self, tool: Arc<dyn Tool>) {
        self.tools.insert(tool.name(), tool);
    }

    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools.get(name).cloned()
    }

    /// All tools, sorted by name.
    pub fn list(&self) -> Vec<Arc<dyn Tool>> {
        self.tools.values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_tools_are_listed_by_name_and_describe_themselves() {
        let toolbox = Toolbox::builtin();
        let names: Vec<_> = toolbox.list().iter().map(|tool| tool.name()).collect();
        assert_eq!(
            names,
            [
                "ask",
                "bash",
                "edit",
                "read",
                "spawnAgent",
                "todoWrite",
                "write"
            ]
        );
        for tool in toolbox.list() {
            assert_eq!(tool.parameters()["type"], "object", "{}", tool.name());
            assert!(!tool.description().is_empty());
        }
        assert!(toolbox.get("bash").is_some());
        assert!(toolbox.get("Bash").is_none());
    }
}
