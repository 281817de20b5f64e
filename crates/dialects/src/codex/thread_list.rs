//! Lists of threads: `thread/list`, `thread/search`, `thread/loaded/list`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use vocabulary::{
    ArchivedThreads, Call, ListDirection, Refusal, Reply, SectionFilter, SectionId, Status, Thread,
    ThreadId, ThreadPage, ThreadQuery, ThreadSort,
};

use super::act::parse;
use super::calls::CodexPurpose;
use super::refuse::CodexError;
use super::wire::params::{OneOrMany, SortDirection};
use super::wire::results::Page;
use super::wire::thread_list::{
    ThreadListParams, ThreadListResponse, ThreadLoadedListParams, ThreadPageParams,
    ThreadSearchParams, ThreadSearchResponse, ThreadSearchResult, ThreadSortKey,
};
use super::{Codex, Endpoint, respond, send, show};
use crate::Action;
use crate::jsonrpc::Id;

const PAGE_DEFAULT: u32 = 25;
const PAGE_MAX: u32 = 100;
/// As the app-server has it.
const EXCLUDED_MAX: usize = 100;
/// What `Thread.source` says of every thread here.
const SOURCE_KIND: &str = "appServer";

#[derive(Debug)]
pub enum ThreadListRequest {
    List(Box<ThreadListParams>),
    Search(ThreadSearchParams),
    Loaded(ThreadLoadedListParams),
}

/// What an answer is for.
#[derive(Debug)]
pub enum ThreadListPurpose {
    List(Id),
    Search { id: Id, words: String },
    Loaded(Id, ThreadLoadedListParams),
}

impl ThreadListPurpose {
    pub fn id(&self) -> &Id {
        match self {
            ThreadListPurpose::List(id)
            | ThreadListPurpose::Search { id, .. }
            | ThreadListPurpose::Loaded(id, _) => id,
        }
    }
}

impl Codex {
    pub(super) fn thread_list(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        request: ThreadListRequest,
    ) -> Result<(), CodexError> {
        // Zane's client shows the list as it comes.
        let usual = match self.endpoint {
            Endpoint::Codex => ThreadSort::Created,
            Endpoint::Zane => ThreadSort::Updated,
        };
        let (waiting, query) = match request {
            ThreadListRequest::List(params) => {
                (ThreadListPurpose::List(id), listed(*params, usual)?)
            }
            ThreadListRequest::Search(params) => {
                let words = params.search_term.clone();
                let query = searched(params, usual)?;
                (ThreadListPurpose::Search { id, words }, query)
            }
            ThreadListRequest::Loaded(params) => {
                let waiting = ThreadListPurpose::Loaded(id, params);
                (waiting, ThreadQuery::default())
            }
        };
        let waiting = CodexPurpose::Threads(waiting);
        self.calls.make(out, waiting, Call::ListThreads(query));
        Ok(())
    }

    pub(super) fn threads_listed(
        &self,
        out: &mut Vec<Action>,
        waiting: &ThreadListPurpose,
        reply: Reply,
    ) -> Result<(), Refusal> {
        let page = reply.threads()?;
        match waiting {
            ThreadListPurpose::List(id) => self.listed(out, id, &page),
            ThreadListPurpose::Search { id, words } => self.found(out, id, words, &page),
            ThreadListPurpose::Loaded(id, params) => self.loaded(out, id, &page.threads, params),
        }
        Ok(())
    }

    fn listed(&self, out: &mut Vec<Action>, id: &Id, page: &ThreadPage) {
        let answer = ThreadListResponse {
            data: page.threads.iter().map(|it| self.shown(it)).collect(),
            next_cursor: page.next.clone(),
            backwards_cursor: page.back.clone(),
        };
        send(out, respond(id, &answer));
    }

    fn found(&self, out: &mut Vec<Action>, id: &Id, words: &str, page: &ThreadPage) {
        let words = words.to_lowercase();
        let result = |thread| ThreadSearchResult {
            snippet: snippet(thread, &words),
            thread: self.shown(thread),
        };
        let answer = ThreadSearchResponse {
            data: page.threads.iter().map(result).collect(),
            next_cursor: page.next.clone(),
            backwards_cursor: page.back.clone(),
        };
        send(out, respond(id, &answer));
    }

    /// What is heard is loaded, whatever it was before that.
    pub(super) fn shown<'a>(&'a self, thread: &'a Thread) -> super::wire::thread::Thread<'a> {
        match self.listening.hears(thread.card.id) {
            true => show::loaded(self.speaking(), thread, &[], Vec::new()),
            false => show::thread(self.speaking(), thread, Vec::new()),
        }
    }

    /// Threads that are awake, or heard, by their ids.
    fn loaded(
        &self,
        out: &mut Vec<Action>,
        id: &Id,
        threads: &[Thread],
        params: &ThreadLoadedListParams,
    ) {
        let heard = |thread: &Thread| self.listening.hears(thread.card.id);
        let loaded = threads.iter();
        let loaded = loaded.filter(|thread| is_awake(thread.status) || heard(thread));
        let mut ids: Vec<String> = loaded.map(|thread| thread.card.id.to_string()).collect();
        ids.sort();
        ids.retain(|id| params.cursor.as_ref().is_none_or(|after| id > after));
        let limit = params.limit.map_or(usize::MAX, |limit| limit as usize);
        let more = ids.len() > limit;
        ids.truncate(limit);
        let next_cursor = ids.last().cloned().filter(|_| more);
        let data = ids;
        send(out, respond(id, &Page { data, next_cursor }));
    }
}

fn is_awake(status: Status) -> bool {
    match status {
        Status::Activating | Status::Ready | Status::Running | Status::Waiting => true,
        Status::Inactive | Status::Deactivating | Status::Error => false,
    }
}

/// The title or the first words, whichever has what was searched for.
fn snippet<'a>(thread: &'a Thread, words: &str) -> &'a str {
    let title = thread.title.text.as_str();
    match title.to_lowercase().contains(words) {
        true => title,
        false => &thread.preview,
    }
}

fn listed(params: ThreadListParams, usual: ThreadSort) -> Result<ThreadQuery, CodexError> {
    let method = "thread/list";
    if params
        .originators
        .as_ref()
        .is_some_and(|who| !who.is_empty())
    {
        return Err(wrong(
            method,
            "originators",
            "expected none: they are not kept here",
        ));
    }
    if params.parent_thread_id.is_some() && params.ancestor_thread_id.is_some() {
        let message = "expected no parentThreadId beside it";
        return Err(wrong(method, "ancestorThreadId", message));
    }
    let excluded = params.excluded_thread_ids.unwrap_or_default();
    if excluded.len() > EXCLUDED_MAX {
        let message = format!("expected at most {EXCLUDED_MAX} ids");
        return Err(wrong(method, "excludedThreadIds", &message));
    }
    let left_out = excluded.iter().map(|id| parse(id));
    let left_out = left_out.collect::<Result<BTreeSet<ThreadId>, CodexError>>()?;
    let in_order = params.page.sort_key == Some(ThreadSortKey::SectionPosition);
    let section = section(params.section_id, in_order)?;
    // A section's own order begins at its beginning.
    let direction = match (in_order, params.page.sort_direction) {
        (true, None) => ListDirection::OldestFirst,
        (_, given) => direction(given),
    };
    let paged = paged(params.page, usual);
    let directories = match params.cwd {
        None => Vec::new(),
        Some(OneOrMany::One(one)) => vec![one],
        Some(OneOrMany::Many(many)) => many,
    };
    // Threads of others' kinds: there are none here.
    let is_of_others = params.parent_thread_id.is_some()
        || params.ancestor_thread_id.is_some()
        || params.attached_to_thread_id.is_some()
        || matches!(params.project_id, Some(Some(_)));
    Ok(ThreadQuery {
        directories: directories.into_iter().map(PathBuf::from).collect(),
        text: params.search_term,
        providers: params.model_providers.unwrap_or_default(),
        left_out,
        only: is_of_others.then(Vec::new).or(paged.only),
        section,
        direction,
        ..paged
    })
}

/// Threads of all sections, of one, or in none.
fn section(
    asked: Option<Option<String>>,
    in_order: bool,
) -> Result<Option<SectionFilter>, CodexError> {
    let of = |id: String| SectionFilter::Of {
        section: SectionId::new(id),
        in_order,
    };
    match asked {
        Some(Some(id)) => Ok(Some(of(id))),
        None | Some(None) if in_order => {
            let message = "section_position: expected the sectionId of a section beside it";
            Err(wrong("thread/list", "sortKey", message))
        }
        Some(None) => Ok(Some(SectionFilter::Unsectioned)),
        None => Ok(None),
    }
}

fn searched(params: ThreadSearchParams, usual: ThreadSort) -> Result<ThreadQuery, CodexError> {
    if params.page.sort_key == Some(ThreadSortKey::SectionPosition) {
        let message = "section_position: expected created_at, updated_at or recency_at";
        return Err(wrong("thread/search", "sortKey", message));
    }
    if params.search_term.trim().is_empty() {
        return Err(wrong("thread/search", "searchTerm", "expected some words"));
    }
    Ok(ThreadQuery {
        text: Some(params.search_term),
        ..paged(params.page, usual)
    })
}

/// What all lists have in common.
fn paged(page: ThreadPageParams, usual: ThreadSort) -> ThreadQuery {
    let has_ours = has_ours(page.source_kinds.as_deref());
    ThreadQuery {
        archived: match page.archived {
            Some(true) => ArchivedThreads::Only,
            Some(false) | None => ArchivedThreads::LeftOut,
        },
        only: (!has_ours).then(Vec::new),
        sort: page.sort_key.map_or(usual, sort),
        direction: direction(page.sort_direction),
        limit: Some(page.limit.unwrap_or(PAGE_DEFAULT).min(PAGE_MAX)),
        cursor: page.cursor,
        ..ThreadQuery::default()
    }
}

/// None named: all. A person sits at every thread of ours, so that the kinds of interactive clients mean
/// them, too.
fn has_ours(kinds: Option<&[String]>) -> bool {
    let ours = [SOURCE_KIND, "cli", "vscode"];
    kinds.is_none_or(|kinds| {
        kinds.is_empty() || kinds.iter().any(|kind| ours.contains(&kind.as_str()))
    })
}

fn sort(key: ThreadSortKey) -> ThreadSort {
    match key {
        ThreadSortKey::CreatedAt => ThreadSort::Created,
        ThreadSortKey::UpdatedAt => ThreadSort::Updated,
        ThreadSortKey::RecencyAt | ThreadSortKey::SectionPosition => ThreadSort::Active,
    }
}

fn direction(direction: Option<SortDirection>) -> ListDirection {
    match direction {
        None | Some(SortDirection::Desc) => ListDirection::NewestFirst,
        Some(SortDirection::Asc) => ListDirection::OldestFirst,
    }
}

fn wrong(method: &str, field: &str, message: &str) -> CodexError {
    CodexError::params(format!("{method}: {field}: {message}"))
}
