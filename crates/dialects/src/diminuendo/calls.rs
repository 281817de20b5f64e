//! DiminuendoCalls that wait for their answer, and what to do with it.

use vocabulary::{Call, Seq, ThreadId};

use super::files::FileQuery;
use super::read::{EventsRead, HistoryRead};
use super::snapshot::RECENT_MESSAGES_MAX;
use crate::pending::Pending;
use crate::{Action, StartAt};

/// A call under way.
#[derive(Debug)]
pub struct DiminuendoCall {
    /// The client's own name for its message.
    pub request_id: Option<String>,
    pub wanted: DiminuendoPurpose,
}

/// What an answer is for.
#[derive(Debug)]
pub enum DiminuendoPurpose {
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
    FileHistory(FileQuery),
    FileAtIteration(FileQuery),
    /// Some notices were missed.
    Reload,
    /// A joined session was reset.
    Snapshot,
    /// What holds the commands of a joined session may be another.
    Fence,
}

#[derive(Debug)]
pub struct Join {
    pub thread: ThreadId,
    pub after: Option<Seq>,
    /// The client left again before it was in.
    pub left: bool,
}

pub type DiminuendoCalls = Pending<DiminuendoCall>;

impl DiminuendoCalls {
    pub fn request(
        &mut self,
        out: &mut Vec<Action>,
        request_id: Option<String>,
        wanted: DiminuendoPurpose,
        call: Call,
    ) {
        self.make(out, DiminuendoCall { request_id, wanted }, call);
    }

    pub fn join(&mut self, out: &mut Vec<Action>, request_id: Option<String>, join: Join) {
        let thread = join.thread;
        let from = join.after.map_or(StartAt::Head, StartAt::After);
        let wanted = DiminuendoPurpose::Join(join);
        let waiting = DiminuendoCall { request_id, wanted };
        self.attach(out, waiting, thread, from, RECENT_MESSAGES_MAX);
    }

    /// The state of a session that is joined already, to be told to it again.
    pub fn snapshot(&mut self, out: &mut Vec<Action>, thread: ThreadId) {
        let recent = RECENT_MESSAGES_MAX;
        let call = Call::ReadThread { thread, recent };
        self.request(out, None, DiminuendoPurpose::Snapshot, call);
    }

    /// What holds the commands of a session now.
    pub fn look_at_fence(&mut self, out: &mut Vec<Action>, thread: ThreadId) {
        let call = Call::ReadThread { thread, recent: 0 };
        self.request(out, None, DiminuendoPurpose::Fence, call);
    }

    /// Whether this connection itself is making a session.
    pub fn creates(&self) -> bool {
        let is_create =
            |waiting: &DiminuendoCall| matches!(waiting.wanted, DiminuendoPurpose::Create);
        self.purposes().any(is_create)
    }

    /// Joins that are still under way end as soon as they begin.
    pub fn leave(&mut self, thread: ThreadId) {
        for waiting in self.purposes_mut() {
            if let DiminuendoPurpose::Join(join) = &mut waiting.wanted {
                join.left |= join.thread == thread;
            }
        }
    }

    pub fn joins(&self) -> usize {
        let is_join =
            |waiting: &&DiminuendoCall| matches!(waiting.wanted, DiminuendoPurpose::Join(_));
        self.purposes().filter(is_join).count()
    }

    /// Whether this connection itself is deleting it, and will be answered.
    pub fn deletes(&self, thread: ThreadId) -> bool {
        let mut waiting = self.purposes();
        waiting.any(
            |waiting| matches!(waiting.wanted, DiminuendoPurpose::Delete(each) if each == thread),
        )
    }
}
