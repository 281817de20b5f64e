//! What a turn's model is offered: the tools of its thread, as far as its mode and its agent have them.
//! Decided here, for the list that a model is shown and for every call that it makes.

use std::sync::Arc;

use providers::{ModelFamily, ToolSpec};
use serde_json::Value;
use tools::{SpawnKind, Tool, ToolFaces};
use vocabulary::{AgentMode, ItemId, ModelRef, SubAgent, Subject, did_you_mean, nearest};

use super::Turn;
use crate::limits::SUB_AGENT_DEPTH_MAX;

/// The tools of each kind of sub-agent. `general` has all but those that need the user.
const EXPLORE: &[&str] = &["read", "glob", "grep", "bash", "job"];
const RESEARCH: &[&str] = &["read", "glob", "grep", "webSearch", "webFetch"];
const NOT_GENERAL: &[&str] = &["ask", "todoWrite"];

/// The tool of this name, if it is offered: a model may call what it was not.
pub fn find(turn: &Turn, agent: Option<&SubAgent>, name: &str) -> Option<Arc<dyn Tool>> {
    let tool = turn.tools().get(name)?;
    offers(turn, agent, tool.as_ref()).then_some(tool)
}

/// The faces that tools have for a model: what it was trained on.
pub fn faces(model: &ModelRef) -> ToolFaces {
    match ModelFamily::of(&model.provider, &model.model) {
        ModelFamily::Gpt => ToolFaces::Gpt,
        ModelFamily::Claude | ModelFamily::Gemini | ModelFamily::Local | ModelFamily::Other => {
            ToolFaces::Own
        }
    }
}

/// All that is offered, as a model with these faces is told. What it has another tool for is not said,
/// and yet taken if it is called.
pub fn specs(turn: &Turn, agent: Option<&SubAgent>, faces: ToolFaces) -> Arc<[ToolSpec]> {
    let mut tools = turn.tools().list();
    tools.retain(|tool| offers(turn, agent, tool.as_ref()));
    let has = |name: &str| tools.iter().any(|tool| tool.name() == name);
    let needed = |tool: &&Arc<dyn Tool>| !faces.instead_of(tool.name()).is_some_and(has);
    let specs = tools.iter().filter(needed);
    specs
        .map(|tool| turn.shared.tool_specs.get(tool, faces))
        .collect()
}

/// What a model is told that called for a tool which it does not have.
pub fn unknown(turn: &Turn, agent: Option<&SubAgent>, name: &str) -> String {
    let specs = specs(turn, agent, faces(&turn.model));
    let names = specs.iter().map(|spec| spec.name.as_str());
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
    let is_there = match mode {
        AgentMode::Chat => false,
        // What of it changes anything is refused, call by call.
        AgentMode::Plan => tool.looks(),
        AgentMode::Code => true,
    };
    let is_heard = turn.can_ask || tool.name() != tools::ASK;
    is_there && is_heard && agent.is_none_or(|agent| may_use(turn, agent, tool))
}

/// Whether what a sub-agent runs may change nothing.
pub fn only_reads(agent: &SubAgent) -> bool {
    let mut kinds = SpawnKind::BUILT_IN.iter().chain([&SpawnKind::Review]);
    let kind = kinds.find(|kind| kind.name() == agent.kind);
    kind.is_some_and(SpawnKind::only_reads)
}

/// Gives the sub-agent that works for a call the tools of its kind, where that has a list of its own.
pub fn restrict(turn: &Turn, parent: &ItemId, kind: &SpawnKind) {
    let own = match kind {
        SpawnKind::Own(own) => own.tools.as_ref(),
        SpawnKind::Explore
        | SpawnKind::Research
        | SpawnKind::General
        | SpawnKind::Review
        | SpawnKind::Named(_) => None,
    };
    let Some(own) = own else { return };
    let tools = turn.tools();
    let known = own.iter().filter_map(|name| tools.resolve(name));
    let known = known.map(str::to_owned).collect();
    turn.sub_agent_tools.lock().insert(parent.clone(), known);
}

fn may_use(turn: &Turn, agent: &SubAgent, tool: &dyn Tool) -> bool {
    let effects = tool.effects();
    let is_server = matches!(tool.subject(&Value::Null), Subject::Mcp { .. });
    let tool = tool.name();
    if let Some(own) = turn.sub_agent_tools.lock().get(&agent.parent) {
        let too_deep = tool == tools::SPAWN_AGENT && agent.depth >= SUB_AGENT_DEPTH_MAX;
        return own.iter().any(|each| each == tool) && !NOT_GENERAL.contains(&tool) && !too_deep;
    }
    if tool == tools::SPAWN_AGENT {
        return agent.kind == "general" && agent.depth < SUB_AGENT_DEPTH_MAX;
    }
    let only_looks = is_server && !effects.writes && !effects.runs;
    match agent.kind.as_str() {
        kind if kind == SpawnKind::Review.name() => EXPLORE.contains(&tool),
        "explore" => EXPLORE.contains(&tool) || only_looks,
        "research" => RESEARCH.contains(&tool) || only_looks,
        _ => !NOT_GENERAL.contains(&tool),
    }
}
