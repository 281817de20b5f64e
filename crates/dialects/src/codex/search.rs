//! `dragoman/search`: threads by what was said in them, the best first, with the places.

use std::path::PathBuf;

use vocabulary::{
    ArchivedThreads, Call, FoundThread, Refusal, Reply, SearchKind, SearchQuery, TextHit, Timestamp,
};

use super::act::parse;
use super::calls::CodexPurpose;
use super::refuse::CodexError;
use super::wire::params::OneOrMany;
use super::wire::search::{
    ArchivedChoice, DragomanSearchHit, DragomanSearchParams, DragomanSearchResponse,
    DragomanSearchResult, IndexingState, SearchTextKind, SearchTextRange,
};
use super::{Codex, respond, send};
use crate::jsonrpc::Id;
use crate::{Action, utf16};

const METHOD: &str = "dragoman/search";
const PAGE_MAX: u32 = 100;
const TEXT_CHARS_MAX: usize = 1_000;

impl Codex {
    pub(super) fn search(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        params: DragomanSearchParams,
    ) -> Result<(), CodexError> {
        let call = Call::SearchThreads(Box::new(query(params)?));
        self.calls.make(out, CodexPurpose::Search(id), call);
        Ok(())
    }

    pub(super) fn searched(
        &self,
        out: &mut Vec<Action>,
        id: &Id,
        reply: Reply,
    ) -> Result<(), Refusal> {
        let page = reply.search()?;
        let result = |found| self.found_thread(found);
        let answer = DragomanSearchResponse {
            data: page.threads.iter().map(result).collect(),
            next_cursor: page.next.as_deref(),
            indexing: page.indexing.map(|progress| IndexingState {
                done: progress.done,
                total: progress.total,
            }),
        };
        send(out, respond(id, &answer));
        Ok(())
    }

    fn found_thread<'a>(&'a self, found: &'a FoundThread) -> DragomanSearchResult<'a> {
        DragomanSearchResult {
            thread: self.shown(&found.thread),
            hits: found.hits.iter().map(hit).collect(),
            more_hits: found.more_hits,
        }
    }
}

fn hit(hit: &TextHit) -> DragomanSearchHit<'_> {
    let ranges = utf16::ranges(&hit.snippet, &hit.matches).into_iter();
    DragomanSearchHit {
        kind: shown_kind(hit.kind),
        turn_id: hit.turn.as_ref().map(|turn| turn.as_str()),
        item_id: hit.item.as_ref().map(|item| item.as_str()),
        created_at: hit.at.seconds(),
        snippet: &hit.snippet,
        matches: ranges
            .map(|range| SearchTextRange {
                start: range.start,
                end: range.end,
            })
            .collect(),
    }
}

fn query(params: DragomanSearchParams) -> Result<SearchQuery, CodexError> {
    let text = params.search_term;
    if text.trim().is_empty() || text.chars().count() > TEXT_CHARS_MAX {
        let message = format!("expected words, at most {TEXT_CHARS_MAX} characters");
        return Err(wrong("searchTerm", &message));
    }
    if params
        .limit
        .is_some_and(|limit| !(1..=PAGE_MAX).contains(&limit))
    {
        return Err(wrong("limit", &format!("expected 1 to {PAGE_MAX}")));
    }
    let directories = match params.cwd {
        None => Vec::new(),
        Some(OneOrMany::One(one)) => vec![one],
        Some(OneOrMany::Many(many)) => many,
    };
    let thread = params.thread_id.as_deref().map(parse).transpose()?;
    Ok(SearchQuery {
        text,
        archived: match params.archived {
            None | Some(ArchivedChoice::Exclude) => ArchivedThreads::LeftOut,
            Some(ArchivedChoice::Include) => ArchivedThreads::Included,
            Some(ArchivedChoice::Only) => ArchivedThreads::Only,
        },
        directories: directories.into_iter().map(PathBuf::from).collect(),
        updated_since: params.updated_since.map(from_seconds),
        updated_until: params.updated_until.map(from_seconds),
        agent: params.agent,
        model: params.model,
        kinds: params
            .kinds
            .unwrap_or_default()
            .into_iter()
            .map(kind)
            .collect(),
        thread,
        limit: params.limit,
        cursor: params.cursor,
        ..SearchQuery::default()
    })
}

fn from_seconds(seconds: i64) -> Timestamp {
    Timestamp(seconds.saturating_mul(1_000))
}

fn kind(kind: SearchTextKind) -> SearchKind {
    match kind {
        SearchTextKind::Title => SearchKind::Title,
        SearchTextKind::User => SearchKind::User,
        SearchTextKind::Agent => SearchKind::Agent,
        SearchTextKind::Command => SearchKind::Command,
        SearchTextKind::Path => SearchKind::Path,
    }
}

fn shown_kind(kind: SearchKind) -> SearchTextKind {
    match kind {
        SearchKind::Title => SearchTextKind::Title,
        SearchKind::User => SearchTextKind::User,
        SearchKind::Agent => SearchTextKind::Agent,
        SearchKind::Command => SearchTextKind::Command,
        SearchKind::Path => SearchTextKind::Path,
    }
}

fn wrong(field: &str, message: &str) -> CodexError {
    CodexError::params(format!("{METHOD}: {field}: {message}"))
}
