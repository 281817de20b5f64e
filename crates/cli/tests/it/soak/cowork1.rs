//! A cowork 1 client: it opens a thread, hears whole messages, and is gone with its connection.

use anyhow::Context;
use serde_json::{Value, json};

use super::cowork::ask_number;
use super::desk::{Desk, Fate};
use super::entry::{Entry, text};
use super::voice::{Deed, Views, Voice};

#[derive(Default)]
pub struct Cowork1 {
    /// What people said, and what the agent said in each turn.
    heard: Vec<Entry>,
    connected: bool,
}

impl Cowork1 {
    fn frame(desk: &Desk, kind: &str, mut fields: Value) -> Option<String> {
        fields["type"] = json!(kind);
        fields["sessionId"] = json!(desk.thread.as_ref()?);
        Some(fields.to_string())
    }
}

impl Voice for Cowork1 {
    fn url(&self, base: &str, _thread: Option<&str>) -> String {
        format!("{base}?protocol=1")
    }

    fn greet(&mut self, _desk: &mut Desk) -> Vec<String> {
        self.connected = true;
        Vec::new()
    }

    fn hear(&mut self, desk: &mut Desk, frame: &Value) -> anyhow::Result<Vec<String>> {
        let kind = frame["type"].as_str().context("a frame without a type")?;
        let waiting = || desk.said.iter().position(|said| said.fate == Fate::Waiting);
        match kind {
            "server_hello" => {
                desk.thread = Some(text(&frame["sessionId"]));
                desk.ready = true;
            }
            "user_message" => {
                let words = text(&frame["text"]);
                if let Some(at) = desk.said.iter().position(|said| said.words == words) {
                    desk.accept(at);
                }
                self.heard.push(Entry::User(words));
            }
            "assistant_message" => self.heard.push(Entry::Agent(text(&frame["text"]))),
            "session_busy" => {
                desk.busy = frame["busy"] == true;
                if !desk.busy {
                    desk.asks_over();
                }
            }
            "ask" | "approval" => {
                let request = text(&frame["requestId"]);
                let questions = match kind {
                    "ask" => vec!["words".to_owned()],
                    _ => Vec::new(),
                };
                desk.asked(ask_number(&request), &request, questions);
            }
            "error" if frame["message"] == "Agent is busy" => {
                if let Some(at) = waiting() {
                    desk.refuse(at, "busy");
                }
            }
            "tools" => desk.answered("tools"),
            "reset_done" => self.heard.clear(),
            _ => {}
        }
        Ok(Vec::new())
    }

    fn one_frame(&mut self, desk: &mut Desk, deed: &Deed) -> Option<String> {
        match deed {
            Deed::Say(words) if !desk.is_waiting() => {
                desk.say("", words, false);
                Self::frame(desk, "user_message", json!({ "text": words }))
            }
            Deed::Answer { ask, yes, words } => {
                let ask = desk.asks.get_mut(ask)?;
                ask.answered = true;
                let id = ask.reply_to.clone();
                match ask.questions.is_empty() {
                    true => {
                        let fields = json!({ "requestId": id, "approved": yes });
                        Self::frame(desk, "approval_response", fields)
                    }
                    false => {
                        let fields = json!({ "requestId": id, "answer": words });
                        Self::frame(desk, "ask_response", fields)
                    }
                }
            }
            Deed::List => {
                desk.expect("tools");
                Self::frame(desk, "list_tools", json!({}))
            }
            _ => None,
        }
    }

    fn resumes(&self) -> bool {
        !self.connected
    }

    fn views(&self, _desk: &Desk) -> Views {
        Views {
            live: Some(self.heard.clone()),
            ..Views::default()
        }
    }
}
