//! Finds a text that was given in a slightly other form than the file has it, where that is safe: one
//! place in the whole file, line for line.

use std::ops::Range;

use similar::{ChangeTag, TextDiff};

use super::places;

/// In a longer file, or for a longer text, nothing is looked for.
const CONTENT_BYTES_MAX: usize = 2 * 1024 * 1024;
const WANTED_LINES_MAX: usize = 2000;
const BLANKS: [char; 2] = [' ', '\t'];

/// The one place of a text in another form.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LooseMatch {
    pub place: Range<usize>,
    /// What to put there, in the form of the file.
    pub new: String,
    /// How the file differs from what was given.
    pub how: &'static str,
}

/// The one place that is `old` but for its form. `None`: there is none, there are several, or it cannot
/// be told how `new` should look there.
pub(super) fn find(content: &str, old: &str, new: &str) -> Option<LooseMatch> {
    let (plain_old, plain_new) = (old.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
    if content.len() > CONTENT_BYTES_MAX || plain_old.lines().count() > WANTED_LINES_MAX {
        return None;
    }
    if let [place] = &places::find(content, &plain_old)[..] {
        return Some(LooseMatch {
            place: place.clone(),
            new: plain_new,
            how: "other line ends",
        });
    }
    let wanted = WantedLines::of(&plain_old)?;
    let lines = FileLine::all(content);
    match &wanted.places(&lines, |line| line.trim_end_matches(BLANKS))[..] {
        [] => {}
        [start] => {
            let new = wanted.rewrite(&lines[*start..], &plain_new, &IndentShift::None)?;
            let place = wanted.range(&lines, *start);
            let how = "other blanks at line ends";
            return Some(LooseMatch { place, new, how });
        }
        _ => return None,
    }
    match &wanted.places(&lines, |line| line.trim_matches(BLANKS))[..] {
        [] => with_plain_punctuation(content, &plain_old, &plain_new),
        [start] => {
            let shift = IndentShift::between(&lines[*start..], &wanted.lines)?;
            let new = wanted.rewrite(&lines[*start..], &plain_new, &shift)?;
            let place = wanted.range(&lines, *start);
            let how = "other indentation";
            Some(LooseMatch { place, new, how })
        }
        _ => None,
    }
}

/// A line of the file without its end, and where it stands.
pub(crate) struct FileLine<'a> {
    pub text: &'a str,
    pub start: usize,
    /// Where the next line begins.
    pub next: usize,
}

impl<'a> FileLine<'a> {
    pub fn all(content: &'a str) -> Vec<FileLine<'a>> {
        let mut next = 0;
        let lines = content.split_inclusive('\n').map(|whole| {
            let start = next;
            next += whole.len();
            let text = whole.strip_suffix('\n').unwrap_or(whole);
            let text = text.strip_suffix('\r').unwrap_or(text);
            FileLine { text, start, next }
        });
        lines.collect()
    }
}

/// The text to find, as whole lines.
struct WantedLines<'a> {
    lines: Vec<&'a str>,
    /// Whether the end of the last line is part of the text.
    ended: bool,
}

impl<'a> WantedLines<'a> {
    /// `None` where there is nothing but blanks, which would be anywhere.
    fn of(old: &'a str) -> Option<WantedLines<'a>> {
        let body = old.strip_suffix('\n').unwrap_or(old);
        let lines: Vec<&str> = body.split('\n').collect();
        let filled = lines.iter().any(|line| !line.trim().is_empty());
        filled.then_some(WantedLines {
            lines,
            ended: body.len() < old.len(),
        })
    }

    /// The first two places where all lines are the same, as `form` makes them.
    fn places(&self, lines: &[FileLine<'_>], form: fn(&str) -> &str) -> Vec<usize> {
        let same = |window: &[FileLine<'_>]| {
            let mut pairs = window.iter().zip(&self.lines);
            pairs.all(|(line, wanted)| form(line.text) == form(wanted))
        };
        let windows = lines.windows(self.lines.len()).enumerate();
        let found = windows.filter(|(_, window)| same(window));
        found.map(|(start, _)| start).take(2).collect()
    }

    fn range(&self, lines: &[FileLine<'_>], start: usize) -> Range<usize> {
        let last = &lines[start + self.lines.len() - 1];
        let end = match self.ended {
            true => last.next,
            false => last.start + last.text.len(),
        };
        lines[start].start..end
    }

    /// The new text in the form of the file: a line that was only given as context stays as it is
    /// there, every other one is shifted.
    fn rewrite(
        &self,
        lines: &[FileLine<'_>],
        new: &str,
        shift: &IndentShift<'_>,
    ) -> Option<String> {
        let mut there: Vec<&str> = lines.iter().map(|line| line.text).collect();
        there.truncate(self.lines.len());
        let mut wanted = self.lines.clone();
        if self.ended {
            there.push("");
            wanted.push("");
        }
        rewritten(&wanted, &there, new, shift)
    }
}

fn rewritten(
    wanted: &[&str],
    there: &[&str],
    new: &str,
    shift: &IndentShift<'_>,
) -> Option<String> {
    let new: Vec<&str> = new.split('\n').collect();
    let diff = TextDiff::from_slices(wanted, &new);
    let mut lines = Vec::with_capacity(new.len());
    for change in diff.iter_all_changes() {
        match (change.tag(), change.old_index()) {
            (ChangeTag::Equal, Some(index)) => lines.push((*there.get(index)?).to_owned()),
            (ChangeTag::Equal | ChangeTag::Insert, _) => lines.push(shift.apply(change.value())?),
            (ChangeTag::Delete, _) => {}
        }
    }
    Some(lines.join("\n"))
}

/// How the indentation of the file differs from what was given: the same for all lines.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum IndentShift<'a> {
    None,
    /// The file has this much more.
    Deeper(&'a str),
    /// The file has this much less.
    Shallower(&'a str),
    /// The file has a tab for so many spaces.
    Tabs(usize),
    /// The file has so many spaces for a tab.
    Spaces(usize),
}

impl<'a> IndentShift<'a> {
    pub fn between(lines: &[FileLine<'a>], wanted: &[&'a str]) -> Option<IndentShift<'a>> {
        let pairs = lines.iter().zip(wanted);
        let filled = pairs.filter(|(_, wanted)| !wanted.trim_matches(BLANKS).is_empty());
        let pairs = filled.map(|(line, &wanted)| (indent(line.text), indent(wanted)));
        let pairs: Vec<(&str, &str)> = pairs.collect();
        let turned: Vec<(&str, &str)> = pairs.iter().map(|(a, b)| (*b, *a)).collect();
        let shifts = [
            deeper(&pairs).map(IndentShift::Deeper),
            deeper(&turned).map(IndentShift::Shallower),
            tab_width(&pairs).map(IndentShift::Tabs),
            tab_width(&turned).map(IndentShift::Spaces),
        ];
        shifts.into_iter().flatten().next()
    }

    /// The line as it should be in the file; `None` if it has less indentation than is to be taken
    /// away.
    pub fn apply(&self, line: &str) -> Option<String> {
        let (before, rest) = line.split_at(indent(line).len());
        if rest.is_empty() {
            return Some(line.to_owned());
        }
        Some(match self {
            IndentShift::None => line.to_owned(),
            IndentShift::Deeper(more) => format!("{more}{line}"),
            IndentShift::Shallower(less) => line.strip_prefix(less)?.to_owned(),
            IndentShift::Tabs(width) => {
                let spaces = " ".repeat(*width);
                format!("{}{rest}", before.replace(&spaces, "\t"))
            }
            IndentShift::Spaces(width) => {
                format!("{}{rest}", before.replace('\t', &" ".repeat(*width)))
            }
        })
    }
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches(BLANKS).len()]
}

/// What the first of each pair has before the second, the same for all.
fn deeper<'a>(pairs: &[(&'a str, &'a str)]) -> Option<&'a str> {
    let (one, other) = pairs.first()?;
    let more = one.strip_suffix(other)?;
    let same = |(one, other): &(&str, &str)| one.strip_prefix(more) == Some(*other);
    pairs.iter().all(same).then_some(more)
}

/// How many spaces of the second stand for one tab of the first, the same for all.
fn tab_width(pairs: &[(&str, &str)]) -> Option<usize> {
    let (tabs, spaces) = pairs.iter().find(|(tabs, _)| !tabs.is_empty())?;
    let width = spaces.len() / tabs.len();
    let same = |(tabs, spaces): &(&str, &str)| {
        let only = tabs.chars().all(|letter| letter == '\t');
        only && spaces.chars().all(|letter| letter == ' ') && spaces.len() == tabs.len() * width
    };
    (width > 0 && pairs.iter().all(same)).then_some(width)
}

/// Typographic punctuation and blanks as a keyboard has them.
pub(crate) fn plain(letter: char) -> char {
    match letter {
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}

fn with_plain_punctuation(content: &str, old: &str, new: &str) -> Option<LooseMatch> {
    let plain_content: String = content.chars().map(plain).collect();
    let plain_old: String = old.chars().map(plain).collect();
    let mut found = plain_content.match_indices(&plain_old);
    let (Some((at, _)), None) = (found.next(), found.next()) else {
        return None;
    };
    // Letters stand for letters, so that places can be counted in them.
    let before = plain_content[..at].chars().count();
    let length = plain_old.chars().count();
    let mut ends = content.char_indices().map(|(at, _)| at);
    let start = ends.nth(before)?;
    let end = match length {
        0 => return None,
        length => ends.nth(length - 1).unwrap_or(content.len()),
    };
    let there: Vec<&str> = content[start..end].split('\n').collect();
    let wanted: Vec<&str> = old.split('\n').collect();
    Some(LooseMatch {
        place: start..end,
        new: rewritten(&wanted, &there, new, &IndentShift::None)?,
        how: "other quotes, dashes or blanks",
    })
}

#[cfg(test)]
mod tests;
