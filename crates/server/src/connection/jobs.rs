//! Jobs: what a dialect wants of the engine, and how it came out.

use dialects::{NotAuthenticated, Tag, Variant};
use engine::{Engine, ListenFrom, ListenOptions, Listener};
use tracing::{Span, debug_span};
use vocabulary::{Attendance, Call, Caller, Refusal, Reply, Secret, Seq, ThreadId, Why};

use crate::door::Door;
use crate::limits::LISTENERS_MAX;

/// Something the engine is to do for the dialect.
pub struct Job {
    pub tag: Tag,
    pub what: JobKind,
    pub lane: Lane,
}

/// Whether what is behind a running job waits for it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    Line,
    Beside,
}

impl Job {
    pub fn new(tag: Tag, what: JobKind) -> Self {
        Self {
            tag,
            what,
            lane: Lane::Line,
        }
    }

    /// Whether it may take minutes. It starts in its turn like any other: what it builds on has to
    /// be there.
    pub fn waits_outside(&self) -> bool {
        match &self.what {
            JobKind::Call(call) => call.waits_outside(),
            JobKind::Listen { .. } | JobKind::Authenticate(_) => false,
        }
    }

    /// What the log says of it, where it looks at single calls: whose they are, not what they say.
    pub fn span(&self) -> Span {
        let thread = || match &self.what {
            JobKind::Call(call) => call.thread(),
            JobKind::Listen { thread, .. } => Some(*thread),
            JobKind::Authenticate(_) => None,
        };
        debug_span!("call", thread = thread().map(display))
    }

    /// The thread that is listened to from then on.
    pub fn listens(&self) -> Option<ThreadId> {
        match &self.what {
            JobKind::Call(call) if call.listens() => call.thread(),
            JobKind::Call(_) | JobKind::Authenticate(_) => None,
            JobKind::Listen { thread, .. } => Some(*thread),
        }
    }

    /// Refused before it was begun.
    pub fn refused(self, refusal: Refusal) -> Finished {
        Finished {
            tag: self.tag,
            lane: self.lane,
            thread: None,
            as_of: Seq::ZERO,
            outcome: JobOutcome::Replied(Err(refusal)),
            silenced: None,
            listener: None,
        }
    }

    /// The thread that is silent until the answer is there: what it tells meanwhile belongs behind it.
    pub fn silences(&self) -> Option<ThreadId> {
        match &self.what {
            JobKind::Call(call) if call.reads_history() || call.listens() => call.thread(),
            JobKind::Call(_) | JobKind::Authenticate(_) => None,
            JobKind::Listen { thread, .. } => Some(*thread),
        }
    }
}

pub enum JobKind {
    Call(Box<Call>),
    Listen {
        thread: ThreadId,
        attendance: Attendance,
        from: ListenFrom,
        recent: u32,
    },
    Authenticate(Secret),
}

/// How a job came out, by who answered: the engine, or the door.
pub enum JobOutcome {
    Replied(Result<Reply, Refusal>),
    Authenticated(Result<Caller, NotAuthenticated>),
}

/// A job that is done.
pub struct Finished {
    pub tag: Tag,
    pub lane: Lane,
    pub thread: Option<ThreadId>,
    pub as_of: Seq,
    pub outcome: JobOutcome,
    /// The thread that was silent meanwhile.
    pub silenced: Option<ThreadId>,
    pub listener: Option<Listener>,
}

/// Does it, and says which events go before the answer.
pub async fn work(engine: Engine, door: Door, variant: Variant, job: Job) -> Finished {
    let silenced = job.silences();
    let Job { tag, what, lane } = job;
    let done = |thread, as_of, outcome, listener| Finished {
        tag,
        lane,
        thread,
        as_of,
        outcome,
        silenced,
        listener,
    };
    let refused = |refusal| done(None, Seq::ZERO, JobOutcome::Replied(Err(refusal)), None);
    match (what, &door.caller) {
        (JobKind::Authenticate(token), _) => {
            let outcome = JobOutcome::Authenticated(door.authenticate(token).await);
            done(None, Seq::ZERO, outcome, None)
        }
        (JobKind::Call(_) | JobKind::Listen { .. }, None) => refused(nobody()),
        (JobKind::Call(call), Some(caller)) => {
            let thread = call.thread();
            let (as_of, outcome, listener) = match engine.call(caller, *call).await {
                Ok(replied) => (replied.as_of, Ok(replied.reply), replied.listener),
                Err(refusal) => (Seq::ZERO, Err(refusal), None),
            };
            done(thread, as_of, JobOutcome::Replied(outcome), listener)
        }
        (
            JobKind::Listen {
                thread,
                attendance,
                from,
                recent,
            },
            Some(caller),
        ) => {
            let wish = ListenOptions {
                attendance,
                from,
                recent,
                watch_files: variant.tells_changed_files(),
            };
            let heard = engine.listen(caller, thread, wish).await;
            // Who listened before hears what is in the answer before the answer, like any reply.
            let as_of = heard.as_ref().map_or(Seq::ZERO, |(view, _)| view.head);
            let (outcome, listener) = match heard {
                Ok((view, listener)) => (Ok(Reply::View(Box::new(view))), Some(listener)),
                Err(refusal) => (Err(refusal), None),
            };
            done(Some(thread), as_of, JobOutcome::Replied(outcome), listener)
        }
    }
}

/// The answer to whoever has not said who they are.
fn nobody() -> Refusal {
    Refusal::new(
        Why::Unauthenticated,
        "say who you are first, with your token",
    )
}

pub fn too_many_listeners() -> Refusal {
    let message =
        format!("one connection may follow {LISTENERS_MAX} threads; leave some, or open another");
    Refusal::new(Why::NotAvailable, message)
}
