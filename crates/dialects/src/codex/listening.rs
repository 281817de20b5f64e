//! What a connection remembers of the threads it hears: their settings, and open asks.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use vocabulary::{
    Ask, AskFact, AskId, Event, Fact, OpenAsk, SandboxInForce, ThreadCard, ThreadFact, ThreadId,
    ThreadSettings, ThreadView, Timestamp,
};

use super::{Endpoint, asks};
use crate::Frame;

#[derive(Default)]
pub struct FollowedThreads {
    threads: HashMap<ThreadId, KnownThread>,
    /// By number; no two threads share one.
    asks: BTreeMap<AskId, Open>,
}

/// What is known of a thread.
#[derive(Clone)]
pub struct KnownThread {
    pub card: ThreadCard,
    pub settings: ThreadSettings,
    /// What really holds its commands.
    pub sandbox: SandboxInForce,
    /// How hard its model really thinks, as the client was told; nothing once that may have changed.
    pub effort: Option<String>,
}

impl KnownThread {
    pub fn new(view: &ThreadView) -> Self {
        Self {
            card: view.thread.card.clone(),
            settings: view.thread.settings.clone(),
            sandbox: view.sandbox,
            effort: view.effort.clone(),
        }
    }
}

pub struct Open {
    pub thread: ThreadId,
    pub ask: Ask,
    at: Timestamp,
}

impl FollowedThreads {
    pub fn hears(&self, thread: ThreadId) -> bool {
        self.threads.contains_key(&thread)
    }

    /// The thread that was made last.
    pub fn newest(&self) -> Option<ThreadId> {
        let threads = self.threads.values().map(|known| &known.card);
        let newest = threads.max_by_key(|card| (card.created_at, card.id));
        newest.map(|card| card.id)
    }

    /// The newest of those that work there.
    pub fn in_directory(&self, directory: &Path) -> Option<ThreadId> {
        let threads = self.threads.values().map(|known| &known.card);
        let there = threads.filter(|card| card.directory == directory);
        let newest = there.max_by_key(|card| (card.created_at, card.id));
        newest.map(|card| card.id)
    }

    /// All of them, the one that was made last first.
    pub fn newest_first(&self) -> Vec<ThreadId> {
        let mut cards: Vec<_> = self.threads.values().map(|known| &known.card).collect();
        cards.sort_by_key(|card| std::cmp::Reverse((card.created_at, card.id)));
        cards.into_iter().map(|card| card.id).collect()
    }

    pub fn known(&self, thread: ThreadId) -> Option<&KnownThread> {
        self.threads.get(&thread)
    }

    pub fn ask(&self, ask: AskId) -> Option<&Open> {
        self.asks.get(&ask)
    }

    /// From now on this thread is heard; gives the asks that this connection did not know.
    pub fn begin(&mut self, view: &ThreadView) -> Vec<AskId> {
        let thread = view.thread.card.id;
        self.threads.insert(thread, KnownThread::new(view));
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

    /// How a thread that is heard stands now. False: it is not heard any more.
    pub fn learn(&mut self, view: &ThreadView) -> bool {
        let known = self.threads.get_mut(&view.thread.card.id);
        known.map(|known| *known = KnownThread::new(view)).is_some()
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

    /// Remembers what an event changes.
    pub fn follow(&mut self, thread: ThreadId, event: &Event) {
        match &event.fact {
            Fact::Ask { what, .. } => match what {
                AskFact::Opened { ask } => {
                    let (ask, at) = (ask.clone(), event.at);
                    self.asks.insert(ask.id, Open { thread, ask, at });
                }
                AskFact::Closed { ask, .. } => {
                    self.asks.remove(&ask.id);
                }
                AskFact::Progressed { .. } => {}
            },
            Fact::Thread(ThreadFact::SettingsChanged { settings, .. }) => {
                if let Some(known) = self.threads.get_mut(&thread) {
                    let was = std::mem::replace(&mut known.settings, settings.clone());
                    if (was.model, was.effort) != (settings.model.clone(), settings.effort.clone())
                    {
                        known.effort = None;
                    }
                }
            }
            Fact::Thread(_)
            | Fact::Turn(_)
            | Fact::Step { .. }
            | Fact::Item { .. }
            | Fact::Tool(_)
            | Fact::Files(_)
            | Fact::Note(_) => {}
        }
    }
}
