//! Turns of a thread, found by its index: `thread/get`, `turn/get` and `turn/items`.

use vocabulary::{Call, Event, IndexedTurn, ThreadId, TurnId, TurnPage, TurnSelection};

use super::steps::{RequestStep, RunningRequest};
use super::wire::thread::ThreadResponse;
use super::wire::turn::{TurnItemsResponse, TurnResponse};
use super::{Pioneer, history, items, respond, send_error, show};
use crate::Action;
use crate::pioneer::hear::PioneerError;

const TURNS_PER_PAGE: u32 = 1_000;

/// Which turns are read.
pub enum TurnRead {
    /// All of a thread; with those that were read so far.
    All(Vec<IndexedTurn>),
    One(TurnId),
    /// One with what happened in it.
    Items(TurnId),
}

impl TurnRead {
    fn next_page(&self, thread: ThreadId) -> Call {
        let (selection, entries) = match self {
            TurnRead::All(known) => {
                let last = known.last().map_or(0, |turn| turn.number);
                (TurnSelection::After(last), false)
            }
            TurnRead::One(turn) => (TurnSelection::One(turn.clone()), false),
            TurnRead::Items(turn) => (TurnSelection::One(turn.clone()), true),
        };
        Call::ReadTurns {
            thread,
            selection,
            limit: TURNS_PER_PAGE,
            entries,
        }
    }
}

impl Pioneer {
    pub(super) fn read_turns(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        thread: ThreadId,
        read: TurnRead,
    ) {
        let call = read.next_page(thread);
        self.call(out, running, RequestStep::Turns(read), call);
    }

    pub(super) fn turn_page(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        read: TurnRead,
        mut page: TurnPage,
    ) {
        let thread = page.view.thread.card.id;
        match read {
            TurnRead::All(mut known) => {
                known.append(&mut page.turns);
                if page.more {
                    return self.read_turns(out, running, thread, TurnRead::All(known));
                }
                let turns = known.iter().map(items::indexed).collect();
                let thread = show::with_turns(&page.view.thread, turns);
                respond(out, &running.id, &ThreadResponse { thread });
            }
            TurnRead::One(turn) => match page.turns.first() {
                Some(found) => one(out, running, &page, found),
                None => unknown(out, running, &turn),
            },
            TurnRead::Items(turn) => match page.turns.is_empty() {
                false => happened(out, running, page, &turn),
                true => unknown(out, running, &turn),
            },
        }
    }
}

fn one(out: &mut Vec<Action>, running: &RunningRequest, page: &TurnPage, found: &IndexedTurn) {
    let card = &page.view.thread.card;
    let result = TurnResponse {
        thread_id: &show::wire_id(card),
        workspace_id: card.workspace.as_str(),
        turn: items::indexed(found),
    };
    respond(out, &running.id, &result);
}

fn happened(out: &mut Vec<Action>, running: &RunningRequest, page: TurnPage, turn: &TurnId) {
    let card = &page.view.thread.card;
    let thread_id = show::wire_id(card);
    let log: Vec<Event> = page.entries.into_iter().map(|entry| entry.event).collect();
    let events = history::events(card, &thread_id, &log);
    let events = history::items_of(events, turn.as_str());
    let result = TurnItemsResponse {
        thread_id: &thread_id,
        workspace_id: card.workspace.as_str(),
        turn_id: turn.as_str(),
        last_sequence: events.last().map_or(0, |event| event.sequence),
        events,
    };
    respond(out, &running.id, &result);
}

fn unknown(out: &mut Vec<Action>, running: &RunningRequest, turn: &TurnId) {
    let wrong = PioneerError::request(format!("turn `{turn}` was not found"));
    send_error(out, Some(&running.id), &wrong);
}
