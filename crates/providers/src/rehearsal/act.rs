//! What the rehearsal model can do within one answer; scripts and demonstrations are made of it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::{ModelUsage, ProviderError};

/// One thing done within an answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Act {
    /// A block that grows by the deltas of `source`, `gap` apart.
    Write {
        kind: WrittenBlock,
        source: DeltaSource,
        gap: Duration,
    },
    /// The next part of the thought before it.
    Part(String),
    Call {
        name: String,
        input: Value,
    },
    Raw(Value),
    /// Names a page as the source of what it says.
    Cite {
        url: String,
        title: Option<String>,
    },
    /// Makes a file.
    File {
        media_type: String,
        base64: Arc<str>,
    },
    Pause(Duration),
    /// What is written from here on comes so slowly.
    Pace(Duration),
    /// Keeps the stream open until it is dropped.
    Hold,
    Fail(ProviderError),
    /// Fails as too long, unless the conversation was summarised.
    Full(ProviderError),
    /// Tells that the request is made again, as a service does that is overloaded for a moment.
    Retry(String),
    /// Replaces the usage that is told at the end.
    Usage(ModelUsage),
}

impl Act {
    /// A block that is written as fast as it is read.
    pub fn write(kind: WrittenBlock, source: DeltaSource) -> Act {
        Act::Write {
            kind,
            source,
            gap: Duration::ZERO,
        }
    }
}

/// What kind of block is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WrittenBlock {
    Text,
    Reasoning,
    Summary,
}

/// Where the deltas of a block come from. Made one by one, so that a long stream costs no memory.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum DeltaSource {
    /// Each word with the whitespace behind it.
    Words(String),
    /// The same text and a blank, so many times.
    Repeat { times: u64, text: String },
    /// `w0 w1 w2 …`, so many.
    Numbered { total: u64 },
}

impl DeltaSource {
    /// The delta at `cursor`, which moves on. The meaning of the cursor is the source's own.
    pub fn next(&self, cursor: &mut u64) -> Option<String> {
        match self {
            DeltaSource::Words(text) => {
                let rest = text.get(usize::try_from(*cursor).ok()?..)?;
                let word = first_word(rest)?;
                *cursor += word.len() as u64;
                Some(word.to_owned())
            }
            DeltaSource::Repeat { times, text } => {
                step(cursor, *times)?;
                let mut delta = String::with_capacity(text.len() + 1);
                delta.push_str(text);
                delta.push(' ');
                Some(delta)
            }
            DeltaSource::Numbered { total } => {
                let number = step(cursor, *total)?;
                Some(format!("w{number} "))
            }
        }
    }
}

/// The place before the step, if there is one left.
fn step(cursor: &mut u64, total: u64) -> Option<u64> {
    let before = *cursor;
    (before < total).then(|| {
        *cursor += 1;
        before
    })
}

/// The first word with the whitespace in front of it (only a text that starts so) and behind it.
fn first_word(text: &str) -> Option<&str> {
    if text.is_empty() {
        return None;
    }
    let blanks = |from: usize| text[from..].find(|c: char| !c.is_whitespace());
    let start = blanks(0).unwrap_or(text.len());
    let end = text[start..]
        .find(char::is_whitespace)
        .map_or(text.len(), |at| start + at);
    let next = blanks(end).map_or(text.len(), |at| end + at);
    Some(&text[..next])
}
