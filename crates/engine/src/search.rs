//! Search over threads: what is searched for is looked up in the store's index, ranked, and shown with the words
//! around it.

mod cursor;
mod indexing;
mod ranking;
mod snippet;
mod texts;

use std::collections::BTreeSet;
use std::sync::Arc;

use store::words::SearchTerms;
use store::{IndexSearch, SearchSpan, SearchWindow, SharedStore, StoreError};
use vocabulary::{FoundThread, Refusal, SearchPage, SearchQuery, TenantId, ThreadId, Why};

use crate::limits::{SEARCH_PAGE_DEFAULT, SEARCH_PAGE_MAX};
use crate::session::storage;
use cursor::{SearchCursor, WordMatch};
pub(crate) use indexing::keep_up;
use ranking::RankedThread;

/// Searches what a store keeps, and keeps its index up.
pub struct ThreadSearch {
    store: SharedStore,
    /// One indexes at a time: two would only do the same.
    alone: tokio::sync::Mutex<()>,
    /// Something was appended or deleted.
    changed: Arc<tokio::sync::Notify>,
}

impl ThreadSearch {
    pub fn new(store: SharedStore) -> Self {
        Self {
            store,
            alone: Default::default(),
            changed: Default::default(),
        }
    }

    /// Threads of a tenant that have the words. All that was acknowledged before is searched.
    pub async fn search(
        &self,
        tenant: &TenantId,
        query: &SearchQuery,
    ) -> Result<SearchPage, Refusal> {
        let cursor = query.cursor.as_deref().map(SearchCursor::parse);
        let cursor = cursor.map(|cursor| cursor.ok_or(StoreError::BadCursor));
        let cursor = cursor.transpose().map_err(storage)?;
        self.catch_up().await?;
        let limit = query.limit.unwrap_or(SEARCH_PAGE_DEFAULT);
        let mut search = RunningSearch {
            store: &self.store,
            tenant,
            terms: Arc::new(SearchTerms::of(&query.text)),
            limit: limit.clamp(1, SEARCH_PAGE_MAX) as usize,
            query,
            matching: cursor.map(|cursor| cursor.matching),
        };
        let mut page = search.page(cursor).await?;
        page.indexing = self.progress().await?;
        Ok(page)
    }

    /// All threads of a tenant that have these words in something that was said.
    pub(crate) async fn threads_with(
        &self,
        tenant: &TenantId,
        text: &str,
    ) -> Result<BTreeSet<ThreadId>, Refusal> {
        self.catch_up().await?;
        let terms = SearchTerms::of(text);
        let found = self.store.threads_with(tenant, &terms).await;
        Ok(found.map_err(storage)?.into_iter().collect())
    }
}

struct RunningSearch<'a> {
    store: &'a SharedStore,
    tenant: &'a TenantId,
    query: &'a SearchQuery,
    terms: Arc<SearchTerms>,
    limit: usize,
    /// Decided with the first window.
    matching: Option<WordMatch>,
}

impl RunningSearch<'_> {
    /// Goes from window to window until the page is full.
    async fn page(&mut self, cursor: Option<SearchCursor>) -> Result<SearchPage, Refusal> {
        let mut page = SearchPage::default();
        let mut offset = cursor.map_or(0, |cursor| cursor.offset);
        let mut span = cursor.map_or(SearchSpan::Newest, |cursor| cursor.span());
        let mut is_more_known = cursor.map(|cursor| cursor.more);
        loop {
            let window = self.look(span).await?;
            let more = is_more_known.take().unwrap_or(window.more);
            let ends = window.matches.first().zip(window.matches.last());
            let Some((first, last)) = ends.map(|(first, last)| (first.thread, last.thread)) else {
                return Ok(page);
            };
            let ranked = self.rank(window).await?;
            let total = ranked.len();
            for thread in ranked.into_iter().skip(offset) {
                if page.threads.len() == self.limit {
                    break;
                }
                offset += 1;
                page.threads.extend(self.show(thread).await?);
            }
            if page.threads.len() == self.limit {
                let cursor = SearchCursor {
                    matching: self.matching.unwrap_or(WordMatch::Whole),
                    first,
                    last,
                    offset,
                    more,
                };
                page.next = (more || offset < total).then(|| cursor.text());
                return Ok(page);
            }
            if !more {
                return Ok(page);
            }
            (span, offset) = (SearchSpan::Below(last), 0);
        }
    }

    /// Where whole words fill a window, those that only begin so are not looked for: that would take long, and
    /// they would rank behind.
    async fn look(&mut self, span: SearchSpan) -> Result<SearchWindow, Refusal> {
        if self.matching.is_none() && self.terms.has_prefix() {
            let exact = self.terms.exact();
            let window = self.find(&exact, span).await?;
            if window.more {
                self.terms = Arc::new(exact);
                self.matching = Some(WordMatch::Whole);
                return Ok(window);
            }
        }
        match self.matching.get_or_insert(WordMatch::Beginning) {
            WordMatch::Whole => self.terms = Arc::new(self.terms.exact()),
            WordMatch::Beginning => {}
        }
        self.find(&self.terms, span).await
    }

    async fn find(&self, terms: &SearchTerms, span: SearchSpan) -> Result<SearchWindow, Refusal> {
        let search = IndexSearch {
            terms,
            query: self.query,
            span,
        };
        let found = self.store.search(self.tenant, search).await;
        found.map_err(storage)
    }

    /// Away from whoever serves others: some hundred texts are read again.
    async fn rank(&self, window: SearchWindow) -> Result<Vec<RankedThread>, Refusal> {
        let terms = Arc::clone(&self.terms);
        let hits_max = match self.query.thread {
            Some(_) => self.limit,
            None => ranking::HITS_SHOWN,
        };
        let rank = move || ranking::rank(&terms, window, hits_max);
        let ranked = tokio::task::spawn_blocking(rank).await;
        ranked.map_err(|_| Refusal::new(Why::Internal, "the search was cut off; try again"))
    }

    /// Nothing where it was deleted just now.
    async fn show(&self, ranked: RankedThread) -> Result<Option<FoundThread>, Refusal> {
        let thread = self.store.thread(ranked.thread).await;
        let thread = thread.map_err(storage)?;
        let own = thread.filter(|thread| thread.card.tenant == *self.tenant);
        Ok(own.map(|thread| FoundThread {
            thread,
            hits: ranked.hits,
            more_hits: ranked.more_hits,
        }))
    }
}
