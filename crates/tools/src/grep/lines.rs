//! Collects the lines that a search found in one file, as they are shown.

use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};

/// A longer line is cut.
const LINE_CHARS_MAX: usize = 1000;

/// The lines found in one file.
pub(super) struct Lines<'a> {
    /// How the file is named.
    shown: &'a str,
    bytes_max: usize,
    text: String,
    binary: bool,
}

impl<'a> Lines<'a> {
    pub fn new(shown: &'a str, bytes_max: usize) -> Lines<'a> {
        Lines {
            shown,
            bytes_max,
            text: String::new(),
            binary: false,
        }
    }

    pub fn is_binary(&self) -> bool {
        self.binary
    }

    /// Empty if nothing was found. A file that turned out to be binary shows nothing.
    pub fn into_text(self) -> String {
        match self.binary {
            true => String::new(),
            false => self.text,
        }
    }

    fn push(&mut self, number: Option<u64>, mark: char, line: &[u8]) -> bool {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // Enough bytes for so many characters of UTF-8.
        let line = &line[..line.len().min(LINE_CHARS_MAX * 4)];
        let line = match std::str::from_utf8(line) {
            Ok(line) => line.into(),
            Err(_) => String::from_utf8_lossy(line),
        };
        let number = number.unwrap_or_default();
        self.text
            .push_str(&format!("{}{mark}{number}{mark}", self.shown));
        match line.char_indices().nth(LINE_CHARS_MAX) {
            Some((cut, _)) => {
                self.text.push_str(&line[..cut]);
                self.text.push_str("… [line cut]");
            }
            None => self.text.push_str(&line),
        }
        self.text.push('\n');
        self.text.len() < self.bytes_max
    }
}

impl Sink for Lines<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        Ok(self.push(found.line_number(), ':', found.bytes()))
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> Result<bool, Self::Error> {
        Ok(self.push(around.line_number(), '-', around.bytes()))
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, Self::Error> {
        self.text.push_str("--\n");
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> Result<(), Self::Error> {
        self.binary = end.binary_byte_offset().is_some();
        Ok(())
    }
}
