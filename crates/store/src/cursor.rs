//! Where a page of the thread list ended: the sort key of its last row, so that rows which come
//! or go meanwhile move nothing.

use std::cmp::Ordering;

use vocabulary::{ListDirection, Thread, ThreadId, ThreadQuery, ThreadSort, Timestamp};

use crate::{Result, StoreError};

/// A row's place in a list of one order. Newest first, the smaller of two ids comes first; oldest
/// first is the exact reverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub sort: ThreadSort,
    pub at: Timestamp,
    pub id: ThreadId,
    /// Whether the list goes on with the row itself, rather than behind it.
    pub included: bool,
}

impl Cursor {
    pub(crate) fn of(sort: ThreadSort, thread: &Thread) -> Self {
        Self {
            sort,
            at: sort.time(thread),
            id: thread.card.id,
            included: false,
        }
    }

    /// Where a query goes on, if it does. A place in another order is no place in this one.
    pub(crate) fn asked(query: &ThreadQuery) -> Result<Option<Self>> {
        let Some(text) = query.cursor.as_deref() else {
            return Ok(None);
        };
        let cursor = Self::parse(text)?;
        match cursor.sort == query.sort {
            true => Ok(Some(cursor)),
            false => Err(StoreError::BadCursor),
        }
    }

    fn parse(text: &str) -> Result<Self> {
        let (sort, rest) = match text.as_bytes().first() {
            Some(b'c') => (ThreadSort::Created, &text[1..]),
            Some(b'a') => (ThreadSort::Active, &text[1..]),
            _ => (ThreadSort::Updated, text),
        };
        let (included, rest) = match rest.strip_prefix('=') {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let (millis, id) = rest.split_once('.').ok_or(StoreError::BadCursor)?;
        Ok(Self {
            sort,
            at: Timestamp(millis.parse().map_err(|_| StoreError::BadCursor)?),
            id: ThreadId::parse(id).ok_or(StoreError::BadCursor)?,
            included,
        })
    }

    /// For the page that begins with this row.
    pub(crate) fn including(self) -> Self {
        Self {
            included: true,
            ..self
        }
    }

    pub(crate) fn text(self) -> String {
        let sort = match self.sort {
            ThreadSort::Updated => "",
            ThreadSort::Created => "c",
            ThreadSort::Active => "a",
        };
        let included = if self.included { "=" } else { "" };
        format!("{sort}{included}{}.{}", self.at.millis(), self.id)
    }

    /// Which of two rows comes first.
    pub(crate) fn order(self, other: Self, direction: ListDirection) -> Ordering {
        let newest_first = other.at.cmp(&self.at).then(self.id.cmp(&other.id));
        match direction {
            ListDirection::NewestFirst => newest_first,
            ListDirection::OldestFirst => newest_first.reverse(),
        }
    }

    /// Whether a row is on the pages that begin here.
    pub(crate) fn lets_in(self, row: Self, direction: ListDirection) -> bool {
        match row.order(self, direction) {
            Ordering::Less => false,
            Ordering::Equal => self.included,
            Ordering::Greater => true,
        }
    }
}
