//! Calls that wait for their answer, and what to do with it.

use std::collections::HashMap;

use vocabulary::{Call, ThreadId};

use super::super::backup::Backup;
use crate::{Action, From, Tag};

/// What an answer is for.
#[derive(Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Events tell the outcome; a refusal is told.
    Nothing,
    Tools,
    /// The next step of a sign-in.
    Connect,
    /// An answer to an ask; one that came too late is not worth a word.
    Prompt,
    /// The state of the checkpoints.
    BackupState,
    /// A change of them: events tell the outcome.
    Backup(Backup),
    /// A message that was said before is told again to who said it.
    Turn {
        text: String,
        client_message_id: Option<String>,
    },
}

/// Bounded by what the server lets a connection have under way.
#[derive(Debug, Default)]
pub struct Calls {
    last: u64,
    wanted: HashMap<Tag, Wanted>,
}

impl Calls {
    pub fn make(&mut self, out: &mut Vec<Action>, wanted: Wanted, call: Call) {
        let tag = self.tag(wanted);
        out.push(Action::Call { tag, call });
    }

    pub fn listen(&mut self, out: &mut Vec<Action>, thread: ThreadId) {
        let tag = self.tag(Wanted::Nothing);
        out.push(Action::Listen {
            tag,
            thread,
            from: From::Head,
            recent: 0,
        });
    }

    pub fn take(&mut self, tag: Tag) -> Option<Wanted> {
        self.wanted.remove(&tag)
    }

    fn tag(&mut self, wanted: Wanted) -> Tag {
        self.last += 1;
        let tag = Tag(self.last);
        self.wanted.insert(tag, wanted);
        tag
    }
}
