//! `thread/search`: threads by what was said in them, the best first.

use vocabulary::{
    ArchivedThreads, Call, FoundThread, SearchKind, SearchPage, SearchQuery, TextHit, Timestamp,
    WorkspaceId,
};

use super::hear::PioneerError;
use super::show;
use super::wire::search::{
    ThreadSearchHit, ThreadSearchIndexing, ThreadSearchKind, ThreadSearchParams, ThreadSearchRange,
    ThreadSearchResponse, ThreadSearchResult,
};
use crate::utf16;

const METHOD: &str = "thread/search";
const PAGE_MAX: u32 = 100;
const QUERY_CHARS_MAX: usize = 1_000;

pub fn call(params: ThreadSearchParams) -> Result<Call, PioneerError> {
    let text = params.query;
    if text.trim().is_empty() || text.chars().count() > QUERY_CHARS_MAX {
        let message = format!("`query`: expected words, at most {QUERY_CHARS_MAX} characters");
        return Err(PioneerError::params(METHOD, message));
    }
    if params
        .limit
        .is_some_and(|limit| !(1..=PAGE_MAX).contains(&limit))
    {
        let message = format!("`limit`: expected 1 to {PAGE_MAX}");
        return Err(PioneerError::params(METHOD, message));
    }
    let include_hidden = params.include_hidden.unwrap_or(false);
    let seconds = |seconds: i64| Timestamp(seconds.saturating_mul(1_000));
    let workspace = params.workspace_id.as_deref().map(str::trim);
    Ok(Call::SearchThreads(Box::new(SearchQuery {
        text,
        // What is archived is hidden in this protocol.
        archived: match include_hidden {
            true => ArchivedThreads::Included,
            false => ArchivedThreads::LeftOut,
        },
        unlabelled: match include_hidden {
            true => Vec::new(),
            false => show::hidden_label().into_iter().collect(),
        },
        workspace: workspace.map(WorkspaceId::new),
        updated_since: params.updated_since.map(seconds),
        updated_until: params.updated_until.map(seconds),
        model: params.model,
        kinds: params
            .kinds
            .unwrap_or_default()
            .into_iter()
            .map(kind)
            .collect(),
        limit: params.limit,
        cursor: params.cursor,
        ..SearchQuery::default()
    })))
}

pub fn page(page: &SearchPage) -> ThreadSearchResponse<'_> {
    ThreadSearchResponse {
        results: page.threads.iter().map(result).collect(),
        next_cursor: page.next.as_deref(),
        indexing: page.indexing.map(|progress| ThreadSearchIndexing {
            done: progress.done,
            total: progress.total,
        }),
    }
}

fn result(found: &FoundThread) -> ThreadSearchResult<'_> {
    ThreadSearchResult {
        thread: show::thread(&found.thread),
        hits: found.hits.iter().map(hit).collect(),
        more_hits: found.more_hits,
    }
}

fn hit(hit: &TextHit) -> ThreadSearchHit<'_> {
    let ranges = utf16::ranges(&hit.snippet, &hit.matches).into_iter();
    ThreadSearchHit {
        kind: shown_kind(hit.kind),
        turn_id: hit.turn.as_ref().map(|turn| turn.as_str()),
        item_id: hit.item.as_ref().map(|item| item.as_str()),
        created_at: hit.at.seconds(),
        snippet: &hit.snippet,
        matches: ranges
            .map(|range| ThreadSearchRange {
                start: range.start,
                end: range.end,
            })
            .collect(),
    }
}

fn kind(kind: ThreadSearchKind) -> SearchKind {
    match kind {
        ThreadSearchKind::Title => SearchKind::Title,
        ThreadSearchKind::User => SearchKind::User,
        ThreadSearchKind::Agent => SearchKind::Agent,
        ThreadSearchKind::Command => SearchKind::Command,
        ThreadSearchKind::Path => SearchKind::Path,
    }
}

fn shown_kind(kind: SearchKind) -> ThreadSearchKind {
    match kind {
        SearchKind::Title => ThreadSearchKind::Title,
        SearchKind::User => ThreadSearchKind::User,
        SearchKind::Agent => ThreadSearchKind::Agent,
        SearchKind::Command => ThreadSearchKind::Command,
        SearchKind::Path => ThreadSearchKind::Path,
    }
}
