//! Reads that may take several calls: the newest messages of a history, and told events of a log.

use serde_json::Value;
use vocabulary::{
    Call, Entry, Event, EventPage, Fact, MessagePage, Seq, StepFact, ThreadId, TurnFact,
};

use super::snapshot::history_item;
use super::tell::spell;
use super::wire::ServerEvent;
use super::wire::parts::LoggedEvent;
use crate::Frame;

const ITEMS_MAX: u64 = 1_000;
const EVENTS_DEFAULT: u64 = 100;
const EVENTS_MAX: u64 = 1_000;
/// Messages per call; tool results are messages of the engine, too.
const PAGE: u64 = 200;

/// How far a read has come.
pub enum Progress<T> {
    Done(ReadAnswer),
    More(Call, T),
}

impl<T> Progress<T> {
    pub fn map<U>(self, wrap: impl FnOnce(T) -> U) -> Progress<U> {
        match self {
            Progress::Done(read) => Progress::Done(read),
            Progress::More(call, read) => Progress::More(call, wrap(read)),
        }
    }
}

/// What was read.
pub enum ReadAnswer {
    History(ThreadId, Vec<Entry>),
    Events(ThreadId, Vec<LoggedEvent>),
}

impl ReadAnswer {
    pub fn frame(self, request_id: Option<&str>) -> Frame {
        match self {
            ReadAnswer::History(thread, entries) => ServerEvent::History {
                session_id: &thread.to_string(),
                items: entries.iter().filter_map(history_item).collect(),
            }
            .answer(request_id),
            ReadAnswer::Events(thread, events) => ServerEvent::Events {
                session_id: &thread.to_string(),
                events,
            }
            .answer(request_id),
        }
    }
}

/// `get_history`: the newest messages, or the first ones after a position.
#[derive(Debug)]
pub struct HistoryRead {
    thread: ThreadId,
    limit: usize,
    after: Option<Seq>,
    entries: Vec<Entry>,
    /// Reading from the end: the messages from here on are in `entries`.
    from: Option<u64>,
}

impl HistoryRead {
    pub fn new(thread: ThreadId, limit: Option<u64>, after: Option<Seq>) -> Self {
        Self {
            thread,
            limit: limit.unwrap_or(ITEMS_MAX).min(ITEMS_MAX) as usize,
            after,
            entries: Vec::new(),
            from: None,
        }
    }

    /// Most histories are one page.
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

    pub fn take_in(mut self, page: MessagePage) -> Progress<Self> {
        let MessagePage { entries, total, .. } = page;
        let began_at_the_start = self.from.is_none();
        if began_at_the_start && total > PAGE {
            return self.read_before(total);
        }
        let reached = self
            .after
            .is_some_and(|after| entries.first().is_none_or(|entry| entry.event.seq <= after));
        let said = entries.into_iter().filter(|e| history_item(e).is_some());
        self.entries.splice(0..0, said);
        let enough = self.after.is_none() && self.entries.len() >= self.limit;
        // Where this page was asked to begin: each asks for an earlier one, so reading ends.
        let began_at = self.from.unwrap_or(0);
        if began_at == 0 || reached || enough || self.entries.len() as u64 >= ITEMS_MAX {
            return Progress::Done(self.finish());
        }
        self.read_before(began_at)
    }

    fn read_before(mut self, end: u64) -> Progress<Self> {
        let start = end.saturating_sub(PAGE);
        self.from = Some(start);
        let call = self.call(start, end - start);
        Progress::More(call, self)
    }

    fn finish(self) -> ReadAnswer {
        let mut entries = self.entries;
        match self.after {
            Some(after) => {
                entries.retain(|entry| entry.event.seq > after);
                entries.truncate(self.limit);
            }
            None => {
                let extra = entries.len().saturating_sub(self.limit);
                entries.drain(..extra);
            }
        }
        ReadAnswer::History(self.thread, entries)
    }
}

/// `get_events`: the kept events that this protocol has a word for.
#[derive(Debug)]
pub struct EventsRead {
    thread: ThreadId,
    limit: usize,
    after: Seq,
    events: Vec<LoggedEvent>,
}

impl EventsRead {
    pub fn new(thread: ThreadId, limit: Option<u64>, after: Option<Seq>) -> Self {
        Self {
            thread,
            limit: limit.unwrap_or(EVENTS_DEFAULT).min(EVENTS_MAX) as usize,
            after: after.unwrap_or(Seq::ZERO),
            events: Vec::new(),
        }
    }

    pub fn next_call(&self) -> Call {
        Call::ReadEvents {
            thread: self.thread,
            after: self.after,
            limit: EVENTS_MAX as u32,
        }
    }

    /// A page may hold less than was asked for, because not every event has a word.
    pub fn take_in(mut self, page: &EventPage) -> Progress<Self> {
        let EventPage { events, more, .. } = page;
        let session = self.thread.to_string();
        let told = events.iter().filter_map(|event| logged(&session, event));
        let room = self.limit.saturating_sub(self.events.len());
        self.events.extend(told.take(room));
        let before = self.after;
        self.after = events.last().map_or(self.after, |last| last.seq);
        if !more || self.after <= before || events.is_empty() || self.events.len() >= self.limit {
            return Progress::Done(ReadAnswer::Events(self.thread, self.events));
        }
        Progress::More(self.next_call(), self)
    }
}

fn logged(session: &str, event: &Event) -> Option<LoggedEvent> {
    // Neither usage nor a steer is in this protocol's log; what was said is in its history.
    if let Fact::Step {
        what: StepFact::Finished { .. },
        ..
    }
    | Fact::Turn(TurnFact::UsageAdded { .. })
    | Fact::Turn(TurnFact::Steered { .. }) = event.fact
    {
        return None;
    }
    let told = serde_json::to_value(spell(session, event)?.into_event()).ok()?;
    let Value::Object(mut data) = told else {
        return None;
    };
    let Some(Value::String(kind)) = data.remove("type") else {
        return None;
    };
    Some(LoggedEvent {
        seq: event.seq.0,
        kind,
        data,
        created_at: event.at.millis(),
    })
}
