//! A session as a list and a joiner see it.

use std::borrow::Cow;

use vocabulary::{
    Entry, Event, Fact, Item, ItemFact, LiveItem, PlannedCall, RunningTurn, Thread, ThreadView,
    ToolEvent, ToolFact, TurnFact,
};

use super::states;
use super::tell::{state as spell_state, user_id};
use super::wire::ServerEvent;
use super::wire::parts::{
    ActiveStatus, ActiveToolCall, CurrentTurn, HistoryItem, Role, SessionMeta,
};

/// Where a thread keeps the agent type it was created with.
pub const AGENT_TYPE_LABEL: &str = "agentType";
/// The server's own agent.
const CODING_AGENT: &str = "coding-agent";
/// Programs of the user's that everyone knows; they are chosen as the provider of a thread's model.
const KNOWN_PROGRAMS: [&str; 3] = ["claude-code", "codex-acp", "gemini-cli"];
pub const RECENT_MESSAGES_MAX: u32 = 50;

pub fn meta(thread: &Thread) -> SessionMeta<'_> {
    let name = thread.title.text.as_str();
    SessionMeta {
        id: thread.card.id.to_string(),
        tenant_id: thread.card.tenant.as_str(),
        name: (!name.is_empty()).then_some(name),
        agent_type: agent_type(thread),
        status: spell_state(thread.status),
        archived: thread.archived,
        created_at: thread.card.created_at.millis(),
        updated_at: thread.updated_at.millis(),
        last_activity_at: thread.active_at.map(|at| at.millis()),
    }
}

/// What drives its turns now, whatever it was created as: clients of other protocols may have chosen
/// another.
fn agent_type(thread: &Thread) -> &str {
    if let Some(agent) = &thread.settings.agent {
        return agent;
    }
    let provider = thread.settings.model.provider.as_str();
    let created_as = thread.labels.get(AGENT_TYPE_LABEL).map(String::as_str);
    match KNOWN_PROGRAMS.contains(&provider) || created_as == Some(provider) {
        true => provider,
        false => CODING_AGENT,
    }
}

pub fn state<'a>(session_id: &'a str, view: &'a ThreadView) -> ServerEvent<'a> {
    let mut recent_history: Vec<_> = view.recent.iter().filter_map(history_item).collect();
    let extra = recent_history
        .len()
        .saturating_sub(RECENT_MESSAGES_MAX as usize);
    recent_history.drain(..extra);
    ServerEvent::StateSnapshot {
        session_id,
        session: meta(&view.thread),
        current_turn: view.turn.as_ref().map(|turn| CurrentTurn {
            turn_id: turn.turn.as_str(),
            started_at: turn.started_at.millis(),
            status: spell_state(view.thread.status),
        }),
        recent_history,
        subscriber_count: view.listeners + 1,
        sandbox: states::sandbox(view),
    }
}

/// What people and the agent said to each other; tools and thoughts are in the events.
pub fn history_item(entry: &Entry) -> Option<HistoryItem<'_>> {
    let created_at = entry.event.at.millis();
    if let Fact::Turn(TurnFact::Started { turn, input, .. })
    | Fact::Turn(TurnFact::Steered { turn, input, .. }) = &entry.event.fact
    {
        return Some(HistoryItem {
            id: input.item.as_str(),
            role: Role::User,
            content: input.shown(),
            turn_id: turn.as_str(),
            user_id: user_id(&entry.event),
            created_at,
        });
    }
    if let Fact::Item {
        tag,
        item,
        what:
            ItemFact::Finished {
                body: Item::AgentMessage { text, .. } | Item::Plan { text, .. },
                ..
            },
        ..
    } = &entry.event.fact
    {
        return Some(HistoryItem {
            id: item.as_str(),
            role: Role::Assistant,
            content: text,
            turn_id: tag.turn.as_str(),
            user_id: None,
            created_at,
        });
    }
    None
}

pub fn stream<'a>(session_id: &'a str, turn: &'a RunningTurn) -> ServerEvent<'a> {
    let mut text: Vec<&str> = turn.text.iter().map(String::as_str).collect();
    let thoughts = turn.reasoning.iter().map(|(_, text)| text.as_str());
    // Some providers keep their thoughts to themselves.
    let mut thinking: Vec<&str> = thoughts.filter(|text| !text.is_empty()).collect();
    let planned = turn.calls.iter().filter(|call| !call.finished);
    let mut tool_calls: Vec<_> = planned
        .map(|call| active_call(call, &turn.events))
        .collect();
    for growing in &turn.live {
        match &growing.item {
            LiveItem::Text { text: live, .. } | LiveItem::Plan { text: live, .. } => {
                text.push(live);
            }
            LiveItem::Reasoning { text: live, .. } => thinking.push(live),
            LiveItem::ToolInput { call_id, name, .. } => tool_calls.push(ActiveToolCall {
                tool_call_id: call_id,
                tool_name: name,
                status: ActiveStatus::Streaming,
                args: None,
            }),
            LiveItem::Output { .. } => {}
        }
    }
    ServerEvent::StreamSnapshot {
        session_id,
        turn_id: turn.turn.as_str(),
        // As the deltas told it: whoever was there has it so, and adds the same deltas to it.
        text: text.concat(),
        thinking: thinking.concat(),
        tool_calls,
    }
}

fn active_call<'a>(call: &'a PlannedCall, events: &'a [Event]) -> ActiveToolCall<'a> {
    let args = events.iter().find_map(|event| {
        let Fact::Tool(ToolEvent {
            call: planned,
            what: ToolFact::Planned { .. },
            ..
        }) = &event.fact
        else {
            return None;
        };
        (planned.item == call.call.item).then_some(Cow::Borrowed(&planned.input))
    });
    ActiveToolCall {
        tool_call_id: &call.call.call_id,
        tool_name: &call.call.name,
        status: match call.started {
            true => ActiveStatus::Running,
            false => ActiveStatus::Pending,
        },
        args,
    }
}
