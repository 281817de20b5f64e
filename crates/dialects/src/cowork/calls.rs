//! Calls that wait for their answer, and what to do with it.

use vocabulary::ThreadId;

use super::backup::Backup;
use super::connect::Slot;
use super::sign_in::SignIn;
use crate::pending::Pending;
use crate::request_id::RequestId;
use crate::{Action, StartAt};

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

pub type Calls = Pending<Waiting>;

impl Calls {
    pub fn listen(&mut self, out: &mut Vec<Action>, waiting: Waiting, thread: ThreadId) {
        self.attach(out, waiting, thread, StartAt::Head, 0);
    }
}
