//! `get_history`: all messages, the newest ones, or those after a position.
//!
//! Where it does not begin at the start it is read twice: from the end back to where it begins, keeping
//! nothing, and from there on.

use vocabulary::{Call, MessagePage, Seq, ThreadId};

use super::{MoreToRead, Progress, ReadAnswer, WrittenList};
use crate::diminuendo::snapshot::history_item;
use crate::diminuendo::wire::ServerEvent;

/// Messages per call; tool results are messages of the engine, too.
const PAGE: u64 = 200;

#[derive(Debug)]
pub struct HistoryRead {
    thread: ThreadId,
    session: String,
    /// All of them where it is absent.
    limit: Option<u64>,
    after: Option<Seq>,
    direction: ReadDirection,
    /// The last message in the answer.
    told: Option<Seq>,
    list: WrittenList,
}

#[derive(Clone, Copy, Debug)]
enum ReadDirection {
    /// Looks at the start; most histories are one page.
    First,
    /// Looks for the beginning; the messages from here on are counted.
    Back { from: u64, said: u64 },
    /// Writes what was said from here on, but for the first of it.
    Forward { from: u64, skip: u64 },
}

fn empty(session_id: &str, more: MoreToRead) -> ServerEvent<'_> {
    ServerEvent::History {
        session_id,
        items: Vec::new(),
        has_more: more.has_more,
        next_after_seq: more.next_after_seq,
    }
}

impl HistoryRead {
    pub fn new(thread: ThreadId, limit: Option<u64>, after: Option<Seq>) -> Self {
        let session = thread.to_string();
        let list = WrittenList::begin("\"items\":[", &empty(&session, MoreToRead::default()));
        Self {
            thread,
            session,
            limit,
            after,
            direction: ReadDirection::First,
            told: None,
            list,
        }
    }

    pub fn first_call(&self) -> Call {
        self.call(0, PAGE)
    }

    fn call(&self, offset: u64, limit: u64) -> Call {
        Call::ReadMessages {
            thread: self.thread,
            offset,
            limit,
        }
    }

    pub fn take_in(self, page: &MessagePage) -> Progress<Self> {
        match self.direction {
            ReadDirection::First if self.limit.is_none() && self.after.is_none() => {
                self.write(page, 0, 0)
            }
            ReadDirection::First if page.total <= PAGE => {
                let skip = self.left_out(said(page));
                self.write(page, 0, skip)
            }
            ReadDirection::First => self.go_back(page.total, 0),
            ReadDirection::Back { from, said: known } => self.look(page, from, known + said(page)),
            ReadDirection::Forward { from, skip } => self.write(page, from, skip),
        }
    }

    /// Of so many that are the newest, how many are more than are wanted.
    fn left_out(&self, said: u64) -> u64 {
        match (self.after, self.limit) {
            (None, Some(limit)) => said.saturating_sub(limit),
            (Some(_), _) | (None, None) => 0,
        }
    }

    fn look(self, page: &MessagePage, from: u64, said: u64) -> Progress<Self> {
        let first = page.entries.first();
        let reached = match (self.after, self.limit) {
            (Some(after), _) => first.is_none_or(|entry| entry.event.seq <= after),
            (None, limit) => said >= limit.unwrap_or(u64::MAX),
        };
        if from > 0 && !reached {
            return self.go_back(from, said);
        }
        let skip = self.left_out(said);
        self.go_on(from, skip)
    }

    fn go_back(mut self, end: u64, said: u64) -> Progress<Self> {
        let from = end.saturating_sub(PAGE);
        self.direction = ReadDirection::Back { from, said };
        let call = self.call(from, end - from);
        Progress::More(call, self)
    }

    fn go_on(mut self, from: u64, skip: u64) -> Progress<Self> {
        self.direction = ReadDirection::Forward { from, skip };
        let call = self.call(from, PAGE);
        Progress::More(call, self)
    }

    fn write(mut self, page: &MessagePage, from: u64, mut skip: u64) -> Progress<Self> {
        // What is left out of the newest ones is older.
        let older = self.after.is_none() && self.limit.is_some() && (from > 0 || skip > 0);
        for entry in &page.entries {
            let Some(item) = history_item(entry) else {
                continue;
            };
            let seq = entry.event.seq;
            if self.after.is_some_and(|after| seq <= after) {
                continue;
            }
            if skip > 0 {
                skip -= 1;
                continue;
            }
            let wanted = self.limit.filter(|_| self.after.is_some());
            let has_enough = wanted.is_some_and(|limit| self.list.count >= limit);
            if has_enough || self.list.is_full() {
                let next = self.told.or(self.after).unwrap_or(Seq::ZERO);
                return Progress::Done(self.finish(true, Some(next)));
            }
            self.list.push(&item);
            self.told = Some(seq);
        }
        let next = from.saturating_add(PAGE);
        if next >= page.total || page.entries.is_empty() {
            return Progress::Done(self.finish(older, None));
        }
        self.go_on(next, skip)
    }

    fn finish(self, has_more: bool, next: Option<Seq>) -> ReadAnswer {
        let more = MoreToRead::new(self.limit, has_more, next);
        let Self { list, session, .. } = self;
        ReadAnswer {
            list,
            more,
            empty,
            session,
        }
    }
}

fn said(page: &MessagePage) -> u64 {
    page.entries.iter().filter_map(history_item).count() as u64
}
