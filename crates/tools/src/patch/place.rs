//! Finds the place of each hunk in a file and makes the file's new text.

use crate::edit::loose::{FileLine, IndentShift, plain};
use crate::nearest;

use super::parse::{HunkLine, PatchHunk};

/// How many places of a hunk that is not unique are named.
const PLACES_SHOWN_MAX: usize = 20;

/// A file's text after its hunks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PatchedText {
    pub text: String,
    /// What the model should know of how it was done.
    pub notes: Vec<String>,
}

/// The text with all hunks made; the error says which one has no place and what is near it.
pub(super) fn patched(before: &str, hunks: &[PatchHunk<'_>]) -> Result<PatchedText, String> {
    let file = FileLine::all(before);
    let mut placed = Vec::new();
    let mut notes = Vec::new();
    let mut from = 0;
    for (index, hunk) in hunks.iter().enumerate() {
        let label = format!("hunk {} (line {} of the patch)", index + 1, hunk.number);
        let place = HunkPlace::find(&file, before, hunk, from)
            .map_err(|problem| format!("{label}: {problem}"))?;
        if let Some(how) = place.form.difference() {
            notes.push(format!("hunk {} matched with {how}", index + 1));
        }
        // What is only added at the end of the file says nothing of where the next one is.
        if !place.old.is_empty() || !hunk.headers.is_empty() {
            from = place.start + place.old.len();
        }
        placed.push(place);
    }
    placed.sort_by_key(|place| place.start);
    let text = assembled(before, &file, &placed);
    if text == before {
        return Err("this would change nothing; nothing to do".to_owned());
    }
    Ok(PatchedText { text, notes })
}

/// How a line of the file must be like one of the hunk, from strict to loose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineForm {
    Exact,
    TrailingBlanks,
    Indentation,
    Punctuation,
}

impl LineForm {
    const ALL: [LineForm; 4] = [
        LineForm::Exact,
        LineForm::TrailingBlanks,
        LineForm::Indentation,
        LineForm::Punctuation,
    ];

    fn is_same(self, line: &str, wanted: &str) -> bool {
        match self {
            LineForm::Exact => line == wanted,
            LineForm::TrailingBlanks => line.trim_end() == wanted.trim_end(),
            LineForm::Indentation => line.trim() == wanted.trim(),
            LineForm::Punctuation => {
                let (line, wanted) = (line.trim().chars(), wanted.trim().chars());
                line.map(plain).eq(wanted.map(plain))
            }
        }
    }

    fn difference(self) -> Option<&'static str> {
        match self {
            LineForm::Exact => None,
            LineForm::TrailingBlanks => Some("other blanks at line ends"),
            LineForm::Indentation => Some("other indentation"),
            LineForm::Punctuation => Some("other quotes, dashes or blanks"),
        }
    }
}

/// Where a hunk goes: before the line `start` of the file, counted from 0.
struct HunkPlace<'a> {
    start: usize,
    /// The lines of the file that it stands for, as the hunk has them.
    old: Vec<&'a str>,
    lines: &'a [HunkLine<'a>],
    form: LineForm,
}

impl<'a> HunkPlace<'a> {
    fn find(
        file: &[FileLine<'_>],
        text: &str,
        hunk: &'a PatchHunk<'a>,
        from: usize,
    ) -> Result<HunkPlace<'a>, String> {
        let headed = below_headers(file, &hunk.headers, from);
        if old_lines(&hunk.lines).is_empty() {
            return inserted(file, hunk, headed);
        }
        // An empty line at the end is often none of the file's.
        let shorter = hunk.lines.strip_suffix(&[HunkLine::Keep("")]);
        let shorter = shorter.filter(|lines| !old_lines(lines).is_empty());
        let forms = [Some(&hunk.lines[..]), shorter];
        // Some repeat the header as the first line, and some name one that is not there.
        let starts = [headed, headed.map(|line| line - 1), Some(from)];
        for start in starts.into_iter().flatten() {
            for lines in forms.into_iter().flatten() {
                let Some((form, places)) = search(file, hunk, lines, start) else {
                    continue;
                };
                let is_headed = headed.is_some_and(|line| start + 1 >= line);
                let start = match places[..] {
                    [start] => start,
                    // The header says which.
                    [start, ..] if is_headed => start,
                    _ => return Err(ambiguous(&places)),
                };
                let old = old_lines(lines);
                return Ok(HunkPlace {
                    start,
                    old,
                    lines,
                    form,
                });
            }
        }
        Err(missed(file, text, hunk, from))
    }
}

/// New lines alone: below what the header names, else at the end of the file.
fn inserted<'a>(
    file: &[FileLine<'_>],
    hunk: &'a PatchHunk<'a>,
    headed: Option<usize>,
) -> Result<HunkPlace<'a>, String> {
    let start = match (headed, hunk.headers.last()) {
        (Some(start), _) if !hunk.at_end => start,
        (None, Some(header)) if !hunk.at_end => {
            return Err(format!(
                "no line {header:?} was found to put the new lines below"
            ));
        }
        (_, _) => file.len(),
    };
    Ok(HunkPlace {
        start,
        old: Vec::new(),
        lines: &hunk.lines,
        form: LineForm::Exact,
    })
}

fn old_lines<'a>(lines: &[HunkLine<'a>]) -> Vec<&'a str> {
    let old = lines.iter().filter_map(|line| match line {
        HunkLine::Keep(text) | HunkLine::Remove(text) => Some(*text),
        HunkLine::Add(_) => None,
    });
    old.collect()
}

/// The line after the last of the headers; `None` where there is none, or one is not in the file.
fn below_headers(file: &[FileLine<'_>], headers: &[&str], from: usize) -> Option<usize> {
    let mut next = None;
    for header in headers {
        let start = next.unwrap_or(from);
        let lines = || file.iter().enumerate().skip(start);
        let same = LineForm::ALL
            .iter()
            .find_map(|form| lines().find(|(_, line)| form.is_same(line.text, header)));
        let found =
            same.or_else(|| lines().find(|(_, line)| line.text.trim().starts_with(header.trim())));
        next = Some(found?.0 + 1);
    }
    next
}

/// The places of the hunk from a line on, in the strictest form that has any.
fn search(
    file: &[FileLine<'_>],
    hunk: &PatchHunk<'_>,
    lines: &[HunkLine<'_>],
    from: usize,
) -> Option<(LineForm, Vec<usize>)> {
    let old = old_lines(lines);
    let rest = file.get(from..).unwrap_or_default();
    LineForm::ALL.into_iter().find_map(|form| {
        let same = |window: &[FileLine<'_>]| {
            let mut pairs = window.iter().zip(&old);
            pairs.all(|(line, wanted)| form.is_same(line.text, wanted))
        };
        let windows = rest.windows(old.len()).enumerate();
        let found = windows.filter(|(_, window)| same(window));
        let mut places: Vec<usize> = found.map(|(at, _)| from + at).collect();
        if hunk.at_end
            && places
                .last()
                .is_some_and(|last| last + old.len() == file.len())
        {
            places.drain(..places.len() - 1);
        }
        (!places.is_empty()).then_some((form, places))
    })
}

fn missed(file: &[FileLine<'_>], text: &str, hunk: &PatchHunk<'_>, from: usize) -> String {
    if let Some((_, places)) = search(file, hunk, &hunk.lines, 0) {
        let line = places[0] + 1;
        return format!(
            "its lines are in the file at line {line}, which is not below the hunk before it; put \
             the hunks in the order of the file"
        );
    }
    let near = nearest::describe(text, &old_lines(&hunk.lines).join("\n"));
    let near = near.unwrap_or_else(|| "nothing like it was found; read the file again".to_owned());
    let after = match from {
        0 => String::new(),
        from => format!(" below line {from}"),
    };
    format!("its lines were not found{after}; {near}")
}

fn ambiguous(places: &[usize]) -> String {
    let shown = places.iter().take(PLACES_SHOWN_MAX);
    let shown: Vec<String> = shown.map(|at| (at + 1).to_string()).collect();
    let more = match places.len() > PLACES_SHOWN_MAX {
        true => ", …",
        false => "",
    };
    format!(
        "its lines occur {} times, at the lines {}{more}; add lines around the change, or name the \
         function or class in an @@ line",
        places.len(),
        shown.join(", ")
    )
}

/// The text with the hunks in their places. What a hunk keeps stays as the file has it, and so does the
/// way the file ends its lines.
fn assembled(before: &str, file: &[FileLine<'_>], placed: &[HunkPlace<'_>]) -> String {
    let line_end = match crate::text::has_crlf(before) {
        true => "\r\n",
        false => "\n",
    };
    let mut out = NewText {
        text: String::with_capacity(before.len()),
        line_end,
    };
    let mut next = 0;
    for place in placed {
        for line in &file[next..place.start] {
            out.keep(before, line);
        }
        next = place.start;
        let there = &file[place.start..place.start + place.old.len()];
        let shift = match place.form {
            LineForm::Indentation => IndentShift::between(there, &place.old),
            LineForm::Exact | LineForm::TrailingBlanks | LineForm::Punctuation => None,
        };
        for line in place.lines {
            match line {
                HunkLine::Keep(_) => {
                    out.keep(before, &file[next]);
                    next += 1;
                }
                HunkLine::Remove(_) => next += 1,
                HunkLine::Add(text) => {
                    let shifted = shift.as_ref().and_then(|shift| shift.apply(text));
                    out.add(shifted.as_deref().unwrap_or(text));
                }
            }
        }
    }
    for line in &file[next..] {
        out.keep(before, line);
    }
    // A file without an end of its last line stays one.
    if !before.is_empty() && !before.ends_with('\n') && out.text.ends_with(line_end) {
        out.text.truncate(out.text.len() - line_end.len());
    }
    out.text
}

struct NewText<'a> {
    text: String,
    line_end: &'a str,
}

impl NewText<'_> {
    fn keep(&mut self, before: &str, line: &FileLine<'_>) {
        self.text.push_str(&before[line.start..line.next]);
        if !self.text.ends_with('\n') {
            self.text.push_str(self.line_end);
        }
    }

    fn add(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push_str(self.line_end);
    }
}

#[cfg(test)]
mod tests;
