//! All tools of an agent, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use vocabulary::{Effects, Subject, ThreadCard};

use crate::Tool;
use crate::ask::AskTool;
use crate::bash::BashTool;
use crate::edit::EditTool;
use crate::glob::GlobTool;
use crate::grep::GrepTool;
use crate::job::JobTool;
use crate::memory::MemoryTool;
use crate::normalize;
use crate::notebook_edit::NotebookEditTool;
use crate::patch::PatchTool;
use crate::read::ReadTool;
use crate::skill::SkillTool;
use crate::spawn_agent::SpawnAgentTool;
use crate::todo_write::TodoWriteTool;
use crate::web_fetch::WebFetchTool;
use crate::web_search::WebSearchTool;
use crate::write::WriteTool;

/// Where tools of a thread come from: those that come with the server, those that a workspace brings
/// along.
pub trait ToolSource: Send + Sync + 'static {
    /// What it has for this thread now. Asked when the thread wakes, so nothing may be waited for.
    fn toolbox(self: Arc<Self>, thread: &ThreadCard) -> Arc<Toolbox>;
}

/// The tools that an agent has.
#[derive(Clone, Default)]
pub struct Toolbox {
    tools: BTreeMap<Box<str>, Arc<dyn Tool>>,
}

/// The same for every thread.
impl ToolSource for Toolbox {
    fn toolbox(self: Arc<Self>, _thread: &ThreadCard) -> Arc<Toolbox> {
        self
    }
}

impl Toolbox {
    /// The tools that come with the server. A new tool is one line here.
    pub fn builtin() -> Toolbox {
        let mut toolbox = Toolbox::default();
        toolbox.add(Arc::new(AskTool));
        toolbox.add(Arc::new(BashTool));
        toolbox.add(Arc::new(EditTool));
        toolbox.add(Arc::new(GlobTool));
        toolbox.add(Arc::new(GrepTool));
        toolbox.add(Arc::new(JobTool));
        toolbox.add(Arc::new(MemoryTool));
        toolbox.add(Arc::new(NotebookEditTool));
        toolbox.add(Arc::new(PatchTool));
        toolbox.add(Arc::new(ReadTool));
        toolbox.add(Arc::new(SkillTool));
        toolbox.add(Arc::new(SpawnAgentTool));
        toolbox.add(Arc::new(TodoWriteTool));
        toolbox.add(Arc::new(WebFetchTool));
        toolbox.add(Arc::new(WebSearchTool));
        toolbox.add(Arc::new(WriteTool));
        toolbox
    }

    /// Adds a tool; one of the same name is replaced.
    pub fn add(&mut self, tool: Arc<dyn Tool>) {
        self.tools.insert(tool.name().into(), tool);
    }

    /// What these have for a thread; of two tools with one name the first is there.
    pub fn of(sources: &[Arc<dyn ToolSource>], thread: &ThreadCard) -> Arc<Toolbox> {
        let mut boxes = sources
            .iter()
            .map(|source| Arc::clone(source).toolbox(thread));
        let Some(mut all) = boxes.next() else {
            return Arc::default();
        };
        for other in boxes {
            for (name, tool) in &other.tools {
                if !all.tools.contains_key(name) {
                    // Shared with other threads for as long as nothing is added.
                    let all = Arc::make_mut(&mut all);
                    all.tools.insert(name.clone(), Arc::clone(tool));
                }
            }
        }
        all
    }

    /// The tool that is meant by this name. Models call some tools by a name that they know from
    /// elsewhere; such a name is taken, but not offered.
    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools.get(self.resolve(name)?).cloned()
    }

    /// The tool of exactly this name.
    pub fn exactly(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools.get(name).cloned()
    }

    /// The name of the tool that is meant by this one.
    pub fn resolve(&self, name: &str) -> Option<&str> {
        normalize::resolve(name, self.tools.keys().map(AsRef::as_ref))
    }

    /// What a call is about and what it can do; nothing is known of a tool that is not here.
    pub fn about(&self, name: &str, input: &Value) -> (Subject, Effects) {
        match self.get(name) {
            Some(tool) => (tool.subject(input), tool.effects()),
            None => (Subject::Other, Effects::NONE),
        }
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
        let tools = toolbox.list();
        let names: Vec<_> = tools.iter().map(|tool| tool.name()).collect();
        assert_eq!(
            names,
            [
                "applyPatch",
                "ask",
                "bash",
                "edit",
                "glob",
                "grep",
                "job",
                "memory",
                "notebookEdit",
                "read",
                "skill",
                "spawnAgent",
                "todoWrite",
                "webFetch",
                "webSearch",
                "write"
            ]
        );
        for tool in toolbox.list() {
            assert_eq!(tool.parameters()["type"], "object", "{}", tool.name());
            assert!(!tool.description().is_empty());
        }
        assert!(toolbox.get("bash").is_some());
    }
}
