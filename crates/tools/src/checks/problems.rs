//! What checkers complain of, read from what they write: `path:line: message`, whoever wrote it how.

use std::fmt;
use std::path::Path;

/// More are not told apart.
const PROBLEMS_MAX: usize = 2000;
/// Of an output in which no place is named, the last lines.
const LINES_MAX: usize = 20;
/// A longer message is cut.
const MESSAGE_CHARS_MAX: usize = 300;

/// One complaint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// From the workspace on, where it is inside; `None` where none is named.
    pub path: Option<String>,
    pub line: Option<u32>,
    pub message: String,
}

impl Problem {
    /// Whether it is the same complaint, wherever its line has moved to.
    pub fn is_same(&self, other: &Problem) -> bool {
        self.path == other.path && self.message == other.message
    }

    /// Whether what fails is most likely something else.
    pub fn is_warning(&self) -> bool {
        self.message.starts_with("warn")
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.path, self.line) {
            (Some(path), Some(line)) => write!(out, "{path}:{line}: {}", self.message),
            (Some(path), None) => write!(out, "{path}: {}", self.message),
            (None, _) => out.write_str(&self.message),
        }
    }
}

/// The complaints of an output; its last lines where none of them names a place.
pub(super) fn read(directory: &Path, output: &str) -> Vec<Problem> {
    let mut reading = OutputReader::default();
    let mut problems: Vec<Problem> = Vec::new();
    for line in output.lines() {
        let Some(problem) = reading.problem(directory, line) else {
            continue;
        };
        // Compilers say the same of a library and of its tests.
        let is_known = problems.last().is_some_and(|last| *last == problem);
        if !is_known && problems.len() < PROBLEMS_MAX {
            problems.push(problem);
        }
    }
    if problems.is_empty() {
        return last_lines(output);
    }
    problems
}

fn last_lines(output: &str) -> Vec<Problem> {
    let lines = output.lines().map(str::trim_end);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    let first = lines.len().saturating_sub(LINES_MAX);
    let plain = |line: &&str| Problem {
        path: None,
        line: None,
        message: cut(line),
    };
    lines[first..].iter().map(plain).collect()
}

/// What came before a line and belongs to it.
#[derive(Default)]
struct OutputReader<'a> {
    /// A line with nothing but a path: those below it are about that file.
    heading: Option<&'a str>,
    /// A line that begins with the kind of the complaint: its place follows.
    message: Option<&'a str>,
}

impl<'a> OutputReader<'a> {
    fn problem(&mut self, directory: &Path, line: &'a str) -> Option<Problem> {
        let trimmed = line.trim();
        let made = |path: &str, line: u32, message: &str| {
            Some(Problem {
                path: Some(from_workspace(directory, path)),
                line: Some(line),
                message: cut(message),
            })
        };
        if let Some(arrow) = trimmed.strip_prefix("--> ") {
            let (path, line, _) = located(arrow)?;
            return made(path, line, self.message.take()?);
        }
        let plain = trimmed.strip_prefix("vet: ").unwrap_or(trimmed);
        if let Some((path, line, message)) = located(plain).filter(|found| !found.2.is_empty()) {
            return made(path, line, message);
        }
        let is_indented = line.starts_with([' ', '\t']);
        if let (true, Some(heading)) = (is_indented, self.heading)
            && let Some((line, message)) = numbered(trimmed).filter(|found| !found.1.is_empty())
        {
            return made(heading, line, message);
        }
        if !is_indented {
            self.heading = is_path(trimmed).then_some(trimmed);
        }
        if trimmed.starts_with("error") || trimmed.starts_with("warning") {
            self.message = Some(trimmed);
        }
        None
    }
}

/// `path:line:column: message` or `path(line,column): message`.
fn located(line: &str) -> Option<(&str, u32, &str)> {
    for (at, sign) in line.char_indices().filter(|(_, c)| matches!(c, ':' | '(')) {
        let (path, rest) = (&line[..at], &line[at + 1..]);
        let found = match sign {
            '(' => bracketed(rest),
            _ => numbered(rest),
        };
        if let Some((line, message)) = found.filter(|_| is_path(path)) {
            return Some((path, line, message));
        }
    }
    None
}

/// `line:column: message`, where the column need not be there.
fn numbered(text: &str) -> Option<(u32, &str)> {
    let (line, rest) = digits(text)?;
    if !rest.is_empty() && !rest.starts_with([':', ' ', '\t']) {
        return None;
    }
    let column = rest.strip_prefix(':').and_then(digits);
    let rest = match column {
        Some((_, after)) if after.is_empty() || after.starts_with([':', ' ', '\t', '-']) => after,
        Some(_) | None => rest,
    };
    Some((line, without_sign(rest)))
}

/// `line,column): message`.
fn bracketed(text: &str) -> Option<(u32, &str)> {
    let (line, rest) = digits(text)?;
    let rest = match rest.strip_prefix(',') {
        Some(column) => digits(column)?.1,
        None => rest,
    };
    Some((line, without_sign(rest.strip_prefix(')')?)))
}

fn digits(text: &str) -> Option<(u32, &str)> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    Some((text[..end].parse().ok()?, &text[end..]))
}

fn without_sign(text: &str) -> &str {
    text.trim_start_matches([':', '-', ' ', '\t'])
}

/// Whether it looks like a path of a file: not like a time, a URL or a sentence.
fn is_path(text: &str) -> bool {
    let has_letter = text.chars().any(char::is_alphabetic);
    let has_sign = text.contains(['/', '.']);
    has_letter && has_sign && !text.contains("://") && !text.contains(char::is_whitespace)
}

fn from_workspace(directory: &Path, path: &str) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    let inside = Path::new(path).strip_prefix(directory);
    match inside {
        Ok(inside) => inside.to_string_lossy().into_owned(),
        Err(_) => path.to_owned(),
    }
}

/// On one line, with single blanks: some align their columns anew in every run.
fn cut(message: &str) -> String {
    let words: Vec<&str> = message.split_whitespace().collect();
    let message = words.join(" ");
    match message.char_indices().nth(MESSAGE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(output: &str) -> Vec<String> {
        let problems = read(Path::new("/home/user/p q"), output);
        problems.iter().map(Problem::to_string).collect()
    }

    #[test]
    fn the_usual_ways_of_naming_a_place_are_read() {
        let cases: [(&str, &[&str]); 7] = [
            (
                "src/lib.rs:3:5: error[E0425]: cannot find value `x` in this scope\n\
                 error: could not compile `p` (lib) due to 1 previous error\n",
                &["src/lib.rs:3: error[E0425]: cannot find value `x` in this scope"],
            ),
            (
                "error[E0425]: cannot find value `x` in this scope\n --> src/lib.rs:3:5\n  |\n3 |     x\n",
                &["src/lib.rs:3: error[E0425]: cannot find value `x` in this scope"],
            ),
            (
                "src/a.ts(12,7): error TS2322: Type 'string' is not assignable to type 'number'.\n",
                &["src/a.ts:12: error TS2322: Type 'string' is not assignable to type 'number'."],
            ),
            (
                "a.py:1:8: F401 [*] `os` imported but unused\nFound 1 error.\n",
                &["a.py:1: F401 [*] `os` imported but unused"],
            ),
            (
                "/q/a.py\n  /q/a.py:3:5 - error: \"x\" is not defined (reportUndefinedVariable)\n\
                 1 error, 0 warnings, 0 informations\n",
                &["/q/a.py:3: error: \"x\" is not defined (reportUndefinedVariable)"],
            ),
            (
                "# example.com/p\nvet: ./main.go:5:2: undefined: x\n",
                &["main.go:5: undefined: x"],
            ),
            (
                "\n/q/src/a.js\n  1:5   error  'x' is not defined  no-undef\n  2:1  warning  long  max\n\n\
                 ✖ 2 problems (1 error, 1 warning)\n",
                &[
                    "/q/src/a.js:1: error 'x' is not defined no-undef",
                    "/q/src/a.js:2: warning long max",
                ],
            ),
        ];
        for (output, expected) in cases {
            assert_eq!(shown(output), expected, "{output}");
        }
    }

    #[test]
    fn paths_of_the_workspace_are_told_from_it_on() {
        let output = "/home/user/p/src/a.py:3: no\n./b.c:4:1: no\n";
        let problems = read(Path::new("/home/user/p"), output);
        let paths: Vec<_> = problems
            .iter()
            .filter_map(|each| each.path.as_deref())
            .collect();
        assert_eq!(paths, ["src/a.py", "b.c"]);
    }

    #[test]
    fn what_names_no_place_is_told_by_its_last_lines() {
        assert_eq!(
            shown("12:30:01 started\nsee http://localhost:8080/x\n\nno such target  \n"),
            [
                "12:30:01 started",
                "see http://localhost:8080/x",
                "no such target"
            ]
        );
        let long: String = (0..100).map(|n| format!("line {n}\n")).collect();
        let shown = shown(&long);
        assert_eq!((shown.len(), shown[0].as_str()), (20, "line 80"));
    }
}
