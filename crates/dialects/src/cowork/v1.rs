//! Cowork's first protocol (docs/protocols/cowork.md, "Protocol 1"): one session per connection,
//! whole messages, no chunks.
//!
//! A connection has a session from its first moment, and the session ends with it.

use std::sync::Arc;

use vocabulary::{
    Approvals, Call, Fact, NewThread, Notice, Refusal, Reply, ThreadFact, ThreadId, ThreadView,
};

use self::calls::{Cowork1Calls, Cowork1Purpose};
use self::session::Cowork1Session;
use super::{EARLY_BYTES_MAX, EARLY_FRAMES_MAX, OPENING, opening_listen};
use crate::{Action, Cx, Delivery, Dialect, Heard, Hello, Reason, Tag, Variant};

mod calls;
mod connect;
pub mod hear;
mod session;
mod tell;
pub mod wire;

#[cfg(test)]
mod tests;

pub use tell::tell;

/// One connection of this dialect.
pub struct Cowork1 {
    providers: Arc<[String]>,
    calls: Cowork1Calls,
    /// The thread is made, and the next answer says how it stands.
    listens: bool,
    stage: Cowork1Stage,
}

enum Cowork1Stage {
    /// The session is not there yet; what is heard meanwhile waits.
    Opening(Vec<String>),
    Open(Box<Cowork1Session>),
    Closed(Option<ThreadId>),
}

impl Default for Cowork1 {
    fn default() -> Self {
        Self {
            providers: Arc::default(),
            calls: Cowork1Calls::default(),
            listens: false,
            stage: Cowork1Stage::Opening(Vec::new()),
        }
    }
}

impl Cowork1 {
    /// Nothing is heard any more; what is left to do for the session waits until the client is gone.
    fn close(&mut self, out: &mut Vec<Action>, reason: Reason) {
        self.stage = Cowork1Stage::Closed(self.thread());
        out.push(Action::Close(reason));
    }

    fn thread(&self) -> Option<ThreadId> {
        match &self.stage {
            Cowork1Stage::Opening(_) => None,
            Cowork1Stage::Open(session) => Some(session.card.id),
            Cowork1Stage::Closed(thread) => *thread,
        }
    }

    fn opening(&mut self, cx: &Cx<'_>, out: &mut Vec<Action>, outcome: Result<Reply, Refusal>) {
        let listens = self.listens;
        let done = outcome.and_then(|reply| {
            match listens {
                false => {
                    self.listens = true;
                    out.push(opening_listen(reply.thread()?.card.id));
                }
                true => self.open(cx, out, &*reply.view()?),
            }
            Ok(())
        });
        if let Err(refusal) = done {
            out.push(Action::Send(wire::error("", &refusal.message)));
            self.close(out, Reason::new(Reason::TRY_AGAIN_LATER, refusal.message));
        }
    }

    fn open(&mut self, cx: &Cx<'_>, out: &mut Vec<Action>, view: &ThreadView) {
        let session = Cowork1Session::new(view, Arc::clone(&self.providers));
        out.push(Action::Send(session.hello()));
        let opening = std::mem::replace(&mut self.stage, Cowork1Stage::Open(Box::new(session)));
        if let Cowork1Stage::Opening(early) = opening {
            for frame in early {
                self.heard(cx, out, &frame);
            }
        }
    }
}

impl Dialect for Cowork1 {
    fn variant(&self) -> Variant {
        Variant::Cowork1
    }

    fn opened(&mut self, _cx: &Cx<'_>, out: &mut Vec<Action>, hello: &Hello) {
        self.providers = Arc::clone(&hello.providers);
        // The protocol says what asks.
        let call = Call::CreateThread(Box::new(NewThread {
            approvals_expected: Some(Approvals::AskUnlessRead),
            usual_folders: true,
            ..NewThread::default()
        }));
        out.push(Action::Call { tag: OPENING, call });
    }

    fn heard(&mut self, _cx: &Cx<'_>, out: &mut Vec<Action>, frame: &str) {
        match &mut self.stage {
            Cowork1Stage::Opening(early) => {
                let bytes: usize = early.iter().map(String::len).sum();
                if early.len() < EARLY_FRAMES_MAX && bytes + frame.len() <= EARLY_BYTES_MAX {
                    early.push(frame.to_owned());
                } else {
                    let text = "too much was sent before the session was open";
                    self.close(out, Reason::new(Reason::POLICY, text));
                }
            }
            Cowork1Stage::Open(session) => session.heard(out, &mut self.calls, frame),
            Cowork1Stage::Closed(_) => {}
        }
    }

    fn replied(
        &mut self,
        cx: &Cx<'_>,
        out: &mut Vec<Action>,
        tag: Tag,
        outcome: Result<Reply, Refusal>,
    ) {
        match &mut self.stage {
            Cowork1Stage::Opening(_) => self.opening(cx, out, outcome),
            Cowork1Stage::Open(session) => {
                if let Some(wanted) = self.calls.take(tag) {
                    session.answered(out, &mut self.calls, &wanted, outcome);
                }
            }
            Cowork1Stage::Closed(_) => {}
        }
    }

    fn told(&mut self, _cx: &Cx<'_>, out: &mut Vec<Action>, delivery: Delivery<'_>) {
        let Cowork1Stage::Open(session) = &mut self.stage else {
            return;
        };
        match delivery.what {
            Heard::Live(event) if event.fact == Fact::Thread(ThreadFact::Closed) => {
                self.close(out, Reason::new(Reason::NORMAL, "session closed"));
            }
            Heard::Live(event) => {
                session.follow(&event.fact);
                out.push(Action::Shared);
            }
            // There is no word for a hole, and no way to resume.
            Heard::Gap { .. } => self.close(out, Reason::too_slow()),
            Heard::Ended(ending) => self.close(out, Reason::ended(ending)),
            // Listening from the head, nothing is read back.
            Heard::Replay(_) | Heard::CaughtUp { .. } => {}
        }
    }

    fn noticed(&mut self, _cx: &Cx<'_>, out: &mut Vec<Action>, notice: &Notice) {
        match notice {
            Notice::ShuttingDown { reason } => {
                self.close(out, Reason::new(Reason::GOING_AWAY, reason.as_ref()));
            }
            Notice::ThreadAdded { .. }
            | Notice::ThreadChanged { .. }
            | Notice::ThreadStatusChanged { .. }
            | Notice::ThreadRemoved { .. }
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

    /// Disconnecting disposes of the session, and rejects what waits for an answer; but a thread
    /// that others listen to, and its turn, are theirs as well and go on.
    fn gone(&mut self, _cx: &Cx<'_>, out: &mut Vec<Action>) {
        let thread = self.thread();
        self.stage = Cowork1Stage::Closed(None);
        let Some(thread) = thread else {
            return;
        };
        let audience = Variant::Cowork1.audience();
        let call = Call::CloseThread { thread, audience };
        self.calls.make(out, Cowork1Purpose::Nothing, call);
    }
}
