//! `thread/searchOccurrences`: every place in a thread where words were said, oldest first.
//!
//! Turns are read page by page and looked through, so many for one request; where that was not enough the
//! answer has a cursor.

use vocabulary::{Call, ThreadId, TurnPage, TurnSelection};

use super::act::parse;
use super::refuse::CodexError;
use super::wire::item::{ThreadItem, UserContent};
use super::wire::items_list::{
    ThreadItemEntry, ThreadSearchOccurrence, ThreadSearchOccurrencesParams, ThreadSearchTextRange,
};
use super::wire::results::Page;
use super::{Endpoint, items_list};

const METHOD: &str = "thread/searchOccurrences";
const PAGE_DEFAULT: u32 = 50;
const PAGE_MAX: u32 = 200;
const WORDS_CHARS_MAX: usize = 200;
/// How many turns are read at a time, and how often for one request.
const TURNS_PER_READ: u32 = 25;
const READS_MAX: u32 = 40;
/// What a snippet has before the words and behind them.
const BEFORE_CHARS: usize = 50;
const BEHIND_CHARS: usize = 100;
const CUT: &str = "…";

/// A search that goes on, with what it has found.
#[derive(Clone, Debug)]
pub struct OccurrenceSearch {
    thread: ThreadId,
    /// In small letters.
    words: String,
    limit: usize,
    /// Where the page before ended: the number of a turn, and how many places in it were told.
    passed: (u64, usize),
    found: Vec<ThreadSearchOccurrence>,
    /// Where this page ends.
    upto: (u64, usize),
    reads_left: u32,
    more: bool,
}

impl OccurrenceSearch {
    pub fn new(params: &ThreadSearchOccurrencesParams) -> Result<Self, CodexError> {
        let words = params.search_term.to_lowercase();
        let is_blank = words.trim().is_empty();
        if is_blank || words.chars().count() > WORDS_CHARS_MAX {
            let message = format!("expected 1 to {WORDS_CHARS_MAX} characters");
            return Err(wrong("searchTerm", &message));
        }
        let passed = match params.cursor.as_deref() {
            None => (0, 0),
            Some(text) => cursor(text).ok_or_else(|| {
                wrong(
                    "cursor",
                    "expected one of a page before; start again without it",
                )
            })?,
        };
        let limit = params.limit.unwrap_or(PAGE_DEFAULT).clamp(1, PAGE_MAX);
        Ok(Self {
            thread: parse(&params.thread_id)?,
            words,
            limit: limit as usize,
            passed,
            found: Vec::new(),
            upto: passed,
            reads_left: READS_MAX,
            more: true,
        })
    }

    pub fn next_read(&self) -> Call {
        let (turn, told) = self.upto;
        // A turn of which something was told may have more.
        let after = if told > 0 {
            turn.saturating_sub(1)
        } else {
            turn
        };
        Call::ReadTurns {
            thread: self.thread,
            selection: TurnSelection::After(after),
            limit: TURNS_PER_READ,
            entries: true,
        }
    }

    pub fn look_through(&mut self, endpoint: Endpoint, page: &TurnPage) {
        self.reads_left = self.reads_left.saturating_sub(1);
        self.more = page.more;
        let entries = items_list::entries(endpoint, page);
        for turn in &page.turns {
            let mut place = 0;
            for (number, entry) in &entries {
                if *number != turn.number {
                    continue;
                }
                for occurrence in occurrences(entry, *number, &self.words) {
                    place += 1;
                    let is_told = *number == self.passed.0 && place <= self.passed.1;
                    if is_told {
                        continue;
                    }
                    if self.found.len() == self.limit {
                        self.more = true;
                        return;
                    }
                    self.found.push(occurrence);
                    self.upto = (*number, place);
                }
            }
            self.upto = (turn.number, 0);
        }
    }

    /// Nothing where it has to go on.
    pub fn answer(&self) -> Option<Page<ThreadSearchOccurrence>> {
        let is_full = self.found.len() == self.limit;
        if self.more && !is_full && self.reads_left > 0 {
            return None;
        }
        let (turn, told) = self.upto;
        Some(Page {
            data: self.found.clone(),
            next_cursor: self.more.then(|| format!("{turn}.{told}")),
        })
    }
}

fn cursor(text: &str) -> Option<(u64, usize)> {
    let (turn, told) = text.split_once('.')?;
    Some((turn.parse().ok()?, told.parse().ok()?))
}

/// What a person or the agent said in this item, wherever the words are in it.
fn occurrences(entry: &ThreadItemEntry<'_>, turn: u64, words: &str) -> Vec<ThreadSearchOccurrence> {
    let texts: Vec<&str> = match &entry.item {
        ThreadItem::AgentMessage { text, .. } => vec![*text],
        ThreadItem::UserMessage { content, .. } => {
            let said = content.iter().filter_map(|part| match part {
                UserContent::Text { text, .. } => Some(*text),
                UserContent::Image { .. } | UserContent::LocalImage { .. } => None,
            });
            said.collect()
        }
        ThreadItem::Plan { .. }
        | ThreadItem::Reasoning { .. }
        | ThreadItem::CommandExecution { .. }
        | ThreadItem::FileChange { .. }
        | ThreadItem::McpToolCall { .. }
        | ThreadItem::DynamicToolCall { .. }
        | ThreadItem::WebSearch { .. }
        | ThreadItem::ImageView { .. }
        | ThreadItem::CollabAgentToolCall { .. }
        | ThreadItem::ContextCompaction { .. }
        | ThreadItem::EnteredReviewMode { .. }
        | ThreadItem::ExitedReviewMode { .. } => Vec::new(),
    };
    let places = texts.into_iter().flat_map(|text| {
        let places = places(text, words).into_iter();
        places.map(move |(start, end)| snippet(text, start, end))
    });
    let found = places.map(|(snippet, snippet_match_range)| ThreadSearchOccurrence {
        turn_id: entry.turn_id.to_owned(),
        item_id: entry.item.id().to_owned(),
        snippet,
        snippet_match_range,
        turn_cursor: super::turn_list::cursor_of(turn),
    });
    found.collect()
}

/// Where a text has the words, as ranges of its bytes. Small letters can be of another length.
fn places(text: &str, words: &str) -> Vec<(usize, usize)> {
    let mut small = String::with_capacity(text.len());
    // Where each letter begins in small letters, and in the text.
    let mut letters = Vec::with_capacity(text.len());
    for (at, letter) in text.char_indices() {
        letters.push((small.len(), at));
        small.extend(letter.to_lowercase());
    }
    let begin = |place: usize| {
        let next = letters.partition_point(|(begins, _)| *begins <= place);
        letters[..next].last().map_or(0, |(_, at)| *at)
    };
    let end = |place: usize| {
        let next = letters.partition_point(|(begins, _)| *begins < place);
        letters.get(next).map_or(text.len(), |(_, at)| *at)
    };
    let found = small.match_indices(words);
    found
        .map(|(place, words)| (begin(place), end(place + words.len())))
        .collect()
}

fn snippet(text: &str, start: usize, end: usize) -> (String, ThreadSearchTextRange) {
    let (before, behind) = (&text[..start], &text[end..]);
    let from = before.char_indices().rev().nth(BEFORE_CHARS - 1);
    let from = from.map_or(0, |(at, _)| at);
    let upto = behind.char_indices().nth(BEHIND_CHARS);
    let upto = upto.map_or(text.len(), |(at, _)| end + at);
    let head = if from > 0 { CUT } else { "" };
    let tail = if upto < text.len() { CUT } else { "" };
    let units = |text: &str| u32::try_from(text.encode_utf16().count()).unwrap_or(u32::MAX);
    let begins = units(head).saturating_add(units(&text[from..start]));
    let range = ThreadSearchTextRange {
        start: begins,
        end: begins.saturating_add(units(&text[start..end])),
    };
    (format!("{head}{}{tail}", &text[from..upto]), range)
}

fn wrong(field: &str, message: &str) -> CodexError {
    CodexError::params(format!("{METHOD}: {field}: {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_whatever_their_case_and_length_in_small_letters() {
        assert_eq!(places("Hello hello", "hello"), [(0, 5), (6, 11)]);
        // Two letters in small, of three bytes.
        assert_eq!(places("İstanbul", "stanbul"), [(2, 9)]);
        assert_eq!(places("ÄÖ", "ö"), [(2, 4)]);
        assert_eq!(places("", "a"), []);
    }

    #[test]
    fn a_snippet_counts_in_utf_16_and_says_where_it_is_cut() {
        let text = format!("{}🙂 key {}", "x".repeat(60), "y".repeat(200));
        let at = text.find("key").expect("it is there");
        let (shown, range) = snippet(&text, at, at + 3);
        let units: Vec<u16> = shown.encode_utf16().collect();
        let shown_words = &units[range.start as usize..range.end as usize];
        assert_eq!(String::from_utf16_lossy(shown_words), "key");
        assert!(shown.starts_with(CUT) && shown.ends_with(CUT), "{shown}");
        let (whole, range) = snippet("key", 0, 3);
        assert_eq!((whole.as_str(), range.start, range.end), ("key", 0, 3));
    }
}
