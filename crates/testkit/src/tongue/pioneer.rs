//! pioneer, as a client speaks it: one that wants to be asked for permission.

use anyhow::Context;
use serde_json::{Value, json};

use super::{Deed, PastDeed, Signal, Tongue};

/// Clients make up their own ids, 21 characters each.
const THREAD: &str = "thread-of-the-scenari";
const WORKSPACE: &str = "000000000000000000000";

pub struct Pioneer {
    /// The thread's name: one of ours, or another client's.
    name: String,
    last_request: u32,
    last_turn: u32,
    /// What to say because of what was heard.
    next: Vec<String>,
    /// The id of the request that starts the thread.
    starting: Option<String>,
    started: bool,
    /// The greeting is not over before the open request, or the text so far, was told again.
    owed: bool,
    turn: Option<String>,
    /// A turn is over; the thread's rest will be told.
    ended: bool,
    /// The permission request that waits, and its first question where it asks one.
    ask: Option<(String, Option<String>)>,
}

impl Default for Pioneer {
    fn default() -> Self {
        Self {
            name: THREAD.to_owned(),
            last_request: 0,
            last_turn: 0,
            next: Vec::new(),
            starting: None,
            started: false,
            owed: false,
            turn: None,
            ended: false,
            ask: None,
        }
    }
}

impl Tongue for Pioneer {
    fn url(&self, base: &str, _thread: Option<&str>) -> String {
        let base = base.strip_suffix("/ws").unwrap_or(base);
        format!("{base}/pioneer?permissions=1")
    }

    /// Who comes back to a thread knows its workspace.
    fn greet(&mut self, thread: Option<&str>) -> Vec<String> {
        match thread {
            Some(name) => {
                self.name = name.to_owned();
                vec![self.start()]
            }
            None => vec![self.request("workspace/default", &json!({})).1],
        }
    }

    fn say(&mut self, deed: &Deed) -> anyhow::Result<Option<String>> {
        let thread = json!({ "thread_id": self.name });
        let (method, params) = match deed {
            Deed::Say(text) => {
                self.last_turn += 1;
                // Turns are named after the connection's own count and what was said.
                let turn = format!("turn-{:04}-{:011}", self.last_turn, text.len());
                let input = json!([{ "type": "text", "text": text, "textElements": [] }]);
                let params = json!({ "thread_id": self.name, "turn_id": turn, "input": input });
                ("turn/start", params)
            }
            Deed::Approve => self.resolution("allow_once")?,
            Deed::Deny => self.resolution("deny")?,
            Deed::Answer(text) => self.answers(json!([text]))?,
            Deed::Skip => self.answers(json!([]))?,
            Deed::Cancel => {
                let turn = self.turn.as_deref().context("no turn is running")?;
                let params = json!({ "thread_id": self.name, "turn_id": turn });
                ("turn/cancel", params)
            }
            Deed::Read => ("thread/history", thread),
            Deed::Past(PastDeed::Search(words)) => ("thread/search", json!({ "query": words })),
            Deed::List => ("thread/tree", json!({ "workspace_id": WORKSPACE })),
            Deed::Title(name) => {
                let params =
                    json!({ "thread_id": self.name, "workspace_id": WORKSPACE, "name": name });
                ("thread/start", params)
            }
            // A blank answer is refused like any wrong param, and nothing is asked again.
            Deed::Blank
            | Deed::Steer(_)
            | Deed::Reset
            | Deed::Archive
            | Deed::Unarchive
            | Deed::Order(_)
            | Deed::Close
            | Deed::Checkpoint
            | Deed::Restore(_)
            | Deed::DeleteCheckpoint(_)
            | Deed::Checkpoints
            | Deed::Skill(_)
            | Deed::Setting(_)
            | Deed::Past(_)
            | Deed::FileHistory(_)
            | Deed::FileVersion { .. } => {
                return Ok(None);
            }
        };
        Ok(Some(self.request(method, &params).1))
    }

    fn follow_up(&mut self) -> Vec<String> {
        std::mem::take(&mut self.next)
    }

    fn hear(&mut self, frame: &str) -> anyhow::Result<Vec<Signal>> {
        let frame: Value =
            serde_json::from_str(frame).with_context(|| format!("not JSON: {frame}"))?;
        if frame.get("error").is_some() {
            return Ok(vec![Signal::Refused]);
        }
        match frame["method"].as_str() {
            Some(method) => Ok(self.told(method, &frame["params"])),
            None => Ok(self.answered(&frame)),
        }
    }

    /// When a server is heard of that a turn starts depends on the server; that one begins to start may be
    /// told together with its end.
    fn aside(&self, frame: &str) -> bool {
        let of_server = frame.starts_with(r#"{"jsonrpc":"2.0","method":"mcp/server/"#);
        of_server && (self.turn.is_some() || frame.contains(r#""status":"starting""#))
    }

    fn thread(&self) -> Option<&str> {
        self.started.then_some(self.name.as_str())
    }
}

impl Pioneer {
    /// A response: to the greeting, or to something that was asked for.
    fn answered(&mut self, frame: &Value) -> Vec<Signal> {
        let result = &frame["result"];
        if result.get("workspace").is_some() && self.starting.is_none() {
            let start = self.start();
            self.next.push(start);
        }
        let shown = ["events", "threads", "results"]
            .iter()
            .any(|key| result.get(*key).is_some());
        match shown {
            true => vec![Signal::Done],
            false => Vec::new(),
        }
    }

    fn start(&mut self) -> String {
        let params = json!({ "thread_id": self.name, "workspace_id": WORKSPACE, "mode": "Agent" });
        let (id, start) = self.request("thread/start", &params);
        self.starting = Some(id);
        start
    }

    fn told(&mut self, method: &str, params: &Value) -> Vec<Signal> {
        match method {
            // Told again when the thread was only renamed.
            "thread/started" => match std::mem::replace(&mut self.started, true) {
                true => Vec::new(),
                // A thread that is active waits for a person, or writes, and says what.
                false if params["thread"]["status"] == "Active" => {
                    self.owed = true;
                    Vec::new()
                }
                false => vec![Signal::Connected],
            },
            "turn/completed" | "turn/failed" => {
                self.ended = true;
                Vec::new()
            }
            "turn/started" => {
                self.turn = params["turn"]["id"].as_str().map(str::to_owned);
                Vec::new()
            }
            "thread/updated" if params["thread"]["status"] == "Idle" => {
                match std::mem::take(&mut self.ended) {
                    true => vec![Signal::Rest],
                    false => vec![Signal::Done],
                }
            }
            "item/agent_message/delta" => {
                let delta = params["delta"].as_str().unwrap_or_default();
                let text = Signal::Text(delta.to_owned());
                match std::mem::take(&mut self.owed) {
                    true => vec![text, Signal::Connected],
                    false => vec![text],
                }
            }
            "turn/permission/request/opened" => {
                let text = |value: &Value| value.as_str().map(str::to_owned);
                let request = &params["request"];
                let question = text(&request["questions"][0]["id"]);
                self.ask = text(&request["request_id"]).map(|id| (id, question));
                match std::mem::take(&mut self.owed) {
                    true => vec![Signal::Asked, Signal::Connected],
                    false => vec![Signal::Asked],
                }
            }
            _ => Vec::new(),
        }
    }

    fn resolution(&self, resolution: &str) -> anyhow::Result<(&'static str, Value)> {
        let (id, _) = self.ask.as_ref().context("nothing was asked")?;
        let params = json!({ "request_id": id, "resolution": resolution });
        Ok(("turn/permission/request/respond", params))
    }

    fn answers(&self, answers: Value) -> anyhow::Result<(&'static str, Value)> {
        let (id, question) = self.ask.as_ref().context("nothing was asked")?;
        let question = question.as_deref().context("no question was asked")?;
        let params = json!({ "request_id": id, "answers": { question: answers } });
        Ok(("turn/permission/request/respond", params))
    }

    /// A request and its id. Spelled by hand: the envelope comes first, as the page shows it.
    fn request(&mut self, method: &str, params: &Value) -> (String, String) {
        self.last_request += 1;
        let id = format!("request{:014}", self.last_request);
        let frame =
            format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"{method}","params":{params}}}"#);
        (id, frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_is_started_once_the_workspace_is_known() {
        let mut tongue = Pioneer::default();
        assert!(tongue.greet(None)[0].contains("workspace/default"));
        let answer = r#"{"jsonrpc":"2.0","id":"x","result":{"workspace":{}}}"#;
        assert_eq!(tongue.hear(answer).expect("a frame"), []);
        assert!(tongue.follow_up()[0].contains("thread/start"));
        assert_eq!(tongue.thread(), None);
        let started = r#"{"jsonrpc":"2.0","method":"thread/started","params":{"thread":{}}}"#;
        assert_eq!(tongue.hear(started).expect("a frame"), [Signal::Connected]);
        assert_eq!(tongue.thread(), Some(THREAD));
    }

    #[test]
    fn every_id_has_21_characters() {
        assert_eq!(THREAD.len(), 21);
        assert_eq!(WORKSPACE.len(), 21);
        let (id, _) = Pioneer::default().request("m", &json!({}));
        assert_eq!(id.len(), 21);
    }
}
