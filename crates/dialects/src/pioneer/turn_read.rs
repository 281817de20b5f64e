//! Turns of a thread, found by its index: `thread/get` and `turn/get`.

use vocabulary::{Call, IndexedTurn, ThreadId, TurnId, TurnPage, TurnSelection};

use super::steps::{RequestStep, RunningRequest};
use super::turn_log::{TurnForm, TurnLogReader};
use super::wire::thread::ThreadResponse;
use super::wire::turn::TurnResponse;
use super::{Pioneer, items, respond, send_error, show};
use crate::Action;
use crate::pioneer::hear::PioneerError;

const TURNS_PER_PAGE: u32 = 1_000;

/// Which turns are read.
pub enum TurnRead {
    /// All of a thread; with those that were read so far.
    All(Vec<IndexedTurn>),
    One(TurnId),
    /// One with what happened in it.
    Log(TurnId, TurnForm),
}

impl TurnRead {
    fn next_page(&self, thread: ThreadId) -> Call {
        let selection = match self {
            TurnRead::All(known) => {
                let last = known.last().map_or(0, |turn| turn.number);
                TurnSelection::After(last)
            }
            TurnRead::One(turn) | TurnRead::Log(turn, _) => TurnSelection::One(turn.clone()),
        };
        Call::ReadTurns {
            thread,
            selection,
            limit: TURNS_PER_PAGE,
            entries: false,
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
            TurnRead::Log(turn, form) => match page.turns.first() {
                Some(found) => {
                    let read = TurnLogReader::new(page.view.thread.clone(), found, form);
                    self.read_turn_log(out, running, read);
                }
                None => unknown(out, running, &turn),
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

fn unknown(out: &mut Vec<Action>, running: &RunningRequest, turn: &TurnId) {
    let wrong = PioneerError::request(format!("turn `{turn}` was not found"));
    send_error(out, Some(&running.id), &wrong);
}
