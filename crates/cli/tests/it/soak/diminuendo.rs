//! A diminuendo client: it keeps every event that has a number, and joins behind the last one it saw.

mod events;

use std::collections::BTreeMap;

use anyhow::Context;
use serde_json::{Value, json};

use super::cowork::ask_number;
use super::desk::{Desk, Fate};
use super::entry::{Entry, list, text};
use super::voice::{Deed, Pair, Views, Voice};
use events::{Completed, Events, Sequence, calls, final_texts};

const PAGE: usize = 200;

#[derive(Default)]
pub struct Diminuendo {
    sequence: Sequence,
    /// It left, and joins again: what comes before the snapshot was on its way, and is told again or gone.
    rejoining: bool,
    /// What was streamed of the turn that runs; none if some of it was missed.
    streamed: BTreeMap<String, String>,
    /// The answers to the last read.
    history: Option<Vec<(String, Entry)>>,
    events: Events,
    read: Option<Completed>,
}

impl Diminuendo {
    fn frame(desk: &Desk, kind: &str, mut fields: Value) -> Option<String> {
        fields["type"] = json!(kind);
        fields["sessionId"] = json!(desk.thread.as_ref()?);
        Some(fields.to_string())
    }

    fn request(desk: &mut Desk, kind: &str, mut fields: Value) -> Option<String> {
        let id = format!("{kind}-{}", desk.number());
        fields["requestId"] = json!(id);
        desk.expect(id);
        Self::frame(desk, kind, fields)
    }

    fn join(&mut self, desk: &Desk) -> Vec<String> {
        let fields = json!({ "afterSeq": self.sequence.covered });
        Self::frame(desk, "join_session", fields)
            .into_iter()
            .collect()
    }

    fn events(&mut self, desk: &mut Desk, after: u64) -> Option<String> {
        Self::request(
            desk,
            "get_events",
            json!({ "afterSeq": after, "limit": PAGE }),
        )
    }

    fn told(&mut self, desk: &mut Desk, kind: &str, frame: &Value) {
        let turn = text(&frame["turnId"]);
        match kind {
            "turn_started" => {
                if let Some(at) = desk.said.iter().position(|said| said.id == turn) {
                    desk.accept(at);
                }
                if !self.sequence.replaying {
                    self.streamed.insert(turn, String::new());
                }
            }
            "stream_snapshot" => {
                self.streamed.insert(turn, text(&frame["text"]));
            }
            "text_delta" => {
                if let Some(words) = self.streamed.get_mut(&turn) {
                    words.push_str(&text(&frame["text"]));
                }
            }
            "turn_complete" => {
                let bare = |words: &str| words.split_whitespace().collect::<String>();
                if let Some(words) = self.streamed.remove(&turn)
                    && bare(&words) != bare(&text(&frame["finalText"]))
                {
                    desk.alarm(format!(
                        "streamed {words:?}, and then {}",
                        frame["finalText"]
                    ));
                }
            }
            "permission_requested" => {
                let request = text(&frame["requestId"]);
                desk.asked(ask_number(&request), &request, Vec::new());
            }
            "question_requested" => {
                let request = text(&frame["requestId"]);
                let questions = list(&frame["questions"]).map(|each| text(&each["id"]));
                desk.asked(ask_number(&request), &request, questions.collect());
            }
            "approval_resolved" => {
                let outcome = match frame["approved"] == true {
                    true => "allowed",
                    false => "not allowed",
                };
                let number = ask_number(&text(&frame["requestId"]));
                desk.ask_ended(number, Some(outcome.to_owned()));
            }
            "steer_sent" => {
                let words = text(&frame["content"]);
                let mine = |said: &super::desk::Said| said.steers && said.words == words;
                if let Some(at) = desk.said.iter().position(mine) {
                    desk.accept(at);
                }
            }
            _ => {}
        }
    }

    fn state(&mut self, desk: &mut Desk, status: &Value) {
        let status = status.as_str().unwrap_or_default();
        desk.busy = matches!(status, "running" | "waiting" | "activating");
        if status != "waiting" {
            desk.asks_over();
        }
    }

    fn error(&mut self, desk: &mut Desk, frame: &Value) {
        let request = text(&frame["requestId"]);
        if let Some(at) = desk.said.iter().position(|said| said.id == request) {
            desk.refuse(at, &frame.to_string());
        } else if request.starts_with("req-") {
            // It was answered by another, or the server stops and will ask again.
            desk.too_late += 1;
        } else if !request.is_empty() {
            desk.answered(&request);
            if request.starts_with("get_") && frame["code"] != "ServerShuttingDown" {
                desk.alarm(format!("a read was refused: {frame}"));
            }
        }
    }

    fn answered(&mut self, desk: &mut Desk, kind: &str, frame: &Value) -> Option<String> {
        let request = text(&frame["requestId"]);
        desk.answered(&request);
        match kind {
            "history" => {
                let items = list(&frame["items"]).map(|item| {
                    let words = text(&item["content"]);
                    let entry = match item["role"] == "user" {
                        true => Entry::User(words),
                        false => Entry::Agent(words),
                    };
                    (text(&item["turnId"]), entry)
                });
                self.history = Some(items.collect());
                self.events.clear();
                self.events(desk, 0)
            }
            "events" if self.history.is_some() => {
                let before = self.events.len();
                for event in list(&frame["events"]) {
                    let seq = event["seq"].as_u64().unwrap_or_default();
                    // It is told without its number.
                    if event["type"] != "question_requested" {
                        let event = (text(&event["type"]), event["data"].clone());
                        self.events.insert(seq, event);
                    }
                }
                let last = self.events.last_key_value().map_or(0, |(seq, _)| *seq);
                if self.events.len() > before {
                    return self.events(desk, last);
                }
                self.read = self.history.take().map(|history| Completed {
                    seen: self.sequence.kept.clone(),
                    events: std::mem::take(&mut self.events),
                    history,
                });
                None
            }
            // A session that was made to be deleted.
            "session_created" => {
                let session = text(&frame["session"]["id"]);
                let id = format!("delete-{}", desk.number());
                desk.expect(id.clone());
                let delete =
                    json!({ "type": "delete_session", "sessionId": session, "requestId": id });
                Some(delete.to_string())
            }
            _ => None,
        }
    }
}

impl Voice for Diminuendo {
    fn url(&self, base: &str, _thread: Option<&str>) -> String {
        let base = base.strip_suffix("/ws").unwrap_or(base);
        format!("{base}/diminuendo")
    }

    fn greet(&mut self, _desk: &mut Desk) -> Vec<String> {
        self.streamed.clear();
        self.sequence.replaying = false;
        self.rejoining = false;
        self.history = None;
        Vec::new()
    }

    fn hear(&mut self, desk: &mut Desk, frame: &Value) -> anyhow::Result<Vec<String>> {
        let kind = frame["type"].as_str().context("a frame without a type")?;
        let asked_for = frame["requestId"]
            .as_str()
            .is_some_and(|id| !id.starts_with("req-"));
        match kind {
            "authenticated" if desk.thread.is_none() => {
                let create = json!({ "type": "create_session", "agentType": "coding-agent" });
                return Ok(vec![create.to_string()]);
            }
            "authenticated" => return Ok(self.join(desk)),
            "session_created" if desk.thread.is_none() => {
                desk.thread = Some(text(&frame["session"]["id"]));
                return Ok(self.join(desk));
            }
            "error" => self.error(desk, frame),
            "pong" => desk.answered("pong"),
            "session_updated" if frame["session"]["id"].as_str() == desk.thread.as_deref() => {
                desk.title = frame["session"]["name"].as_str().map(str::to_owned);
                if asked_for {
                    desk.answered(&text(&frame["requestId"]));
                }
            }
            "steer_sent" => self.told(desk, kind, frame),
            _ if asked_for => return Ok(self.answered(desk, kind, frame).into_iter().collect()),
            _ if frame["sessionId"].as_str() != desk.thread.as_deref() => {}
            _ if self.rejoining && kind != "state_snapshot" => {}
            "state_snapshot" => {
                // Without a join it only says what the session is now.
                self.sequence.replaying = !desk.ready;
                self.rejoining = false;
                desk.title = frame["session"]["name"].as_str().map(str::to_owned);
                self.state(desk, &frame["session"]["status"]);
                // What waits is replayed, or told behind it.
                desk.asks_over();
            }
            "gap" => {
                self.sequence.gap(desk, frame);
                // Pieces of a text may be gone.
                if !self.sequence.replaying {
                    self.streamed.clear();
                }
            }
            "replay_complete" => {
                self.sequence.replaying = false;
                desk.ready = true;
                let last = frame["lastSeq"].as_u64().unwrap_or_default();
                if last != self.sequence.covered {
                    let covered = self.sequence.covered;
                    desk.alarm(format!("a replay up to {last} told up to {covered}"));
                }
            }
            "session_state" => self.state(desk, &frame["state"]),
            _ => {
                if let Some(seq) = frame["seq"].as_u64() {
                    self.sequence.numbered(desk, kind, frame, seq);
                }
                self.told(desk, kind, frame);
            }
        }
        Ok(Vec::new())
    }

    fn one_frame(&mut self, desk: &mut Desk, deed: &Deed) -> Option<String> {
        match deed {
            Deed::Say(words) => {
                let id = format!("turn-{words}");
                let id: String = id.chars().take(190).collect();
                desk.say(&id, words, false);
                let fields = json!({ "text": words, "clientTurnId": id, "requestId": id });
                Self::frame(desk, "run_turn", fields)
            }
            Deed::SayAgain => {
                let said = desk.said[desk.last_said()?].clone();
                let fields =
                    json!({ "text": said.words, "clientTurnId": said.id, "requestId": said.id });
                Self::frame(desk, "run_turn", fields)
            }
            Deed::Steer(words) if !desk.said.iter().any(|said| said.fate == Fate::Waiting) => {
                let id = format!("steer-{words}");
                desk.say(&id, words, true);
                let fields = json!({ "content": words, "requestId": id });
                Self::frame(desk, "steer", fields)
            }
            Deed::Cancel => Self::request(desk, "stop_turn", json!({})),
            Deed::Answer { ask, yes, words } => {
                let ask = desk.asks.get_mut(ask)?;
                ask.answered = true;
                let answers = match ask.questions.is_empty() {
                    true => json!({ "approved": yes }),
                    false => {
                        let all = ask.questions.iter().map(|id| (id.clone(), json!(words)));
                        Value::Object(all.collect())
                    }
                };
                let fields = json!({ "requestId": ask.reply_to, "answers": answers });
                Self::frame(desk, "answer_question", fields)
            }
            Deed::Title(name) => Self::request(desk, "rename_session", json!({ "name": name })),
            Deed::Read if self.history.is_none() => {
                Self::request(desk, "get_history", json!({ "limit": 1000 }))
            }
            Deed::Page(from) if self.history.is_none() => {
                let fields = json!({ "afterSeq": (*from).min(1), "limit": 5 });
                Self::request(desk, "get_events", fields)
            }
            Deed::Look(_) => {
                desk.expect("pong");
                Some(json!({ "type": "ping", "ts": 1 }).to_string())
            }
            Deed::List => Self::request(desk, "list_sessions", json!({})),
            Deed::Archive => Self::request(desk, "archive_session", json!({})),
            Deed::Unarchive => Self::request(desk, "unarchive_session", json!({})),
            Deed::Throwaway => {
                let fields = json!({ "agentType": "coding-agent" });
                Self::request(desk, "create_session", fields)
            }
            _ => None,
        }
    }

    fn act(&mut self, desk: &mut Desk, deed: &Deed) -> Vec<String> {
        let Deed::Rejoin = deed else {
            return self.one_frame(desk, deed).into_iter().collect();
        };
        desk.ready = false;
        self.rejoining = true;
        self.streamed.clear();
        let leave = Self::frame(desk, "leave_session", json!({}));
        leave.into_iter().chain(self.join(desk)).collect()
    }

    fn views(&self, _desk: &Desk) -> Views {
        let Some(read) = &self.read else {
            return Views::default();
        };
        let shown = |events: &Events| -> Vec<String> {
            let events = events.iter();
            events
                .map(|(seq, (kind, fields))| format!("{seq} {kind} {fields}"))
                .collect()
        };
        let said = read.history.iter().map(|(_, entry)| entry.clone());
        Views {
            history: Some(said.chain(calls(&read.events)).collect()),
            pairs: vec![
                Pair {
                    what: "events",
                    seen: shown(&read.seen),
                    read: shown(&read.events),
                },
                final_texts(read),
            ],
            ..Views::default()
        }
    }
}
