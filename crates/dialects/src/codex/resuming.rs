//! `thread/resume`: all turns, none, or a first page of them, and whatever is being written.

use vocabulary::{Call, Seq, ThreadId, ThreadView, TurnId, TurnPage, TurnSelection};

use super::act::parse;
use super::calls::{ALL_MESSAGES, CodexPurpose};
use super::refuse::CodexError;
use super::turn_list::TurnListing;
use super::wire::params::ThreadResumeParams;
use super::wire::results::ThreadTurnsListResponse;
use super::wire::thread::Turn;
use super::{Codex, Endpoint, history};
use crate::jsonrpc::{self, Id};
use crate::{Action, Frame};

/// A thread with more messages than this is read page by page, this many turns at a time.
const MESSAGES_AT_ONCE: u32 = 200;
const TURNS_AT_ONCE: u32 = 50;

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
        let turns = match (params.exclude_turns, &params.initial_turns_page) {
            (Some(true), _) => ResumedTurns::None,
            (Some(false) | None, None) => ResumedTurns::Recent,
            (Some(false) | None, Some(_)) => ResumedTurns::All,
        };
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
        (id, turns): (&Id, ResumedTurns),
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

/// Which turns a resume brings.
#[derive(Debug, Default)]
pub enum ResumedTurns {
    #[default]
    None,
    /// Those of the newest messages: all of them, where the thread is not long.
    Recent,
    /// All, at once.
    All,
    /// All of a long thread, which were read page by page, so that what they are made of is never there as a
    /// whole.
    Shown(Box<ShownTurns>),
}

/// The turns of a long thread, as they are shown.
#[derive(Debug, Default)]
pub struct ShownTurns {
    /// When the first of them was read.
    since: Option<ReadMoment>,
    /// Turns behind each other, with commas between them; one text for a page.
    pages: Vec<String>,
    /// The last page, which goes on while the thread is heard.
    last: Option<TurnPage>,
}

impl ResumedTurns {
    pub fn are_wanted(&self) -> bool {
        match self {
            ResumedTurns::None => false,
            ResumedTurns::Recent | ResumedTurns::All | ResumedTurns::Shown(_) => true,
        }
    }

    /// The turns that were shown already.
    pub fn take_older(&mut self) -> Vec<String> {
        match self {
            ResumedTurns::Shown(shown) => std::mem::take(&mut shown.pages),
            ResumedTurns::None | ResumedTurns::Recent | ResumedTurns::All => Vec::new(),
        }
    }

    /// How many messages of the thread are to come with it.
    pub fn recent(&self) -> u32 {
        match self {
            ResumedTurns::None => 0,
            ResumedTurns::Recent => MESSAGES_AT_ONCE,
            ResumedTurns::All => ALL_MESSAGES,
            // How the last turn ended is in it.
            ResumedTurns::Shown(_) => 1,
        }
    }
}

impl Codex {
    /// The thread is heard: with all that the client wants to know of it, or there is more to read first.
    pub(super) fn attached(
        &mut self,
        out: &mut Vec<Action>,
        (id, turns): (&Id, ResumedTurns),
        view: &ThreadView,
        page: Option<&mut FirstPage>,
    ) {
        let thread = view.thread.card.id;
        let first = view.recent.first();
        let is_cut = first.is_some_and(|first| first.message > 0);
        let is_over = match &turns {
            ResumedTurns::Recent => !is_cut,
            ResumedTurns::Shown(shown) => shown.is_whole(view),
            ResumedTurns::None | ResumedTurns::All => true,
        };
        if is_over {
            return self.resumed(out, (id, turns), view, page);
        }
        // It is not heard before it was answered.
        if !self.listening.hears(thread) {
            out.push(Action::Unlisten(thread));
        }
        let id = id.clone();
        match turns {
            ResumedTurns::Recent => {
                let waiting = CodexPurpose::ResumeTurns(id, Box::default());
                let call = next_turns(thread, TurnSelection::Oldest);
                self.calls.make_next(out, waiting, call);
            }
            ResumedTurns::None | ResumedTurns::All | ResumedTurns::Shown(_) => {
                self.resume_at_once(out, id, thread);
            }
        }
    }

    /// Something has happened since the first turns were read.
    fn resume_at_once(&mut self, out: &mut Vec<Action>, id: Id, thread: ThreadId) {
        let (turns, page) = (ResumedTurns::All, None);
        let waiting = CodexPurpose::Resume { id, turns, page };
        self.calls.listen(out, waiting, thread);
    }

    /// A page of a long thread is there.
    pub(super) fn turns_read(
        &mut self,
        out: &mut Vec<Action>,
        id: &Id,
        mut shown: Box<ShownTurns>,
        page: TurnPage,
    ) {
        let thread = page.view.thread.card.id;
        let now = ReadMoment::of(&page.view);
        if !shown
            .since
            .get_or_insert_with(|| now.clone())
            .is_past_of(&now)
        {
            return self.resume_at_once(out, id.clone(), thread);
        }
        match page.turns.last().filter(|_| page.more) {
            Some(last) => {
                let call = next_turns(thread, TurnSelection::After(last.number));
                shown.add(self.endpoint, &page);
                let waiting = CodexPurpose::ResumeTurns(id.clone(), shown);
                self.calls.make_next(out, waiting, call);
            }
            None => {
                shown.last = Some(page);
                let waiting = CodexPurpose::Resume {
                    id: id.clone(),
                    turns: ResumedTurns::Shown(shown),
                    page: None,
                };
                self.calls.listen(out, waiting, thread);
            }
        }
    }
}

fn next_turns(thread: ThreadId, selection: TurnSelection) -> Call {
    Call::ReadTurns {
        thread,
        selection,
        limit: TURNS_AT_ONCE,
        entries: true,
    }
}

/// A response with these turns before those that it has. Each page is let go of when it is in the frame, so
/// that they are there only once.
pub fn with_older(pages: Vec<String>, mut response: Frame) -> Frame {
    // In a text it would be written in another way.
    const TURNS: &str = r#""turns":["#;
    let Some(at) = response.find(TURNS).filter(|_| !pages.is_empty()) else {
        return response;
    };
    let rest = response.split_off(at + TURNS.len());
    let older: usize = pages.iter().map(|page| page.len() + 1).sum();
    let mut frame = String::with_capacity(response.len() + older + rest.len());
    frame.push_str(&response);
    let is_last = rest.starts_with(']');
    let mut pages = pages.into_iter().peekable();
    while let Some(page) = pages.next() {
        frame.push_str(&page);
        if !is_last || pages.peek().is_some() {
            frame.push(',');
        }
    }
    frame.push_str(&rest);
    frame
}

impl ShownTurns {
    fn add(&mut self, endpoint: Endpoint, page: &TurnPage) {
        let card = &page.view.thread.card;
        let turns = history::turns(endpoint, card, &page.entries, None);
        let turns: Vec<String> = turns.iter().map(jsonrpc::write).collect();
        if !turns.is_empty() {
            self.pages.push(turns.join(","));
        }
    }

    /// Whether nothing has happened since they were read but what the running turn does now.
    fn is_whole(&self, view: &ThreadView) -> bool {
        let since = self.since.as_ref();
        since.is_some_and(|since| since.is_past_of(&ReadMoment::of(view)))
            && self.last.as_ref().is_some_and(|page| is_whole(page, view))
    }

    pub fn newest<'a>(&'a self, endpoint: Endpoint, view: &'a ThreadView) -> Vec<Turn<'a>> {
        let entries = self.last.as_ref().map_or(&[][..], |page| &page.entries);
        history::turns(endpoint, &view.thread.card, entries, view.turn.as_ref())
    }
}

/// How a thread stood when something of it was read.
#[derive(Clone, Debug)]
struct ReadMoment {
    head: Seq,
    running: Option<TurnId>,
}

impl ReadMoment {
    fn of(view: &ThreadView) -> Self {
        Self {
            head: view.head,
            running: view.turn.as_ref().map(|turn| turn.turn.clone()),
        }
    }

    /// Whether all that was there is still there at a later moment: while a turn runs nothing is taken back.
    fn is_past_of(&self, later: &ReadMoment) -> bool {
        match (&self.running, &later.running) {
            (Some(then), Some(now)) => then == now,
            (None, None) => self.head == later.head,
            (None, Some(_)) | (Some(_), None) => false,
        }
    }
}

/// Whether a page that was read before is the end of a thread as it is now.
fn is_whole(page: &TurnPage, view: &ThreadView) -> bool {
    let mut open = page.turns.iter().filter(|turn| turn.ended.is_none());
    match &view.turn {
        Some(running) => {
            let is_there = open.any(|turn| turn.turn == running.turn);
            let last = running.events.last();
            is_there && last.is_none_or(|event| event.seq <= page.view.head)
        }
        None => {
            let count = page.view.thread.message_count;
            open.next().is_none() && count == view.thread.message_count
        }
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
        if !is_whole(&self.page, view) {
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
