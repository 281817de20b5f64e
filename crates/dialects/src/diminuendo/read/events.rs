//! `get_events`: the kept events that this protocol has a word for.

use serde_json::Value;
use vocabulary::{Call, Event, EventPage, Fact, Seq, StepFact, ThreadId, TurnFact};

use super::{MoreToRead, Progress, ReadAnswer, WrittenList};
use crate::diminuendo::tell::spell;
use crate::diminuendo::wire::ServerEvent;
use crate::diminuendo::wire::parts::LoggedEvent;

/// Events per call.
const PAGE: u32 = 1_000;

#[derive(Debug)]
pub struct EventsRead {
    thread: ThreadId,
    session: String,
    /// All of them where it is absent.
    limit: Option<u64>,
    /// How far the log was read.
    after: Seq,
    /// The last event in the answer, or where it begins.
    told: Seq,
    list: WrittenList,
}

fn empty(session_id: &str, more: MoreToRead) -> ServerEvent<'_> {
    ServerEvent::Events {
        session_id,
        events: Vec::new(),
        has_more: more.has_more,
        next_after_seq: more.next_after_seq,
    }
}

impl EventsRead {
    pub fn new(thread: ThreadId, limit: Option<u64>, after: Option<Seq>) -> Self {
        let session = thread.to_string();
        let after = after.unwrap_or(Seq::ZERO);
        let list = WrittenList::begin("\"events\":[", &empty(&session, MoreToRead::default()));
        Self {
            thread,
            limit,
            after,
            told: after,
            list,
            session,
        }
    }

    pub fn next_call(&self) -> Call {
        Call::ReadEvents {
            thread: self.thread,
            after: self.after,
            limit: PAGE,
        }
    }

    /// A page may hold less than was asked for, because not every event has a word.
    pub fn take_in(mut self, page: &EventPage) -> Progress<Self> {
        for event in &page.events {
            let Some(logged) = logged(&self.session, event) else {
                continue;
            };
            let has_enough = self.limit.is_some_and(|limit| self.list.count >= limit);
            if has_enough || self.list.is_full() {
                return Progress::Done(self.finish(true));
            }
            self.list.push(&logged);
            self.told = event.seq;
        }
        let before = self.after;
        self.after = page.events.last().map_or(before, |last| last.seq);
        // Each page begins behind the one before, so reading ends.
        if !page.more || self.after <= before {
            return Progress::Done(self.finish(false));
        }
        Progress::More(self.next_call(), self)
    }

    fn finish(self, has_more: bool) -> ReadAnswer {
        let next = has_more.then_some(self.told);
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
