//! What reaches a session from outside, and what it answers.

use std::sync::Arc;

use snapshots::PublishedCheckpoints;
use tokio::sync::{mpsc, oneshot, watch};
use vocabulary::{
    Attendance, Call, Caller, Refusal, Reply, Seq, StartTurn, StartedTurn, Status, ThreadCard,
    ThreadView, ToolCall,
};

use super::outbox::Outbox;
use super::state::Untold;
use crate::Listener;

/// What reaches a session from outside.
#[expect(
    clippy::large_enum_variant,
    reason = "it waits in a box of its own, which is gone as soon as it is heard"
)]
pub enum Mail {
    Call {
        call: Call,
        caller: Caller,
        reply: oneshot::Sender<Outcome>,
    },
    /// Listen, and start a turn in the same step, if one is given.
    Attach {
        attendance: Attendance,
        from: ListenFrom,
        start: Option<(Box<StartTurn>, Caller)>,
        reply: oneshot::Sender<Result<AttachedListener, Refusal>>,
    },
    /// Look at it without listening.
    Look { reply: oneshot::Sender<SessionView> },
    /// Where the transcript lies in the store.
    Locate { reply: oneshot::Sender<Transcript> },
    /// A model thought of a title.
    Titled(super::titling::Titled),
    /// A person typed to a command in the background.
    Typed(super::orders::TypedToJob),
    /// Commands in the background have ended, as a person wished.
    Stopped(super::orders::StoppedJobs),
    /// Somebody may more, or less, or is gone: perhaps who started the turn.
    PeopleChanged(Arc<identity::People>),
    /// Another process wants the thread.
    HandOver,
    /// Come to rest: the server is stopping.
    Stop {
        grace: std::time::Duration,
        done: oneshot::Sender<()>,
    },
}

/// A reply and the position before the call's own effects: events up to it go before the reply.
#[derive(Debug)]
pub struct Replied {
    pub reply: Reply,
    pub as_of: Seq,
    /// Of a call that also listens.
    pub listener: Option<Listener>,
}

impl Replied {
    pub fn new(as_of: Seq, reply: Reply) -> Self {
        Self {
            reply,
            as_of,
            listener: None,
        }
    }
}

pub type Outcome = Result<Replied, Refusal>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenFrom {
    Head,
    After(Seq),
}

pub struct AttachedListener {
    pub seen: SessionView,
    pub listener: Listener,
    pub started: Option<StartedTurn>,
}

/// A thread as its session sees it; what the store has of it is read by whoever wants it.
pub struct SessionView {
    pub view: ThreadView,
    /// The first event of the running turn.
    pub turn_from: Option<Seq>,
    /// Its calls that change files and have not ended, with what they would make of the files.
    pub calls: Vec<Arc<ToolCall>>,
    pub from_ordinal: u64,
}

pub struct Transcript {
    pub from_ordinal: u64,
    pub message_count: u64,
    /// Everything up to here is in it.
    pub head: Seq,
    pub untold: Untold,
}

/// How the rest of the engine reaches a session.
#[derive(Clone)]
pub struct Handle {
    /// Boxed, because a channel sets room for 32 messages aside, in every session.
    pub mail: mpsc::Sender<Box<Mail>>,
    pub card: Arc<ThreadCard>,
    pub outbox: Arc<Outbox>,
    pub status: watch::Receiver<Status>,
    /// How the thread's checkpoints stand.
    pub checkpoints: watch::Sender<PublishedCheckpoints>,
}
