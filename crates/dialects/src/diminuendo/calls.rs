//! Calls that wait for their answer, and what to do with it.

use std::collections::HashMap;

use vocabulary::{Call, Seq, ThreadId};

use super::files::Asked;
use super::read::{EventsRead, HistoryRead};
use super::snapshot::RECENT_MESSAGES_MAX;
use crate::{Action, From, Tag};

/// A call under way.
#[derive(Debug)]
pub struct Waiting {
    /// The client's own name for its message.
    pub request_id: Option<String>,
    pub wanted: Wanted,
}

/// What an answer is for.
#[derive(Debug)]
pub enum Wanted {
    List,
    Create,
    Rename,
    Archive,
    Unarchive,
    Delete(ThreadId),
    Join(Join),
    Stop(ThreadId),
    Steer {
        thread: ThreadId,
        content: String,
    },
    /// Events tell the outcome.
    Told,
    History(HistoryRead),
    Events(EventsRead),
    FileHistory(Asked),
    FileAtIteration(Asked),
    /// Some notices were missed.
    Reload,
}

#[derive(Debug)]
pub struct Join {
    pub thread: ThreadId,
    pub after: Option<Seq>,
    /// The client left again before it was in.
    pub left: bool,
}

/// Bounded by what the server lets a connection have under way.
#[derive(Debug, Default)]
pub struct Calls {
    last: u64,
    waiting: HashMap<Tag, Waiting>,
}

impl Calls {
    pub fn make(
        &mut self,
        out: &mut Vec<Action>,
        request_id: Option<String>,
        wanted: Wanted,
        call: Call,
    ) {
        let tag = self.tag(Waiting { request_id, wanted });
        out.push(Action::Call { tag, call });
    }

    pub fn join(&mut self, out: &mut Vec<Action>, request_id: Option<String>, join: Join) {
        let (thread, from) = (join.thread, join.after.map_or(From::Head, From::After));
        let wanted = Wanted::Join(join);
        let tag = self.tag(Waiting { request_id, wanted });
        out.push(Action::Listen {
            tag,
            thread,
            from,
            recent: RECENT_MESSAGES_MAX,
        });
    }

    /// Joins that are still under way end as soon as they begin.
    pub fn leave(&mut self, thread: ThreadId) {
        for waiting in self.waiting.values_mut() {
            if let Wanted::Join(join) = &mut waiting.wanted {
                join.left |= join.thread == thread;
            }
        }
    }

    pub fn joins(&self) -> usize {
        let waiting = self.waiting.values();
        let is_join = |waiting: &&Waiting| matches!(waiting.wanted, Wanted::Join(_));
        waiting.filter(is_join).count()
    }

    /// Whether this connection itself is deleting it, and will be answered.
    pub fn deletes(&self, thread: ThreadId) -> bool {
        let mut waiting = self.waiting.values();
        waiting.any(|waiting| matches!(waiting.wanted, Wanted::Delete(each) if each == thread))
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
