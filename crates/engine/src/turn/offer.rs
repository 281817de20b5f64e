//! What a turn's model is offered: the tools of its thread, as far as its mode and its agent have them.
//! Decided here, for the list that a model is shown and for every call that it makes.

use std::sync::Arc;

use providers::ToolSpec;
use tools::Tool;
use vocabulary::{SubAgent, did_you_mean, nearest};

use super::Turn;
use crate::limits::SUB_AGENT_DEPTH_MAX;

/// The tools of each kind of sub-agent. `general` has all but those that need the user.
const EXPLORE: &[&str] = &["read", "glob", "grep", "bash", "job"];
const RESEARCH: &[&str] = &["read", "glob", "grep", "webSearch", "webFetch"];
const NOT_GENERAL: &[&str] = &["ask", "todoWrite"];

/// The tool of this name, if it is offered: a model may call what it was not.
pub fn find(turn: &Turn, agent: Option<&SubAgent>, name: &str) -> Option<Arc<dyn Tool>> {
    let tool = turn.tools.get(name)?;
    offers(turn, agent, tool.as_ref()).then_some(tool)
}

/// All that is offered, as a model is told.
pub fn specs(turn: &Turn, agent: Option<&SubAgent>) -> Arc<[ToolSpec]> {
    let tools = turn.tools.list();
    let offered = tools
        .iter()
        .filter(|tool| offers(turn, agent, tool.as_ref()));
    offered
        .map(|tool| ToolSpec::new(tool.name(), tool.description(), tool.parameters()))
        .collect()
}

/// What a model is told that called for a tool which it does not have.
pub fn unknown(turn: &Turn, agent: Option<&SubAgent>, name: &str) -> String {
    let tools = turn.tools.list();
    let names = tools
        .iter()
        .filter(|tool| offers(turn, agent, tool.as_ref()))
        .map(|tool| tool.name());
    let near = did_you_mean(&nearest(name, names.clone()));
    let end = if near.is_empty() { "." } else { "" };
    let names: Vec<&str> = names.collect();
    match names.is_empty() {
        true => format!("there is no tool named {name:?}; there are none now"),
        false => format!(
            "there is no tool named {name:?}{near}{end} There are: {}",
            names.join(", ")
        ),
    }
}

fn offers(turn: &Turn, agent: Option<&SubAgent>, tool: &dyn Tool) -> bool {
    let mode = turn.permits.borrow().settings.mode;
    mode.offers(tool.effects()) && agent.is_none_or(|agent| may_use(agent, tool.name()))
}

fn may_use(agent: &SubAgent, tool: &str) -> bool {
    if tool == tools::SPAWN_AGENT {
        return agent.kind == "general" && agent.depth < SUB_AGENT_DEPTH_MAX;
    }
    match agent.kind.as_str() {
        "explore" => EXPLORE.contains(&tool),
        "research" => RESEARCH.contains(&tool),
        _ => !NOT_GENERAL.contains(&tool),
    }
}
