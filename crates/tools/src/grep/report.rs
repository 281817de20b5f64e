//! Tells what a search found: lines, files or counts, and what there is beyond the limit.

use std::cmp::Reverse;

use serde_json::Value;

use super::lines::LineRole;
use super::search::{FileMatches, SearchResult};
use super::{GrepRequest, UnsearchedFiles};
use crate::Failure;
use crate::input::Fields;

/// Of so many files the counts are shown before the lines.
const COUNTED_FILES_MAX: usize = 50;

/// What is told of each file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GrepMode {
    Lines,
    Files,
    Counts,
}

impl GrepMode {
    pub const NAMES: [&str; 3] = ["lines", "files", "counts"];

    pub fn of(fields: &Fields<'_>) -> Result<GrepMode, Failure> {
        match fields.get("mode").map(Value::as_str) {
            None | Some(Some("lines")) => Ok(GrepMode::Lines),
            Some(Some("files")) => Ok(GrepMode::Files),
            Some(Some("counts")) => Ok(GrepMode::Counts),
            Some(_) => Err(fields.refuse("mode", "lines, files or counts")),
        }
    }
}

pub(super) fn nothing_in_binary(given: &str) -> String {
    format!("No matches found. ({given} is a binary file; search it with a command)")
}

/// A search in vain says how far it went, so that nobody takes it for more.
pub(super) fn nothing(searched: usize, left_out: &UnsearchedFiles) -> String {
    let mut text = format!("No matches found in {}.", counted(searched, "file"));
    match (&left_out.example, left_out.more) {
        (Some(example), _) => text.push_str(&format!(
            " Files that are hidden or that git ignores have some, such as {example}: to search \
             them, name a file or directory of them in \"path\"."
        )),
        (None, true) => text.push_str(" Not all hidden and ignored files were searched."),
        (None, false) => {}
    }
    text
}

/// Threads finish in any order, so all is sorted: by name, or the newest first where not all is told.
pub(super) fn tell(request: &GrepRequest, found: SearchResult) -> String {
    let mut files = found.files;
    let total: usize = files.iter().map(|file| file.count).sum();
    files.sort_by(|one, other| one.path.cmp(&other.path));
    if request.mode == GrepMode::Lines && total <= request.limit {
        return lines(request, &files, usize::MAX);
    }
    files.sort_by_key(|file| Reverse(file.modified));
    match request.mode {
        GrepMode::Lines => {
            let head = format!(
                "[{} in {}, more than the limit of {}; counts first, the newest file first]",
                counted(total, "match"),
                counted(files.len(), "file"),
                request.limit
            );
            let each = (request.limit / files.len()).max(1);
            let shown = &files[..files.len().min(request.limit)];
            let counts = counts(&files, COUNTED_FILES_MAX);
            format!("{head}\n{counts}\n\n{}", lines(request, shown, each))
        }
        GrepMode::Files => listed(&files, request.limit, |file| file.shown.clone()),
        GrepMode::Counts => {
            let sum = format!(
                "[{} in {}]",
                counted(total, "match"),
                counted(files.len(), "file")
            );
            format!("{}\n{sum}", counts(&files, request.limit))
        }
    }
}

fn counts(files: &[FileMatches], files_max: usize) -> String {
    listed(files, files_max, |file| {
        format!("{}:{}", file.shown, file.count)
    })
}

fn listed(
    files: &[FileMatches],
    files_max: usize,
    tell: impl Fn(&FileMatches) -> String,
) -> String {
    let mut listed: Vec<String> = files.iter().take(files_max).map(tell).collect();
    if files.len() > files_max {
        listed.push(format!(
            "[{files_max} of {} files, the newest; narrow the search or raise limit]",
            files.len()
        ));
    }
    listed.join("\n")
}

/// The lines of the first matches of each file.
fn lines(request: &GrepRequest, files: &[FileMatches], matches_max: usize) -> String {
    let separator = if request.context > 0 { "\n--\n" } else { "\n" };
    let texts: Vec<String> = files
        .iter()
        .map(|file| lines_of(file, matches_max))
        .filter(|text| !text.is_empty())
        .collect();
    texts.join(separator)
}

fn lines_of(file: &FileMatches, matches_max: usize) -> String {
    let mut matches = 0;
    let mut shown: Vec<String> = Vec::new();
    for line in &file.lines {
        matches += usize::from(line.role == LineRole::Match);
        if matches > matches_max {
            break;
        }
        let (path, number, text) = (&file.shown, line.number, &line.text);
        shown.push(match line.role {
            LineRole::Match | LineRole::Continued => format!("{path}:{number}:{text}"),
            LineRole::Around => format!("{path}-{number}-{text}"),
            LineRole::Gap => "--".to_owned(),
        });
    }
    // What came before a match that is left out.
    if shown.last().is_some_and(|line| line == "--") {
        shown.pop();
    }
    shown.join("\n")
}

fn counted(count: usize, one: &str) -> String {
    match (count, one) {
        (1, one) => format!("1 {one}"),
        (count, "match") => format!("{count} matches"),
        (count, one) => format!("{count} {one}s"),
    }
}
