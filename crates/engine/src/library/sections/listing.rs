//! Lists of the threads in a section, by time or in the section's own order.

use std::cmp::Ordering;

use vocabulary::{
    Caller, ListDirection, Refusal, SectionFilter, Thread, ThreadId, ThreadPage, ThreadQuery,
};

use crate::Shared;
use crate::session::storage;

/// A list of the threads in a section, or of those in none.
pub async fn list(
    shared: &Shared,
    caller: &Caller,
    query: &ThreadQuery,
    filter: &SectionFilter,
) -> Result<ThreadPage, Refusal> {
    let sections = super::read(shared, &caller.tenant).await?;
    let mut query = ThreadQuery {
        section: None,
        ..query.clone()
    };
    let (section, in_order) = match filter {
        SectionFilter::Unsectioned => {
            let members = sections.iter().flat_map(|kept| &kept.threads);
            query.left_out.extend(members.map(|each| each.thread));
            return page_of(shared, caller, &query).await;
        }
        SectionFilter::Of { section, in_order } => (section, *in_order),
    };
    let kept = sections.iter().find(|kept| kept.section.id == *section);
    let mut members: Vec<ThreadId> = match kept {
        Some(kept) => kept.threads.iter().map(|each| each.thread).collect(),
        None => Vec::new(),
    };
    if let Some(only) = &query.only {
        members.retain(|member| only.contains(member));
    }
    if !in_order {
        query.only = Some(members);
        return page_of(shared, caller, &query).await;
    }
    let all = ThreadQuery {
        only: Some(members.clone()),
        limit: None,
        cursor: None,
        ..query.clone()
    };
    let found = page_of(shared, caller, &all).await?.threads;
    page_in_order(found, &members, &query)
}

async fn page_of(
    shared: &Shared,
    caller: &Caller,
    query: &ThreadQuery,
) -> Result<ThreadPage, Refusal> {
    let page = shared.store.threads(&caller.tenant, query).await;
    page.map_err(storage)
}

/// A page of a section in its own order.
fn page_in_order(
    mut threads: Vec<Thread>,
    members: &[ThreadId],
    query: &ThreadQuery,
) -> Result<ThreadPage, Refusal> {
    let place = |thread: &Thread| members.iter().position(|id| *id == thread.card.id);
    threads.sort_by_cached_key(place);
    if query.direction == ListDirection::NewestFirst {
        threads.reverse();
    }
    if let Some(text) = &query.cursor {
        let from = OrderCursor::parse(text)?;
        threads.retain(|thread| from.lets_in(place(thread), members, query.direction));
    }
    let wanted = query.limit.map_or(usize::MAX, |limit| limit as usize);
    let more = threads.len() > wanted;
    threads.truncate(wanted);
    let cursor = |thread: &Thread, included: bool| {
        let place = place(thread)?;
        let thread = thread.card.id;
        let cursor = OrderCursor {
            place,
            thread,
            included,
        };
        Some(cursor.text())
    };
    let last = threads.last().filter(|_| more);
    Ok(ThreadPage {
        next: last.and_then(|last| cursor(last, false)),
        back: threads.first().and_then(|first| cursor(first, true)),
        threads,
    })
}

/// Where a page of a section ended: at this thread, or where it was if it is gone from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OrderCursor {
    place: usize,
    thread: ThreadId,
    included: bool,
}

impl OrderCursor {
    fn text(self) -> String {
        let included = if self.included { "=" } else { "" };
        format!("s{included}{}.{}", self.place, self.thread)
    }

    fn parse(text: &str) -> Result<Self, Refusal> {
        let parsed = || {
            let rest = text.strip_prefix('s')?;
            let (included, rest) = match rest.strip_prefix('=') {
                Some(rest) => (true, rest),
                None => (false, rest),
            };
            let (place, thread) = rest.split_once('.')?;
            Some(Self {
                place: place.parse().ok()?,
                thread: ThreadId::parse(thread)?,
                included,
            })
        };
        parsed().ok_or_else(|| storage(store::StoreError::BadCursor))
    }

    fn lets_in(self, place: Option<usize>, members: &[ThreadId], order: ListDirection) -> bool {
        let Some(place) = place else {
            return false;
        };
        let now = members.iter().position(|id| *id == self.thread);
        let from = now.unwrap_or(self.place);
        let compared = match order {
            ListDirection::OldestFirst => place.cmp(&from),
            ListDirection::NewestFirst => from.cmp(&place),
        };
        match compared {
            Ordering::Greater => true,
            Ordering::Less => false,
            // Who has its place now was not on the page before, in the order of the section.
            Ordering::Equal => {
                self.included || now.is_none() && order == ListDirection::OldestFirst
            }
        }
    }
}
