//! Tells a model that missed a text what the file has instead.

use std::collections::HashMap;
use std::ops::Range;

use similar::{ChangeTag, TextDiff};

/// In a longer file nothing is looked for.
const CONTENT_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Nor for a longer text.
const WANTED_BYTES_MAX: usize = 64 * 1024;
/// So many places of one line are followed.
const SAME_LINES_MAX: usize = 64;
/// How many lines are compared letter by letter, and how much of each.
const COMPARED_LINES_MAX: usize = 20_000;
const COMPARED_CHARS_MAX: usize = 200;
/// Lines that are less alike are not worth showing.
const LIKENESS_MIN: f64 = 0.6;
/// A longer comparison is cut.
const SHOWN_CHARS_MAX: usize = 3000;

/// What of the file comes nearest to `wanted`, and how it differs. `wanted` does not occur in it.
pub(crate) fn describe(content: &str, wanted: &str) -> Option<String> {
    if content.len() > CONTENT_BYTES_MAX || wanted.len() > WANTED_BYTES_MAX {
        return None;
    }
    if let Some(bare) = without_numbers(wanted)
        && content.contains(&bare)
    {
        return Some("it has the line numbers that read shows; leave them out".to_owned());
    }
    let (lines, how) = loosely(content, wanted).or_else(|| alike(content, wanted))?;
    let near: Vec<&str> = content
        .lines()
        .skip(lines.start)
        .take(lines.len())
        .collect();
    let place = match lines.len() {
        1 => format!("line {}", lines.start + 1),
        _ => format!("the lines {}-{}", lines.start + 1, lines.end),
    };
    let verb = if lines.len() == 1 {
        "differs"
    } else {
        "differ"
    };
    Some(match how {
        Some(how) => format!("{place} {verb} only in {how} {}", compare(wanted, &near)),
        None => format!("nearest: {place} {}", compare(wanted, &near)),
    })
}

/// The text without a number and a tab before each line, if all lines have them.
fn without_numbers(wanted: &str) -> Option<String> {
    let bare = |line: &str| {
        let (number, rest) = line.split_once('\t')?;
        let number = number.trim();
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| rest.to_owned())
    };
    let lines: Option<Vec<String>> = wanted.lines().map(bare).collect();
    lines.map(|lines| lines.join("\n"))
}

/// A letter as it counts in a loose comparison; `None` if it does not.
type Loosen = fn(char) -> Option<char>;

fn blanks(letter: char) -> Option<char> {
    (!letter.is_whitespace() && letter != '\u{200b}' && letter != '\u{feff}').then_some(letter)
}

fn quotes(letter: char) -> Option<char> {
    blanks(match letter {
        '\u{2018}' | '\u{2019}' | '`' | '"' | '\u{201c}' | '\u{201d}' => '\'',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        other => other,
    })
}

fn case(letter: char) -> Option<char> {
    quotes(letter).and_then(|letter| letter.to_lowercase().next())
}

const LEVELS: [(Loosen, &str); 3] = [
    (blanks, "blanks or line breaks"),
    (quotes, "quotes, dashes or blanks"),
    (case, "upper and lower case, quotes or blanks"),
];

/// The lines that are the same but for such differences, and which those are.
fn loosely(content: &str, wanted: &str) -> Option<(Range<usize>, Option<&'static str>)> {
    LEVELS.iter().find_map(|(loosen, how)| {
        let target: String = wanted.chars().filter_map(*loosen).collect();
        if target.is_empty() {
            return None;
        }
        let loose: String = content.chars().filter_map(*loosen).collect();
        let at = loose.find(&target)?;
        let first = loose[..at].chars().count();
        let last = first + target.chars().count() - 1;
        Some((lines_of(content, *loosen, first, last), Some(*how)))
    })
}

/// The lines that hold the letters `first` to `last`, counting those that count.
fn lines_of(content: &str, loosen: Loosen, first: usize, last: usize) -> Range<usize> {
    let (mut line, mut counted, mut start) = (0, 0, 0);
    for letter in content.chars() {
        if loosen(letter).is_some() {
            if counted == first {
                start = line;
            }
            if counted == last {
                break;
            }
            counted += 1;
        }
        if letter == '\n' {
            line += 1;
        }
    }
    start..line + 1
}

/// The lines that have most lines in common with `wanted`, or one that is much like one of it.
fn alike(content: &str, wanted: &str) -> Option<(Range<usize>, Option<&'static str>)> {
    let lines: Vec<&str> = content.lines().collect();
    let targets: Vec<&str> = wanted.lines().map(str::trim).collect();
    let start = most_in_common(&lines, &targets).or_else(|| most_like(&lines, &targets))?;
    let end = (start + targets.len()).min(lines.len());
    Some((start..end, None))
}

fn most_in_common(lines: &[&str], targets: &[&str]) -> Option<usize> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, line) in lines.iter().enumerate() {
        let line = line.trim();
        // A bracket alone says nothing about the place.
        if line.len() > 2 {
            places.entry(line).or_default().push(index);
        }
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (offset, target) in targets.iter().enumerate() {
        let found = places.get(target).map_or(&[][..], Vec::as_slice);
        for index in found.iter().take(SAME_LINES_MAX) {
            *votes.entry(index.saturating_sub(offset)).or_default() += 1;
        }
    }
    let best = votes
        .into_iter()
        .max_by_key(|(start, votes)| (*votes, std::cmp::Reverse(*start)));
    best.map(|(start, _)| start)
}

fn most_like(lines: &[&str], targets: &[&str]) -> Option<usize> {
    let (offset, target) = targets
        .iter()
        .enumerate()
        .max_by_key(|(_, line)| line.len())?;
    let short = |line: &str| {
        line.trim()
            .chars()
            .take(COMPARED_CHARS_MAX)
            .collect::<String>()
    };
    let target = short(target);
    let likeness = |line: &&str| strsim::sorensen_dice(&short(line), &target);
    let compared = lines
        .iter()
        .take(COMPARED_LINES_MAX)
        .map(likeness)
        .enumerate();
    let (index, best) = compared.max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    (best >= LIKENESS_MIN).then(|| index.saturating_sub(offset))
}

fn compare(wanted: &str, near: &[&str]) -> String {
    let wanted: Vec<&str> = wanted.lines().collect();
    let diff = TextDiff::from_slices(&wanted, near);
    let mut text = "(- what you gave, + what the file has, tabs shown as \\t):".to_owned();
    for change in diff.iter_all_changes() {
        let mark = match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => ' ',
        };
        text.push_str(&format!("\n{mark}{}", change.value().replace('\t', "\\t")));
    }
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((cut, _)) => format!("{}… [cut]", &text[..cut]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const CONTENT: &str = "use std;\n\nfn one() {\n    let a = \"x\";\n    two(a, 7);\n}\n";

    #[test]
    fn a_difference_of_form_is_named() {
        let table = [
            (
                "fn one()  {\n  let a",
                "the lines 3-4 differ only in blanks or line breaks",
            ),
            ("two(a,7)", "line 5 differs only in blanks"),
            (
                "let a = \u{201c}x\u{201d};",
                "line 4 differs only in quotes, dashes or blanks",
            ),
            ("fn ONE()", "line 3 differs only in upper and lower case"),
            (
                "3\tfn one() {\n4\t    let a",
                "it has the line numbers that read shows",
            ),
        ];
        for (wanted, expected) in table {
            let told = describe(CONTENT, wanted).unwrap();
            assert!(told.starts_with(expected), "{told}");
        }
    }

    #[test]
    fn the_place_with_most_in_common_is_compared() {
        let told = describe(CONTENT, "fn one() {\n    let a = \"x\";\n    two(a, 8);\n}").unwrap();
        assert_eq!(
            told,
            "nearest: the lines 3-6 (- what you gave, + what the file has, tabs shown as \\t):\n \
             fn one() {\n     let a = \"x\";\n-    two(a, 8);\n+    two(a, 7);\n }"
        );
        let told = describe(CONTENT, "    two(b, 7);").unwrap();
        assert!(told.starts_with("nearest: line 5 "), "{told}");
        assert_eq!(describe(CONTENT, "something else entirely"), None);
        assert_eq!(describe("", "x"), None);
    }
}
