//! The request under way, and what it does with the next answer.

use super::providers::Asked;
use super::scan::Scan;
use super::start::Start;
use super::wire::permission::Resolution;
use crate::jsonrpc::Id;
use vocabulary::Thread;

/// A request that is answered later.
#[derive(Clone)]
pub struct Running {
    pub id: Id,
    pub method: String,
    /// The thread as the client named it, where that has to be found first.
    pub thread: Option<String>,
}

pub enum Step {
    /// The answer says it all.
    Library {
        include_hidden: bool,
    },
    /// `thread/start`, at one of its several calls.
    Start(Box<Start>),
    /// To know which thread is meant.
    Find(Goal),
    /// A page of the log of a thread.
    Scan(Box<Scan>),
    TurnStart,
    Provider(Asked),
    Cancel {
        thread: Box<Thread>,
        turn: String,
    },
    Answer {
        request_id: String,
        resolution: Resolution,
    },
}

/// What is wanted of a thread once it is found.
pub enum Goal {
    Turns,
    History {
        limit: Option<usize>,
        after: Option<i64>,
    },
    Move {
        workspace: String,
        folder: Option<String>,
    },
    Cancel {
        turn: String,
    },
    Turn {
        turn: String,
    },
    Items {
        turn: String,
    },
    Unsubscribe,
}
