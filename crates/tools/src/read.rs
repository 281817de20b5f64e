//! The tool `read`: shows the lines of a text file, numbered, or a picture.

use std::io::{BufRead, BufReader, Cursor, ErrorKind, Read as _};
use std::sync::Arc;

use async_trait::async_trait;
use base64::Engine as _;
use encoding_rs_io::DecodeReaderBytes;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use vocabulary::{ContentBlock, Effects, Subject, ToolOutput};

use crate::change::FILE_BYTES_MAX;
use crate::held::{NodeKind, Place};
use crate::input::{self, Fields, blocking};
use crate::path::{self, PATH_CHARS_MAX};
use crate::seen::{SeenExtent, SeenFiles};
use crate::text::{self, Encoding};
use crate::{Failure, Judgement, Scope, Tool, ToolCx, kind, pictures};

const LIMIT_DEFAULT: u64 = 2000;
const LIMIT_MAX: u64 = 20_000;
const OFFSET_MAX: u64 = u32::MAX as u64;
/// A longer line is cut.
const LINE_CHARS_MAX: usize = 2000;
/// Enough bytes for so many characters of UTF-8.
const LINE_BYTES_MAX: usize = LINE_CHARS_MAX * 4;
/// A longer answer ends early and says where to read on.
const ANSWER_BYTES_MAX: usize = 400_000;
/// How much of a large file is held at once.
const BUFFER_BYTES: usize = 256 * 1024;

pub(crate) struct ReadTool;

#[async_trait]
impl Tool for ReadTool {
    fn name(&self) -> &'static str {
        "read"
    }

    fn description(&self) -> &'static str {
        "Reads a text file, or shows a picture (PNG, JPEG, GIF, WebP).\n\
         Answers with numbered lines: the number, a tab, the line. For a long file, set offset (the \
         first line, from 1) and limit (how many lines)."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "filePath": {"type": "string", "description": "Relative to the workspace, or absolute inside it."},
                "offset": {"type": "integer", "minimum": 1, "description": "The first line to show."},
                "limit": {"type": "integer", "minimum": 1, "maximum": LIMIT_MAX, "default": LIMIT_DEFAULT},
            },
            "required": ["filePath"],
            "additionalProperties": false,
        })
    }

    fn effects(&self) -> Effects {
        Effects::READS
    }

    fn subject(&self, input: &Value) -> Subject {
        input::file_subject(input, "filePath")
    }

    fn judge(&self, _scope: &Scope, _input: &Value) -> Judgement {
        Judgement::Allow
    }

    async fn run(&self, cx: &ToolCx, input: Value) -> Result<ToolOutput, Failure> {
        let (scope, seen, cancel) = (cx.scope.clone(), Arc::clone(&cx.seen), cx.cancel.clone());
        blocking(self.name(), move || read(&scope, &seen, &cancel, &input)).await
    }
}

/// Which lines of which file are wanted.
struct ReadRequest<'a> {
    given: &'a str,
    offset: u64,
    limit: u64,
    cancel: &'a CancellationToken,
}

fn read(
    scope: &Scope,
    seen: &SeenFiles,
    cancel: &CancellationToken,
    input: &Value,
) -> Result<ToolOutput, Failure> {
    let fields = Fields::of("read", input)?;
    let given = fields.filled_text("filePath", PATH_CHARS_MAX)?;
    let offset = fields.optional_whole("offset", 1..=OFFSET_MAX)?;
    let limit = fields.optional_whole("limit", 1..=LIMIT_MAX)?;
    let wish = ReadRequest {
        given,
        offset: offset.unwrap_or(1),
        limit: limit.unwrap_or(LIMIT_DEFAULT),
        cancel,
    };
    let target = path::resolve("read", scope, given)?;
    let failed = |problem| cannot(given, problem);
    let place = Place::find(&target).map_err(failed)?;
    match place.kind().map_err(failed)? {
        Some(NodeKind::Directory) => {
            return Err(error(format!(
                "{given} is a directory; list it with glob or `ls`"
            )));
        }
        Some(NodeKind::Link | NodeKind::Special) => {
            return Err(error(format!("{given} is not a plain file")));
        }
        Some(NodeKind::File { .. }) | None => {}
    }
    let (mut file, stamp) = place.open().map_err(failed)?;
    let text = if stamp.bytes <= FILE_BYTES_MAX {
        let mut bytes = Vec::new();
        let mut file = file.take(FILE_BYTES_MAX);
        file.read_to_end(&mut bytes).map_err(failed)?;
        if let Some(media_type) = kind::picture(&bytes) {
            return picture(&bytes, media_type, given);
        }
        let text = small(&bytes, &wish)?;
        seen.note(&target, stamp, Some(&bytes), SeenExtent::Whole);
        text
    } else {
        let text = large(&mut file, stamp.bytes, &wish)?;
        seen.note(&target, stamp, None, SeenExtent::Whole);
        text
    };
    Ok(ToolOutput::Text(text))
}

/// Shows a picture as one, scaled down where models would not take it.
fn picture(bytes: &[u8], media_type: &str, given: &str) -> Result<ToolOutput, Failure> {
    let is = format!("{given} is {}", kind::describe(bytes));
    let scaled = pictures::scaled(bytes, pictures::BASE64_BYTES_MAX)
        .map_err(|why| error(format!("{is} and cannot be shown: {why}")))?;
    let (words, media_type, shown) = match &scaled {
        None => (format!("{is}:"), media_type, bytes),
        Some(scaled) => {
            let (width, height) = (scaled.width, scaled.height);
            let words = format!("{is}, shown scaled to {width} x {height} pixels:");
            (words, scaled.media_type, scaled.bytes.as_slice())
        }
    };
    Ok(ToolOutput::Content(vec![
        ContentBlock::Text(words),
        ContentBlock::Image {
            media_type: media_type.to_owned(),
            base64: base64::prelude::BASE64_STANDARD.encode(shown).into(),
        },
    ]))
}

/// Shows a file that is held whole.
fn small(bytes: &[u8], wish: &ReadRequest<'_>) -> Result<String, Failure> {
    let decoded = match kind::is_document(bytes) {
        true => None,
        false => text::decode(bytes),
    };
    let Some((text, encoding)) = decoded else {
        return Err(binary(wish.given, bytes, bytes.len() as u64));
    };
    let mut shown = numbered(&mut Cursor::new(text.as_bytes()), wish)?;
    if encoding != Encoding::Utf8 {
        shown.push_str(&format!(
            "\n[encoded as {}; edit and write keep it]",
            encoding.name()
        ));
    }
    Ok(shown)
}

/// Shows a part of a file that is never held whole.
fn large(file: &mut std::fs::File, bytes: u64, wish: &ReadRequest<'_>) -> Result<String, Failure> {
    let failed = |problem| cannot(wish.given, problem);
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
    let beginning = reader.fill_buf().map_err(failed)?;
    if text::is_binary(beginning) || kind::is_document(beginning) {
        return Err(binary(wish.given, beginning, bytes));
    }
    match Encoding::of_mark(beginning) {
        Some(Encoding::Utf16Le | Encoding::Utf16Be) => {
            // It reads the mark, takes it away and gives UTF-8.
            let decoded = DecodeReaderBytes::new(reader);
            numbered(&mut BufReader::with_capacity(BUFFER_BYTES, decoded), wish)
        }
        Some(Encoding::Utf8Marked) => {
            reader.consume(3);
            numbered(&mut reader, wish)
        }
        _ => numbered(&mut reader, wish),
    }
}

fn binary(given: &str, beginning: &[u8], bytes: u64) -> Failure {
    error(format!(
        "{given} is {} of {bytes} bytes and cannot be shown as text; look at it with a command, \
         such as `file`",
        kind::describe(beginning)
    ))
}

/// The lines from the offset on, numbered; reads no further than it must.
fn numbered(reader: &mut impl BufRead, wish: &ReadRequest<'_>) -> Result<String, Failure> {
    let failed = |problem| cannot(wish.given, problem);
    let mut number = skip(reader, wish.offset - 1, wish.cancel).map_err(failed)?;
    let mut text = String::new();
    while let Some(line) = next_line(reader).map_err(failed)? {
        number += 1;
        if number - wish.offset >= wish.limit || text.len() >= ANSWER_BYTES_MAX {
            text.push_str(&format!(
                "[more lines follow; read on with offset {number}]"
            ));
            return Ok(text);
        }
        text.push_str(&format!("{number}\t{}\n", shown(&line)));
    }
    if wish.cancel.is_cancelled() {
        return Err(crate::walk::cancelled());
    }
    match (number, text.is_empty()) {
        (0, _) => Ok("[the file is empty]".to_owned()),
        (_, true) => Err(error(format!(
            "\"offset\" {} is past the end: {} has {number} lines",
            wish.offset, wish.given
        ))),
        _ => {
            text.pop();
            Ok(text)
        }
    }
}

/// Passes over so many lines, as fast as line ends can be counted; gives how many there were.
fn skip(reader: &mut impl BufRead, lines: u64, cancel: &CancellationToken) -> std::io::Result<u64> {
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

fn cannot(given: &str, problem: std::io::Error) -> Failure {
    match problem.kind() {
        ErrorKind::NotFound => error(format!("{given} does not exist")),
        _ => error(format!("cannot read {given}: {problem}")),
    }
}

fn error(message: impl std::fmt::Display) -> Failure {
    Failure::Error(format!("read: {message}"))
}

#[cfg(test)]
mod tests;
