//! The tool `read`: shows the lines of a text file, numbered, or a picture, a PDF file, a directory, a
//! notebook.

mod directory;
mod lines;
mod near_names;
mod notebook;
mod pdf_pages;

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, ErrorKind, Read as _, Seek as _};
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use encoding_rs_io::DecodeReaderBytes;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use vocabulary::{Effects, Subject, ToolOutput};

use crate::change::FILE_BYTES_MAX;
use crate::held::{NodeKind, Place};
use crate::input::{self, Fields, blocking};
use crate::path::{PATH_CHARS_MAX, outside};
use crate::seen::SeenFiles;
use crate::text::{self, Encoding};
use crate::{Failure, Judgement, Scope, Tool, ToolCx, kind, pictures};
use lines::{FileExtent, FirstLine, ShownLines};

/// The furthest line that can be asked for, from either end.
const COUNT_MAX: i64 = u32::MAX as i64;
/// The deepest tree.
const DEPTH_MAX: u64 = 8;
/// How much of a large file is held at once.
const BUFFER_BYTES: usize = 256 * 1024;

pub(crate) struct ReadTool;

#[async_trait]
impl Tool for ReadTool {
    fn name(&self) -> &'static str {
        "read"
    }

    fn description(&self) -> &'static str {
        "Reads a text file or a PDF file, shows a picture (PNG, JPEG, GIF, WebP), or lists a directory.\n\
         Answers with numbered lines: the number, a tab, the line; up to 48 KB at once, and then \
         says with which offset to read on. A notebook is shown as its cells, a PDF file by pages: \
         there offset and limit count pages. Libraries outside the workspace can be read; for other \
         paths there the user is asked."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "filePath": {"type": "string", "description": "Relative to the workspace, or absolute."},
                "offset": {"type": "integer", "description": "The first line to show, from 1; negative: so many lines before the end."},
                "limit": {"type": "integer", "minimum": 1, "description": "How many lines to show at most."},
                "depth": {"type": "integer", "minimum": 1, "maximum": DEPTH_MAX, "description": "Of a directory: show what is below it, so many levels deep, as paths."},
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

    fn reads_outside(&self, scope: &Scope, input: &Value) -> Option<PathBuf> {
        outside::asked_for(scope, &scope.directory, input::text_of(input, "filePath"))
    }

    fn judge(&self, scope: &Scope, input: &Value) -> Judgement {
        outside::judge(self, scope, input)
    }

    async fn run(&self, cx: &ToolCx, input: Value) -> Result<ToolOutput, Failure> {
        let (scope, seen, cancel) = (cx.scope.clone(), Arc::clone(&cx.seen), cx.cancel.clone());
        let request = input.clone();
        let work = move || read(&scope, &seen, &cancel, &request);
        match blocking(self.name(), work).await? {
            FileContent::Shown(output) => Ok(output),
            FileContent::Pdf(file) => pdf_pages::show(cx, &input, file).await,
        }
    }
}

/// What was found in a file.
enum FileContent {
    Shown(ToolOutput),
    /// Read further where it can do no harm.
    Pdf(Vec<u8>),
}

/// Which lines of which file are wanted.
struct ReadRequest<'a> {
    given: &'a str,
    first: FirstLine,
    limit: u64,
    /// How deep a directory is shown.
    depth: u64,
    cancel: &'a CancellationToken,
}

fn read(
    scope: &Scope,
    seen: &SeenFiles,
    cancel: &CancellationToken,
    input: &Value,
) -> Result<FileContent, Failure> {
    let (given, offset, limit) = fields(input)?;
    let depth = Fields::of("read", input)?.optional_whole("depth", 1..=DEPTH_MAX)?;
    let wish = ReadRequest {
        given,
        first: FirstLine::of(offset),
        limit: limit.unwrap_or(u64::MAX),
        depth: depth.unwrap_or(1),
        cancel,
    };
    let target = outside::resolve_to_read("read", scope, given)?;
    let failed = |problem: std::io::Error| match problem.kind() {
        ErrorKind::NotFound => missing(given, &near_names::of(scope, cancel, &target)),
        _ => cannot(given, problem),
    };
    let place = Place::find(&target).map_err(failed)?;
    match place.kind().map_err(failed)? {
        Some(NodeKind::Directory) => {
            let listed = directory::list(scope, &target, &wish)?;
            return Ok(FileContent::Shown(ToolOutput::Text(listed)));
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
            let shown = pictures::shown(&bytes, media_type, given);
            return shown.map(FileContent::Shown).map_err(error);
        }
        if kind::is_pdf(&bytes) {
            return Ok(FileContent::Pdf(bytes));
        }
        let shown = small(&bytes, &wish)?;
        seen.note_read(&target, stamp, Some(&bytes), shown.lines);
        shown.text
    } else {
        let shown = large(&mut file, stamp.bytes, &wish)?;
        seen.note_read(&target, stamp, None, shown.lines);
        shown.text
    };
    Ok(FileContent::Shown(ToolOutput::Text(text)))
}

/// The file, where to begin in it, and how much to show.
fn fields(input: &Value) -> Result<(&str, Option<i64>, Option<u64>), Failure> {
    let fields = Fields::of("read", input)?;
    Ok((
        fields.filled_text("filePath", PATH_CHARS_MAX)?,
        fields.optional_integer("offset", -COUNT_MAX..=COUNT_MAX)?,
        fields.optional_whole("limit", 1..=COUNT_MAX.unsigned_abs())?,
    ))
}

/// Shows a file that is held whole.
fn small(bytes: &[u8], wish: &ReadRequest<'_>) -> Result<ShownLines, Failure> {
    let decoded = match kind::is_document(bytes) {
        true => None,
        false => text::decode(bytes),
    };
    let Some((text, encoding)) = decoded else {
        return Err(binary(wish.given, bytes, bytes.len() as u64));
    };
    let is_notebook = wish.given.to_ascii_lowercase().ends_with(".ipynb");
    if let Some(cells) = is_notebook.then(|| notebook::in_words(&text)).flatten() {
        let mut shown = whole(&cells, wish)?;
        let note = "\n[a notebook, shown as its cells; the file itself is JSON]";
        shown.text.push_str(note);
        return Ok(shown);
    }
    let mut shown = whole(&text, wish)?;
    if encoding != Encoding::Utf8 {
        shown.text.push_str(&format!(
            "\n[encoded as {}; edit and write keep it]",
            encoding.name()
        ));
    }
    Ok(shown)
}

/// Shows the wanted lines of a text.
fn whole(text: &str, wish: &ReadRequest<'_>) -> Result<ShownLines, Failure> {
    let total = text.lines().count() as u64;
    let first = wish.first.number(total);
    let mut reader = Cursor::new(text.as_bytes());
    lines::numbered(&mut reader, wish, first, FileExtent::Lines(total))
}

/// Shows a part of a file that is never held whole.
fn large(file: &mut File, bytes: u64, wish: &ReadRequest<'_>) -> Result<ShownLines, Failure> {
    let failed = |problem| cannot(wish.given, problem);
    let first = match wish.first {
        FirstLine::At(number) => number,
        // Only who asks for the end waits until the lines are counted.
        first @ FirstLine::BeforeEnd(_) => {
            let mut reader = decoding(file, bytes, wish)?;
            let total = lines::skip(&mut reader, u64::MAX, wish.cancel).map_err(failed)?;
            drop(reader);
            file.rewind().map_err(failed)?;
            first.number(total)
        }
    };
    let mut reader = decoding(file, bytes, wish)?;
    lines::numbered(&mut reader, wish, first, FileExtent::Bytes(bytes))
}

/// Reads a file as UTF-8 without its mark.
fn decoding<'a>(
    file: &'a mut File,
    bytes: u64,
    wish: &ReadRequest<'_>,
) -> Result<Box<dyn BufRead + 'a>, Failure> {
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
    let beginning = reader
        .fill_buf()
        .map_err(|problem| cannot(wish.given, problem))?;
    if text::is_binary(beginning) || kind::is_document(beginning) {
        return Err(binary(wish.given, beginning, bytes));
    }
    Ok(match Encoding::of_mark(beginning) {
        Some(Encoding::Utf16Le | Encoding::Utf16Be) => {
            // It reads the mark, takes it away and gives UTF-8.
            let decoded = DecodeReaderBytes::new(reader);
            Box::new(BufReader::with_capacity(BUFFER_BYTES, decoded))
        }
        Some(Encoding::Utf8Marked) => {
            reader.consume(3);
            Box::new(reader)
        }
        Some(Encoding::Utf8 | Encoding::Windows1252) | None => Box::new(reader),
    })
}

fn binary(given: &str, beginning: &[u8], bytes: u64) -> Failure {
    error(format!(
        "{given} is {} of {bytes} bytes and cannot be shown as text; look at it with a command, \
         such as `file`",
        kind::describe(beginning)
    ))
}

fn cannot(given: &str, problem: std::io::Error) -> Failure {
    error(format!("cannot read {given}: {problem}"))
}

fn missing(given: &str, near: &[String]) -> Failure {
    match near {
        [] => error(format!("{given} does not exist")),
        near => error(format!(
            "{given} does not exist; there is {}",
            near.join(", ")
        )),
    }
}

fn error(message: impl std::fmt::Display) -> Failure {
    Failure::Error(format!("read: {message}"))
}

#[cfg(test)]
mod tests;
