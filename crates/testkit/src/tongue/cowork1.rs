//! The first cowork protocol, as a client speaks it: a session is a connection, and is gone with it.

use anyhow::Context;
use serde_json::Value;

use super::cowork::{Ends, backup};
use super::{Deed, Signal, Tongue};

#[derive(Default)]
pub struct Cowork1 {
    session: Option<String>,
    /// The ask that waits, by its `requestId`.
    ask: Option<String>,
    ends: Ends,
}

impl Tongue for Cowork1 {
    /// There is no coming back: whoever connects has a new session.
    fn url(&self, base: &str, _thread: Option<&str>) -> String {
        format!("{base}?protocol=1")
    }

    fn say(&mut self, deed: &Deed) -> anyhow::Result<Option<String>> {
        match deed {
            Deed::Say(words) => self.frame("user_message", &[("text", words.as_str().into())]),
            Deed::Approve => self.approval(true),
            Deed::Deny => self.approval(false),
            Deed::Answer(words) => self.answer(words),
            Deed::Skip => self.answer("[skipped]"),
            Deed::Reset => self.frame("reset", &[]),
            // A blank is an answer like any other here, so it refuses nothing.
            Deed::Blank
            | Deed::Cancel
            | Deed::Steer(_)
            | Deed::Read
            | Deed::List
            | Deed::Title(_)
            | Deed::Archive
            | Deed::Unarchive
            | Deed::Order(_)
            | Deed::Close
            | Deed::Skill(_)
            | Deed::Setting(_)
            | Deed::Past(_)
            | Deed::FileHistory(_)
            | Deed::FileVersion { .. } => Ok(None),
            Deed::Checkpoint | Deed::Restore(_) | Deed::DeleteCheckpoint(_) | Deed::Checkpoints => {
                match backup::message(deed) {
                    Some((kind, fields)) => self.frame(kind, &fields),
                    None => Ok(None),
                }
            }
        }
    }

    fn hear(&mut self, frame: &str) -> anyhow::Result<Vec<Signal>> {
        let frame: Value =
            serde_json::from_str(frame).with_context(|| format!("not JSON: {frame}"))?;
        let kind = frame["type"].as_str().context("a frame without a type")?;
        Ok(match kind {
            "server_hello" => {
                let session = frame["sessionId"].as_str().context("a hello without id")?;
                self.session = Some(session.to_owned());
                vec![Signal::Connected]
            }
            "ask" | "approval" => {
                self.ask = frame["requestId"].as_str().map(str::to_owned);
                vec![Signal::Asked]
            }
            "session_busy" => {
                self.ends.busy(&frame);
                Vec::new()
            }
            "session_backup_state" => self.ends.backup(&frame).into_iter().collect(),
            "error" => vec![Signal::Refused],
            "reset_done" => vec![Signal::Done],
            _ => Vec::new(),
        })
    }

    fn aside(&self, frame: &str) -> bool {
        self.ends.aside(frame)
    }

    fn thread(&self) -> Option<&str> {
        self.session.as_deref()
    }
}

impl Cowork1 {
    /// What was asked on another connection cannot be answered on this one.
    fn approval(&self, approved: bool) -> anyhow::Result<Option<String>> {
        let Some(ask) = self.ask.as_deref() else {
            return Ok(None);
        };
        let fields = [("requestId", ask.into()), ("approved", approved.into())];
        self.frame("approval_response", &fields)
    }

    fn answer(&self, answer: &str) -> anyhow::Result<Option<String>> {
        let Some(ask) = self.ask.as_deref() else {
            return Ok(None);
        };
        let fields = [("requestId", ask.into()), ("answer", answer.into())];
        self.frame("ask_response", &fields)
    }

    /// Spelled by hand, with the type first, as the protocol page shows it.
    fn frame(&self, kind: &str, fields: &[(&str, Value)]) -> anyhow::Result<Option<String>> {
        let session = self.session.as_deref().context("not connected yet")?;
        let mut frame = format!(r#"{{"type":"{kind}","sessionId":"{session}""#);
        for (name, value) in fields {
            frame.push_str(&format!(r#","{name}":{value}"#));
        }
        frame.push('}');
        Ok(Some(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_no_word_for_what_the_protocol_lacks() {
        let mut tongue = Cowork1::default();
        let hello = r#"{"type":"server_hello","sessionId":"s"}"#;
        assert_eq!(tongue.hear(hello).expect("a hello"), [Signal::Connected]);
        for deed in [Deed::Cancel, Deed::Read, Deed::Approve] {
            assert_eq!(tongue.say(&deed).expect("no error"), None);
        }
    }

    #[test]
    fn checkpoints_are_spoken_of_as_in_protocol_7() {
        let mut tongue = Cowork1::default();
        let hello = r#"{"type":"server_hello","sessionId":"s"}"#;
        tongue.hear(hello).expect("a hello");
        let delete = Deed::DeleteCheckpoint("cp-0001".to_owned());
        assert_eq!(
            tongue.say(&delete).expect("no error").as_deref(),
            Some(
                r#"{"type":"session_backup_delete_checkpoint","sessionId":"s","checkpointId":"cp-0001"}"#
            )
        );
        let state = |reason: &str| {
            format!(
                r#"{{"type":"session_backup_state","reason":"{reason}","backup":{{"status":"ready"}}}}"#
            )
        };
        let mut hear = |frame: &str| tongue.hear(frame).expect("a frame");
        assert_eq!(hear(&state("delete")), [Signal::Done]);
        assert_eq!(hear(r#"{"type":"session_busy","busy":false}"#), []);
        assert_eq!(hear(&state("auto_checkpoint")), [Signal::Rest]);
    }
}
