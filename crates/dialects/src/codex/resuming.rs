//! `thread/resume`: all turns, none, or a first page of them, and whatever is being written.

use vocabulary::{ThreadView, TurnPage};

use super::act::parse;
use super::calls::CodexPurpose;
use super::refuse::CodexError;
use super::turn_list::TurnListing;
use super::wire::params::ThreadResumeParams;
use super::wire::results::ThreadTurnsListResponse;
use super::{Codex, Endpoint};
use crate::Action;
use crate::jsonrpc::Id;

/// A page that was read before the thread is heard.
#[derive(Debug)]
pub struct FirstPage {
    pub listing: TurnListing,
    pub page: TurnPage,
}

impl Codex {
    pub(super) fn thread_resume(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        params: &ThreadResumeParams,
    ) -> Result<(), CodexError> {
        let thread = parse(&params.thread_id)?;
        let turns = params.exclude_turns != Some(true);
        match &params.initial_turns_page {
            Some(wanted) if self.endpoint == Endpoint::Codex => {
                let listing = TurnListing::new(wanted.sort_direction, wanted.items_view);
                let call = listing.first(thread, wanted.limit);
                let waiting = CodexPurpose::ResumePage { id, turns, listing };
                self.calls.make(out, waiting, call);
            }
            Some(_) | None => {
                let page = None;
                let waiting = CodexPurpose::Resume { id, turns, page };
                self.calls.listen(out, waiting, thread);
            }
        }
        Ok(())
    }

    /// The page is there; now the thread is heard.
    pub(super) fn page_read(
        &mut self,
        out: &mut Vec<Action>,
        (id, turns): (&Id, bool),
        listing: TurnListing,
        page: TurnPage,
    ) {
        let thread = page.view.thread.card.id;
        let waiting = CodexPurpose::Resume {
            id: id.clone(),
            turns,
            page: Some(Box::new(FirstPage { listing, page })),
        };
        self.calls.listen(out, waiting, thread);
    }
}

impl FirstPage {
    /// The page as of the moment from which the thread is heard. Nothing where something happened in between
    /// that it does not have: a client without a page asks for one.
    pub fn as_of(
        &mut self,
        endpoint: Endpoint,
        view: &ThreadView,
    ) -> Option<ThreadTurnsListResponse<'_>> {
        let page = &self.page;
        let mut open = page.turns.iter().filter(|turn| turn.ended.is_none());
        let is_whole = match &view.turn {
            Some(running) => {
                let is_there = open.any(|turn| turn.turn == running.turn);
                let last = running.events.last();
                is_there && last.is_none_or(|event| event.seq <= page.view.head)
            }
            None => {
                let count = page.view.thread.message_count;
                open.next().is_none() && count == view.thread.message_count
            }
        };
        if !is_whole {
            return None;
        }
        self.page.view.turn.clone_from(&view.turn);
        Some(self.listing.answer(endpoint, &self.page))
    }

    /// Whether it shows what is being written.
    pub fn shows_items(&self) -> bool {
        self.listing.shows_items()
    }
}
