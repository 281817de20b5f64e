//! The codex dialect: codex app-server's JSON-RPC, and Zane's older form of it.
//!
//! A connection may hear many threads. Requests run concurrently, each is answered by its own id.
//! The agent's asks are requests to the client, and their id is the ask's own number.

use std::collections::HashSet;
use std::path::PathBuf;

use serde::Serialize;
use vocabulary::{
    Changed, Fact, Notice, Refusal, Reply, Status, Thread, ThreadFact, ThreadId, Timestamp,
};

use self::calls::CodexCalls;
use self::listening::FollowedThreads;
use self::refuse::CodexError;
use self::wire::notice::{ThreadNamed, ThreadStatusChanged};
use crate::jsonrpc::{self, Id, Incoming, VersionField};
use crate::{Action, Cx, Delivery, Dialect, Ending, Frame, Heard, Hello, Reason, Tag, Variant};

mod account;
mod act;
mod anchor;
mod answer;
mod asks;
mod calls;
mod config;
mod declined;
mod exec;
mod file_search;
mod forks;
mod hear;
mod history;
mod input;
mod inventory;
mod items_list;
mod listening;
mod metadata;
mod new_thread;
mod occurrences;
mod offer;
pub mod orbit;
mod orders;
mod permissions;
mod platform;
pub mod push;
mod refuse;
mod resuming;
pub mod schema;
mod sections;
mod server_login;
mod servers;
mod settings;
mod show;
pub mod tell;
mod terminals;
mod thinking;
mod thread_list;
mod turn_list;
mod turns;
pub mod wire;
mod zane;

#[cfg(test)]
mod tests;

/// Neither endpoint writes the version field; both tolerate it.
const VERSION: VersionField = VersionField::Left;

/// Threads added by others while one of ours is being made; more are read from the list.
const HELD_MAX: usize = 256;

/// Which of the two forms a connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Zane's client: no handshake, `orbit.*` frames, capitalised statuses.
    Zane,
    /// The app-server itself.
    Codex,
}

/// One connection of this dialect.
pub struct Codex {
    endpoint: Endpoint,
    initialized: bool,
    home: PathBuf,
    since: Timestamp,
    calls: CodexCalls,
    listening: FollowedThreads,
    logins: account::Logins,
    names: offer::Names,
    searches: file_search::FileSearches,
    /// What the machine is called.
    host: String,
    /// How many threads are being made for this client.
    starting: usize,
    /// Threads that came up meanwhile: one of them may be ours.
    held: Vec<Thread>,
    /// Our own threads, whose notice is still to come.
    announced: HashSet<ThreadId>,
}

impl Codex {
    pub fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            initialized: endpoint == Endpoint::Zane,
            home: PathBuf::new(),
            since: Timestamp(0),
            calls: CodexCalls::default(),
            listening: FollowedThreads::default(),
            logins: account::Logins::default(),
            names: offer::Names::default(),
            searches: file_search::FileSearches::default(),
            host: String::new(),
            starting: 0,
            held: Vec::new(),
            announced: HashSet::new(),
        }
    }

    fn speaking(&self) -> show::Speaking<'_> {
        show::Speaking {
            endpoint: self.endpoint,
            names: &self.names,
        }
    }

    /// Nothing more comes from a thread; who wants to hear it again resumes it.
    fn thread_ended(&mut self, out: &mut Vec<Action>, thread: ThreadId, ending: Ending) {
        let heard = self.listening.end(thread);
        // A deletion is told to everyone, and a server that stops says so.
        if heard && matches!(ending, Ending::Failed | Ending::HandedOver) {
            let thread_id = &thread.to_string();
            let status = show::thread_status(self.endpoint, Status::Inactive);
            let unloaded = ThreadStatusChanged { thread_id, status };
            send(out, tell::notify("thread/status/changed", &unloaded));
            let closed = ThreadNamed { thread_id };
            send(out, tell::notify("thread/closed", &closed));
        }
    }

    fn request(&mut self, out: &mut Vec<Action>, id: Id, method: &str, params: serde_json::Value) {
        let known = match self.initialized || method == "initialize" {
            true => hear::request(self.endpoint, method, params),
            false => Err(CodexError::request("Not initialized")),
        };
        let done = known.and_then(|request| self.act(out, id.clone(), request));
        if let Err(wrong) = done {
            send(out, wrong.frame(Some(&id)));
        }
    }
}

impl Dialect for Codex {
    fn variant(&self) -> Variant {
        match self.endpoint {
            Endpoint::Zane => Variant::Zane,
            Endpoint::Codex => Variant::Codex,
        }
    }

    fn opened(&mut self, cx: &Cx<'_>, out: &mut Vec<Action>, hello: &Hello) {
        self.home = hello.home.clone();
        self.host = hello.host.clone();
        self.since = cx.now;
        if self.endpoint == Endpoint::Zane {
            send(out, orbit::hello(cx.now));
            out.push(Action::Watch);
        }
    }

    fn heard(&mut self, _cx: &Cx<'_>, out: &mut Vec<Action>, frame: &str) {
        match jsonrpc::read(frame) {
            Ok(Incoming::Request { id, method, params }) => self.request(out, id, &method, params),
            // `initialized` changes nothing, and no other is known.
            Ok(Incoming::Notification { .. }) => {}
            Ok(Incoming::Response { id, result }) => self.response(out, &id, Some(result)),
            Ok(Incoming::Failure { id, .. }) => self.response(out, &id, None),
            Ok(Incoming::Other(frame)) if self.endpoint == Endpoint::Zane => {
                self.control(out, frame);
            }
            Ok(Incoming::Other(_)) => {
                let message = "expected a request, a notification or a response";
                send(out, CodexError::request(message).frame(None));
            }
            Err(jsonrpc::Malformed::NotJson | jsonrpc::Malformed::NotAnObject) => {
                send(out, CodexError::not_json().frame(None));
            }
        }
    }

    fn replied(
        &mut self,
        _cx: &Cx<'_>,
        out: &mut Vec<Action>,
        tag: Tag,
        outcome: Result<Reply, Refusal>,
    ) {
        let Some(mut waiting) = self.calls.take(tag) else {
            return;
        };
        let done = outcome.and_then(|reply| self.answer(out, &mut waiting, reply));
        if let Err(refusal) = done {
            self.refused(out, &waiting, refusal);
        }
    }

    fn told(&mut self, _cx: &Cx<'_>, out: &mut Vec<Action>, delivery: Delivery<'_>) {
        match delivery.what {
            Heard::Live(event) => {
                self.listening.follow(delivery.card.id, event);
                out.push(Action::Shared);
                let reset = matches!(event.fact, Fact::Thread(ThreadFact::Reset));
                let reverted = matches!(event.fact, Fact::Thread(ThreadFact::Reverted { .. }));
                // Who knows the word for a revert reads the turns again as it needs them.
                if reset || reverted && self.endpoint == Endpoint::Zane {
                    self.begin_anew(out, delivery.card.id);
                }
                if let Fact::Thread(ThreadFact::SettingsChanged { changed, .. }) = &event.fact
                    // What is kept of a repository is no setting here.
                    && changed.iter().any(|it| *it != Changed::Git)
                {
                    self.settings_changed(out, delivery.card.id);
                }
            }
            // A client of this protocol cannot be told of a hole; it can resume.
            Heard::Gap { .. } => out.push(Action::Close(Reason::too_slow())),
            Heard::Ended(ending) => self.thread_ended(out, delivery.card.id, ending),
            // FollowedThreads from the head, nothing is read back.
            Heard::Replay(_) | Heard::CaughtUp { .. } => {}
        }
    }

    fn noticed(&mut self, _cx: &Cx<'_>, out: &mut Vec<Action>, notice: &Notice) {
        match notice {
            Notice::ThreadAdded { thread, .. } if self.starting > 0 => {
                if self.held.len() < HELD_MAX {
                    self.held.push((**thread).clone());
                }
            }
            Notice::ThreadAdded { thread, .. } => self.added(out, thread),
            Notice::ThreadRemoved { thread, .. } => {
                let thread_id = &thread.to_string();
                send(
                    out,
                    tell::notify("thread/deleted", &ThreadNamed { thread_id }),
                );
            }
            Notice::ShuttingDown { reason } => {
                let reason = Reason::new(Reason::GOING_AWAY, reason.as_ref());
                out.push(Action::Close(reason));
            }
            Notice::ThreadChanged { .. }
            | Notice::ThreadStatusChanged { .. }
            | Notice::TracingChanged { .. }
            | Notice::Reload
            | Notice::WorkspaceChanged { .. }
            | Notice::SkillsChanged { .. }
            | Notice::McpChanged { .. }
            | Notice::McpServerChanged { .. }
            | Notice::TreeChanged { .. } => {}
        }
    }

    fn woke(&mut self, _cx: &Cx<'_>, _out: &mut Vec<Action>) {}

    fn gone(&mut self, _cx: &Cx<'_>, _out: &mut Vec<Action>) {}

    fn calls_in_order(&self) -> bool {
        false
    }
}

fn send(out: &mut Vec<Action>, frame: Frame) {
    out.push(Action::Send(frame));
}

fn respond(id: &Id, result: &impl Serialize) -> Frame {
    VERSION.response(id, result)
}
