//! The tool `read`: shows the lines of a text file, numbered.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::input::{Fields, blocking};
use crate::path::{self, PATH_CHARS_MAX};
use crate::{Class, Failure, Judgement, Output, Scope, Tool, ToolCx};

const LIMIT_DEFAULT: u64 = 2000;
const LIMIT_MAX: u64 = 20_000;
const OFFSET_MAX: u64 = u32::MAX as u64;
/// A longer line is cut.
const LINE_CHARS_MAX: usize = 2000;
/// Enough bytes for so many characters of UTF-8.
const LINE_BYTES_MAX: usize = LINE_CHARS_MAX * 4;
/// A longer answer ends early and says where to read on.
const ANSWER_BYTES_MAX: usize = 400_000;
/// A NUL within so many bytes marks a file as binary.
const PROBE_BYTES: usize = 8192;

pub(crate) struct Read;

#[async_trait]
impl Tool for Read {
    fn name(&self) -> &'static str {
        "read"
    }

    fn description(&self) -> &'static str {
        "Reads a text file.\n\
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

    fn class(&self) -> Class {
        Class::FileRead
    }

    fn judge(&self, _scope: &Scope, _input: &Value) -> Judgement {
        Judgement::Allow
    }

    async fn run(&self, cx: &ToolCx, input: Value) -> Result<Output, Failure> {
        let scope = cx.scope.clone();
        blocking(self.name(), move || read(&scope, &input)).await
    }
}

fn read(scope: &Scope, input: &Value) -> Result<Output, Failure> {
    let fields = Fields::of("read", input)?;
    let given = fields.filled_text("filePath", PATH_CHARS_MAX)?;
    let offset = fields
        .optional_whole("offset", 1..=OFFSET_MAX)?
        .unwrap_or(1);
    let limit = fields
        .optional_whole("limit", 1..=LIMIT_MAX)?
        .unwrap_or(LIMIT_DEFAULT);
    let target = path::resolve("read", scope, given)?;
    let metadata = std::fs::metadata(&target).map_err(|problem| cannot(given, problem))?;
    if metadata.is_dir() {
        return Err(error(format!("{given} is a directory; list it with `ls`")));
    }
    if !metadata.is_file() {
        return Err(error(format!("{given} is not a plain file")));
    }
    let file = File::open(&target).map_err(|problem| cannot(given, problem))?;
    let mut reader = BufReader::with_capacity(PROBE_BYTES, file);
    if reader
        .fill_buf()
        .map_err(|problem| cannot(given, problem))?
        .contains(&0)
    {
        return Err(error(format!(
            "{given} is a binary file of {} bytes; look at it with a command, such as `file`",
            metadata.len()
        )));
    }
    numbered(&mut reader, given, offset, limit).map(Output::Text)
}

/// The lines from `offset` on, numbered; reads no further than it must.
fn numbered(
    reader: &mut impl BufRead,
    given: &str,
    offset: u64,
    limit: u64,
) -> Result<String, Failure> {
    let mut text = String::new();
    let mut number = 0;
    while let Some(line) = next_line(reader).map_err(|problem| cannot(given, problem))? {
        number += 1;
        if number < offset {
            continue;
        }
        if number - offset >= limit || text.len() >= ANSWER_BYTES_MAX {
            text.push_str(&format!(
                "[more lines follow; read on with offset {number}]"
            ));
            return Ok(text);
        }
        text.push_str(&format!("{number}\t{}\n", shown(&line)));
    }
    match (number, text.is_empty()) {
        (0, _) => Ok("[the file is empty]".to_owned()),
        (_, true) => Err(error(format!(
            "\"offset\" {offset} is past the end: {given} has {number} lines"
        ))),
        _ => {
            text.pop();
            Ok(text)
        }
    }
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
        let end = buffer.iter().position(|byte| *byte == b'\n');
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
    let text = String::from_utf8_lossy(line);
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
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::scratch::Scratch;

    async fn text(scratch: &Scratch, input: Value) -> String {
        match scratch.run(&Read, input).await {
            Ok(Output::Text(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn lines_are_numbered_from_the_offset_up_to_the_limit() {
        let scratch = Scratch::new();
        std::fs::write(scratch.path("a"), "one\n\nthree\nfour").unwrap();
        assert_eq!(
            text(&scratch, json!({"filePath": "a"})).await,
            "1\tone\n2\t\n3\tthree\n4\tfour"
        );
        assert_eq!(
            text(&scratch, json!({"filePath": "a", "offset": 2, "limit": 2})).await,
            "2\t\n3\tthree\n[more lines follow; read on with offset 4]"
        );
        assert_eq!(
            text(&scratch, json!({"filePath": "a", "offset": 4.0})).await,
            "4\tfour"
        );
        std::fs::write(scratch.path("empty"), "").unwrap();
        assert_eq!(
            text(&scratch, json!({"filePath": "empty"})).await,
            "[the file is empty]"
        );
    }

    #[tokio::test]
    async fn long_lines_and_long_files_are_cut() {
        let scratch = Scratch::new();
        std::fs::write(scratch.path("wide"), format!("{}\nb", "ä".repeat(100_000))).unwrap();
        let wide = text(&scratch, json!({"filePath": "wide"})).await;
        assert_eq!(wide, format!("1\t{}… [line cut]\n2\tb", "ä".repeat(2000)));
        std::fs::write(scratch.path("tall"), "0123456789\n".repeat(100_000)).unwrap();
        let tall = text(&scratch, json!({"filePath": "tall"})).await;
        assert!(tall.ends_with("2000\t0123456789\n[more lines follow; read on with offset 2001]"));
        let taller = text(&scratch, json!({"filePath": "wide", "limit": 20000})).await;
        assert!(taller.len() < ANSWER_BYTES_MAX + 3 * LINE_BYTES_MAX);
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_refused_with_the_reason() {
        let scratch = Scratch::new();
        std::fs::write(scratch.path("a"), "one\n").unwrap();
        std::fs::write(scratch.path("binary"), b"PNG\0\0").unwrap();
        let table = [
            (
                json!({"filePath": "a", "limit": -1}),
                "read: \"limit\" must be a whole number from 1 to 20000, got -1",
            ),
            (
                json!({"filePath": "a", "limit": 20001}),
                "from 1 to 20000, got 20001",
            ),
            (
                json!({"filePath": "a", "offset": 0}),
                "read: \"offset\" must be a whole number from 1 to",
            ),
            (json!({"filePath": "a", "offset": 1.5}), "got 1.5"),
            (
                json!({"filePath": "a", "offset": 2}),
                "read: \"offset\" 2 is past the end: a has 1 lines",
            ),
            (
                json!({"filePath": null}),
                "read: \"filePath\" must be a text, got null",
            ),
            (json!({"filePath": "none"}), "read: none does not exist"),
            (json!({"filePath": "."}), "read: . is a directory"),
            (
                json!({"filePath": "binary"}),
                "read: binary is a binary file of 5 bytes",
            ),
            (
                json!({"filePath": "/etc/hosts"}),
                "read blocked: path is outside",
            ),
        ];
        for (input, expected) in table {
            let message = scratch.refusal(&Read, input).await;
            assert!(message.contains(expected), "{message}");
        }
    }
}
