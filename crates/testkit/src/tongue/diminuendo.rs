//! diminuendo 1, as a client speaks it: it makes a session or comes back to one, and joins it.

use anyhow::Context;
use serde_json::{Value, json};

use super::{Deed, Signal, Tongue};

#[derive(Default)]
pub struct Diminuendo {
    session: Option<String>,
    /// What to say next.
    next: Option<String>,
    resumes: bool,
    /// Whether the session slept when it was joined, and wakes up now.
    wakes: bool,
    ask: Option<Asked>,
    /// Whether no turn runs, or only one that was told to stop.
    quiet: bool,
}

/// The request that waits, and the questions it asks; none for a permission.
struct Asked {
    id: String,
    questions: Vec<String>,
}

impl Tongue for Diminuendo {
    fn url(&self, base: &str, _thread: Option<&str>) -> String {
        let host = base.strip_suffix("/ws").unwrap_or(base);
        format!("{host}/diminuendo")
    }

    /// Speaks when it is spoken to; only remembers what it came for.
    fn greet(&mut self, thread: Option<&str>) -> Vec<String> {
        self.session = thread.map(str::to_owned);
        self.resumes = thread.is_some();
        Vec::new()
    }

    fn say(&mut self, deed: &Deed) -> anyhow::Result<Option<String>> {
        Ok(Some(match deed {
            Deed::Say(text) => self.frame("run_turn", &[("text", text.as_str().into())])?,
            Deed::Approve => self.approval(true)?,
            Deed::Deny => self.approval(false)?,
            Deed::Answer(text) => self.answer(text)?,
            Deed::Skip => {
                let asked = self.asked()?.id.as_str().into();
                self.frame(
                    "answer_question",
                    &[("requestId", asked), ("dismissed", true.into())],
                )?
            }
            Deed::Blank => self.answer("   ")?,
            Deed::Cancel => {
                self.quiet = true;
                self.frame("stop_turn", &[])?
            }
            Deed::Steer(text) => self.frame("steer", &[("content", text.as_str().into())])?,
            Deed::Read => self.frame("get_history", &[])?,
            Deed::List => r#"{"type":"list_sessions"}"#.to_owned(),
            Deed::Title(title) => {
                let fields = [("name", title.as_str().into()), ("requestId", "1".into())];
                self.frame("rename_session", &fields)?
            }
            Deed::Archive => self.frame("archive_session", &[])?,
            Deed::Unarchive => self.frame("unarchive_session", &[])?,
            Deed::FileHistory(path) => {
                self.frame("file_history", &[("path", path.as_str().into())])?
            }
            Deed::FileVersion { path, iteration } => {
                let fields = [
                    ("path", path.as_str().into()),
                    ("iteration", (*iteration).into()),
                ];
                self.frame("file_at_iteration", &fields)?
            }
            Deed::Reset
            | Deed::Close
            | Deed::Checkpoint
            | Deed::Restore(_)
            | Deed::DeleteCheckpoint(_)
            | Deed::Order(_)
            | Deed::Skill(_)
            | Deed::Setting(_)
            | Deed::Past(_)
            | Deed::Checkpoints => return Ok(None),
        }))
    }

    fn follow_up(&mut self) -> Vec<String> {
        self.next.take().into_iter().collect()
    }

    fn hear(&mut self, frame: &str) -> anyhow::Result<Vec<Signal>> {
        let frame: Value =
            serde_json::from_str(frame).with_context(|| format!("not JSON: {frame}"))?;
        let kind = frame["type"].as_str().context("a frame without a type")?;
        Ok(match kind {
            "authenticated" => self.authenticated()?,
            "session_created" => {
                self.session = frame["session"]["id"].as_str().map(str::to_owned);
                self.next = Some(self.frame("join_session", &[])?);
                Vec::new()
            }
            "state_snapshot" => {
                self.wakes = frame["session"]["status"] == "inactive";
                Vec::new()
            }
            "replay_complete" if !self.wakes => vec![Signal::Connected],
            "session_state" if frame["reason"] == "activated" => {
                let is_awake = frame["state"] == "ready" && std::mem::take(&mut self.wakes);
                is_awake.then_some(Signal::Connected).into_iter().collect()
            }
            "text_delta" => {
                let text = frame["text"].as_str().unwrap_or_default();
                vec![Signal::Text(text.to_owned())]
            }
            "permission_requested" | "question_requested" => {
                self.ask = asked(&frame);
                Vec::new()
            }
            "session_state" => {
                self.quiet |= matches!(frame["state"].as_str(), Some("ready" | "error"));
                self.quiet &= frame["reason"] != "turn_started";
                rest_or_asked(&frame)
            }
            // A request that was answered wrongly still waits.
            "error" => vec![Signal::Refused, Signal::Asked],
            "history" | "session_list" | "steer_sent" => vec![Signal::Done],
            "file_history_result" | "file_content" => vec![Signal::Done],
            "session_archived" | "session_unarchived" => vec![Signal::Done],
            "session_updated" if frame["requestId"].is_string() => vec![Signal::Done],
            _ => Vec::new(),
        })
    }

    /// When the list of sessions is told anew depends on how the store groups its writes; when files are
    /// seen to have changed that no running turn waits for, on the disk.
    fn aside(&self, frame: &str) -> bool {
        let updated = frame.starts_with(r#"{"type":"session_updated""#);
        let changed = frame.starts_with(r#"{"type":"file_changed""#);
        (updated && !frame.contains(r#""requestId":"#)) || (changed && self.quiet)
    }

    fn thread(&self) -> Option<&str> {
        self.session.as_deref()
    }
}

/// The state is told behind the request, and behind the end of a turn.
fn rest_or_asked(frame: &Value) -> Vec<Signal> {
    let on_the_way = matches!(frame["reason"].as_str(), Some("turn_started" | "activated"));
    match frame["state"].as_str() {
        Some("waiting") => vec![Signal::Asked],
        Some("ready" | "error") if !on_the_way => vec![Signal::Rest],
        _ => Vec::new(),
    }
}

fn asked(frame: &Value) -> Option<Asked> {
    let questions = frame["questions"].as_array();
    let ids = questions.into_iter().flatten();
    Some(Asked {
        id: frame["requestId"].as_str()?.to_owned(),
        questions: ids
            .filter_map(|question| question["id"].as_str().map(str::to_owned))
            .collect(),
    })
}

impl Diminuendo {
    /// Who comes back asks for everything since the beginning; who has a session goes on with it.
    fn authenticated(&mut self) -> anyhow::Result<Vec<Signal>> {
        let came_back = std::mem::take(&mut self.resumes);
        self.next = match (came_back, &self.session) {
            (true, _) => Some(self.frame("join_session", &[("afterSeq", 0.into())])?),
            (false, None) => {
                Some(r#"{"type":"create_session","agentType":"coding-agent"}"#.to_owned())
            }
            (false, Some(_)) => None,
        };
        Ok(Vec::new())
    }

    fn asked(&self) -> anyhow::Result<&Asked> {
        self.ask.as_ref().context("nothing was asked")
    }

    fn approval(&self, approved: bool) -> anyhow::Result<String> {
        let asked = self.asked()?.id.as_str().into();
        let answers = json!({"approved": approved});
        let fields = [("requestId", asked), ("answers", answers)];
        self.frame("answer_question", &fields)
    }

    /// Says the same to every question.
    fn answer(&self, text: &str) -> anyhow::Result<String> {
        let asked = self.asked()?;
        let answers = asked.questions.iter().map(|id| (id.clone(), text.into()));
        let fields = [
            ("requestId", asked.id.as_str().into()),
            ("answers", Value::Object(answers.collect())),
        ];
        self.frame("answer_question", &fields)
    }

    /// Spelled by hand, with the type first.
    fn frame(&self, kind: &str, fields: &[(&str, Value)]) -> anyhow::Result<String> {
        let session = self.session.as_deref().context("no session yet")?;
        let mut frame = format!(r#"{{"type":"{kind}","sessionId":"{session}""#);
        for (name, value) in fields {
            frame.push_str(&format!(r#","{name}":{value}"#));
        }
        frame.push('}');
        Ok(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_makes_a_session_and_joins_it() {
        let mut tongue = Diminuendo::default();
        assert!(tongue.greet(None).is_empty());
        let hear = |tongue: &mut Diminuendo, frame: &str| tongue.hear(frame).expect("a frame");
        hear(&mut tongue, r#"{"type":"authenticated"}"#);
        assert!(tongue.follow_up()[0].contains("create_session"));
        hear(
            &mut tongue,
            r#"{"type":"session_created","session":{"id":"s"}}"#,
        );
        assert_eq!(
            tongue.follow_up(),
            [r#"{"type":"join_session","sessionId":"s"}"#]
        );
        assert_eq!(tongue.thread(), Some("s"));
    }

    #[test]
    fn lists_that_change_are_told_aside_unless_asked_for() {
        let tongue = Diminuendo::default();
        assert!(tongue.aside(r#"{"type":"session_updated","session":{}}"#));
        assert!(!tongue.aside(r#"{"type":"session_updated","session":{},"requestId":"1"}"#));
    }

    #[test]
    fn a_version_is_asked_for_by_path_and_number() {
        let mut tongue = Diminuendo::default();
        tongue.greet(Some("s"));
        let deed = Deed::FileVersion {
            path: "a.txt".to_owned(),
            iteration: 2,
        };
        assert_eq!(
            tongue.say(&deed).expect("no error").as_deref(),
            Some(r#"{"type":"file_at_iteration","sessionId":"s","path":"a.txt","iteration":2}"#)
        );
        let told = tongue.hear(r#"{"type":"file_content"}"#);
        assert_eq!(told.expect("a file"), [Signal::Done]);
        assert_eq!(tongue.say(&Deed::Checkpoint).expect("no error"), None);
    }
}
