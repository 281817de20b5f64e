//! A piece of a text around what was searched for.

use std::ops::Range;

/// How long a piece is, what marks a cut not counted.
const SNIPPET_CHARS: usize = 200;
/// What stands before the first match.
const BEFORE_CHARS: usize = 60;
const CUT: &str = "…";

/// The piece that has the most of the phrases, the first of several; and where they are in it, in bytes.
/// Line breaks are blanks in it.
pub fn cut(text: &str, phrases: &[Vec<Range<usize>>]) -> (String, Vec<Range<usize>>) {
    let mut places: Vec<(usize, &Range<usize>)> = phrases
        .iter()
        .enumerate()
        .flat_map(|(phrase, places)| places.iter().map(move |place| (phrase, place)))
        .collect();
    places.sort_by_key(|(_, place)| (place.start, place.end));
    let reach = SNIPPET_CHARS - BEFORE_CHARS;
    let phrases_from = |from: usize| {
        let near = places.iter().skip_while(|(_, place)| place.start < from);
        let near = near.take_while(|(_, place)| place.end <= from + reach);
        let mut near: Vec<usize> = near.map(|(phrase, _)| *phrase).collect();
        near.sort_unstable();
        near.dedup();
        near.len()
    };
    let starts = places.iter().map(|(_, place)| place.start);
    // The last of the greatest is the first when asked from the end.
    let start = starts
        .rev()
        .max_by_key(|start| phrases_from(*start))
        .unwrap_or(0);
    let before = text[..start].char_indices().rev().take(BEFORE_CHARS).last();
    let from = before.map_or(start, |(at, _)| at);
    let behind = text[from..].char_indices().nth(SNIPPET_CHARS);
    let upto = behind.map_or(text.len(), |(at, _)| from + at);
    let head = if from > 0 { CUT } else { "" };
    let tail = if upto < text.len() { CUT } else { "" };
    let blank = |letter: char| {
        if letter.is_ascii_control() {
            ' '
        } else {
            letter
        }
    };
    let piece: String = text[from..upto].chars().map(blank).collect();
    let within = places
        .iter()
        .filter(|(_, it)| it.start >= from && it.start < upto);
    let moved = within.map(|(_, place)| {
        let end = place.end.min(upto);
        head.len() + place.start - from..head.len() + end - from
    });
    (format!("{head}{piece}{tail}"), joined(moved))
}

/// Without overlaps.
fn joined(ranges: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match all.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => all.push(range),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str, words: &[&str]) -> String {
        let places = |word: &&str| {
            let found = text.match_indices(*word);
            found.map(|(at, word)| at..at + word.len()).collect()
        };
        let phrases: Vec<Vec<Range<usize>>> = words.iter().map(places).collect();
        let (snippet, matches) = cut(text, &phrases);
        let mut marked = snippet;
        for range in matches.into_iter().rev() {
            marked.insert(range.end, ']');
            marked.insert(range.start, '[');
        }
        marked
    }

    #[test]
    fn a_short_text_is_whole() {
        assert_eq!(
            marked("the key\nand the lock", &["key", "lock"]),
            "the [key] and the [lock]"
        );
        assert_eq!(marked("keykey", &["keyk", "key"]), "[keykey]");
        assert_eq!(cut("", &[]), (String::new(), Vec::new()));
    }

    #[test]
    fn a_long_one_is_cut_where_most_of_the_words_are() {
        let far = "é".repeat(300);
        let text = format!("key {far} lock and key {far}");
        let shown = marked(&text, &["key", "lock"]);
        assert!(shown.starts_with(CUT) && shown.ends_with(CUT), "{shown}");
        assert!(shown.contains("[lock] and [key]"), "{shown}");
        assert!(shown.chars().count() <= SNIPPET_CHARS + 8, "{shown}");
    }
}
