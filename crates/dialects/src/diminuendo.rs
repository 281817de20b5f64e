//! The diminuendo dialect: the multi-tenant gateway's wire protocol, version 1.
//!
//! A connection is a client of a tenant: it sees the tenant's sessions and joins as many as it
//! likes. Nothing happens to a session when a client leaves or is gone.

use std::collections::{HashMap, VecDeque};

use vocabulary::{
    Call, Caller, Changed, Event, Fact, ItemId, Notice, Refusal, Reply, Thread, ThreadFact,
    ThreadId, ThreadQuery, Timestamp, TurnFact,
};

use self::calls::{DiminuendoCall, DiminuendoCalls, DiminuendoPurpose};
use self::replay::Replay;
use self::wire::ServerEvent;
use self::wire::parts::{ErrorCode, Identity};
use crate::pending::Pending;
use crate::{
    Action, Cx, Delivery, Dialect, Ending, Heard, Hello, NotAuthenticated, Reason, Tag, Variant,
};

mod act;
mod answer;
mod calls;
mod files;
pub mod hear;
mod members;
mod pace;
mod read;
mod refuse;
mod replay;
mod snapshot;
mod states;
pub mod tell;
pub mod wire;

#[cfg(test)]
pub(crate) mod tests;

pub use tell::tell;

const PROTOCOL_VERSION: u32 = 1;
const HEARTBEAT_MS: i64 = 30_000;
const MESSAGE_BYTES_MAX: usize = 1 << 20;
const DEV_USER: &str = "dev-user-001";
const DEV_EMAIL: &str = "developer@example.com";
/// What a watcher that missed notices is told again.
const RELOADED_SESSIONS_MAX: u32 = 200;

/// How many new sessions are remembered until it is known whose they are; more are told at once.
const ADDED_MAX: usize = 256;

/// How streamed text is named: with snake-case events alone, or with their dotted twins besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    #[default]
    Snake,
    Dotted,
}

/// One connection of this dialect.
#[derive(Default)]
pub struct Diminuendo {
    form: Form,
    calls: DiminuendoCalls,
    /// Nobody is asked who they are: docs/protocols/diminuendo.md, decision 9.
    dev_mode: bool,
    /// Whether what happens in the tenant is told already.
    watches: bool,
    /// Tokens that are looked at, each with the client's own name for its message.
    authentications: Pending<Option<String>>,
    /// When the messages of the last seconds came.
    heard: VecDeque<Timestamp>,
    joined: HashMap<ThreadId, Replay>,
    heartbeat_at: Timestamp,
    /// What this connection was answered last: the notice of the same would say nothing new.
    answered: Option<Thread>,
    deleted: Option<ThreadId>,
    /// Sessions that were made while this connection is making one.
    added: Vec<Thread>,
    /// What this connection was answered that it said: its event follows and says nothing new.
    steered: Option<ItemId>,
}

impl Diminuendo {
    fn welcome(&mut self, cx: &Cx<'_>, out: &mut Vec<Action>, hello: &Hello) {
        let welcome = ServerEvent::Welcome {
            protocol_version: PROTOCOL_VERSION,
            requires_auth: cx.caller.is_none(),
        };
        let connected = ServerEvent::Connected {
            client_id: &hello.connection,
            heartbeat_interval_ms: HEARTBEAT_MS,
            ts: cx.now.millis(),
        };
        send(out, &welcome);
        send(out, &connected);
        if let Some(caller) = cx.caller {
            self.welcome_caller(out, caller, None);
        }
    }

    /// The client is somebody now: it hears who, and what happens in its tenant.
    fn welcome_caller(&mut self, out: &mut Vec<Action>, caller: &Caller, request_id: Option<&str>) {
        out.push(Action::Send(self.identity(caller).answer(request_id)));
        // Who comes with a fresh token has missed nothing.
        if !std::mem::replace(&mut self.watches, true) {
            out.push(Action::Watch);
        }
    }

    fn identity<'a>(&self, caller: &'a Caller) -> ServerEvent<'a> {
        let (user_id, email) = match self.dev_mode {
            true => (DEV_USER, DEV_EMAIL),
            false => (
                caller.member.as_str(),
                caller.email.as_deref().unwrap_or_default(),
            ),
        };
        ServerEvent::Authenticated {
            identity: Identity {
                user_id,
                email,
                tenant_id: caller.tenant.as_str(),
            },
        }
    }

    fn beat(&mut self, cx: &Cx<'_>, out: &mut Vec<Action>) {
        self.heartbeat_at = cx.now.plus_millis(HEARTBEAT_MS);
        out.push(Action::WakeAt(self.heartbeat_at));
    }

    fn session_updated(&mut self, out: &mut Vec<Action>, thread: &Thread) {
        if self
            .answered
            .take_if(|answered| answered == thread)
            .is_some()
        {
            return;
        }
        let session = snapshot::meta(thread);
        send(out, &ServerEvent::SessionUpdated { session });
    }

    /// Whoever made it is answered; everyone else of the tenant is told. While this connection waits
    /// for an answer of that kind, it is not known whose it is.
    fn session_added(&mut self, out: &mut Vec<Action>, thread: &Thread) {
        if self.calls.creates() && self.added.len() < ADDED_MAX {
            return self.added.push(thread.clone());
        }
        self.session_updated(out, thread);
        // Where it was made by another process, both that and its last change are told at once.
        self.answered = Some(thread.clone());
    }

    /// A session of this connection's own was made, or not: what else was added meanwhile is told.
    fn created(&mut self, out: &mut Vec<Action>, own: Option<&Thread>) {
        let is_own = |thread: &Thread| own.is_some_and(|own| own.card.id == thread.card.id);
        let known = self.added.iter().any(is_own);
        self.added.retain(|thread| !is_own(thread));
        self.answered = own.filter(|_| !known).cloned();
        if !self.calls.creates() {
            for thread in std::mem::take(&mut self.added) {
                self.session_updated(out, &thread);
            }
        }
    }

    fn was_answered(&mut self, event: &Event) -> bool {
        let Fact::Turn(TurnFact::Steered { input, .. }) = &event.fact else {
            return false;
        };
        self.steered.take_if(|item| *item == input.item).is_some()
    }

    /// Nothing more comes from a session; who wants to hear it again joins again.
    fn session_ended(&mut self, out: &mut Vec<Action>, thread: ThreadId, ending: Ending) {
        if let Some(mut joined) = self.joined.remove(&thread) {
            joined.end(out, ending);
        }
    }

    fn session_deleted(&mut self, out: &mut Vec<Action>, thread: ThreadId) {
        self.joined.remove(&thread);
        if self.deleted == Some(thread) || self.calls.deletes(thread) {
            return;
        }
        let session_id = &thread.to_string();
        send(out, &ServerEvent::SessionDeleted { session_id });
    }
}

impl Dialect for Diminuendo {
    fn variant(&self) -> Variant {
        match self.form {
            Form::Snake => Variant::Diminuendo,
            Form::Dotted => Variant::DiminuendoDotted,
        }
    }

    fn opened(&mut self, cx: &Cx<'_>, out: &mut Vec<Action>, hello: &Hello) {
        if hello.query("events") == Some("dotted") {
            self.form = Form::Dotted;
        }
        self.dev_mode = hello.lone_user;
        self.welcome(cx, out, hello);
        self.beat(cx, out);
    }

    /// What is too much is refused before it is looked at.
    fn heard(&mut self, cx: &Cx<'_>, out: &mut Vec<Action>, frame: &str) {
        if let Err(wait_ms) = pace::count(&mut self.heard, cx.now) {
            return send(out, &refuse::rate_limited(wait_ms));
        }
        if frame.len() > MESSAGE_BYTES_MAX {
            let message = "a message may have at most 1 MB";
            return send(out, &refuse::error(ErrorCode::MessageTooLarge, message));
        }
        match hear::hear(frame) {
            Ok(hearing) => self.act(cx, out, hearing),
            Err(wrong) => {
                let error = refuse::error(wrong.code, &wrong.message);
                let frame = error.answer(wrong.request_id.as_deref());
                out.push(Action::Send(frame));
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
        let Some(DiminuendoCall { request_id, wanted }) = self.calls.take(tag) else {
            return;
        };
        let request_id = request_id.as_deref();
        // What nobody asked for is not refused to anybody.
        let unasked = matches!(
            wanted,
            DiminuendoPurpose::Snapshot | DiminuendoPurpose::Fence
        );
        if let (DiminuendoPurpose::Create, Err(_)) = (&wanted, &outcome) {
            self.created(out, None);
        }
        let done = outcome.and_then(|reply| self.answer(out, request_id, wanted, reply));
        if let (Err(refusal), false) = (done, unasked) {
            let frame = refuse::refusal(&refusal).answer(request_id);
            out.push(Action::Send(frame));
        }
    }

    fn authenticated(
        &mut self,
        cx: &Cx<'_>,
        out: &mut Vec<Action>,
        tag: Tag,
        outcome: Result<(), NotAuthenticated>,
    ) {
        let Some(request_id) = self.authentications.take(tag) else {
            return;
        };
        match (outcome, cx.caller) {
            (Ok(()), Some(caller)) => self.welcome_caller(out, caller, request_id.as_deref()),
            (Err(why), _) => {
                let frame = refuse::not_authenticated(why).answer(request_id.as_deref());
                out.push(Action::Send(frame));
            }
            // The server has a caller for every yes.
            (Ok(()), None) => {}
        }
    }

    fn dismissed(&mut self, _cx: &Cx<'_>, out: &mut Vec<Action>) {
        let message = "what you came in by is not good any more; sign in again, or ask an owner";
        send(out, &refuse::error(ErrorCode::Unauthenticated, message));
    }

    fn told(&mut self, _cx: &Cx<'_>, out: &mut Vec<Action>, delivery: Delivery<'_>) {
        if let Heard::Live(event) = delivery.what
            && self.was_answered(event)
        {
            return;
        }
        if let Heard::Ended(ending) = delivery.what {
            return self.session_ended(out, delivery.card.id, ending);
        }
        let Some(replay) = self.joined.get_mut(&delivery.card.id) else {
            return;
        };
        replay.hear(out, delivery.what);
        if let Heard::Live(event) = delivery.what
            && let Fact::Thread(ThreadFact::Reset | ThreadFact::Reverted { .. }) = event.fact
        {
            self.calls.snapshot(out, delivery.card.id);
        }
        if let Heard::Live(event) = delivery.what
            && changes_fence(&event.fact)
        {
            self.calls.look_at_fence(out, delivery.card.id);
        }
    }

    fn noticed(&mut self, cx: &Cx<'_>, out: &mut Vec<Action>, notice: &Notice) {
        match notice {
            Notice::ThreadAdded { thread } => self.session_added(out, thread),
            Notice::ThreadStatusChanged { thread } => {
                // It may be equal to what was answered long ago, and still be news.
                let id = thread.card.id;
                self.answered.take_if(|answered| answered.card.id == id);
                self.session_updated(out, thread);
            }
            Notice::WorkspaceChanged { .. }
            | Notice::TracingChanged { .. }
            | Notice::SkillsChanged { .. }
            | Notice::McpChanged { .. }
            | Notice::McpServerChanged { .. }
            | Notice::TreeChanged { .. } => {}
            Notice::ThreadChanged { thread, .. } => self.session_updated(out, thread),
            Notice::ThreadRemoved { thread, .. } => self.session_deleted(out, *thread),
            Notice::Reload => {
                let query = ThreadQuery {
                    limit: Some(RELOADED_SESSIONS_MAX),
                    ..ThreadQuery::default()
                };
                let call = Call::ListThreads(query);
                self.calls
                    .request(out, None, DiminuendoPurpose::Reload, call);
            }
            Notice::ShuttingDown { reason } => {
                let ts = cx.now.millis();
                send(out, &ServerEvent::ServerShutdown { reason, ts });
                out.push(Action::Close(Reason::new(
                    Reason::GOING_AWAY,
                    reason.as_ref(),
                )));
            }
        }
    }

    fn woke(&mut self, cx: &Cx<'_>, out: &mut Vec<Action>) {
        if cx.now < self.heartbeat_at {
            return out.push(Action::WakeAt(self.heartbeat_at));
        }
        let ts = cx.now.millis();
        send(out, &ServerEvent::Heartbeat { ts });
        self.beat(cx, out);
    }

    fn gone(&mut self, _cx: &Cx<'_>, _out: &mut Vec<Action>) {}
}

/// Whether what holds a session's commands may be another from now on.
fn changes_fence(fact: &Fact) -> bool {
    let Fact::Thread(ThreadFact::SettingsChanged { changed, .. }) = fact else {
        return false;
    };
    let decides = [Changed::Model, Changed::Agent, Changed::Sandbox];
    changed.iter().any(|each| decides.contains(each))
}

fn send(out: &mut Vec<Action>, event: &ServerEvent<'_>) {
    out.push(Action::Send(event.frame()));
}
