//! The cowork dialect: agent-coworker's WebSocket protocol, version 7.0.
//!
//! A connection is one session: it opens one or resumes one, and hears of no other. Sessions
//! outlive their sockets, so nothing happens to one when a client is gone.

use std::sync::Arc;

use vocabulary::{
    Approvals, Call, Fact, NewThread, Notice, Refusal, Reply, ThreadFact, ThreadId, ThreadView,
    TracingState, Why,
};

use self::calls::CoworkCalls;
use self::connect::GreetingFacts;
use self::session::CoworkSession;
use self::tell::RawParts;
use crate::{Action, Cx, Delivery, Dialect, Heard, Hello, Reason, StartAt, Tag, Variant};

mod act;
mod answer;
pub mod asks;
mod backup;
mod calls;
mod connect;
mod harness;
pub mod hear;
pub mod history;
mod mcp;
pub mod names;
mod offer;
mod refuse;
pub mod sanitize;
mod session;
mod show;
pub mod sign_in;
mod skills;
pub mod tell;
pub mod v1;
pub mod wire;

#[cfg(test)]
pub(crate) mod tests;

/// A client that resumes may speak before it is greeted; this much of it is kept.
const EARLY_FRAMES_MAX: usize = 64;
const EARLY_BYTES_MAX: usize = 32 * 1024 * 1024;

/// One connection of a cowork client.
pub struct Cowork {
    variant: Variant,
    providers: Arc<[String]>,
    /// How the tracing of turns fares, as it was told last.
    tracing: Arc<TracingState>,
    calls: CoworkCalls,
    step: OpeningStep,
    stage: CoworkStage,
}

/// What the one call is for that a connection waits for before it has a session.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OpeningStep {
    /// A new session.
    Create,
    /// To hear the new session.
    Listen,
    /// To hear the session that was asked for.
    Resume,
}

/// Its tag; those of a session's calls begin behind it.
const OPENING: Tag = Tag(0);

fn opening_listen(thread: ThreadId) -> Action {
    Action::Listen {
        tag: OPENING,
        thread,
        from: StartAt::Head,
        recent: 0,
    }
}

enum CoworkStage {
    /// The session is not known yet; what is heard meanwhile waits.
    Opening {
        asked: Option<ThreadId>,
        early: Vec<String>,
    },
    Open(Box<CoworkSession>),
    /// A close was sent; nothing is heard any more.
    Closed,
}

impl Default for Cowork {
    fn default() -> Self {
        Self::new()
    }
}

impl Cowork {
    pub fn new() -> Self {
        Self {
            variant: Variant::Cowork,
            providers: Arc::default(),
            tracing: Arc::default(),
            calls: CoworkCalls::default(),
            step: OpeningStep::Create,
            stage: CoworkStage::Opening {
                asked: None,
                early: Vec::new(),
            },
        }
    }

    fn create(&mut self, out: &mut Vec<Action>, resumed: Option<ThreadId>) {
        // The protocol says what asks.
        let call = Call::CreateThread(Box::new(NewThread {
            approvals_expected: Some(Approvals::Ask),
            resumed,
            ..NewThread::default()
        }));
        self.step = OpeningStep::Create;
        out.push(Action::Call { tag: OPENING, call });
    }

    fn close(&mut self, out: &mut Vec<Action>, reason: Reason) {
        self.stage = CoworkStage::Closed;
        out.push(Action::Close(reason));
    }

    fn listen(&mut self, out: &mut Vec<Action>, step: OpeningStep, thread: ThreadId) {
        self.step = step;
        out.push(opening_listen(thread));
    }

    /// An answer that came before the session was known.
    fn opening(&mut self, cx: &Cx<'_>, out: &mut Vec<Action>, outcome: Result<Reply, Refusal>) {
        let step = self.step;
        let done = outcome.and_then(|reply| {
            match step {
                OpeningStep::Create => {
                    let thread = reply.thread()?.card.id;
                    // It has the id that was asked for if we once gave that out.
                    let step = match self.asked() == Some(thread) {
                        true => OpeningStep::Resume,
                        false => OpeningStep::Listen,
                    };
                    self.listen(out, step, thread);
                }
                OpeningStep::Listen => self.open(cx, out, *reply.view()?, false),
                OpeningStep::Resume => self.open(cx, out, *reply.view()?, true),
            }
            Ok(())
        });
        match done {
            Ok(()) => {}
            Err(refusal) if step == OpeningStep::Resume && refusal.why == Why::UnknownThread => {
                self.create(out, self.asked());
            }
            Err(refusal) => self.refuse(out, &refusal),
        }
    }

    /// The session that the client asked for.
    fn asked(&self) -> Option<ThreadId> {
        match &self.stage {
            CoworkStage::Opening { asked, .. } => *asked,
            CoworkStage::Open(_) | CoworkStage::Closed => None,
        }
    }

    fn open(&mut self, cx: &Cx<'_>, out: &mut Vec<Action>, view: ThreadView, resumed: bool) {
        let mut session = CoworkSession::new(&view, Arc::clone(&self.providers));
        let facts = GreetingFacts {
            view: &view,
            tracing: &self.tracing,
            resumed,
        };
        session.greet(cx, out, &mut self.calls, &facts);
        session.retell(out, &view, self.variant);
        let opening = std::mem::replace(&mut self.stage, CoworkStage::Open(Box::new(session)));
        if let CoworkStage::Opening { early, .. } = opening {
            for frame in early {
                self.heard(cx, out, &frame);
            }
        }
    }

    /// There is no session to speak with.
    fn refuse(&mut self, out: &mut Vec<Action>, refusal: &Refusal) {
        let asked = self.asked().map(|thread| thread.to_string());
        let session = asked.unwrap_or_default();
        out.push(Action::Send(refuse::refusal_frame(&session, refusal)));
        let message = refusal.message.clone();
        self.close(out, Reason::new(Reason::TRY_AGAIN_LATER, message));
    }
}

impl Dialect for Cowork {
    fn variant(&self) -> Variant {
        self.variant
    }

    fn opened(&mut self, _cx: &Cx<'_>, out: &mut Vec<Action>, hello: &Hello) {
        self.variant = match hello.raw_parts {
            RawParts::Leave => Variant::Cowork,
            RawParts::Sanitized => Variant::CoworkRaw,
            RawParts::Full => Variant::CoworkRawFull,
        };
        self.providers = Arc::clone(&hello.providers);
        self.tracing = Arc::clone(&hello.tracing);
        out.push(Action::WatchServer);
        let resume = hello.query("resumeSessionId").map(str::trim);
        let Some(thread) = resume.and_then(ThreadId::parse) else {
            return self.create(out, None);
        };
        if let CoworkStage::Opening { asked, .. } = &mut self.stage {
            *asked = Some(thread);
        }
        self.listen(out, OpeningStep::Resume, thread);
    }

    fn heard(&mut self, _cx: &Cx<'_>, out: &mut Vec<Action>, frame: &str) {
        match &mut self.stage {
            CoworkStage::Opening { early, .. } => {
                let bytes: usize = early.iter().map(String::len).sum();
                if early.len() < EARLY_FRAMES_MAX && bytes + frame.len() <= EARLY_BYTES_MAX {
                    early.push(frame.to_owned());
                } else {
                    let text = "too much was sent before the session was open";
                    self.close(out, Reason::new(Reason::POLICY, text));
                }
            }
            CoworkStage::Open(session) => session.heard(out, &mut self.calls, frame),
            CoworkStage::Closed => {}
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
            CoworkStage::Opening { .. } => self.opening(cx, out, outcome),
            CoworkStage::Open(session) => {
                if let Some(waiting) = self.calls.take(tag) {
                    session.answered(out, &mut self.calls, waiting, outcome);
                }
            }
            CoworkStage::Closed => {}
        }
    }

    fn told(&mut self, _cx: &Cx<'_>, out: &mut Vec<Action>, delivery: Delivery<'_>) {
        let CoworkStage::Open(session) = &mut self.stage else {
            return;
        };
        match delivery.what {
            Heard::Live(event) if event.fact == Fact::Thread(ThreadFact::Closed) => {
                self.close(out, Reason::new(Reason::NORMAL, "session closed"));
            }
            Heard::Live(event) => session.told(out, &mut self.calls, &self.tracing, event),
            // A client of this protocol cannot be told of a hole; it can resume.
            Heard::Gap { .. } => self.close(out, Reason::too_slow()),
            Heard::Ended(ending) => self.close(out, Reason::ended(ending)),
            // Listening from the head, nothing is read back.
            Heard::Replay(_) | Heard::CaughtUp { .. } => {}
        }
    }

    fn noticed(&mut self, cx: &Cx<'_>, out: &mut Vec<Action>, notice: &Notice) {
        match notice {
            Notice::TracingChanged { state } if *state == self.tracing => {}
            Notice::TracingChanged { state } => {
                self.tracing = Arc::clone(state);
                if let CoworkStage::Open(session) = &self.stage {
                    session.tracing_changed(cx, out, state);
                }
            }
            Notice::ShuttingDown { reason } => {
                self.close(out, Reason::new(Reason::GOING_AWAY, reason.as_ref()));
            }
            Notice::ThreadAdded { .. }
            | Notice::ThreadChanged { .. }
            | Notice::ThreadStatusChanged { .. }
            | Notice::ThreadRemoved { .. }
            | Notice::WorkspaceChanged { .. }
            | Notice::SkillsChanged { .. }
            | Notice::McpChanged { .. }
            | Notice::McpServerChanged { .. }
            | Notice::TreeChanged { .. }
            | Notice::Reload => {}
        }
    }

    fn woke(&mut self, _cx: &Cx<'_>, out: &mut Vec<Action>) {
        if let CoworkStage::Open(session) = &mut self.stage {
            session.stop_waiting(out);
        }
    }

    fn gone(&mut self, _cx: &Cx<'_>, _out: &mut Vec<Action>) {
        self.stage = CoworkStage::Closed;
    }
}
