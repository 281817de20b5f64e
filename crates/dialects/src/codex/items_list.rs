//! `thread/items/list` and `thread/items/read`: the items of a thread without their turns, as
//! `thread/turns/list` shows them in full.

use vocabulary::{Call, TurnId, TurnPage, TurnSelection};

use super::act::parse;
use super::calls::CodexPurpose;
use super::refuse::CodexError;
use super::wire::items_list::{
    ThreadItemEntry, ThreadItemsListAnchor, ThreadItemsListCursor, ThreadItemsListParams,
    ThreadItemsListResponse, ThreadItemsReadParams, ThreadItemsReadResponse,
};
use super::wire::params::SortDirection;
use super::{Codex, Endpoint, history, occurrences, respond, send};
use crate::Action;
use crate::jsonrpc::Id;

const LIST: &str = "thread/items/list";
const READ: &str = "thread/items/read";
const PAGE_DEFAULT: u32 = 50;
const PAGE_MAX: u32 = 200;
/// How many turns one page looks into: it may have fewer items than were asked for, and go on.
const TURNS_MAX: u32 = 25;
/// As the app-server has it.
const READ_MAX: usize = 100;

#[derive(Debug)]
pub enum ItemRequest {
    List(ThreadItemsListParams),
    Read(ThreadItemsReadParams),
    Search(super::wire::items_list::ThreadSearchOccurrencesParams),
}

/// What an answer is for.
#[derive(Clone, Debug)]
pub enum ItemPurpose {
    List(ItemListing),
    Read(Vec<String>),
    Search(Box<occurrences::OccurrenceSearch>),
}

/// How the page that was asked for is to be shown.
#[derive(Clone, Debug)]
pub struct ItemListing {
    direction: SortDirection,
    from: Option<ItemCursor>,
    limit: usize,
}

/// Where a list goes on: behind an item, or with it; behind a whole turn where there is no item.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ItemCursor {
    /// Not known of an item that a client names itself.
    turn: Option<u64>,
    item: Option<String>,
    included: bool,
}

impl ItemCursor {
    fn text(&self) -> String {
        let included = if self.included { "=" } else { "" };
        let turn = self.turn.unwrap_or_default();
        let item = self.item.as_deref().unwrap_or_default();
        format!("{included}{turn}:{item}")
    }

    fn parse(text: &str) -> Option<Self> {
        let (included, rest) = match text.strip_prefix('=') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (turn, item) = rest.split_once(':')?;
        Some(Self {
            turn: Some(turn.parse().ok()?),
            item: Some(item.to_owned()).filter(|item| !item.is_empty()),
            included,
        })
    }
}

impl Codex {
    pub(super) fn items(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        request: ItemRequest,
    ) -> Result<(), CodexError> {
        let (purpose, call) = match request {
            ItemRequest::List(params) => list(params)?,
            ItemRequest::Read(params) => read(params)?,
            ItemRequest::Search(params) => {
                let search = occurrences::OccurrenceSearch::new(&params)?;
                let call = search.next_read();
                (ItemPurpose::Search(Box::new(search)), call)
            }
        };
        self.calls.make(out, CodexPurpose::Items(id, purpose), call);
        Ok(())
    }

    pub(super) fn items_answered(
        &mut self,
        out: &mut Vec<Action>,
        id: &Id,
        purpose: &ItemPurpose,
        page: &TurnPage,
    ) {
        match purpose {
            ItemPurpose::List(listing) => {
                let frame = match listing.answer(self.endpoint, page) {
                    Ok(answer) => respond(id, &answer),
                    Err(error) => error.frame(Some(id)),
                };
                send(out, frame);
            }
            ItemPurpose::Read(wanted) => {
                let mut data = entries(self.endpoint, page);
                data.retain(|(_, entry)| wanted.iter().any(|id| id == entry.item.id()));
                let data = data.into_iter().map(|(_, entry)| entry).collect();
                send(out, respond(id, &ThreadItemsReadResponse { data }));
            }
            ItemPurpose::Search(search) => {
                let mut search = search.clone();
                search.look_through(self.endpoint, page);
                match search.answer() {
                    Some(answer) => send(out, respond(id, &answer)),
                    None => {
                        let call = search.next_read();
                        let purpose = ItemPurpose::Search(search);
                        self.calls
                            .make(out, CodexPurpose::Items(id.clone(), purpose), call);
                    }
                }
            }
        }
    }
}

fn list(params: ThreadItemsListParams) -> Result<(ItemPurpose, Call), CodexError> {
    let thread = parse(&params.thread_id)?;
    let direction = params.sort_direction.unwrap_or(SortDirection::Asc);
    let turn = params.turn_id.filter(|turn| !turn.is_empty());
    let from = match params.cursor {
        None => None,
        Some(ThreadItemsListCursor::Page(text)) => {
            let cursor = ItemCursor::parse(&text).ok_or_else(not_ours)?;
            Some(cursor)
        }
        Some(ThreadItemsListCursor::Anchor(_)) if turn.is_none() => {
            return Err(wrong(
                LIST,
                "turnId",
                "expected the turn of the item in cursor",
            ));
        }
        Some(ThreadItemsListCursor::Anchor(ThreadItemsListAnchor::Item { item_id })) => {
            Some(ItemCursor {
                turn: None,
                item: Some(item_id),
                included: false,
            })
        }
    };
    let number = from.as_ref().and_then(|from| from.turn);
    let selection = match (turn, direction, number) {
        (Some(turn), _, _) => TurnSelection::One(TurnId::new(turn)),
        (None, SortDirection::Asc, None) => TurnSelection::Oldest,
        (None, SortDirection::Desc, None) => TurnSelection::Newest,
        // The turn itself may have more.
        (None, SortDirection::Asc, Some(number)) => TurnSelection::After(number.saturating_sub(1)),
        (None, SortDirection::Desc, Some(number)) => {
            TurnSelection::Before(number.saturating_add(1))
        }
    };
    let limit = params.limit.unwrap_or(PAGE_DEFAULT).clamp(1, PAGE_MAX);
    let listing = ItemListing {
        direction,
        from,
        limit: limit as usize,
    };
    let call = Call::ReadTurns {
        thread,
        selection,
        limit: TURNS_MAX,
        entries: true,
    };
    Ok((ItemPurpose::List(listing), call))
}

fn read(params: ThreadItemsReadParams) -> Result<(ItemPurpose, Call), CodexError> {
    let thread = parse(&params.thread_id)?;
    if !(1..=READ_MAX).contains(&params.item_ids.len()) {
        let message = format!("expected 1 to {READ_MAX} ids");
        return Err(wrong(READ, "itemIds", &message));
    }
    let call = Call::ReadTurns {
        thread,
        selection: TurnSelection::One(TurnId::new(params.turn_id)),
        limit: 1,
        entries: true,
    };
    Ok((ItemPurpose::Read(params.item_ids), call))
}

/// All items of a page of turns, oldest first, each with the number of its turn.
pub fn entries(endpoint: Endpoint, page: &TurnPage) -> Vec<(u64, ThreadItemEntry<'_>)> {
    let (view, told) = (&page.view, &page.entries);
    let turns = history::turns(endpoint, &view.thread.card, told, view.turn.as_ref());
    let mut found = Vec::new();
    for turn in turns {
        let turn_id = turn.id;
        let mut indexed = page.turns.iter();
        // What runs is told with every page; it may be another page's.
        let Some(indexed) = indexed.find(|it| it.turn.as_str() == turn_id) else {
            continue;
        };
        let items = turn.items.into_iter();
        let entry = |item| (indexed.number, ThreadItemEntry { turn_id, item });
        found.extend(items.map(entry));
    }
    found
}

impl ItemListing {
    fn answer<'a>(
        &self,
        endpoint: Endpoint,
        page: &'a TurnPage,
    ) -> Result<ThreadItemsListResponse<'a>, CodexError> {
        let mut found = entries(endpoint, page);
        if self.direction == SortDirection::Desc {
            found.reverse();
        }
        if let Some(from) = &self.from {
            let passed = self.passed(from, &found)?;
            found.drain(..passed);
        }
        let more = found.len() > self.limit || page.more;
        found.truncate(self.limit);
        let cursor = |(turn, entry): &(u64, ThreadItemEntry<'_>), included| ItemCursor {
            turn: Some(*turn),
            item: Some(entry.item.id().to_owned()),
            included,
        };
        let last = found.last().map(|last| cursor(last, false));
        // Turns without items are passed as a whole.
        let last = last.or_else(|| {
            page.turns.last().map(|turn| ItemCursor {
                turn: Some(turn.number),
                item: None,
                included: false,
            })
        });
        Ok(ThreadItemsListResponse {
            next_cursor: last.filter(|_| more).map(|last| last.text()),
            backwards_cursor: found.first().map(|first| cursor(first, true).text()),
            data: found.into_iter().map(|(_, entry)| entry).collect(),
        })
    }

    /// How many of the items found lie before the place where the list goes on.
    fn passed(
        &self,
        from: &ItemCursor,
        found: &[(u64, ThreadItemEntry<'_>)],
    ) -> Result<usize, CodexError> {
        let of_turn = |turn: u64| from.turn.is_none_or(|number| number == turn);
        let Some(item) = &from.item else {
            return Ok(found.iter().take_while(|(turn, _)| of_turn(*turn)).count());
        };
        let is_it =
            |(turn, entry): &(u64, ThreadItemEntry<'_>)| of_turn(*turn) && entry.item.id() == item;
        match from.included {
            true => found.iter().position(is_it),
            // Behind all of that name, lest a list goes in a circle.
            false => found.iter().rposition(is_it).map(|place| place + 1),
        }
        .ok_or_else(not_ours)
    }
}

fn not_ours() -> CodexError {
    let message = "expected one of a page before, or an item of the turn; start the list again";
    wrong(LIST, "cursor", message)
}

fn wrong(method: &str, field: &str, message: &str) -> CodexError {
    CodexError::params(format!("{method}: {field}: {message}"))
}
