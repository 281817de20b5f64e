//! What a step waits for, as a scenario writes it.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, bail};
use serde::Deserialize;

/// `rest`, or `2 rest`: the second one since the step began.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Until {
    pub count: usize,
    pub wanted: Wanted,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The greeting is over.
    Connected,
    /// The first text of an answer was seen.
    Streaming,
    /// Streamed text that contains these words was seen.
    Text(String),
    /// The agent asks something.
    Asked,
    /// The turn is over.
    Rest,
    /// A frame of this type was heard.
    Frame(String),
    /// The server said no.
    Refused,
    /// What was wanted has been done or told.
    Done,
    /// The server closed the socket.
    Closed,
    /// A file of the workspace is there: how a running command is seen from outside.
    File(String),
    /// Go on at once.
    Nothing,
}

impl Until {
    pub fn once(wanted: Wanted) -> Self {
        Self { count: 1, wanted }
    }
}

impl FromStr for Until {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let (count, words) = match text.split_once(' ') {
            Some((number, words)) if number.starts_with(|first: char| first.is_ascii_digit()) => {
                let count = number
                    .parse()
                    .with_context(|| format!("not a number: {number}"))?;
                (count, words)
            }
            _ => (1, text),
        };
        let wanted = match words.split_once(' ') {
            Some(("text", text)) => Wanted::Text(text.to_owned()),
            Some(("file", name)) => Wanted::File(name.to_owned()),
            Some(("frame", kind)) => Wanted::Frame(kind.to_owned()),
            Some(_) => bail!("unknown wait `{words}`; with words there are text, file and frame"),
            None => lone(words)?,
        };
        Ok(Self { count, wanted })
    }
}

fn lone(word: &str) -> anyhow::Result<Wanted> {
    Ok(match word {
        "connected" => Wanted::Connected,
        "streaming" => Wanted::Streaming,
        "asked" => Wanted::Asked,
        "rest" => Wanted::Rest,
        "refused" => Wanted::Refused,
        "done" => Wanted::Done,
        "closed" => Wanted::Closed,
        "nothing" => Wanted::Nothing,
        _ => bail!(
            "unknown wait `{word}`; there are connected, streaming, text WORDS, asked, rest, \
             refused, done, closed, file NAME, frame TYPE, nothing"
        ),
    })
}

impl TryFrom<String> for Until {
    type Error = anyhow::Error;

    fn try_from(text: String) -> anyhow::Result<Self> {
        text.parse()
    }
}

impl fmt::Display for Until {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count > 1 {
            write!(out, "{} ", self.count)?;
        }
        match &self.wanted {
            Wanted::Connected => write!(out, "connected"),
            Wanted::Streaming => write!(out, "streaming"),
            Wanted::Text(text) => write!(out, "text {text}"),
            Wanted::Frame(kind) => write!(out, "frame {kind}"),
            Wanted::Asked => write!(out, "asked"),
            Wanted::Rest => write!(out, "rest"),
            Wanted::Refused => write!(out, "refused"),
            Wanted::Done => write!(out, "done"),
            Wanted::Closed => write!(out, "closed"),
            Wanted::File(name) => write!(out, "file {name}"),
            Wanted::Nothing => write!(out, "nothing"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_read_back_as_they_are_written() {
        for text in [
            "rest",
            "2 asked",
            "text brown fox",
            "file started",
            "2 frame pong",
            "nothing",
        ] {
            let until: Until = text.parse().expect(text);
            assert_eq!(until.to_string(), text);
        }
    }

    #[test]
    fn an_unknown_wait_says_what_exists() {
        let error = Until::from_str("tomorrow").expect_err("no such wait");
        assert!(error.to_string().contains("there are connected"));
        assert!(Until::from_str("word fox").is_err());
    }
}
