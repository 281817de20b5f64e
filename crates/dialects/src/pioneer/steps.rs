//! The request under way, and what it does with the next answer.

use super::history::HistoryQuery;
use super::history_read::HistoryReader;
use super::providers::ProviderQuery;
use super::servers::ServersQuery;
use super::skills::SkillsQuery;
use super::start::ThreadStart;
use super::turn_log::TurnLogReader;
use super::turn_read::TurnRead;
use super::wire::permission::Resolution;
use crate::jsonrpc::Id;
use vocabulary::{Thread, WorkspaceId};

/// A request that is answered later.
#[derive(Clone)]
pub struct RunningRequest {
    pub id: Id,
    pub method: String,
    /// The thread as the client named it, where that has to be found first.
    pub thread: Option<String>,
    /// The workspace of the connection before it: who is refused stays where they were.
    pub bound_before: Option<WorkspaceId>,
}

pub enum RequestStep {
    /// The answer says it all.
    Library {
        include_hidden: bool,
    },
    /// `thread/start`, at one of its several calls.
    Start(Box<ThreadStart>),
    /// To know which thread is meant.
    Find(Goal),
    /// A page of the log of a thread.
    History(Box<HistoryReader>),
    /// A page of its turns.
    Turns(TurnRead),
    /// A page of what the log has of one of them.
    TurnLog(Box<TurnLogReader>),
    TurnStart,
    Provider(ProviderQuery),
    Skills(SkillsQuery),
    Servers(ServersQuery),
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
    History(HistoryQuery),
    Turns(TurnRead),
    Move {
        workspace: String,
        folder: Option<String>,
    },
    Cancel {
        turn: String,
    },
    Unsubscribe,
}
