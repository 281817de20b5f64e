//! `thread/history`: the log of a thread in pages, as many as the answer needs.

use vocabulary::{Call, Event, EventPage, Seq, Thread};

use super::history::HistoryQuery;
use super::steps::{RequestStep, RunningRequest};
use super::wire::history::ThreadHistoryResponse;
use super::{Pioneer, respond, show};
use crate::Action;

const PAGE: u32 = 1_000;
/// Log events that one answer is made of at most; the rest comes with `next_cursor`.
const HISTORY_EVENTS_MAX: usize = 20_000;

/// A reading under way.
pub struct HistoryReader {
    thread: Thread,
    wanted: HistoryQuery,
    /// What was read, oldest first.
    log: Vec<Event>,
}

impl HistoryReader {
    pub fn new(thread: Thread, wanted: HistoryQuery) -> Self {
        Self {
            thread,
            wanted,
            log: Vec::new(),
        }
    }

    fn next_page(&self) -> Call {
        let (thread, limit) = (self.thread.card.id, PAGE);
        if self.wanted.is_of_the_end() {
            let first = self.log.first().map_or(u64::MAX, |event| event.seq.0);
            return Call::ReadEventsBefore {
                thread,
                upto: Seq(first - 1),
                limit,
            };
        }
        let last = self.log.last().map(|event| event.seq);
        Call::ReadEvents {
            thread,
            after: last.unwrap_or_else(|| self.wanted.from()),
            limit,
        }
    }

    fn take_in(&mut self, mut page: Vec<Event>) {
        if self.wanted.is_of_the_end() {
            std::mem::swap(&mut self.log, &mut page);
        }
        self.log.append(&mut page);
    }

    fn is_enough(&self) -> bool {
        let many = self.log.len() >= HISTORY_EVENTS_MAX;
        many || self.wanted.is_full(&self.thread.card, &self.log)
    }

    fn answer(&self, out: &mut Vec<Action>, running: &RunningRequest, more: bool) {
        let card = &self.thread.card;
        let thread_id = show::wire_id(card);
        let (events, next_cursor) = self.wanted.page(card, &thread_id, &self.log, more);
        let result = ThreadHistoryResponse {
            workspace_id: card.workspace.as_str(),
            thread_id: &thread_id,
            events,
            next_cursor,
        };
        respond(out, &running.id, &result);
    }
}

impl Pioneer {
    pub(super) fn read_history(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        read: HistoryReader,
    ) {
        let call = read.next_page();
        self.call(out, running, RequestStep::History(Box::new(read)), call);
    }

    pub(super) fn history_page(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        mut read: HistoryReader,
        page: EventPage,
    ) {
        read.take_in(page.events);
        match page.more && !read.is_enough() {
            true => self.read_history(out, running, read),
            false => read.answer(out, running, page.more),
        }
    }
}
