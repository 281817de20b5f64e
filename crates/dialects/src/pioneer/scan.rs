//! Reading a thread's log in pages, for history and turns.

use vocabulary::{Call, Event, EventPage, Fact, Seq, Thread, TurnFact, TurnId};

use super::steps::{Goal, Running, Step};
use super::wire::history::ThreadHistoryResponse;
use super::wire::thread::ThreadResponse;
use super::wire::turn::{TurnItemsResponse, TurnResponse};
use super::{Pioneer, history, items, respond, send_error, show};
use crate::Action;
use crate::pioneer::hear::Wrong;

const PAGE: u32 = 1_000;
/// Log events that one answer is made of at most; the rest comes with `next_cursor`.
const HISTORY_EVENTS_MAX: usize = 20_000;

/// A reading under way.
pub struct Scan {
    thread: Thread,
    goal: Goal,
    /// What was read and is needed, oldest first.
    log: Vec<Event>,
}

/// What to do after a page.
enum Next {
    Read(Box<Call>),
    Answer { more: bool },
}

impl Scan {
    /// History after a place is read onwards; everything else from the end backwards.
    pub fn new(thread: Thread, goal: Goal) -> (Self, Call) {
        let id = thread.card.id;
        let first = match &goal {
            Goal::History {
                after: Some(after), ..
            } => onwards(id, history::position(*after)),
            Goal::History { limit: None, .. } => onwards(id, Seq::ZERO),
            Goal::History { .. }
            | Goal::Turns
            | Goal::Move { .. }
            | Goal::Cancel { .. }
            | Goal::Turn { .. }
            | Goal::Items { .. }
            | Goal::Unsubscribe => backwards(id, Seq(i64::MAX.unsigned_abs())),
        };
        let log = Vec::new();
        (Self { thread, goal, log }, first)
    }

    fn take_in(&mut self, mut page: Vec<Event>, more: bool) -> Next {
        let id = self.thread.card.id;
        let first = page.first().map(|event| event.seq);
        let last = page.last().map(|event| event.seq);
        match &self.goal {
            Goal::History {
                limit,
                after: after @ Some(_),
            }
            | Goal::History {
                limit: limit @ None,
                after: after @ None,
            } => {
                self.log.append(&mut page);
                let enough = match (limit, after) {
                    (Some(limit), Some(after)) => self.events_after(*after) > *limit,
                    (None, _) | (_, None) => self.log.len() >= HISTORY_EVENTS_MAX,
                };
                match last.filter(|_| more && !enough) {
                    Some(last) => Next::Read(Box::new(onwards(id, last))),
                    None => Next::Answer { more },
                }
            }
            Goal::History { limit, .. } => {
                page.append(&mut self.log);
                self.log = page;
                let limit = limit.unwrap_or_default();
                let enough =
                    self.events_after(i64::MIN) > limit || self.log.len() >= HISTORY_EVENTS_MAX;
                before(id, first.filter(|_| more && !enough))
            }
            Goal::Turns => {
                page.retain(|event| is_turn(&event.fact));
                page.append(&mut self.log);
                self.log = page;
                before(id, first.filter(|_| more))
            }
            Goal::Turn { turn } | Goal::Items { turn } => {
                let found = page.iter().any(|event| starts(&event.fact, turn));
                page.append(&mut self.log);
                self.log = page;
                before(id, first.filter(|_| more && !found))
            }
            Goal::Move { .. } | Goal::Cancel { .. } | Goal::Unsubscribe => {
                Next::Answer { more: false }
            }
        }
    }

    fn events_after(&self, after: i64) -> usize {
        let events = history::events(&self.thread.card, "", &self.log);
        events.iter().filter(|each| each.sequence > after).count()
    }
}

fn onwards(thread: vocabulary::ThreadId, after: Seq) -> Call {
    Call::ReadEvents {
        thread,
        after,
        limit: PAGE,
    }
}

fn backwards(thread: vocabulary::ThreadId, upto: Seq) -> Call {
    Call::ReadEventsBefore {
        thread,
        upto,
        limit: PAGE,
    }
}

/// The page before, or the answer when there is none to be read.
fn before(thread: vocabulary::ThreadId, first: Option<Seq>) -> Next {
    match first {
        Some(Seq(first)) if first > 1 => Next::Read(Box::new(backwards(thread, Seq(first - 1)))),
        Some(_) | None => Next::Answer { more: false },
    }
}

fn is_turn(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::Turn(TurnFact::Started { .. }) | Fact::Turn(TurnFact::Finished { .. })
    )
}

fn starts(fact: &Fact, wanted: &str) -> bool {
    matches!(fact, Fact::Turn(TurnFact::Started { turn, .. }) if turn.as_str() == wanted)
}

impl Pioneer {
    pub(super) fn scanned(
        &mut self,
        out: &mut Vec<Action>,
        running: &Running,
        mut scan: Scan,
        page: EventPage,
    ) {
        match scan.take_in(page.events, page.more) {
            Next::Read(call) => self.call(out, running, Step::Scan(Box::new(scan)), *call),
            Next::Answer { more } => scan.answer(out, running, more),
        }
    }
}

impl Scan {
    fn answer(&self, out: &mut Vec<Action>, running: &Running, more: bool) {
        let card = &self.thread.card;
        let name = show::wire_id(card);
        let (thread_id, workspace_id) = (name.as_ref(), card.workspace.as_str());
        match &self.goal {
            Goal::Turns => {
                let thread = show::with_turns(&self.thread, self.turns());
                respond(out, &running.id, &ThreadResponse { thread });
            }
            Goal::Turn { turn } => match self.turns().into_iter().find(|each| each.id == *turn) {
                Some(turn) => respond(
                    out,
                    &running.id,
                    &TurnResponse {
                        thread_id,
                        workspace_id,
                        turn,
                    },
                ),
                None => unknown_turn(out, running, turn),
            },
            Goal::Items { turn } => {
                if !self.log.iter().any(|event| starts(&event.fact, turn)) {
                    return unknown_turn(out, running, turn);
                }
                let events = history::events(card, thread_id, &self.log);
                let events = history::items_of(events, turn);
                let result = TurnItemsResponse {
                    thread_id,
                    workspace_id,
                    turn_id: turn,
                    last_sequence: events.last().map_or(0, |event| event.sequence),
                    events,
                };
                respond(out, &running.id, &result);
            }
            Goal::History { limit, after } => {
                let mut events = history::events(card, thread_id, &self.log);
                events.retain(|event| after.is_none_or(|after| event.sequence > after));
                let mut cut = more;
                match (limit, after) {
                    (Some(limit), Some(_)) => {
                        cut |= events.len() > *limit;
                        events.truncate(*limit);
                    }
                    (Some(limit), None) => {
                        cut = false;
                        events.drain(..events.len().saturating_sub(*limit));
                    }
                    (None, _) => {}
                }
                let next_cursor = events.last().filter(|_| cut).map(|event| event.sequence);
                let result = ThreadHistoryResponse {
                    workspace_id,
                    thread_id,
                    events,
                    next_cursor,
                };
                respond(out, &running.id, &result);
            }
            Goal::Move { .. } | Goal::Cancel { .. } | Goal::Unsubscribe => {}
        }
    }

    /// In the order they started.
    fn turns(&self) -> Vec<super::wire::turn::Turn<'_>> {
        let mut turns: Vec<super::wire::turn::Turn<'_>> = Vec::new();
        for event in &self.log {
            if let Fact::Turn(TurnFact::Started { turn, .. }) = &event.fact {
                turns.push(items::running(turn));
            } else if let Fact::Turn(TurnFact::Finished { turn, outcome, .. }) = &event.fact {
                let is_it = |each: &&mut super::wire::turn::Turn<'_>| named(&each.id, turn);
                if let Some(known) = turns.iter_mut().rev().find(is_it) {
                    *known = items::ended(turn, outcome);
                }
            }
        }
        turns
    }
}

fn named(id: &str, turn: &TurnId) -> bool {
    id == turn.as_str()
}

fn unknown_turn(out: &mut Vec<Action>, running: &Running, turn: &str) {
    let wrong = Wrong::request(format!("turn `{turn}` was not found"));
    send_error(out, Some(&running.id), &wrong);
}
