//! Collects the lines that a search found in one file, and counts all matches.

use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};

/// A longer line is cut.
const LINE_CHARS_MAX: usize = 1000;

/// Why a line is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineRole {
    /// A match begins here.
    Match,
    /// A match goes on here.
    Continued,
    Around,
    /// Between lines that do not follow each other.
    Gap,
}

/// A line of a file as it is shown.
pub(super) struct ShownLine {
    pub role: LineRole,
    pub number: u64,
    pub text: String,
}

/// The lines found in one file.
pub(super) struct Lines {
    /// So many matches are kept with their lines.
    matches_max: usize,
    first_is_enough: bool,
    count: usize,
    lines: Vec<ShownLine>,
    binary: bool,
}

impl Lines {
    pub fn new(matches_max: usize, first_is_enough: bool) -> Lines {
        Lines {
            matches_max,
            first_is_enough,
            count: 0,
            lines: Vec::new(),
            binary: false,
        }
    }

    /// A file that turned out to be binary shows nothing.
    pub fn is_binary(&self) -> bool {
        self.binary
    }

    /// How many matches there are, and the first of them.
    pub fn into_parts(self) -> (usize, Vec<ShownLine>) {
        (self.count, self.lines)
    }

    fn push(&mut self, role: LineRole, number: u64, line: &[u8]) {
        if self.count > self.matches_max || self.matches_max == 0 {
            return;
        }
        let text = shown(line);
        self.lines.push(ShownLine { role, number, text });
    }
}

fn shown(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // Enough bytes for so many characters of UTF-8.
    let line = String::from_utf8_lossy(&line[..line.len().min(LINE_CHARS_MAX * 4)]);
    match line.char_indices().nth(LINE_CHARS_MAX) {
        Some((cut, _)) => format!("{}… [line cut]", &line[..cut]),
        None => line.into_owned(),
    }
}

impl Sink for Lines {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        self.count += 1;
        let first = found.line_number().unwrap_or_default();
        for (number, line) in (first..).zip(found.lines()) {
            let role = match number == first {
                true => LineRole::Match,
                false => LineRole::Continued,
            };
            self.push(role, number, line);
        }
        Ok(!self.first_is_enough)
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> Result<bool, Self::Error> {
        let number = around.line_number().unwrap_or_default();
        self.push(LineRole::Around, number, around.bytes());
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, Self::Error> {
        self.push(LineRole::Gap, 0, b"");
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> Result<(), Self::Error> {
        self.binary = end.binary_byte_offset().is_some();
        Ok(())
    }
}
