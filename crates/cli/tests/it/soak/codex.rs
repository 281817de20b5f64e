//! A codex app-server client, and Zane's: turns with items, kept by their ids.

mod items;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::desk::Desk;
use super::entry::{Entry, TurnSeen, list, text};
use super::voice::{Deed, Pair, Views, Voice};
use items::{Item, Turn, entries, item, told_lines, turn};

/// Small questions.
const LOOKS: [(&str, &str); 4] = [
    ("model/list", "{}"),
    ("thread/loaded/list", "{}"),
    ("config/read", "{}"),
    ("account/read", "{}"),
];
/// The code of what is refused because the server is about to stop.
const STOPPING: i64 = -32001;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    Codex,
    Zane,
}

/// What a request was for.
#[derive(Clone, Copy, Debug)]
enum Purpose {
    Handshake,
    Open,
    Read,
    Message(usize),
    Other,
}

pub struct Codex {
    endpoint: Endpoint,
    turns: Vec<Turn>,
    waiting: BTreeMap<u64, Purpose>,
    read: Option<(Vec<Turn>, Vec<Turn>)>,
}

impl Codex {
    pub fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            turns: Vec::new(),
            waiting: BTreeMap::new(),
            read: None,
        }
    }

    fn request(
        &mut self,
        desk: &mut Desk,
        purpose: Purpose,
        method: &str,
        params: Value,
    ) -> String {
        let id = desk.number();
        desk.expect(id.to_string());
        self.waiting.insert(id, purpose);
        json!({ "id": id, "method": method, "params": params }).to_string()
    }

    fn open(&mut self, desk: &mut Desk) -> String {
        match desk.thread.clone() {
            None => self.request(desk, Purpose::Open, "thread/start", json!({})),
            Some(thread) => {
                let params = json!({ "threadId": thread });
                self.request(desk, Purpose::Open, "thread/resume", params)
            }
        }
    }

    fn control(&mut self, desk: &mut Desk, frame: &Value) -> Vec<String> {
        match (frame["type"].as_str(), &desk.thread) {
            (Some("orbit.hello"), Some(thread)) => {
                vec![json!({ "type": "orbit.subscribe", "threadId": thread }).to_string()]
            }
            (Some("orbit.hello"), None) => vec![self.open(desk)],
            (Some("orbit.subscribed"), _) if !desk.ready => vec![self.open(desk)],
            _ => Vec::new(),
        }
    }

    fn answered(&mut self, desk: &mut Desk, frame: &Value) -> Vec<String> {
        let id = frame["id"].as_u64().unwrap_or_default();
        desk.answered(&id.to_string());
        let (Some(purpose), result) = (self.waiting.remove(&id), &frame["result"]) else {
            return Vec::new();
        };
        let refused = frame.get("error");
        match (purpose, refused) {
            (Purpose::Handshake, _) => {
                return vec![r#"{"method":"initialized"}"#.to_owned(), self.open(desk)];
            }
            // It stops; the close comes next.
            (Purpose::Open | Purpose::Read, Some(error)) if error["code"] == STOPPING => {}
            (Purpose::Open, Some(error)) => {
                desk.alarm(format!("the thread cannot be opened: {error}"));
            }
            (Purpose::Open, None) => {
                self.opened(desk, &result["thread"]);
                desk.ready = true;
            }
            (Purpose::Read, None) => {
                let before = self.turns.clone();
                self.opened(desk, &result["thread"]);
                desk.compare("the turns", told_lines(&before), told_lines(&self.turns));
                self.read = Some((before, self.turns.clone()));
            }
            (Purpose::Read, Some(error)) => desk.alarm(format!("no history: {error}")),
            (Purpose::Message(at), None) => desk.accept(at),
            (Purpose::Message(at), Some(error)) => desk.refuse(at, &error.to_string()),
            (Purpose::Other, _) => {}
        }
        Vec::new()
    }

    /// The answer takes the place of all that was known.
    fn opened(&mut self, desk: &mut Desk, thread: &Value) {
        desk.thread = Some(text(&thread["id"]));
        desk.title = thread["name"].as_str().map(str::to_owned);
        self.turns = list(&thread["turns"]).map(turn).collect();
        let last = self.turns.last();
        let running = last.filter(|turn| turn.status == "inProgress");
        desk.busy = running.is_some();
        desk.turn = running.map(|turn| turn.id.clone());
        // What waits is asked again behind the answer.
        desk.asks_over();
    }

    fn told(&mut self, desk: &mut Desk, method: &str, params: &Value) {
        match method {
            "turn/started" => {
                let turn = turn(&params["turn"]);
                if self.turns.iter().any(|known| known.id == turn.id) {
                    desk.alarm(format!("turn {} began twice", turn.id));
                }
                desk.busy = true;
                desk.turn = Some(turn.id.clone());
                self.turns.push(turn);
            }
            "turn/completed" => {
                let ended = turn(&params["turn"]);
                match self.turns.iter_mut().find(|known| known.id == ended.id) {
                    Some(turn) => turn.status = ended.status,
                    None => desk.alarm(format!("turn {} ended and never began", ended.id)),
                }
                desk.busy = false;
                desk.turn = None;
            }
            "item/started" | "item/completed" => {
                self.item(desk, params, method == "item/completed")
            }
            "item/agentMessage/delta" => match self.find(params, &text(&params["itemId"])) {
                Some(item) if !item.completed => {
                    if let Some(Entry::Agent(words)) = &mut item.entry {
                        words.push_str(&text(&params["delta"]));
                    }
                }
                _ => desk.alarm(format!("a delta of what is not there: {params}")),
            },
            // It was made, or begins anew.
            "thread/started" => self.opened(desk, &params["thread"]),
            "thread/name/updated" => desk.title = params["name"].as_str().map(str::to_owned),
            "serverRequest/resolved" => {
                desk.ask_ended(params["requestId"].as_u64().unwrap_or_default(), None);
            }
            _ => {}
        }
    }

    fn find(&mut self, params: &Value, id: &str) -> Option<&mut Item> {
        let turn = text(&params["turnId"]);
        let turn = self.turns.iter_mut().find(|known| known.id == turn)?;
        turn.items.iter_mut().find(|item| item.id == id)
    }

    fn item(&mut self, desk: &mut Desk, params: &Value, completed: bool) {
        let told = item(&params["item"], completed);
        let known = self.find(params, &told.id);
        match (known, completed) {
            (Some(known), true) => {
                if known.completed {
                    desk.alarm(format!("completed twice: {params}"));
                }
                let streamed = known.entry.as_ref().map(Entry::to_string);
                let is_text = matches!(told.entry, Some(Entry::Agent(_)));
                if is_text && streamed != told.entry.as_ref().map(Entry::to_string) {
                    desk.alarm(format!("streamed {streamed:?}, and then {:?}", told.entry));
                }
                *known = told;
            }
            (Some(_), false) => desk.alarm(format!("begun twice: {params}")),
            (None, completed) => {
                // What is nothing to compare may be told at its end only.
                if completed && told.entry.is_some() {
                    desk.alarm(format!("completed and never begun: {params}"));
                }
                let turn = text(&params["turnId"]);
                match self.turns.iter_mut().find(|known| known.id == turn) {
                    Some(turn) => turn.items.push(told),
                    None => desk.alarm(format!("an item of a turn that never began: {params}")),
                }
            }
        }
    }
}

impl Voice for Codex {
    fn url(&self, base: &str, _thread: Option<&str>) -> String {
        let base = base.strip_suffix("/ws").unwrap_or(base);
        match self.endpoint {
            Endpoint::Codex => format!("{base}/codex"),
            Endpoint::Zane => format!("{base}/zane/ws"),
        }
    }

    fn greet(&mut self, desk: &mut Desk) -> Vec<String> {
        *self = Self::new(self.endpoint);
        match self.endpoint {
            Endpoint::Zane => Vec::new(),
            Endpoint::Codex => {
                let params = json!({ "clientInfo": { "name": "soak", "version": "1" } });
                vec![self.request(desk, Purpose::Handshake, "initialize", params)]
            }
        }
    }

    fn hear(&mut self, desk: &mut Desk, frame: &Value) -> anyhow::Result<Vec<String>> {
        if frame.get("type").is_some() {
            return Ok(self.control(desk, frame));
        }
        let params = &frame["params"];
        let elsewhere = params["threadId"].as_str() != desk.thread.as_deref();
        match (frame["method"].as_str(), frame.get("id")) {
            (Some(_), _) if elsewhere => {}
            (Some(_), Some(id)) => {
                let questions = list(&params["questions"]).map(|each| text(&each["id"]));
                let number = id.as_u64().unwrap_or_default();
                desk.asked(number, &id.to_string(), questions.collect());
            }
            // Who subscribes first, and then resumes, has nothing to keep before the answer.
            (Some(_), None) if !desk.ready => {}
            (Some(method), None) => self.told(desk, method, params),
            // A control frame came while the server stops.
            (None, Some(Value::Null)) if frame["error"]["code"] == STOPPING => {}
            (None, _) => return Ok(self.answered(desk, frame)),
        }
        Ok(Vec::new())
    }

    fn one_frame(&mut self, desk: &mut Desk, deed: &Deed) -> Option<String> {
        let thread = desk.thread.clone()?;
        let only = json!({ "threadId": thread });
        let input = |words: &str| json!([{ "type": "text", "text": words }]);
        let (purpose, method, params) = match deed {
            Deed::Say(words) => {
                let id = format!("message-{words}");
                let at = desk.say(&id, words, false);
                let params =
                    json!({ "threadId": thread, "clientUserMessageId": id, "input": input(words) });
                (Purpose::Message(at), "turn/start", params)
            }
            Deed::SayAgain => {
                let at = desk.last_said()?;
                let (id, words) = (&desk.said[at].id, &desk.said[at].words);
                let params =
                    json!({ "threadId": thread, "clientUserMessageId": id, "input": input(words) });
                (Purpose::Message(at), "turn/start", params)
            }
            Deed::Steer(words) => {
                let (id, turn) = (format!("steer-{words}"), desk.turn.clone()?);
                let at = desk.say(&id, words, true);
                let params = json!({ "threadId": thread, "expectedTurnId": turn,
                    "clientUserMessageId": id, "input": input(words) });
                (Purpose::Message(at), "turn/steer", params)
            }
            Deed::Cancel => {
                let params = json!({ "threadId": thread, "turnId": desk.turn.clone()? });
                (Purpose::Other, "turn/interrupt", params)
            }
            Deed::Answer { ask, yes, words } => return answer(desk, *ask, *yes, words),
            Deed::Title(name) => {
                let params = json!({ "threadId": thread, "name": name });
                (Purpose::Other, "thread/name/set", params)
            }
            Deed::Read => {
                let params = json!({ "threadId": thread, "includeTurns": true });
                (Purpose::Read, "thread/read", params)
            }
            Deed::Page(_) => {
                let params = json!({ "threadId": thread, "includeTurns": false });
                (Purpose::Other, "thread/read", params)
            }
            Deed::List => (Purpose::Other, "thread/list", json!({ "limit": 5 })),
            Deed::Archive => (Purpose::Other, "thread/archive", only),
            Deed::Unarchive if self.endpoint == Endpoint::Codex => {
                (Purpose::Other, "thread/unarchive", only)
            }
            Deed::Resume => (Purpose::Open, "thread/resume", only),
            Deed::Look(which) => {
                let (method, params) = LOOKS[which % LOOKS.len()];
                let params = serde_json::from_str(params).unwrap_or_default();
                (Purpose::Other, method, params)
            }
            _ => return None,
        };
        Some(self.request(desk, purpose, method, params))
    }

    fn act(&mut self, desk: &mut Desk, deed: &Deed) -> Vec<String> {
        let (Deed::Rejoin, Some(thread)) = (deed, desk.thread.clone()) else {
            return self.one_frame(desk, deed).into_iter().collect();
        };
        desk.ready = false;
        desk.asks.values_mut().for_each(|ask| ask.ends = 0);
        match self.endpoint {
            // What answers the second goes on with thread/resume.
            Endpoint::Zane => ["orbit.unsubscribe", "orbit.subscribe"]
                .map(|kind| json!({ "type": kind, "threadId": thread }).to_string())
                .into(),
            Endpoint::Codex => {
                let only = json!({ "threadId": thread });
                let leave = self.request(desk, Purpose::Other, "thread/unsubscribe", only.clone());
                vec![leave, self.open(desk)]
            }
        }
    }

    fn views(&self, _desk: &Desk) -> Views {
        let Some((before, read)) = &self.read else {
            return Views::default();
        };
        let turns = read.iter().map(|turn| TurnSeen {
            completed: turn.status == "completed",
            entries: entries(turn),
        });
        let turns: Vec<TurnSeen> = turns.collect();
        Views {
            history: Some(turns.iter().flat_map(|turn| turn.entries.clone()).collect()),
            turns: Some(turns),
            pairs: vec![Pair {
                what: "turns",
                seen: told_lines(before),
                read: told_lines(read),
            }],
            ..Views::default()
        }
    }
}

/// To a request of the server; nothing answers it.
fn answer(desk: &mut Desk, number: u64, yes: bool, words: &str) -> Option<String> {
    let ask = desk.asks.get_mut(&number)?;
    ask.answered = true;
    let result = match ask.questions.is_empty() {
        true => json!({ "decision": if yes { "accept" } else { "decline" } }),
        false => {
            let ids = ask.questions.iter();
            let all = ids.map(|id| (id.clone(), json!({ "answers": [words] })));
            json!({ "answers": Value::Object(all.collect()) })
        }
    };
    Some(json!({ "id": number, "result": result }).to_string())
}
