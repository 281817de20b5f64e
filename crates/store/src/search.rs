//! The index of what was said: what is put into it, and what is got out of it.
//!
//! The index follows the log, in the order in which it was written: which events it has not seen yet a store
//! knows by one number. The engine says what text they have; a search first lets the engine catch up, so that
//! an append costs nothing and yet nothing that was acknowledged is missed.

use vocabulary::{IndexingProgress, SearchKind, SearchQuery, Seq, ThreadId, Timestamp};

use crate::StoredEvent;
use crate::words::SearchTerms;

/// Texts that are ranked with each other. What has more is ranked window by window, newer threads first.
pub(crate) const WINDOW_MATCHES: usize = 400;
/// Of one thread no more are ranked than this.
const WINDOW_MATCHES_PER_THREAD: usize = 50;
/// How often a phrase occurs is counted up to here: beyond it is common.
pub(crate) const FREQUENCY_MAX: u32 = 1_000;

/// Which part of the log is to be indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexPart {
    /// What was there before the index.
    Old,
    /// What came since.
    New,
}

/// Events that the index has not seen, in the order in which they were written.
#[derive(Clone, Debug, PartialEq)]
pub struct UnindexedEvents {
    pub events: Vec<(ThreadId, StoredEvent)>,
    pub span: IndexSpan,
    /// The end of the part at that moment.
    pub end: u64,
}

/// A stretch of the log that is indexed at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexSpan {
    pub part: IndexPart,
    pub after: u64,
    pub upto: u64,
}

/// What a stretch of the log makes of the index. What goes goes before what comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexPiece {
    pub span: IndexSpan,
    pub hidden: Vec<HiddenTexts>,
    pub texts: Vec<SearchText>,
}

/// Texts of a thread that nobody is told any more, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HiddenTexts {
    pub thread: ThreadId,
    pub from: Seq,
    pub upto: Seq,
}

/// A text to be found by its words; one of the same place replaces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchText {
    pub thread: ThreadId,
    /// The event that has it; `Seq::ZERO` for a title.
    pub seq: Seq,
    pub kind: SearchKind,
    pub text: String,
}

/// How the index stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexStanding {
    /// While there is something of the old part left.
    pub indexing: Option<IndexingProgress>,
    /// Whether words of deleted texts may still be in it.
    pub purge: bool,
}

/// Which threads a search looks through, by when they were made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchSpan {
    #[default]
    Newest,
    /// Those older than this one.
    Below(ThreadId),
    /// From one down to another, both included, however many matches they have.
    Between { first: ThreadId, last: ThreadId },
}

/// One look into the index.
#[derive(Clone, Debug)]
pub struct IndexSearch<'a> {
    pub terms: &'a SearchTerms,
    pub query: &'a SearchQuery,
    pub span: SearchSpan,
}

/// The texts of some threads that have the words, those of one thread together, newer threads first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchWindow {
    pub matches: Vec<SearchMatch>,
    /// Whether older threads may have more.
    pub more: bool,
    /// How many texts have each phrase, counted up to a thousand.
    pub frequencies: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SearchMatch {
    pub thread: ThreadId,
    pub updated_at: Timestamp,
    pub kind: SearchKind,
    pub text: MatchedText,
}

#[derive(Clone, Debug, PartialEq)]
pub enum MatchedText {
    Title(String),
    /// The engine knows what text it has.
    Event(StoredEvent),
}

/// A text's number in the index: the newer a thread, and the later in it, the larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TextPlace {
    /// The thread's number.
    pub thread: i64,
    pub seq: i64,
    pub kind: SearchKind,
}

impl TextPlace {
    const KIND_BITS: u32 = 3;
    const SEQ_BITS: u32 = 36;
    const THREAD_BITS: u32 = 24;

    /// Nothing for numbers that no thread comes to: a text of those is not indexed.
    pub(crate) fn of(thread: i64, seq: Seq, kind: SearchKind) -> Option<Self> {
        let seq = i64::try_from(seq.0).ok()?;
        let fits = seq < 1 << Self::SEQ_BITS && (0..1 << Self::THREAD_BITS).contains(&thread);
        fits.then_some(Self { thread, seq, kind })
    }

    pub(crate) fn number(self) -> i64 {
        let place = SearchKind::ALL.iter().position(|kind| *kind == self.kind);
        let kind = place.map_or(0, |place| place as i64);
        Self::first_of(self.thread) | self.seq << Self::KIND_BITS | kind
    }

    pub(crate) fn read(number: i64) -> Option<Self> {
        let kind = usize::try_from(number & ((1 << Self::KIND_BITS) - 1)).ok()?;
        Some(Self {
            thread: number >> (Self::SEQ_BITS + Self::KIND_BITS),
            seq: number >> Self::KIND_BITS & ((1 << Self::SEQ_BITS) - 1),
            kind: *SearchKind::ALL.get(kind)?,
        })
    }

    /// The smallest number of a thread's texts.
    pub(crate) fn first_of(thread: i64) -> i64 {
        let thread = thread.clamp(0, (1 << Self::THREAD_BITS) - 1);
        thread << (Self::SEQ_BITS + Self::KIND_BITS)
    }

    /// The largest one.
    pub(crate) fn last_of(thread: i64) -> i64 {
        Self::first_of(thread) | ((1 << (Self::SEQ_BITS + Self::KIND_BITS)) - 1)
    }

    /// The numbers of a stretch of a thread's texts, both ends included.
    pub(crate) fn between(thread: i64, from: Seq, upto: Seq) -> (i64, i64) {
        let seq = |seq: Seq| {
            let max = (1 << Self::SEQ_BITS) - 1;
            i64::try_from(seq.0).unwrap_or(max).min(max)
        };
        let first = Self::first_of(thread);
        let kinds = (1 << Self::KIND_BITS) - 1;
        let from = first | seq(from) << Self::KIND_BITS;
        (from, first | seq(upto) << Self::KIND_BITS | kinds)
    }
}

/// Says of each text in turn, newest first, whether it belongs in the window.
pub(crate) struct WindowRule {
    matches_max: usize,
    taken: usize,
    /// The thread that is looked at, whether it is searched, and how much of it was taken.
    thread: Option<(i64, bool, usize)>,
}

pub(crate) enum TextVerdict {
    Take,
    Pass,
    /// No older one does, either.
    Full,
}

impl WindowRule {
    pub(crate) fn new(span: SearchSpan) -> Self {
        let matches_max = match span {
            SearchSpan::Newest | SearchSpan::Below(_) => WINDOW_MATCHES,
            SearchSpan::Between { .. } => usize::MAX,
        };
        Self {
            matches_max,
            taken: 0,
            thread: None,
        }
    }

    /// `is_searched` is asked once for each thread.
    pub(crate) fn judge<E>(
        &mut self,
        place: TextPlace,
        kinds: &[SearchKind],
        is_searched: impl FnOnce(i64) -> Result<bool, E>,
    ) -> Result<TextVerdict, E> {
        let known = self.thread.filter(|(thread, ..)| *thread == place.thread);
        let (is_searched, taken) = match known {
            Some((_, is_searched, taken)) => (is_searched, taken),
            None if self.taken >= self.matches_max => return Ok(TextVerdict::Full),
            None => (is_searched(place.thread)?, 0),
        };
        let has_kind = kinds.is_empty() || kinds.contains(&place.kind);
        let takes = is_searched && has_kind && taken < WINDOW_MATCHES_PER_THREAD;
        let taken = taken + usize::from(takes);
        self.taken += usize::from(takes);
        self.thread = Some((place.thread, is_searched, taken));
        Ok(match takes {
            true => TextVerdict::Take,
            false => TextVerdict::Pass,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_known_again_by_its_number() {
        for (thread, seq) in [(1, 0), (1, 1), (77, 65_536), ((1 << 24) - 1, (1 << 36) - 1)] {
            for kind in SearchKind::ALL {
                let place = TextPlace::of(thread, Seq(seq), kind).expect("it fits");
                assert_eq!(TextPlace::read(place.number()), Some(place));
                assert!(place.number() >= TextPlace::first_of(thread));
                assert!(place.number() <= TextPlace::last_of(thread));
                let (from, upto) = TextPlace::between(thread, Seq(seq), Seq(seq));
                assert!((from..=upto).contains(&place.number()));
            }
        }
        assert_eq!(TextPlace::of(1 << 24, Seq(1), SearchKind::User), None);
        assert_eq!(TextPlace::of(1, Seq(1 << 36), SearchKind::User), None);
        assert!(TextPlace::last_of(1) < TextPlace::first_of(2));
    }
}
