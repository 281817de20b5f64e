//! The lines of a file as they are read: none is longer than it may be, and each is known by its number.

use std::io::{BufRead, Read};

use serde::de::DeserializeOwned;

use super::TransferError;
use super::format::{ExportKind, KIND, ThreadHeader, TransferLine, VERSION};

/// More than any event has: a message may come with many pictures.
pub const LINE_BYTES_MAX: usize = 64 << 20;

pub struct LineReader<'a> {
    input: &'a mut (dyn BufRead + Send),
    number: u64,
    line: Vec<u8>,
}

impl<'a> LineReader<'a> {
    pub fn new(input: &'a mut (dyn BufRead + Send)) -> Self {
        Self {
            input,
            number: 0,
            line: Vec::new(),
        }
    }

    /// What is wrong with the line that was read last.
    pub fn malformed(&self, what: impl Into<String>) -> TransferError {
        TransferError::Malformed {
            line: self.number,
            what: what.into(),
        }
    }

    pub fn header(&mut self) -> Result<ThreadHeader, TransferError> {
        if !self.advance()? {
            self.number = 1;
            return Err(self.malformed("the file is empty"));
        }
        let kind: ExportKind = self.parsed("this is no exported session")?;
        if kind.dragoman != KIND {
            let what = format!("this is an exported {}, and no session", kind.dragoman);
            return Err(self.malformed(what));
        }
        if kind.version != VERSION {
            let what = format!(
                "the file is of version {}, and this program reads version {VERSION}; use the program that \
                 wrote it, or a newer one",
                kind.version
            );
            return Err(self.malformed(what));
        }
        self.parsed("this is no header of an exported session")
    }

    /// The next line; the file must not end before its end.
    pub fn next(&mut self) -> Result<TransferLine<'_>, TransferError> {
        if !self.advance()? {
            self.number += 1;
            return Err(self.malformed("the file is cut off: its last line is missing"));
        }
        let number = self.number;
        serde_json::from_slice(&self.line).map_err(|error| TransferError::Malformed {
            line: number,
            what: format!("this is neither an event nor a receipt: {error}"),
        })
    }

    /// That nothing comes behind the end.
    pub fn finish(&mut self) -> Result<(), TransferError> {
        match self.advance()? {
            true => Err(self.malformed("there is more behind the end of the session")),
            false => Ok(()),
        }
    }

    fn parsed<T: DeserializeOwned>(&self, what: &str) -> Result<T, TransferError> {
        serde_json::from_slice(&self.line).map_err(|error| {
            // All is on one line, which is told already.
            let error = error.to_string();
            let error = error.split(" at line ").next().unwrap_or_default();
            self.malformed(format!("{what}: {error}"))
        })
    }

    /// Reads a line; `false` at the end of the file.
    fn advance(&mut self) -> Result<bool, TransferError> {
        self.line.clear();
        let mut limited = (&mut *self.input).take(LINE_BYTES_MAX as u64 + 1);
        let bytes = limited.read_until(b'\n', &mut self.line)?;
        if bytes == 0 {
            return Ok(false);
        }
        self.number += 1;
        if bytes > LINE_BYTES_MAX {
            let what = format!("the line has more than {} MiB", LINE_BYTES_MAX >> 20);
            return Err(self.malformed(what));
        }
        if self.line.pop_if(|last| *last == b'\n').is_none() {
            return Err(self.malformed("the file is cut off in the middle of this line"));
        }
        match std::str::from_utf8(&self.line) {
            Ok(_) => Ok(true),
            Err(error) => {
                let what = format!("byte {} is not UTF-8", error.valid_up_to() + 1);
                Err(self.malformed(what))
            }
        }
    }
}
