//! The connections of all places, each shared by the threads there.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::sync::broadcast;
use tools::Tool;
use vocabulary::{McpRunning, McpToolInfo};

use crate::connection::{RemoteTool, ServerLists};
use crate::limits::{DEFINITIONS_BYTES_MAX, TOOLS_MAX};
use crate::tool::resources::{ListResourcesTool, ReadResourceTool, ResourceServers};
use crate::tool::{McpTool, names, selection};
use crate::transport::HttpAuthorizer;
use crate::{ConfiguredServer, FenceSource, McpOptions, McpPlace, Offer, PromptInfo, ServerChange};
pub(crate) use slot::ServerSlot;
use slot::{ServerStanding, ServerState};

mod following;
mod slot;
mod starting;

/// What is told of servers before it is heard; who is slower misses the oldest.
const CHANGES_MAX: usize = 256;
/// Servers that are remembered; of more, those that do not run are forgotten.
const SLOTS_MAX: usize = 512;

/// What every connection is made with.
pub(crate) struct PoolParts {
    pub options: McpOptions,
    pub authorizer: Arc<dyn HttpAuthorizer>,
    pub fence: FenceSource,
}

pub(crate) struct ConnectionPool {
    parts: Arc<PoolParts>,
    slots: Mutex<HashMap<(McpPlace, String), Arc<ServerSlot>>>,
    changes: broadcast::Sender<ServerChange>,
}

impl ConnectionPool {
    pub fn new(parts: PoolParts) -> Self {
        Self {
            parts: Arc::new(parts),
            slots: Mutex::default(),
            changes: broadcast::Sender::new(CHANGES_MAX),
        }
    }

    /// Hears of servers that start, end, or have other tools.
    pub fn changes(&self) -> broadcast::Receiver<ServerChange> {
        self.changes.subscribe()
    }

    /// The slot of a server. One that is configured otherwise now is let go.
    fn slot(&self, place: &McpPlace, server: &ConfiguredServer) -> Arc<ServerSlot> {
        let mut slots = self.slots.lock();
        let key = (place.clone(), server.server.name.clone());
        if let Some(slot) = slots.get(&key)
            && slot.server() == server
        {
            return Arc::clone(slot);
        }
        if slots.len() >= SLOTS_MAX {
            slots.retain(|_, slot| slot.is_in_use());
        }
        let slot = ServerSlot::new(Arc::clone(&self.parts), place.clone(), server.clone());
        following::follow(&slot, self.changes.clone());
        if let Some(old) = slots.insert(key, Arc::clone(&slot)) {
            tokio::spawn(async move { old.let_go().await });
        }
        slot
    }

    fn found(&self, place: &McpPlace, name: &str) -> Option<Arc<ServerSlot>> {
        let key = (place.clone(), name.to_owned());
        self.slots.lock().get(&key).cloned()
    }

    /// Ends the connection of a server; whoever needs it next makes a new one.
    pub fn forget(&self, place: &McpPlace, name: &str) {
        let old = self.slots.lock().remove(&(place.clone(), name.to_owned()));
        if let Some(old) = old {
            tokio::spawn(async move { old.let_go().await });
        }
    }

    pub fn warm(&self, place: &McpPlace, servers: &[ConfiguredServer]) {
        for server in servers {
            self.slot(place, server).ensure_started();
        }
    }

    pub async fn offer(
        &self,
        place: &McpPlace,
        servers: &[ConfiguredServer],
        wait: Duration,
    ) -> Offer {
        let slots: Vec<Arc<ServerSlot>> = servers
            .iter()
            .map(|server| self.slot(place, server))
            .collect();
        let standings = join_all(slots.iter().map(|slot| slot.standing(wait))).await;
        let mut offer = Offer::default();
        let mut there = Vec::new();
        for (slot, standing) in slots.iter().zip(standings) {
            match standing {
                ServerStanding::There(lists) => there.push((slot, lists)),
                ServerStanding::Missing { why } => {
                    let name = slot.name().to_owned();
                    offer
                        .notes
                        .push(format!("MCP server {name} is not there: {why}"));
                    if slot.is_required() {
                        offer.missing.push((name, why));
                    }
                }
            }
        }
        add_tools(&mut offer, &there);
        add_resources(&mut offer, &there);
        offer
            .tools
            .sort_by(|one, other| one.name().cmp(other.name()));
        offer
    }

    pub fn prompts(&self, place: &McpPlace) -> Vec<PromptInfo> {
        let slots = self.slots.lock();
        let here = slots.iter().filter(|((of, _), _)| of == place);
        let mut prompts: Vec<PromptInfo> = here
            .filter_map(|(_, slot)| Some((slot, slot.ready()?)))
            .flat_map(|(slot, connection)| {
                let lists = connection.lists();
                let prompts = lists.prompts.iter().map(|prompt| PromptInfo {
                    server: slot.name().to_owned(),
                    name: prompt.name.clone(),
                    description: prompt.description.clone(),
                    arguments: prompt.arguments.clone(),
                });
                prompts.collect::<Vec<_>>()
            })
            .collect();
        prompts.sort_by(|one, other| (&one.server, &one.name).cmp(&(&other.server, &other.name)));
        prompts
    }

    /// The slot of a server that was used here.
    pub fn used(&self, place: &McpPlace, name: &str) -> Option<Arc<ServerSlot>> {
        self.found(place, name)
    }

    /// How a server runs. Starts nothing.
    pub fn running(&self, place: &McpPlace, server: &ConfiguredServer) -> McpRunning {
        let slot = self.found(place, &server.server.name);
        let Some(slot) = slot.filter(|slot| slot.server() == server) else {
            return McpRunning::NotStarted;
        };
        match slot.state() {
            ServerState::NotStarted => McpRunning::NotStarted,
            ServerState::Starting => McpRunning::Starting,
            ServerState::Failed(failure) => McpRunning::Failed {
                message: failure.message,
            },
            ServerState::Ready(connection) => {
                let lists = connection.lists();
                McpRunning::Ready {
                    title: lists.title.clone(),
                    version: lists.version.clone(),
                    tools: lists.tools.iter().map(info).collect(),
                    tools_left_out: slot.tools_left_out.load(Ordering::Relaxed),
                }
            }
        }
    }

    pub async fn stop(&self) {
        let slots: Vec<_> = self.slots.lock().drain().map(|(_, slot)| slot).collect();
        join_all(slots.iter().map(|slot| slot.let_go())).await;
    }

    pub fn parts(&self) -> &Arc<PoolParts> {
        &self.parts
    }
}

fn info(tool: &RemoteTool) -> McpToolInfo {
    McpToolInfo {
        name: tool.name.clone(),
        title: tool.title.clone(),
        description: tool.description.clone(),
        parameters: tool.parameters.clone(),
    }
}

type ServersThere<'a> = [(&'a Arc<ServerSlot>, Arc<ServerLists>)];

fn add_tools(offer: &mut Offer, there: &ServersThere<'_>) {
    let lists: Vec<&[RemoteTool]> = there.iter().map(|(_, lists)| &lists.tools[..]).collect();
    let selected = selection::select(&lists);
    // Named after all of them: a name does not depend on what was left out.
    let all: Vec<(&str, &str)> = there
        .iter()
        .flat_map(|(slot, lists)| {
            let tools = lists.tools.iter();
            tools.map(move |tool| (slot.name(), tool.name.as_str()))
        })
        .collect();
    let mut names = names::names(&all).into_iter();
    for ((slot, lists), selected) in there.iter().zip(selected) {
        let mut selected = selected.into_iter().peekable();
        let mut count = 0;
        for (place, (tool, name)) in lists.tools.iter().zip(names.by_ref()).enumerate() {
            if selected.next_if_eq(&place).is_some() {
                count += 1;
                let tool = McpTool::new(name, Arc::clone(slot), tool.clone());
                offer.tools.push(Arc::new(tool));
            }
        }
        let left_out = lists.tools.len() + lists.tools_beyond - count;
        slot.tools_left_out.store(left_out, Ordering::Relaxed);
        if left_out > 0 {
            let kilobytes = DEFINITIONS_BYTES_MAX / 1024;
            offer.notes.push(format!(
                "{left_out} tools of MCP server {} are left out: all servers together may have \
                 {TOOLS_MAX} tools and {kilobytes} KB of definitions",
                slot.name()
            ));
        }
    }
}

fn add_resources(offer: &mut Offer, there: &ServersThere<'_>) {
    let with = there.iter().filter(|(_, lists)| lists.has_resources);
    let slots: Arc<[Arc<ServerSlot>]> = with.map(|(slot, _)| Arc::clone(slot)).collect();
    if !slots.is_empty() {
        let servers = ResourceServers(slots);
        let tools: [Arc<dyn Tool>; 2] = [
            Arc::new(ListResourcesTool(servers.clone())),
            Arc::new(ReadResourceTool(servers)),
        ];
        offer.tools.extend(tools);
    }
}
