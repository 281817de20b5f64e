//! Calls that wait for their answer, and what to do with it.

use std::collections::HashMap;

use vocabulary::{AskId, Call, ThreadId};

use super::turns::WantedTurn;
use super::wire::params::{ModelListParams, ThreadListParams, ThreadStartParams};
use crate::jsonrpc::Id;
use crate::{Action, From, Tag};

/// More messages than one read gives: the engine's own limit counts.
pub const ALL_MESSAGES: u32 = u32::MAX;

/// What an answer is for.
#[derive(Debug)]
pub enum Waiting {
    Account(Id),
    LoginKey(Id),
    LoginBegin(Id),
    /// The browser has to come back; nobody's request waits for it.
    LoginFinish(u64),
    /// Which accounts there are, to sign out of them.
    Logout(Id),
    /// With the accounts that come next.
    SignOut(Id, Vec<&'static str>),
    ModelList(Id, ModelListParams),
    ThreadList(Id, ThreadListParams),
    LoadedList(Id),
    Grants(Id),
    /// The catalog, to know the model that was named.
    StartModel(Id, ThreadStartParams),
    StartCreate(Id),
    StartListen(Id),
    Resume {
        id: Id,
        turns: bool,
    },
    Read(Id),
    ReadTurns(Id),
    /// To hear the thread that a turn is to start in.
    TurnListen(Id, Box<WantedTurn>),
    TurnModel(Id, Box<WantedTurn>),
    Turn(Id),
    Steer(Id),
    /// `{}` when it is done.
    Done(Id),
    Answer(AskId),
    /// Zane's `orbit.subscribe`.
    Subscribe,
}

/// Bounded by what the server lets a connection have under way.
#[derive(Debug, Default)]
pub struct Calls {
    last: u64,
    waiting: HashMap<Tag, Waiting>,
}

impl Calls {
    pub fn make(&mut self, out: &mut Vec<Action>, waiting: Waiting, call: Call) {
        let tag = self.tag(waiting);
        out.push(Action::Call { tag, call });
    }

    pub fn listen(&mut self, out: &mut Vec<Action>, waiting: Waiting, thread: ThreadId) {
        let recent = match waiting {
            Waiting::Resume { turns: true, .. } => ALL_MESSAGES,
            _ => 0,
        };
        let tag = self.tag(waiting);
        out.push(Action::Listen {
            tag,
            thread,
            from: From::Head,
            recent,
        });
    }

    pub fn take(&mut self, tag: Tag) -> Option<Waiting> {
        self.waiting.remove(&tag)
    }

    fn tag(&mut self, waiting: Waiting) -> Tag {
        self.last += 1;
        let tag = Tag(self.last);
        self.waiting.insert(tag, waiting);
        tag
    }
}
