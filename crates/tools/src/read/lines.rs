//! The lines of a text, numbered, as many as one answer holds.

use std::io::BufRead;

use tokio_util::sync::CancellationToken;

use super::{ReadRequest, cannot, error};
use crate::seen::SeenLines;
use crate::{Failure, text};

/// A longer line is cut.
const LINE_CHARS_MAX: usize = 2000;
/// Enough bytes for so many characters of UTF-8.
const LINE_BYTES_MAX: usize = LINE_CHARS_MAX * 4;
/// A longer answer ends early, after a whole line, and says where to read on.
pub(super) const ANSWER_BYTES_MAX: usize = 48 * 1024;
/// What of that is left for notes after the lines.
const NOTES_BYTES_MAX: usize = 512;

/// Where reading begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstLine {
    /// Counted from 1.
    At(u64),
    /// So many before the end.
    BeforeEnd(u64),
}

impl FirstLine {
    /// As models give it: 0 is the beginning, and negative numbers count from the end.
    pub fn of(offset: Option<i64>) -> FirstLine {
        match offset {
            None | Some(0) => FirstLine::At(1),
            Some(offset) if offset < 0 => FirstLine::BeforeEnd(offset.unsigned_abs()),
            Some(offset) => FirstLine::At(offset.unsigned_abs()),
        }
    }

    /// The number of the line in a text of so many.
    pub fn number(self, total: u64) -> u64 {
        match self {
            FirstLine::At(number) => number,
            FirstLine::BeforeEnd(count) => total.saturating_sub(count) + 1,
        }
    }
}

/// How much there is in all, as far as it is known without reading to the end.
#[derive(Clone, Copy, Debug)]
pub(super) enum FileExtent {
    Lines(u64),
    Bytes(u64),
}

impl std::fmt::Display for FileExtent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FileExtent::Lines(lines) => write!(f, "{lines}"),
            FileExtent::Bytes(bytes) => write!(f, "a file of {bytes} bytes"),
        }
    }
}

/// Numbered lines, and which they are.
pub(super) struct ShownLines {
    pub text: String,
    pub lines: SeenLines,
}

/// The lines from `first` on, numbered; reads no further than it must.
pub(super) fn numbered(
    reader: &mut impl BufRead,
    wish: &ReadRequest<'_>,
    first: u64,
    extent: FileExtent,
) -> Result<ShownLines, Failure> {
    let failed = |problem| cannot(wish.given, problem);
    let mut number = skip(reader, first - 1, wish.cancel).map_err(failed)?;
    if wish.cancel.is_cancelled() {
        return Err(crate::walk::cancelled());
    }
    let mut text = String::new();
    while let Some(line) = next_line(reader).map_err(failed)? {
        number += 1;
        let line = format!("{number}\t{}\n", shown(&line));
        let fits = text.len() + line.len() <= ANSWER_BYTES_MAX - NOTES_BYTES_MAX;
        if number - first >= wish.limit || !fits {
            text.push_str(&format!(
                "[lines {first}-{} of {extent}; read on with offset {number}]",
                number - 1
            ));
            let (last, to_end) = (number - 1, false);
            let lines = SeenLines {
                first,
                last,
                to_end,
            };
            return Ok(ShownLines { text, lines });
        }
        text.push_str(&line);
    }
    let (last, to_end) = (number, true);
    let lines = SeenLines {
        first,
        last,
        to_end,
    };
    match (number, text.is_empty()) {
        (0, _) => {
            let text = "[the file is empty]".to_owned();
            Ok(ShownLines { text, lines })
        }
        (_, true) => Err(error(format!(
            "\"offset\" {first} is past the end: {} has {number} lines",
            wish.given
        ))),
        _ => {
            text.pop();
            Ok(ShownLines { text, lines })
        }
    }
}

/// Passes over so many lines, as fast as line ends can be counted; gives how many there were.
pub(super) fn skip(
    reader: &mut impl BufRead,
    lines: u64,
    cancel: &CancellationToken,
) -> std::io::Result<u64> {
    let mut passed = 0;
    // Whether a line has begun that has not ended.
    let mut begun = false;
    while passed < lines && !cancel.is_cancelled() {
        let buffer = reader.fill_buf()?;
        let Some(last) = buffer.last() else {
            return Ok(passed + u64::from(begun));
        };
        let ends = memchr::memchr_iter(b'\n', buffer).count() as u64;
        let length = if ends < lines - passed {
            begun = *last != b'\n';
            passed += ends;
            buffer.len()
        } else {
            let nth = (lines - passed - 1) as usize;
            let end = memchr::memchr_iter(b'\n', buffer).nth(nth);
            passed = lines;
            end.map_or(buffer.len(), |end| end + 1)
        };
        reader.consume(length);
    }
    Ok(passed)
}

/// The next line without its end; of a long one only the beginning is kept.
fn next_line(reader: &mut impl BufRead) -> std::io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let mut begun = false;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(begun.then_some(line));
        }
        begun = true;
        let end = memchr::memchr(b'\n', buffer);
        let length = end.unwrap_or(buffer.len());
        // One byte more than is shown, to know that the line was cut.
        let room = (LINE_BYTES_MAX + 1).saturating_sub(line.len());
        line.extend_from_slice(&buffer[..length.min(room)]);
        reader.consume(end.map_or(length, |end| end + 1));
        if end.is_some() {
            return Ok(Some(line));
        }
    }
}

fn shown(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let text = match std::str::from_utf8(line) {
        Ok(text) => text.into(),
        // Cut within a character, which is not shown anyway.
        Err(problem) if problem.error_len().is_none() => String::from_utf8_lossy(line),
        Err(_) => text::windows_1252(line),
    };
    match text.char_indices().nth(LINE_CHARS_MAX) {
        Some((cut, _)) => format!("{}… [line cut]", &text[..cut]),
        None => text.into_owned(),
    }
}
