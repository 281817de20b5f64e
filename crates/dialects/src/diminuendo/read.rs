//! Reads that may take several calls: the messages of a history, and the told events of a log.
//!
//! What was read is written into the answer at once, page by page, so that a long one is there only once.

mod events;
mod history;

use serde::Serialize;
use vocabulary::{Call, Seq};

use super::wire::ServerEvent;
use crate::Frame;

pub use events::EventsRead;
pub use history::HistoryRead;

/// What one answer may have in bytes; one that has more says so.
const ANSWER_BYTES_MAX: usize = 256 << 20;

/// How far a read has come.
pub enum Progress<T> {
    Done(ReadAnswer),
    More(Call, T),
}

impl<T> Progress<T> {
    pub fn map<U>(self, wrap: impl FnOnce(T) -> U) -> Progress<U> {
        match self {
            Progress::Done(read) => Progress::Done(read),
            Progress::More(call, read) => Progress::More(call, wrap(read)),
        }
    }
}

/// What was read, and whether there is more.
pub struct ReadAnswer {
    list: WrittenList,
    more: MoreToRead,
    /// The answer with nothing in its list.
    empty: fn(&str, MoreToRead) -> ServerEvent<'_>,
    session: String,
}

/// What an answer says of what is not in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MoreToRead {
    /// Nothing where all was wanted, and is there.
    pub has_more: Option<bool>,
    /// The position to go on from.
    pub next_after_seq: Option<u64>,
}

impl MoreToRead {
    fn new(limit: Option<u64>, has_more: bool, next: Option<Seq>) -> Self {
        Self {
            has_more: (limit.is_some() || has_more).then_some(has_more),
            next_after_seq: next.map(|seq| seq.0),
        }
    }
}

impl ReadAnswer {
    pub fn frame(self, request_id: Option<&str>) -> Frame {
        let empty = (self.empty)(&self.session, self.more).answer(request_id);
        self.list.end(&empty)
    }
}

/// A frame whose list is being written.
#[derive(Debug)]
struct WrittenList {
    /// How the list begins in the frame.
    opening: &'static str,
    bytes: Vec<u8>,
    count: u64,
}

impl WrittenList {
    /// `empty` is the frame with nothing in the list.
    fn begin(opening: &'static str, empty: &ServerEvent<'_>) -> Self {
        let (head, _) = split(&empty.frame(), opening);
        Self {
            opening,
            bytes: head.into_bytes(),
            count: 0,
        }
    }

    fn push(&mut self, item: &impl Serialize) {
        if self.count > 0 {
            self.bytes.push(b',');
        }
        self.count += 1;
        // Cannot fail: every map has text keys, and memory takes all.
        let _ = serde_json::to_writer(&mut self.bytes, item);
    }

    fn is_full(&self) -> bool {
        self.bytes.len() >= ANSWER_BYTES_MAX
    }

    fn end(mut self, empty: &str) -> Frame {
        let (_, tail) = split(empty, self.opening);
        self.bytes.extend_from_slice(tail.as_bytes());
        String::from_utf8(self.bytes).unwrap_or_default()
    }
}

/// A frame up to where the items of its list begin, and the rest.
fn split(frame: &str, opening: &str) -> (String, String) {
    let at = frame.find(opening).map_or(0, |at| at + opening.len());
    let (head, tail) = frame.split_at(at);
    (head.to_owned(), tail.to_owned())
}
