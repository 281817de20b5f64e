//! The requests of a connection that wait for the engine, and what each answer is for.

use std::collections::HashMap;
use std::collections::hash_map::{Values, ValuesMut};

use vocabulary::{Call, Secret, ThreadId};

use crate::{Action, StartAt, Tag};

/// Bounded by what the server lets a connection have under way.
#[derive(Debug)]
pub struct Pending<Purpose> {
    last: u64,
    requests: HashMap<Tag, Purpose>,
}

impl<Purpose> Default for Pending<Purpose> {
    fn default() -> Self {
        Self {
            last: 0,
            requests: HashMap::new(),
        }
    }
}

impl<Purpose> Pending<Purpose> {
    pub fn make(&mut self, out: &mut Vec<Action>, purpose: Purpose, call: Call) {
        let tag = self.tag(purpose);
        out.push(Action::Call { tag, call });
    }

    /// Before the calls that wait already: one more that an earlier request needs.
    pub fn make_next(&mut self, out: &mut Vec<Action>, purpose: Purpose, call: Call) {
        let tag = self.tag(purpose);
        out.push(Action::CallNext { tag, call });
    }

    /// To hear a thread, with so many of its newest messages.
    pub fn attach(
        &mut self,
        out: &mut Vec<Action>,
        purpose: Purpose,
        thread: ThreadId,
        from: StartAt,
        recent: u32,
    ) {
        let tag = self.tag(purpose);
        out.push(Action::Listen {
            tag,
            thread,
            from,
            recent,
        });
    }

    /// To be known by a token.
    pub fn authenticate(&mut self, out: &mut Vec<Action>, purpose: Purpose, token: Secret) {
        let tag = self.tag(purpose);
        out.push(Action::Authenticate { tag, token });
    }

    pub fn take(&mut self, tag: Tag) -> Option<Purpose> {
        self.requests.remove(&tag)
    }

    pub fn open(&self) -> usize {
        self.requests.len()
    }

    pub fn purposes(&self) -> Values<'_, Tag, Purpose> {
        self.requests.values()
    }

    pub fn purposes_mut(&mut self) -> ValuesMut<'_, Tag, Purpose> {
        self.requests.values_mut()
    }

    fn tag(&mut self, purpose: Purpose) -> Tag {
        self.last += 1;
        let tag = Tag(self.last);
        self.requests.insert(tag, purpose);
        tag
    }
}
