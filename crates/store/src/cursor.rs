//! Where a page of the thread list ended: the sort key of its last row, so that rows which come
//! or go meanwhile move nothing.

use vocabulary::{Thread, ThreadId, Timestamp};

use crate::{Result, StoreError};

/// A row's place in the list. A smaller place comes first: newest, then by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub updated_at: Timestamp,
    pub id: ThreadId,
}

impl Cursor {
    pub(crate) fn of(thread: &Thread) -> Self {
        Self {
            updated_at: thread.updated_at,
            id: thread.card.id,
        }
    }

    pub(crate) fn parse(text: &str) -> Result<Self> {
        let (millis, id) = text.split_once('.').ok_or(StoreError::BadCursor)?;
        Ok(Self {
            updated_at: Timestamp(millis.parse().map_err(|_| StoreError::BadCursor)?),
            id: ThreadId::parse(id).ok_or(StoreError::BadCursor)?,
        })
    }

    pub(crate) fn text(self) -> String {
        format!("{}.{}", self.updated_at.millis(), self.id)
    }
}
