//! What all programs have in common that are spoken to in lines: the environment they get, the lines they
//! write, what they said last on their standard error, and how they ended.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};
use tokio::process::ChildStderr;
use tokio::task::JoinHandle;

use super::PipedProgram;

/// What is kept of a standard error.
const ERRORS_BYTES_MAX: usize = 4 * 1024;
const ERROR_LINES_MAX: usize = 8;
/// How long an ended program is waited for.
const EXIT_GRACE: Duration = Duration::from_millis(200);

/// What such a program knows of our environment: no more than it takes to run. Nothing of it is a secret.
const INHERITED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
];

/// The environment of a program: what it takes to run, `also` where we have that, and what was set for
/// it.
pub fn environment(also: &[&str], own: &BTreeMap<String, String>) -> Vec<(OsString, OsString)> {
    let inherited = INHERITED
        .iter()
        .chain(also)
        .filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
    let own = own
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    inherited.chain(own).collect()
}

/// The lines that a program writes.
pub struct OutputLines<R> {
    output: R,
    /// A line that has not ended yet.
    line: Vec<u8>,
    bytes_max: usize,
}

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub enum OutputLine {
    Whole(Vec<u8>),
    /// It is longer than may be: nothing after it would be understood.
    TooLong,
    End,
}

impl<R: AsyncBufRead + Unpin> OutputLines<R> {
    pub fn new(output: R, bytes_max: usize) -> Self {
        Self {
            output,
            line: Vec::new(),
            bytes_max,
        }
    }

    /// The next line. Safe to be left and called again: what was read so far is kept.
    pub async fn next(&mut self) -> io::Result<OutputLine> {
        loop {
            let available = self.output.fill_buf().await?;
            if available.is_empty() {
                return Ok(OutputLine::End);
            }
            let newline = available.iter().position(|byte| *byte == b'\n');
            let taken = newline.map_or(available.len(), |place| place + 1);
            if self.line.len() + taken > self.bytes_max {
                return Ok(OutputLine::TooLong);
            }
            self.line.extend_from_slice(&available[..taken]);
            self.output.consume(taken);
            if newline.is_some() {
                return Ok(OutputLine::Whole(std::mem::take(&mut self.line)));
            }
        }
    }
}

/// The end of what a program wrote to its standard error.
#[derive(Clone, Default)]
pub struct ErrorTail(Arc<Mutex<VecDeque<u8>>>);

impl ErrorTail {
    fn push(&self, bytes: &[u8]) {
        let mut tail = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend(bytes);
        let excess = tail.len().saturating_sub(ERRORS_BYTES_MAX);
        tail.drain(..excess);
    }

    /// Its last lines.
    pub fn text(&self) -> String {
        let bytes: Vec<u8> = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .copied()
            .collect();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        lines[lines.len().saturating_sub(ERROR_LINES_MAX)..].join("\n")
    }

    /// Follows a standard error to its end.
    pub fn follow(&self, mut errors: ChildStderr) -> JoinHandle<()> {
        let tail = self.clone();
        tokio::spawn(async move {
            let mut buffer = vec![0; 4 * 1024];
            while let Ok(length @ 1..) = errors.read(&mut buffer).await {
                tail.push(&buffer[..length]);
            }
        })
    }
}

/// How a program ended whose output did, and waits until what it said last was read. Nothing where it
/// has not ended.
pub async fn ending(
    program: Option<&mut PipedProgram>,
    reading_errors: Option<JoinHandle<()>>,
) -> Option<String> {
    let status = match program {
        Some(program) => program.wait(EXIT_GRACE).await,
        None => None,
    };
    if let Some(reading) = reading_errors {
        // What it started may hold the pipe.
        let _ = tokio::time::timeout(EXIT_GRACE, reading).await;
    }
    status.map(|status| match status.code() {
        Some(code) => format!("it ended with exit code {code}"),
        None => format!("it was ended ({status})"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_come_whole_and_a_line_without_end_is_told() {
        let text: &[u8] = b"one\ntwo\n0123456789abcdef";
        let mut lines = OutputLines::new(text, 10);
        let whole = |text: &str| OutputLine::Whole(text.as_bytes().to_vec());
        assert_eq!(lines.next().await.expect("a line"), whole("one\n"));
        assert_eq!(lines.next().await.expect("a line"), whole("two\n"));
        assert_eq!(lines.next().await.expect("told"), OutputLine::TooLong);
        let mut none = OutputLines::new(&b"half"[..], 10);
        assert_eq!(none.next().await.expect("told"), OutputLine::End);
    }

    #[test]
    fn only_the_last_lines_are_kept() {
        let tail = ErrorTail::default();
        for number in 0..1_000 {
            tail.push(format!("line {number}\n\n").as_bytes());
        }
        let text = tail.text();
        assert!(
            text.starts_with("line 992\n") && text.ends_with("line 999"),
            "{text}"
        );
    }
}
