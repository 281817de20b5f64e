//! codex app-server's JSON-RPC, as a client speaks it; `zane` is the same with another greeting.

use std::collections::VecDeque;

use anyhow::Context;
use serde_json::{Value, json};

use super::{Deed, OrderDeed, PastDeed, Signal, Tongue};

/// Whom it speaks to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Codex,
    Zane,
}

pub struct Codex {
    form: Form,
    last_id: u64,
    /// What the thread is to be, before it is known.
    resumes: Option<String>,
    thread: Option<String>,
    turn: Option<String>,
    /// The request that waits for us: its id, and the first question's where it is one.
    ask: Option<(Value, Option<String>)>,
    /// It is about a tool of an MCP server, and answered with an action.
    elicited: bool,
    /// The requests that wait for the server, by id.
    waiting: Vec<(u64, Expects)>,
    /// What is said next.
    next: VecDeque<String>,
    /// Asks that come behind a resumed thread before it counts as connected.
    owed_ask: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Expects {
    Handshake,
    Thread,
    Turn,
    /// A result that ends the wait.
    Result,
    /// Something that notifications tell.
    Told,
    /// A thread to go on in.
    Fork,
}

impl Codex {
    pub fn new(form: Form) -> Self {
        Self {
            form,
            last_id: 0,
            resumes: None,
            thread: None,
            turn: None,
            ask: None,
            elicited: false,
            waiting: Vec::new(),
            next: VecDeque::new(),
            owed_ask: false,
        }
    }

    fn request(&mut self, expects: Expects, method: &str, params: &Value) -> String {
        self.last_id += 1;
        let id = self.last_id;
        self.waiting.push((id, expects));
        format!(r#"{{"id":{id},"method":"{method}","params":{params}}}"#)
    }

    fn thread_id(&self) -> anyhow::Result<Value> {
        let thread = self.thread.as_deref().context("no thread yet")?;
        Ok(json!(thread))
    }

    /// The handshake is over: open the thread.
    fn open(&mut self) {
        let frame = match self.resumes.clone() {
            None => self.request(Expects::Thread, "thread/start", &json!({})),
            Some(thread) => {
                let params = json!({ "threadId": thread });
                self.request(Expects::Thread, "thread/resume", &params)
            }
        };
        self.next.push_back(frame);
    }

    fn past(&mut self, thread: &Value, deed: &PastDeed) -> Option<String> {
        let only = json!({ "threadId": thread });
        let is_codex = self.form == Form::Codex;
        // Zane's client is given the thread anew, behind the result.
        let reverted = match self.form {
            Form::Codex => Expects::Result,
            Form::Zane => Expects::Told,
        };
        Some(match deed {
            PastDeed::Fork => self.request(Expects::Fork, "thread/fork", &only),
            PastDeed::Rollback(turns) => {
                let params = json!({ "threadId": thread, "numTurns": turns });
                self.request(reverted, "thread/rollback", &params)
            }
            PastDeed::Revert if is_codex => {
                let params = json!({ "threadId": thread, "beforeTurnId": self.turn });
                self.request(reverted, "thread/revert", &params)
            }
            PastDeed::Revert => return self.past(&thread.clone(), &PastDeed::Rollback(1)),
            PastDeed::Aside => {
                let params = json!({ "ephemeral": true });
                self.request(Expects::Told, "thread/start", &params)
            }
            PastDeed::Loaded => self.request(Expects::Result, "thread/loaded/list", &json!({})),
            PastDeed::Search(words) if is_codex => {
                let params = json!({ "searchTerm": words });
                self.request(Expects::Result, "thread/search", &params)
            }
            PastDeed::Delete if is_codex => self.request(Expects::Told, "thread/delete", &only),
            PastDeed::Search(_) | PastDeed::Delete => return None,
        })
    }

    fn respond(&self, result: &Value) -> anyhow::Result<String> {
        let (id, _) = self.ask.as_ref().context("nothing was asked")?;
        Ok(format!(r#"{{"id":{id},"result":{result}}}"#))
    }

    fn decide(&self, decision: &str) -> anyhow::Result<String> {
        // Its words are the same, and there is one less.
        self.respond(&match self.elicited {
            true => json!({ "action": decision, "content": null, "_meta": null }),
            false => json!({ "decision": decision }),
        })
    }

    fn answer(&self, answers: &[&str]) -> anyhow::Result<String> {
        let (_, question) = self.ask.as_ref().context("nothing was asked")?;
        let question = question.as_deref().context("no question was asked")?;
        self.respond(&json!({ "answers": { question: { "answers": answers } } }))
    }

    fn order(&mut self, thread: &Value, order: &OrderDeed) -> String {
        let only = json!({ "threadId": thread });
        match order {
            OrderDeed::Compact => self.request(Expects::Told, "thread/compact/start", &only),
            OrderDeed::Review => {
                let target = json!({ "type": "uncommittedChanges" });
                let params = json!({ "threadId": thread, "target": target, "delivery": "inline" });
                self.request(Expects::Turn, "review/start", &params)
            }
            OrderDeed::Shell(line) => {
                let params = json!({ "threadId": thread, "command": line, "timeoutMs": null });
                self.request(Expects::Told, "thread/shellCommand", &params)
            }
            OrderDeed::Terminals => {
                self.request(Expects::Result, "thread/backgroundTerminals/list", &only)
            }
            OrderDeed::Clean => {
                let expects = match self.form {
                    // Behind the result the commands' ends are told.
                    Form::Codex => Expects::Told,
                    Form::Zane => Expects::Result,
                };
                self.request(expects, "thread/backgroundTerminals/clean", &only)
            }
            OrderDeed::Type(text) => {
                let params = json!({ "threadId": thread, "processId": "1", "text": text });
                self.request(Expects::Result, "dragoman/terminals/write", &params)
            }
        }
    }

    /// A control frame of Zane's.
    fn control(&mut self, frame: &Value) -> Vec<Signal> {
        match (frame["type"].as_str(), self.resumes.clone()) {
            (Some("orbit.hello"), Some(thread)) => {
                let frame = json!({ "type": "orbit.subscribe", "threadId": thread });
                self.next.push_back(frame.to_string());
            }
            (Some("orbit.hello"), None) => self.open(),
            (Some("orbit.subscribed"), Some(_)) => self.open(),
            (Some("orbit.subscribed"), None) => return vec![Signal::Connected, Signal::Done],
            _ => {}
        }
        Vec::new()
    }

    fn result(&mut self, expects: Expects, result: &Value) -> anyhow::Result<Vec<Signal>> {
        match expects {
            Expects::Handshake => {
                self.next
                    .push_back(r#"{"method":"initialized"}"#.to_owned());
                self.open();
            }
            Expects::Thread => return self.opened(result),
            Expects::Turn => {
                let turn = result["turn"]["id"].as_str().context("a turn's id")?;
                self.turn = Some(turn.to_owned());
            }
            Expects::Result => return Ok(vec![Signal::Done]),
            Expects::Fork => {
                let id = result["thread"]["id"].as_str();
                self.thread = Some(id.context("a thread's id")?.to_owned());
            }
            Expects::Told => {}
        }
        Ok(Vec::new())
    }

    fn opened(&mut self, result: &Value) -> anyhow::Result<Vec<Signal>> {
        let thread = &result["thread"];
        let id = thread["id"].as_str().context("a thread's id")?;
        self.thread = Some(id.to_owned());
        let turns = thread["turns"].as_array().and_then(|turns| turns.last());
        if let Some(turn) = turns.and_then(|turn| turn["id"].as_str()) {
            self.turn = Some(turn.to_owned());
        }
        let flags = thread["status"]["activeFlags"].as_array();
        self.owed_ask = flags.is_some_and(|flags| !flags.is_empty());
        let connected = self.resumes.is_some() && !self.owed_ask;
        Ok(connected.then_some(Signal::Connected).into_iter().collect())
    }

    fn notified(&mut self, method: &str, params: &Value) -> Vec<Signal> {
        match method {
            "thread/started" if self.resumes.is_none() => self.started(),
            "item/agentMessage/delta" => {
                let text = params["delta"].as_str().unwrap_or_default();
                vec![Signal::Text(text.to_owned())]
            }
            "turn/started" => {
                self.turn = params["turn"]["id"].as_str().map(str::to_owned);
                Vec::new()
            }
            "turn/completed" => vec![Signal::Rest],
            "item/completed" if params["item"]["source"] == "unifiedExecStartup" => {
                vec![Signal::Done]
            }
            "thread/name/updated" | "thread/archived" | "thread/unarchived" | "thread/deleted" => {
                vec![Signal::Done]
            }
            _ => Vec::new(),
        }
    }

    /// Zane's client subscribes to what it has started.
    fn started(&mut self) -> Vec<Signal> {
        match (self.form, &self.thread) {
            (Form::Codex, _) => vec![Signal::Connected, Signal::Done],
            (Form::Zane, thread) => {
                let frame = json!({ "type": "orbit.subscribe", "threadId": thread });
                self.next.push_back(frame.to_string());
                Vec::new()
            }
        }
    }

    fn asked(&mut self, frame: &Value) -> Vec<Signal> {
        let question = frame["params"]["questions"][0]["id"].as_str();
        self.elicited = frame["method"] == "mcpServer/elicitation/request";
        self.ask = Some((frame["id"].clone(), question.map(str::to_owned)));
        match std::mem::take(&mut self.owed_ask) {
            true => vec![Signal::Asked, Signal::Connected],
            false => vec![Signal::Asked],
        }
    }
}

impl Tongue for Codex {
    fn url(&self, base: &str, _thread: Option<&str>) -> String {
        let base = base.strip_suffix("/ws").unwrap_or(base);
        match self.form {
            Form::Codex => format!("{base}/codex"),
            Form::Zane => format!("{base}/zane/ws"),
        }
    }

    fn greet(&mut self, thread: Option<&str>) -> Vec<String> {
        self.resumes = thread.map(str::to_owned);
        match self.form {
            Form::Zane => Vec::new(),
            Form::Codex => {
                let client = json!({ "name": "scenario", "title": null, "version": "1" });
                let params = json!({ "clientInfo": client });
                vec![self.request(Expects::Handshake, "initialize", &params)]
            }
        }
    }

    fn say(&mut self, deed: &Deed) -> anyhow::Result<Option<String>> {
        let thread = self.thread_id()?;
        let only = json!({ "threadId": thread });
        Ok(Some(match deed {
            Deed::Say(text) => {
                let input = json!([{ "type": "text", "text": text }]);
                let params = json!({ "threadId": thread, "input": input });
                self.request(Expects::Turn, "turn/start", &params)
            }
            Deed::Approve => self.decide("accept")?,
            Deed::Deny => self.decide("decline")?,
            Deed::Answer(text) => self.answer(&[text])?,
            Deed::Skip => self.answer(&[])?,
            Deed::Blank => self.answer(&["   "])?,
            Deed::Cancel => {
                let turn = self.turn.as_deref().context("no turn yet")?;
                let params = json!({ "threadId": thread, "turnId": turn });
                self.request(Expects::Told, "turn/interrupt", &params)
            }
            Deed::Steer(text) => {
                let turn = self.turn.as_deref().context("no turn yet")?;
                let input = json!([{ "type": "text", "text": text }]);
                let params = json!({ "threadId": thread, "input": input, "expectedTurnId": turn });
                self.request(Expects::Result, "turn/steer", &params)
            }
            Deed::Read => match self.form {
                Form::Zane => self.request(Expects::Result, "thread/resume", &only),
                Form::Codex => {
                    let params = json!({ "threadId": thread, "includeTurns": true });
                    self.request(Expects::Result, "thread/read", &params)
                }
            },
            Deed::List => {
                let params = json!({ "cursor": null, "limit": 25 });
                self.request(Expects::Result, "thread/list", &params)
            }
            Deed::Title(name) => {
                let params = json!({ "threadId": thread, "name": name });
                self.request(Expects::Told, "thread/name/set", &params)
            }
            Deed::Archive => {
                let params = json!({ "threadId": thread });
                self.request(Expects::Told, "thread/archive", &params)
            }
            Deed::Unarchive if self.form == Form::Zane => return Ok(None),
            Deed::Unarchive => {
                let params = json!({ "threadId": thread });
                self.request(Expects::Told, "thread/unarchive", &params)
            }
            Deed::Order(order) => self.order(&thread, order),
            Deed::Past(deed) => return Ok(self.past(&thread, deed)),
            Deed::Reset
            | Deed::Close
            | Deed::Checkpoint
            | Deed::Restore(_)
            | Deed::DeleteCheckpoint(_)
            | Deed::Checkpoints
            | Deed::Skill(_)
            | Deed::Setting(_)
            | Deed::FileHistory(_)
            | Deed::FileVersion { .. } => return Ok(None),
        }))
    }

    fn follow_up(&mut self) -> Vec<String> {
        self.next.drain(..).collect()
    }

    fn hear(&mut self, frame: &str) -> anyhow::Result<Vec<Signal>> {
        let frame: Value =
            serde_json::from_str(frame).with_context(|| format!("not JSON: {frame}"))?;
        if frame.get("type").is_some() {
            return Ok(self.control(&frame));
        }
        match (frame["method"].as_str(), frame.get("id")) {
            (Some(_), Some(_)) => Ok(self.asked(&frame)),
            (Some(method), None) => Ok(self.notified(method, &frame["params"])),
            (None, id) => {
                let id = id.and_then(Value::as_u64);
                let at = self.waiting.iter().position(|(each, _)| Some(*each) == id);
                let expects = at.map(|at| self.waiting.remove(at).1);
                match (frame.get("error"), expects) {
                    (Some(_), _) => Ok(vec![Signal::Refused]),
                    (None, Some(expects)) => self.result(expects, &frame["result"]),
                    // To a frame that the story sent as it is.
                    (None, None) => Ok(vec![Signal::Done]),
                }
            }
        }
    }

    fn thread(&self) -> Option<&str> {
        self.thread.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_opened_behind_the_handshake() {
        let mut tongue = Codex::new(Form::Codex);
        assert!(tongue.greet(None)[0].contains(r#""method":"initialize""#));
        tongue.hear(r#"{"id":1,"result":{}}"#).expect("an answer");
        let said = tongue.follow_up();
        assert_eq!(said[0], r#"{"method":"initialized"}"#);
        assert_eq!(said[1], r#"{"id":2,"method":"thread/start","params":{}}"#);
    }

    #[test]
    fn an_ask_is_answered_by_its_own_id() {
        let mut tongue = Codex::new(Form::Zane);
        tongue.thread = Some("t".to_owned());
        let ask = r#"{"id":7,"method":"item/commandExecution/requestApproval","params":{}}"#;
        assert_eq!(tongue.hear(ask).expect("an ask"), [Signal::Asked]);
        assert_eq!(
            tongue.say(&Deed::Deny).expect("an answer").expect("a word"),
            r#"{"id":7,"result":{"decision":"decline"}}"#
        );
    }
}
