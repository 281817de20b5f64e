//! Where a page of a search ended: a place among the ranked threads of one window.
//!
//! It names threads of the tenant's own and nothing of the index, which is everybody's.

use store::SearchSpan;
use uuid::Uuid;
use vocabulary::ThreadId;

/// What the last word of a query finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordMatch {
    Whole,
    /// Words that begin with it, too.
    Beginning,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchCursor {
    pub matching: WordMatch,
    /// The newest and the oldest thread of the window.
    pub first: ThreadId,
    pub last: ThreadId,
    /// How many of its threads were shown.
    pub offset: usize,
    /// Whether there is something behind the window.
    pub more: bool,
}

impl SearchCursor {
    pub fn span(self) -> SearchSpan {
        SearchSpan::Between {
            first: self.first,
            last: self.last,
        }
    }

    pub fn text(self) -> String {
        let kind = match (self.matching, self.more) {
            (WordMatch::Whole, false) => 'w',
            (WordMatch::Whole, true) => 'W',
            (WordMatch::Beginning, false) => 'b',
            (WordMatch::Beginning, true) => 'B',
        };
        let (first, last) = (self.first.0.simple(), self.last.0.simple());
        format!("{kind}.{first}.{last}.{}", self.offset)
    }

    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let (matching, more) = match parts.next()? {
            "w" => (WordMatch::Whole, false),
            "W" => (WordMatch::Whole, true),
            "b" => (WordMatch::Beginning, false),
            "B" => (WordMatch::Beginning, true),
            _ => return None,
        };
        let mut thread = || Some(ThreadId(Uuid::try_parse(parts.next()?).ok()?));
        let (first, last) = (thread()?, thread()?);
        let offset = parts.next()?.parse().ok()?;
        parts.next().is_none().then_some(Self {
            matching,
            first,
            last,
            offset,
            more,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        for (matching, more) in [(WordMatch::Whole, true), (WordMatch::Beginning, false)] {
            let cursor = SearchCursor {
                matching,
                first: ThreadId(Uuid::from_u128(7)),
                last: ThreadId(Uuid::from_u128(3)),
                offset: 20,
                more,
            };
            assert_eq!(SearchCursor::parse(&cursor.text()), Some(cursor));
        }
        for wrong in [
            "",
            "w",
            "x.1.2.3",
            "w.1.2.x",
            "5.00000000-0000-0000-0000-000000000007",
        ] {
            assert_eq!(SearchCursor::parse(wrong), None, "{wrong}");
        }
    }
}
