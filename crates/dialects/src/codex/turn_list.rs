//! `thread/turns/list`: the turns of a thread, page by page, in both directions.

use vocabulary::{Call, IndexedTurn, ThreadId, Timestamp, TurnPage, TurnSelection};

use super::act::parse;
use super::calls::CodexPurpose;
use super::refuse::CodexError;
use super::wire::item::ThreadItem;
use super::wire::params::{SortDirection, ThreadTurnsListParams};
use super::wire::results::ThreadTurnsListResponse;
use super::wire::thread::{ItemsView, Turn};
use super::{Codex, Endpoint, history, respond, send, show};
use crate::Action;
use crate::jsonrpc::Id;

const PAGE_DEFAULT: u32 = 25;
const PAGE_MAX: u32 = 100;

/// How the page that was asked for is to be shown.
#[derive(Clone, Copy, Debug)]
pub struct TurnListing {
    direction: SortDirection,
    items: ItemsView,
}

impl Codex {
    pub(super) fn turn_list(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        params: &ThreadTurnsListParams,
    ) -> Result<(), CodexError> {
        let listing = TurnListing::new(params.sort_direction, params.items_view);
        let call = Call::ReadTurns {
            thread: parse(&params.thread_id)?,
            selection: selection(listing.direction, params.cursor.as_deref())?,
            limit: params.limit.unwrap_or(PAGE_DEFAULT).clamp(1, PAGE_MAX),
            entries: listing.shows_items(),
        };
        self.calls
            .make(out, CodexPurpose::TurnList(id, listing), call);
        Ok(())
    }

    pub(super) fn turns_listed(
        &self,
        out: &mut Vec<Action>,
        id: &Id,
        listing: TurnListing,
        page: &TurnPage,
    ) {
        let answer = listing.answer(self.endpoint, page);
        send(out, respond(id, &answer));
    }
}

/// The cursor of a page that begins with this turn, in both directions.
pub fn cursor_of(turn: u64) -> String {
    format!("={turn}")
}

/// A cursor is the number of the turn that the page before ended with, or of the one that it begins with.
fn selection(direction: SortDirection, cursor: Option<&str>) -> Result<TurnSelection, CodexError> {
    let number = cursor.map(|cursor| {
        let behind = |number: u64| match direction {
            SortDirection::Desc => number.saturating_add(1),
            SortDirection::Asc => number.saturating_sub(1),
        };
        let number = match cursor.strip_prefix('=') {
            Some(first) => first.parse::<u64>().map(behind),
            None => cursor.parse::<u64>(),
        };
        number.map_err(|_| {
            let message = "this cursor is not one of ours; start the list again without it";
            CodexError::params(format!("thread/turns/list: cursor: {message}"))
        })
    });
    Ok(match (direction, number.transpose()?) {
        (SortDirection::Desc, None) => TurnSelection::Newest,
        (SortDirection::Desc, Some(number)) => TurnSelection::Before(number),
        (SortDirection::Asc, None) => TurnSelection::Oldest,
        (SortDirection::Asc, Some(number)) => TurnSelection::After(number),
    })
}

impl TurnListing {
    pub fn new(direction: Option<SortDirection>, items: Option<ItemsView>) -> Self {
        Self {
            direction: direction.unwrap_or(SortDirection::Desc),
            items: items.unwrap_or(ItemsView::Summary),
        }
    }

    pub fn shows_items(self) -> bool {
        self.items != ItemsView::NotLoaded
    }

    /// Asks for the first page.
    pub fn first(self, thread: ThreadId, limit: Option<u32>) -> Call {
        Call::ReadTurns {
            thread,
            selection: match self.direction {
                SortDirection::Desc => TurnSelection::Newest,
                SortDirection::Asc => TurnSelection::Oldest,
            },
            limit: limit.unwrap_or(PAGE_DEFAULT).clamp(1, PAGE_MAX),
            entries: self.shows_items(),
        }
    }

    pub fn answer(self, endpoint: Endpoint, page: &TurnPage) -> ThreadTurnsListResponse<'_> {
        let number = |turn: &IndexedTurn| turn.number;
        let first = page.turns.first().map(number);
        let last = page.turns.last().map(number);
        ThreadTurnsListResponse {
            data: self.shown(endpoint, page),
            next_cursor: last.filter(|_| page.more).map(|last| last.to_string()),
            backwards_cursor: first.map(|first| self.backwards(first)),
        }
    }

    /// The cursor that, in the other direction, begins with this turn again.
    fn backwards(self, first: u64) -> String {
        let cursor = match self.direction {
            SortDirection::Desc => first - 1,
            SortDirection::Asc => first + 1,
        };
        cursor.to_string()
    }

    fn shown(self, endpoint: Endpoint, page: &TurnPage) -> Vec<Turn<'_>> {
        if self.items == ItemsView::NotLoaded {
            let turns = page.turns.iter();
            return turns.map(|turn| without_items(endpoint, turn)).collect();
        }
        let (view, entries) = (&page.view, &page.entries);
        let mut turns = history::turns(endpoint, &view.thread.card, entries, view.turn.as_ref());
        if self.direction == SortDirection::Desc {
            turns.reverse();
        }
        if self.items == ItemsView::Summary {
            turns.iter_mut().for_each(summarise);
        }
        turns
    }
}

fn without_items(endpoint: Endpoint, turn: &IndexedTurn) -> Turn<'_> {
    let outcome = turn.ended.as_ref().map(|ended| &ended.outcome);
    Turn {
        status: show::turn_status(endpoint, outcome),
        error: outcome.and_then(show::turn_error),
        started_at: Some(turn.started_at.seconds()),
        completed_at: turn
            .ended
            .as_ref()
            .map(|ended| Timestamp::seconds(ended.at)),
        duration_ms: turn
            .ended
            .as_ref()
            .and_then(|ended| show::duration_ms(Some(turn.started_at), ended.at)),
        ..show::turn(endpoint, &turn.turn)
    }
}

/// What the user said first, and what the agent said last.
fn summarise(turn: &mut Turn<'_>) {
    let items = std::mem::take(&mut turn.items);
    let is_asked = |item: &&ThreadItem<'_>| matches!(item, ThreadItem::UserMessage { .. });
    let is_answered = |item: &&ThreadItem<'_>| matches!(item, ThreadItem::AgentMessage { .. });
    let asked = items.iter().find(is_asked).cloned();
    let answered = items.iter().rfind(is_answered).cloned();
    turn.items = asked.into_iter().chain(answered).collect();
    turn.items_view = ItemsView::Summary;
}
