//! What counts as a word, for what is searched and for what it is searched with: the same in every store.
//!
//! Case and diacritics do not count. Whatever is neither letter nor digit parts words, so that a path and an
//! identifier are found by their parts; the parts of `camelCase` are kept behind the text. Scripts that write
//! without spaces have a word per character, and a run of them in a query is a phrase.

use std::ops::Range;

use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// Longer words are cut, in texts and in queries alike.
const WORD_BYTES_MAX: usize = 40;
/// What a query may have; what is beyond is not looked for.
const PHRASES_MAX: usize = 16;
const PHRASE_WORDS_MAX: usize = 32;
/// The last word of a query may be the beginning of one, if it has as many letters as this. Shorter ones
/// begin too many.
const PREFIX_CHARS_MIN: usize = 3;
/// Stands between the text and the parts of its identifiers, so that no phrase reaches across. It is in no word.
const BREAK: &str = "¦";

/// The words of a text, each with its place in it.
#[derive(Clone, Debug, Default)]
pub struct TextWords {
    /// Words as they are compared, parted by blanks.
    folded: String,
    words: Vec<PlacedWord>,
}

#[derive(Clone, Debug)]
struct PlacedWord {
    /// In `folded`.
    at: Range<usize>,
    /// In the text.
    range: Range<usize>,
}

impl TextWords {
    pub fn of(text: &str) -> Self {
        let mut found = Self::default();
        let mut identifiers = Vec::new();
        each_word(text, |range, is_mixed| {
            found.push(&text[range.clone()], range.start);
            if is_mixed {
                identifiers.push(range);
            }
        });
        for range in identifiers {
            found.add(BREAK, range.end..range.end);
            for part in parts(&text[range.clone()]) {
                let start = range.start + part.start;
                found.push(&text[start..range.start + part.end], start);
            }
        }
        found
    }

    /// The words as an index takes them.
    pub fn folded(&self) -> &str {
        &self.folded
    }

    pub fn len(&self) -> usize {
        self.words.len()
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    fn push(&mut self, word: &str, start: usize) {
        let range = start..start + word.len();
        let begin = self.begin();
        let mut letters = 0;
        for letter in word.chars() {
            fold(letter, &mut |folded| {
                if self.folded.len() + folded.len_utf8() <= begin + WORD_BYTES_MAX {
                    self.folded.push(folded);
                    letters += 1;
                }
            });
        }
        match letters {
            0 => self.folded.truncate(begin.saturating_sub(1)),
            _ => self.end(begin, range),
        }
    }

    fn add(&mut self, word: &str, range: Range<usize>) {
        let begin = self.begin();
        self.folded.push_str(word);
        self.end(begin, range);
    }

    fn begin(&mut self) -> usize {
        if !self.folded.is_empty() {
            self.folded.push(' ');
        }
        self.folded.len()
    }

    fn end(&mut self, begin: usize, range: Range<usize>) {
        let at = begin..self.folded.len();
        self.words.push(PlacedWord { at, range });
    }

    fn word(&self, place: usize) -> Option<&str> {
        let word = self.words.get(place)?;
        Some(&self.folded[word.at.clone()])
    }
}

/// What a query looks for: phrases, all of which a text must have. A lone word is a phrase of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchTerms {
    pub phrases: Vec<Phrase>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phrase {
    pub words: Vec<String>,
    /// Whether its last word may go on.
    pub is_prefix: bool,
}

/// Where a text has a phrase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhrasePlaces {
    /// In the text, in bytes.
    pub places: Vec<Range<usize>>,
}

impl SearchTerms {
    /// Whatever was typed has a meaning; at worst it looks for nothing.
    pub fn of(query: &str) -> Self {
        let mut terms = Self::default();
        let mut pieces = query.split('"');
        let mut is_quoted = false;
        while let Some(piece) = pieces.next() {
            let is_last = pieces.clone().next().is_none();
            match is_quoted {
                true => terms.add(piece, is_last),
                false => {
                    let mut words = piece.split_whitespace().peekable();
                    while let Some(word) = words.next() {
                        terms.add(word, is_last && words.peek().is_none());
                    }
                }
            }
            is_quoted = !is_quoted;
        }
        terms
    }

    fn add(&mut self, text: &str, is_last: bool) {
        let mut phrase = Phrase::default();
        each_word(text, |range, _| {
            let mut word = TextWords::default();
            word.push(&text[range], 0);
            let has_room = phrase.words.len() < PHRASE_WORDS_MAX;
            if has_room && !word.is_empty() {
                phrase.words.push(word.folded);
            }
        });
        let Some(last) = phrase.words.last() else {
            return;
        };
        phrase.is_prefix = is_last
            && last.chars().count() >= PREFIX_CHARS_MIN
            && !last.chars().all(is_word_by_itself);
        if self.phrases.len() < PHRASES_MAX {
            self.phrases.push(phrase);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.phrases.is_empty()
    }

    /// The same, but that the last word must be whole.
    pub fn exact(&self) -> Self {
        let exact = |phrase: &Phrase| Phrase {
            words: phrase.words.clone(),
            is_prefix: false,
        };
        Self {
            phrases: self.phrases.iter().map(exact).collect(),
        }
    }

    pub fn has_prefix(&self) -> bool {
        self.phrases.iter().any(|phrase| phrase.is_prefix)
    }

    /// Where a text has each phrase. Nothing, if it lacks one, or there is none.
    pub fn find(&self, text: &TextWords) -> Option<Vec<PhrasePlaces>> {
        if self.is_empty() {
            return None;
        }
        let mut found = Vec::with_capacity(self.phrases.len());
        for phrase in &self.phrases {
            let starts = 0..text.words.len();
            let places: Vec<Range<usize>> = starts
                .filter(|start| phrase.is_at(text, *start))
                .map(|start| {
                    let last = start + phrase.words.len() - 1;
                    text.words[start].range.start..text.words[last].range.end
                })
                .collect();
            if places.is_empty() {
                return None;
            }
            found.push(PhrasePlaces { places });
        }
        Some(found)
    }
}

impl Phrase {
    fn is_at(&self, text: &TextWords, start: usize) -> bool {
        let last = self.words.len().saturating_sub(1);
        self.words.iter().enumerate().all(|(place, word)| {
            let found = text.word(start + place);
            found.is_some_and(|found| match self.is_prefix && place == last {
                true => found.starts_with(word.as_str()),
                false => found == word,
            })
        })
    }
}

/// Tells each word's place, and whether it has small letters before capitals.
fn each_word(text: &str, mut tell: impl FnMut(Range<usize>, bool)) {
    let mut start = None;
    let mut is_mixed = false;
    let mut was_small = false;
    for (at, letter) in text.char_indices() {
        let is_letter = is_of_word(letter);
        let is_alone = is_letter && !letter.is_ascii() && is_word_by_itself(letter);
        let goes_on = is_letter || start.is_some() && is_mark(letter);
        if !goes_on || is_alone {
            if let Some(start) = start.take() {
                tell(start..at, is_mixed);
            }
            (is_mixed, was_small) = (false, false);
            if is_alone {
                tell(at..at + letter.len_utf8(), false);
            }
            continue;
        }
        start.get_or_insert(at);
        is_mixed |= was_small && letter.is_uppercase();
        was_small = letter.is_lowercase();
    }
    if let Some(start) = start {
        tell(start..text.len(), is_mixed);
    }
}

/// The parts of a word of mixed letters: `HTTPServerName` has `HTTP`, `Server`, `Name`.
fn parts(word: &str) -> Vec<Range<usize>> {
    let letters: Vec<(usize, char)> = word.char_indices().collect();
    let mut found = Vec::new();
    let mut start = 0;
    for place in 1..letters.len() {
        let (at, letter) = letters[place];
        let before = letters[place - 1].1;
        let is_next_small = letters
            .get(place + 1)
            .is_some_and(|(_, next)| next.is_lowercase());
        let begins = letter.is_uppercase()
            && (before.is_lowercase() || before.is_numeric() || is_next_small);
        if begins {
            found.push(start..at);
            start = at;
        }
    }
    found.push(start..word.len());
    found
}

fn is_of_word(letter: char) -> bool {
    match letter.is_ascii() {
        true => letter.is_ascii_alphanumeric(),
        false => letter.is_alphanumeric(),
    }
}

fn is_mark(letter: char) -> bool {
    !letter.is_ascii() && is_combining_mark(letter)
}

/// Whether a character is of a script that puts no spaces between words.
fn is_word_by_itself(letter: char) -> bool {
    matches!(letter as u32,
        // Thai, Lao, Burmese, Khmer.
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF
        // Kana, Bopomofo, Han, Hangul.
        | 0x3040..=0x312F | 0x31F0..=0x31FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF
        | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0xFF66..=0xFF9D | 0x20000..=0x3FFFF)
}

/// A letter as it is compared: small, and without what stands above or below it.
fn fold(letter: char, tell: &mut impl FnMut(char)) {
    if letter.is_ascii() {
        return tell(letter.to_ascii_lowercase());
    }
    if is_word_by_itself(letter) {
        return tell(letter);
    }
    decompose_compatible(letter, |part| {
        for small in part.to_lowercase() {
            if small.is_alphanumeric() && !is_combining_mark(small) {
                tell(small);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> String {
        TextWords::of(text).folded().to_owned()
    }

    fn found<'a>(query: &str, text: &'a str) -> Option<Vec<&'a str>> {
        let places = SearchTerms::of(query).find(&TextWords::of(text))?;
        let places = places.into_iter().flat_map(|phrase| phrase.places);
        Some(places.map(|range| &text[range]).collect())
    }

    #[test]
    fn case_and_diacritics_do_not_count() {
        assert_eq!(folded("Größe ÉCLAIR naïve"), "große eclair naive");
        assert_eq!(folded("e\u{301}te\u{301}"), "ete", "decomposed already");
        assert_eq!(found("eclair", "un Éclair!"), Some(vec!["Éclair"]));
        assert_eq!(
            found("ÉTÉ", "l'e\u{301}te\u{301} dernier"),
            Some(vec!["e\u{301}te\u{301}"])
        );
        assert_eq!(
            folded("ＡＢＣ１２"),
            "abc12",
            "wide forms are the same letters"
        );
    }

    #[test]
    fn paths_and_identifiers_are_found_by_their_parts() {
        let path = "edit src/foo_bar.rs now";
        for query in [
            "foo_bar",
            "foo",
            "bar",
            "foo_bar.rs",
            "src/foo",
            "src/foo_bar.rs",
        ] {
            assert!(found(query, path).is_some(), "{query}");
        }
        assert_eq!(
            found("src/bar", path),
            None,
            "its parts must follow each other"
        );
        assert_eq!(
            found("server", "an HTTPServerName here"),
            Some(vec!["Server"])
        );
        assert_eq!(
            found("httpservername", "HTTPServerName"),
            Some(vec!["HTTPServerName"])
        );
        assert_eq!(
            found("http_server", "HTTPServerName"),
            Some(vec!["HTTPServer"])
        );
        assert_eq!(
            found("\"here an\"", "anHttp is here"),
            None,
            "nothing reaches into the parts"
        );
    }

    #[test]
    fn scripts_without_spaces_have_a_word_per_character() {
        let text = "設定ファイルを開く, 확인했습니다";
        assert_eq!(found("設定", text), Some(vec!["設定"]));
        assert_eq!(found("ファイル", text), Some(vec!["ファイル"]));
        assert_eq!(found("확인", text), Some(vec!["확인"]));
        assert_eq!(found("定設", text), None);
    }

    #[test]
    fn all_words_count_and_the_last_one_may_be_cut_off() {
        let text = "The quick brown fox";
        assert_eq!(found("fox qui", text), Some(vec!["fox", "quick"]));
        assert_eq!(found("qui fox", text), None, "only the last one");
        assert_eq!(found("fo", text), None, "and not one of two letters");
        assert_eq!(
            found("\"quick brown\" fox", text),
            Some(vec!["quick brown", "fox"])
        );
        assert_eq!(found("\"brown quick\"", text), None);
        assert_eq!(
            found("\"quick bro\"", text),
            None,
            "a closed quote is whole"
        );
        assert_eq!(found("\"quick bro", text), Some(vec!["quick brown"]));
        assert_eq!(found("", text), None);
        assert_eq!(found("?! \"\" \"", text), None);
    }

    #[test]
    fn long_words_are_cut_on_both_sides() {
        let long = "x".repeat(500);
        assert_eq!(folded(&long).len(), WORD_BYTES_MAX);
        assert!(found(&long, &long).is_some());
        let many = "word ".repeat(500);
        assert_eq!(SearchTerms::of(&many).phrases.len(), PHRASES_MAX);
    }
}
