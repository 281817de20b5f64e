//! Calls that wait for their answer, and what to do with it.

use std::collections::HashMap;

use vocabulary::{Call, ThreadId};

use super::backup::Backup;
use super::connect::Slot;
use super::sign_in::SignIn;
use crate::request_id::RequestId;
use crate::{Action, From, Tag};

/// What an answer is for.
#[derive(Debug)]
pub enum Waiting {
    /// A new session.
    Creation,
    /// To hear the new session.
    Listening,
    /// To hear the session that was asked for.
    Resumption,
    /// One of the events a connection starts with.
    Connect(Slot),
    /// Something the client asked to see.
    Asked(Slot),
    Tools,
    Sessions,
    Messages,
    /// Events tell the outcome.
    Told,
    Cancel,
    Turn {
        text: String,
        client_message_id: Option<String>,
    },
    AskResponse(RequestId),
    ApprovalResponse(RequestId),
    SignIn(SignIn),
    Backup(Backup),
    Deletion {
        target: String,
    },
    Close,
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
        let tag = self.tag(waiting);
        let from = From::Head;
        out.push(Action::Listen {
            tag,
            thread,
            from,
            recent: 0,
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
