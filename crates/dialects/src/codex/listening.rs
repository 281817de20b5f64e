//! What a connection remembers of the threads it hears: open asks, and the calls under way.

use std::collections::{BTreeMap, HashMap};

use vocabulary::{
    Ask, AskId, Entry, Event, Fact, Growth, ItemId, OpenAsk, SandboxInForce, ThreadCard, ThreadId,
    ThreadSettings, ThreadView, Timestamp, ToolCall, ToolClass,
};

use super::tell::Told;
use super::tell::items::{self, Shown};
use super::{Endpoint, asks};
use crate::Frame;

#[derive(Default)]
pub struct Listening {
    threads: HashMap<ThreadId, Known>,
    /// By number; no two threads share one.
    asks: BTreeMap<AskId, Open>,
}

struct Known {
    card: ThreadCard,
    settings: ThreadSettings,
    sandbox: SandboxInForce,
    /// Calls that have not ended.
    calls: HashMap<ItemId, ToolCall>,
}

pub struct Open {
    pub thread: ThreadId,
    pub ask: Ask,
    at: Timestamp,
}

/// How a connection tells an event.
pub enum Telling {
    /// In everyone's words.
    Shared,
    Own(Frame),
    Nothing,
}

impl Listening {
    pub fn hears(&self, thread: ThreadId) -> bool {
        self.threads.contains_key(&thread)
    }

    pub fn settings(&self, thread: ThreadId) -> Option<&ThreadSettings> {
        self.threads.get(&thread).map(|known| &known.settings)
    }

    /// What is known of a thread: its card, its settings, and what really holds its commands.
    pub fn known(
        &self,
        thread: ThreadId,
    ) -> Option<(&ThreadCard, &ThreadSettings, SandboxInForce)> {
        let known = self.threads.get(&thread)?;
        Some((&known.card, &known.settings, known.sandbox))
    }

    pub fn ask(&self, ask: AskId) -> Option<&Open> {
        self.asks.get(&ask)
    }

    /// From now on this thread is heard; gives the asks that this connection did not know.
    pub fn begin(&mut self, view: &ThreadView) -> Vec<AskId> {
        let thread = view.thread.card.id;
        let mut known = Known {
            card: view.thread.card.clone(),
            settings: view.thread.settings.clone(),
            sandbox: view.sandbox,
            calls: HashMap::new(),
        };
        let running = view.turn.iter().flat_map(|turn| &turn.events);
        for event in running.chain(view.recent.iter().map(|entry: &Entry| &entry.event)) {
            known.follow(&event.fact);
        }
        self.threads.insert(thread, known);
        let known_asks: Vec<AskId> = self.asks_of(thread);
        self.asks.retain(|_, open| open.thread != thread);
        for OpenAsk { ask, at, .. } in &view.asks {
            let (ask, at) = (ask.clone(), *at);
            self.asks.insert(ask.id, Open { thread, ask, at });
        }
        let mut new = self.asks_of(thread);
        new.retain(|ask| !known_asks.contains(ask));
        new
    }

    pub fn end(&mut self, thread: ThreadId) -> bool {
        self.asks.retain(|_, open| open.thread != thread);
        self.threads.remove(&thread).is_some()
    }

    pub fn asks_of(&self, thread: ThreadId) -> Vec<AskId> {
        let open = self.asks.iter().filter(|(_, open)| open.thread == thread);
        open.map(|(id, _)| *id).collect()
    }

    /// The request again, as it was made.
    pub fn request(&self, ask: AskId, endpoint: Endpoint) -> Option<Frame> {
        let open = self.asks.get(&ask)?;
        let card = &self.threads.get(&open.thread)?.card;
        Some(asks::request(card, &open.ask, open.at, endpoint))
    }

    /// Remembers what an event changes. The end of a call is told here, with what was called; what
    /// a tool that is no command writes meanwhile has no place in this protocol.
    pub fn follow(&mut self, told: Told<'_>) -> Telling {
        let (event, thread): (&Event, ThreadId) = (told.event, told.card.id);
        if let Fact::AskOpened { ask, .. } = &event.fact {
            let (ask, at) = (ask.clone(), event.at);
            self.asks.insert(ask.id, Open { thread, ask, at });
        } else if let Fact::AskClosed { ask, .. } = &event.fact {
            self.asks.remove(&ask.id);
        }
        let Some(known) = self.threads.get_mut(&thread) else {
            return Telling::Shared;
        };
        if let Fact::ItemGrew {
            item,
            growth: Growth::Output(_),
            ..
        } = &event.fact
        {
            return known.output_of(item);
        }
        let Fact::ToolFinished { tag, call, outcome } = &event.fact else {
            known.follow(&event.fact);
            return Telling::Shared;
        };
        let called = known.calls.remove(&call.item);
        let item = called.as_ref().and_then(|called| {
            items::called(told.endpoint, told.card, called, Shown::Ended(outcome))
        });
        match item {
            Some(item) => Telling::Own(items::completed(told, &tag.turn, item)),
            None => Telling::Shared,
        }
    }
}

impl Known {
    fn output_of(&self, item: &ItemId) -> Telling {
        match self.calls.get(item).map(|call| call.class) {
            Some(ToolClass::Command) | None => Telling::Shared,
            Some(
                ToolClass::FileRead
                | ToolClass::FileChange
                | ToolClass::Question
                | ToolClass::Plan
                | ToolClass::Other,
            ) => Telling::Nothing,
        }
    }

    fn follow(&mut self, fact: &Fact) {
        if let Fact::ToolPlanned { call, .. } | Fact::ToolReached { call, .. } = fact {
            self.calls.insert(call.item.clone(), call.clone());
        } else if let Fact::ToolFinished { call, .. } = fact {
            self.calls.remove(&call.item);
        } else if let Fact::SettingsChanged { settings, .. } = fact {
            self.settings = settings.clone();
        } else if let Fact::TurnFinished { .. } = fact {
            self.calls.clear();
        }
    }
}
