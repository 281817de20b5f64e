//! cowork 7.0, as a client speaks it.

use std::collections::BTreeSet;

use anyhow::Context;
use serde_json::{Value, json};

use super::{Deed, SettingDeed, Signal, SkillDeed, Tongue};

pub mod backup;

pub use backup::Ends;

/// What a server sends on connect, in any order from the sixth on.
const GREETING: [&str; 10] = [
    "server_hello",
    "session_settings",
    "session_config",
    "session_info",
    "observability_status",
    "provider_catalog",
    "provider_auth_methods",
    "provider_status",
    "mcp_servers",
    "session_backup_state",
];

#[derive(Default)]
pub struct Cowork {
    session: Option<String>,
    /// What the greeting still owes; known from the hello on.
    owed: BTreeSet<&'static str>,
    /// The ask that waits, by its `requestId`.
    ask: Option<String>,
    ends: Ends,
}

impl Tongue for Cowork {
    fn url(&self, base: &str, thread: Option<&str>) -> String {
        match thread {
            Some(thread) => format!("{base}?resumeSessionId={thread}"),
            None => base.to_owned(),
        }
    }

    fn say(&mut self, deed: &Deed) -> anyhow::Result<Option<String>> {
        let text = |text: &str| Value::from(text);
        Ok(Some(match deed {
            Deed::Say(words) => self.frame("user_message", &[("text", text(words))])?,
            Deed::Approve => self.approval(true)?,
            Deed::Deny => self.approval(false)?,
            Deed::Answer(words) => self.answer(words)?,
            Deed::Skip => self.answer("[skipped]")?,
            Deed::Blank => self.answer("   ")?,
            Deed::Cancel => self.frame("cancel", &[])?,
            Deed::Reset => self.frame("reset", &[])?,
            Deed::Read => self.frame("get_messages", &[])?,
            Deed::List => self.frame("list_sessions", &[])?,
            Deed::Title(title) => self.frame("set_session_title", &[("title", text(title))])?,
            Deed::Steer(_)
            | Deed::Archive
            | Deed::Unarchive
            | Deed::Order(_)
            | Deed::FileHistory(_)
            | Deed::FileVersion { .. } => return Ok(None),
            Deed::Checkpoint | Deed::Restore(_) | Deed::DeleteCheckpoint(_) | Deed::Checkpoints => {
                let Some((kind, fields)) = backup::message(deed) else {
                    return Ok(None);
                };
                self.frame(kind, &fields)?
            }
            Deed::Skill(deed) => self.skill(deed)?,
            Deed::Setting(deed) => self.setting(deed)?,
            Deed::Past(_) => return Ok(None),
            Deed::Close => self.frame("session_close", &[])?,
        }))
    }

    fn hear(&mut self, frame: &str) -> anyhow::Result<Vec<Signal>> {
        let frame: Value =
            serde_json::from_str(frame).with_context(|| format!("not JSON: {frame}"))?;
        let kind = frame["type"].as_str().context("a frame without a type")?;
        let mut signals = Vec::new();
        match kind {
            "server_hello" => self.greeted(&frame)?,
            "ask" | "approval" => {
                self.ask = frame["requestId"].as_str().map(str::to_owned);
                signals.push(Signal::Asked);
            }
            "model_stream_chunk" if frame["partType"] == "text_delta" => {
                let text = frame["part"]["text"].as_str().unwrap_or_default();
                signals.push(Signal::Text(text.to_owned()));
            }
            "session_busy" => self.ends.busy(&frame),
            "session_backup_state" => signals.extend(self.ends.backup(&frame)),
            "error" => signals.push(Signal::Refused),
            "session_info" | "messages" | "sessions" | "reset_done" | "skills_list"
            | "skill_content" | "commands" | "file_uploaded" | "harness_context" => {
                signals.push(Signal::Done);
            }
            "session_settings" | "session_config" if self.owed.is_empty() => {
                signals.push(Signal::Done);
            }
            _ => {}
        }
        // A checkpoint that is told while the greeting is still on its way is not the greeting's.
        let is_greeting = !backup::is_on_its_way(&frame) && frame["reason"] != "auto_checkpoint";
        if is_greeting && self.owed.remove(kind) && self.owed.is_empty() {
            signals.push(Signal::Connected);
        }
        Ok(signals)
    }

    fn aside(&self, frame: &str) -> bool {
        self.ends.aside(frame)
    }

    fn thread(&self) -> Option<&str> {
        self.session.as_deref()
    }
}

impl Cowork {
    /// Replayed asks come right behind the ten, and the hello tells whether there are any.
    fn greeted(&mut self, hello: &Value) -> anyhow::Result<()> {
        let session = hello["sessionId"].as_str().context("a hello without id")?;
        self.session = Some(session.to_owned());
        self.owed = BTreeSet::from(GREETING);
        if hello["hasPendingAsk"] == true {
            self.owed.insert("ask");
        }
        if hello["hasPendingApproval"] == true {
            self.owed.insert("approval");
        }
        Ok(())
    }

    fn skill(&self, deed: &SkillDeed) -> anyhow::Result<String> {
        let (kind, name) = match deed {
            SkillDeed::List => return self.frame("list_skills", &[]),
            SkillDeed::Commands => return self.frame("list_commands", &[]),
            SkillDeed::Run(line) => {
                let (name, arguments) = line.split_once(' ').unwrap_or((line, ""));
                let fields = [("name", name.into()), ("arguments", arguments.into())];
                return self.frame("execute_command", &fields);
            }
            SkillDeed::Read(name) => ("read_skill", name),
            SkillDeed::Enable(name) => ("enable_skill", name),
            SkillDeed::Disable(name) => ("disable_skill", name),
            SkillDeed::Delete(name) => ("delete_skill", name),
        };
        self.frame(kind, &[("skillName", name.as_str().into())])
    }

    fn setting(&self, deed: &SettingDeed) -> anyhow::Result<String> {
        let (kind, fields) = match deed {
            SettingDeed::Upload(text) => {
                let (name, content) = text.split_once(' ').unwrap_or((text, ""));
                let fields = vec![("filename", name.into()), ("contentBase64", content.into())];
                ("upload_file", fields)
            }
            SettingDeed::Objective(text) => {
                let context = json!({
                    "runId": "run-1",
                    "taskId": "task-7",
                    "objective": text,
                    "acceptanceCriteria": ["It works"],
                    "constraints": ["No new dependencies"],
                    "metadata": {"team": "web"},
                });
                ("harness_context_set", vec![("context", context)])
            }
            SettingDeed::ReadObjective => ("harness_context_get", Vec::new()),
            SettingDeed::Model(text) => {
                let (provider, model) = text.split_once(' ').unwrap_or(("openai", text));
                let fields = vec![("provider", provider.into()), ("model", model.into())];
                ("set_model", fields)
            }
            SettingDeed::SubAgentModel(model) => {
                let config = json!({ "subAgentModel": model });
                ("set_config", vec![("config", config)])
            }
            SettingDeed::NoMcp => ("set_enable_mcp", vec![("enableMcp", false.into())]),
        };
        self.frame(kind, &fields)
    }

    fn approval(&self, approved: bool) -> anyhow::Result<String> {
        let ask = self.ask.as_deref().context("nothing was asked")?;
        let fields = [("requestId", ask.into()), ("approved", approved.into())];
        self.frame("approval_response", &fields)
    }

    fn answer(&self, answer: &str) -> anyhow::Result<String> {
        let ask = self.ask.as_deref().context("nothing was asked")?;
        let fields = [("requestId", ask.into()), ("answer", answer.into())];
        self.frame("ask_response", &fields)
    }

    /// Spelled by hand: the protocol page shows the type first, and so do the transcripts.
    fn frame(&self, kind: &str, fields: &[(&str, Value)]) -> anyhow::Result<String> {
        let session = self.session.as_deref().context("not connected yet")?;
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

    fn greet(tongue: &mut Cowork, hello: &str) -> Vec<Signal> {
        let mut signals = tongue.hear(hello).expect("a hello");
        for kind in &GREETING[1..] {
            let frame = format!(r#"{{"type":"{kind}","sessionId":"s"}}"#);
            signals.extend(tongue.hear(&frame).expect("a frame"));
        }
        signals
    }

    #[test]
    fn connected_is_after_the_ten() {
        let mut tongue = Cowork::default();
        let signals = greet(&mut tongue, r#"{"type":"server_hello","sessionId":"s"}"#);
        assert_eq!(signals.last(), Some(&Signal::Connected));
        assert_eq!(tongue.thread(), Some("s"));
    }

    #[test]
    fn a_replayed_ask_belongs_to_the_greeting_and_can_be_answered() {
        let mut tongue = Cowork::default();
        let hello = r#"{"type":"server_hello","sessionId":"s","hasPendingApproval":true}"#;
        assert!(!greet(&mut tongue, hello).contains(&Signal::Connected));
        let ask = r#"{"type":"approval","sessionId":"s","requestId":"4","command":"ls"}"#;
        let signals = tongue.hear(ask).expect("an approval");
        assert_eq!(signals, [Signal::Asked, Signal::Connected]);
        assert_eq!(
            tongue.say(&Deed::Deny).expect("an answer").expect("a word"),
            r#"{"type":"approval_response","sessionId":"s","requestId":"4","approved":false}"#
        );
    }

    #[test]
    fn connected_is_not_before_the_original_is_there() {
        let mut tongue = Cowork::default();
        let state = |status: &str| {
            format!(
                r#"{{"type":"session_backup_state","reason":"requested","backup":{{"status":"{status}"}}}}"#
            )
        };
        tongue
            .hear(r#"{"type":"server_hello","sessionId":"s"}"#)
            .expect("a hello");
        for kind in &GREETING[1..9] {
            let frame = format!(r#"{{"type":"{kind}","sessionId":"s"}}"#);
            tongue.hear(&frame).expect("a frame");
        }
        let (early, ready) = (state("initializing"), state("ready"));
        assert_eq!(tongue.hear(&early).expect("a state"), []);
        assert!(tongue.aside(&early) && !tongue.aside(&ready));
        let signals = tongue.hear(&ready).expect("a state");
        assert_eq!(signals, [Signal::Done, Signal::Connected]);
    }

    #[test]
    fn a_turn_is_over_when_its_checkpoint_is_told() {
        let mut tongue = Cowork::default();
        let busy = r#"{"type":"session_busy","busy":false}"#;
        let state = r#"{"type":"session_backup_state","reason":"auto_checkpoint","backup":{"status":"ready"}}"#;
        assert_eq!(tongue.hear(state).expect("a state"), []);
        assert_eq!(tongue.hear(busy).expect("an end"), []);
        assert_eq!(tongue.hear(state).expect("a state"), [Signal::Rest]);
        assert_eq!(tongue.hear(state).expect("a state"), []);
    }

    #[test]
    fn a_restore_names_its_checkpoint_if_it_has_one() {
        let mut tongue = Cowork {
            session: Some("s".to_owned()),
            ..Cowork::default()
        };
        for (to, frame) in [
            (None, r#"{"type":"session_backup_restore","sessionId":"s"}"#),
            (
                Some("cp-0001".to_owned()),
                r#"{"type":"session_backup_restore","sessionId":"s","checkpointId":"cp-0001"}"#,
            ),
        ] {
            let said = tongue.say(&Deed::Restore(to)).expect("a word");
            assert_eq!(said.as_deref(), Some(frame));
        }
    }

    #[test]
    fn nothing_is_said_before_the_hello() {
        assert!(Cowork::default().say(&Deed::Cancel).is_err());
    }
}
