//! A pioneer client: items kept by their ids; what it missed it reads from the history.

mod items;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::desk::Desk;
use super::entry::{Entry, lines, list, text};
use super::voice::{Deed, Pair, Views, Voice};
use items::{Item, item, number_of, position};

const WORKSPACE: &str = "000000000000000000000";

const ENDED: &str = "is not subscribed";

#[derive(Clone, Copy, Debug)]
enum Purpose {
    Workspace,
    Open,
    /// A page of the whole history, and of which reading of it.
    History(usize),
    Message(usize),
    Answer,
    Other,
}

#[derive(Default)]
pub struct Pioneer {
    items: Vec<Item>,
    waiting: BTreeMap<String, Purpose>,
    /// The pages so far of the history that is being read; a newer reading gives up the one before.
    pages: Vec<Item>,
    reading: usize,
    /// A whole history, and what was known before it.
    read: Option<(Vec<Item>, Vec<Item>)>,
}

impl Pioneer {
    fn request(
        &mut self,
        desk: &mut Desk,
        purpose: Purpose,
        method: &str,
        params: Value,
    ) -> String {
        let id = format!("request{:014}", desk.number());
        desk.expect(id.clone());
        self.waiting.insert(id.clone(), purpose);
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
    }

    fn open(&mut self, desk: &mut Desk) -> String {
        let params =
            json!({ "thread_id": desk.thread, "workspace_id": WORKSPACE, "mode": "Agent" });
        self.request(desk, Purpose::Open, "thread/start", params)
    }

    fn history(&mut self, desk: &mut Desk, after: Option<i64>) -> String {
        if after.is_none() {
            self.pages.clear();
            self.reading += 1;
        }
        // Pages are counted from a place on; without one they are the last ones.
        let params =
            json!({ "thread_id": desk.thread, "after_sequence": after.unwrap_or(0), "limit": 40 });
        let purpose = Purpose::History(self.reading);
        self.request(desk, purpose, "thread/history", params)
    }

    fn answered(&mut self, desk: &mut Desk, frame: &Value) -> Vec<String> {
        let id = text(&frame["id"]);
        desk.answered(&id);
        let Some(purpose) = self.waiting.remove(&id) else {
            return Vec::new();
        };
        let (result, error) = (&frame["result"], frame.get("error"));
        match (purpose, error) {
            (Purpose::Workspace, _) => return vec![self.open(desk)],
            (Purpose::Open, None) => {
                self.thread(desk, &result["thread"]);
                // What waits is asked again behind the answer.
                desk.asks_over();
                return vec![self.history(desk, None)];
            }
            // It stops; the close comes next.
            (_, Some(error)) if error.to_string().contains("shutting down") => {
                if let Purpose::Message(at) = purpose {
                    desk.refuse(at, "shutting down");
                }
            }
            (Purpose::Open | Purpose::History(_), Some(error)) => {
                desk.alarm(format!("the thread cannot be opened or read: {error}"));
            }
            (Purpose::History(which), None) if which == self.reading => {
                return self.page(desk, result);
            }
            (Purpose::Message(at), None) => desk.accept(at),
            // A server that stops has ended its sessions before it says so.
            (Purpose::Message(at), Some(error)) if error.to_string().contains(ENDED) => {
                desk.refuse(at, "shutting down");
            }
            (Purpose::Message(at), Some(error)) => desk.refuse(at, &error.to_string()),
            (Purpose::Answer, Some(_)) => desk.too_late += 1,
            (Purpose::Answer | Purpose::Other | Purpose::History(_), _) => {}
        }
        Vec::new()
    }

    fn page(&mut self, desk: &mut Desk, result: &Value) -> Vec<String> {
        for event in list(&result["events"]) {
            let payload = &event["payload"];
            let told = item(&payload["item"], payload["type"] == "itemCompleted");
            match payload["type"].as_str().unwrap_or_default() {
                "itemStarted" => self.pages.push(told),
                "itemCompleted" => match position(&self.pages, &told.id) {
                    Some(at) => self.pages[at] = told,
                    None => desk.alarm(format!("a history completes what it never began: {event}")),
                },
                _ => {}
            }
        }
        if let Some(next) = result["next_cursor"].as_i64() {
            return vec![self.history(desk, Some(next))];
        }
        self.believe(desk);
        Vec::new()
    }

    /// The history takes the place of what was known, but for what is still under way. Several pages are of
    /// several moments; then nothing may have happened between them to compare.
    fn believe(&mut self, desk: &mut Desk) {
        let read = std::mem::take(&mut self.pages);
        let before = std::mem::replace(&mut self.items, read.clone());
        for item in &before {
            match position(&self.items, &item.id) {
                Some(at) if !self.items[at].completed => self.items[at] = item.clone(),
                Some(_) => {}
                None => self.items.push(item.clone()),
            }
        }
        if desk.ready {
            self.read = Some((before, read));
        }
        desk.ready = true;
    }

    fn thread(&mut self, desk: &mut Desk, thread: &Value) {
        desk.title = thread["name"].as_str().map(str::to_owned);
        desk.busy = thread["status"] == "Active";
    }

    fn told(&mut self, desk: &mut Desk, method: &str, params: &Value) {
        match method {
            "thread/started" | "thread/updated" => {
                self.thread(desk, &params["thread"]);
                // All that says that a conversation begins anew.
                if params["thread"]["preview"] == "" {
                    self.items.clear();
                }
            }
            "turn/started" => desk.turn = params["turn"]["id"].as_str().map(str::to_owned),
            "turn/completed" | "turn/failed" => desk.turn = None,
            "item/started" => {
                let told = item(&params["item"], false);
                // What is under way is told anew to who subscribes.
                match position(&self.items, &told.id) {
                    Some(at) if self.items[at].completed => {
                        desk.alarm(format!("begun again: {params}"));
                    }
                    Some(at) => self.items[at] = told,
                    None => self.items.push(told),
                }
            }
            "item/completed" => self.completed(desk, params),
            "item/agent_message/delta" => {
                let at = position(&self.items, &text(&params["item_id"]));
                match at.map(|at| &mut self.items[at].entry) {
                    Some(Some(Entry::Agent(words))) => words.push_str(&text(&params["delta"])),
                    // Some of what was on its way when it left may come.
                    _ if !desk.ready => {}
                    _ => desk.alarm(format!("a delta of what is not there: {params}")),
                }
            }
            _ => {}
        }
    }

    fn completed(&mut self, desk: &mut Desk, params: &Value) {
        let told = item(&params["item"], true);
        let Some(at) = position(&self.items, &told.id) else {
            if told.entry.is_some() && desk.ready {
                desk.alarm(format!("completed and never begun: {params}"));
            }
            return self.items.push(told);
        };
        let known = &mut self.items[at];
        let streamed = known.entry.as_ref().map(Entry::to_string);
        let is_text = matches!(told.entry, Some(Entry::Agent(_)));
        if known.completed {
            desk.alarm(format!("completed twice: {params}"));
        } else if is_text && streamed != told.entry.as_ref().map(Entry::to_string) {
            desk.alarm(format!("streamed {streamed:?}, and then {:?}", told.entry));
        }
        *known = told;
    }
}

impl Voice for Pioneer {
    fn url(&self, base: &str, _thread: Option<&str>) -> String {
        let base = base.strip_suffix("/ws").unwrap_or(base);
        format!("{base}/pioneer?permissions=1")
    }

    fn greet(&mut self, desk: &mut Desk) -> Vec<String> {
        *self = Self::default();
        vec![self.request(desk, Purpose::Workspace, "workspace/default", json!({}))]
    }

    fn hear(&mut self, desk: &mut Desk, frame: &Value) -> anyhow::Result<Vec<String>> {
        let params = &frame["params"];
        let Some(method) = frame["method"].as_str() else {
            return Ok(self.answered(desk, frame));
        };
        let places = [
            &params["thread_id"],
            &params["thread"]["id"],
            &params["request"]["thread_id"],
        ];
        if !places
            .iter()
            .any(|place| place.as_str() == desk.thread.as_deref())
        {
            return Ok(Vec::new());
        }
        match method {
            "turn/permission/request/opened" => {
                let request = &params["request"];
                let id = text(&request["request_id"]);
                let questions = list(&request["questions"]).map(|each| text(&each["id"]));
                desk.asked(id.parse()?, &id, questions.collect());
            }
            "turn/permission/request/resolved" => {
                let outcome = match params["resolution"].as_str() {
                    Some("allow_once" | "allow_for_turn") => Some("allowed"),
                    Some("deny" | "cancelled" | "expired") => Some("not allowed"),
                    _ => None,
                };
                let number = text(&params["request_id"]).parse()?;
                desk.ask_ended(number, outcome.map(str::to_owned));
            }
            _ => self.told(desk, method, params),
        }
        Ok(Vec::new())
    }

    fn one_frame(&mut self, desk: &mut Desk, deed: &Deed) -> Option<String> {
        let thread = desk.thread.clone()?;
        let start = |id: &str, words: &str| {
            let input = json!([{ "type": "text", "text": words, "textElements": [] }]);
            json!({ "thread_id": thread, "turn_id": id, "input": input })
        };
        let (purpose, method, params) = match deed {
            Deed::Say(words) => {
                let id = format!("turn-of-{:x}", number_of(words));
                let at = desk.say(&id, words, false);
                (Purpose::Message(at), "turn/start", start(&id, words))
            }
            Deed::SayAgain => {
                let at = desk.last_said()?;
                let said = &desk.said[at];
                (
                    Purpose::Message(at),
                    "turn/start",
                    start(&said.id, &said.words),
                )
            }
            Deed::Cancel => {
                let params = json!({ "thread_id": thread, "turn_id": desk.turn.clone()? });
                (Purpose::Other, "turn/cancel", params)
            }
            Deed::Answer { ask, yes, words } => {
                let ask = desk.asks.get_mut(ask)?;
                ask.answered = true;
                let mut params = json!({ "request_id": ask.reply_to });
                match ask.questions.is_empty() {
                    true => params["resolution"] = json!(if *yes { "allow_once" } else { "deny" }),
                    false => {
                        let all = ask.questions.iter().map(|id| (id.clone(), json!([words])));
                        params["answers"] = Value::Object(all.collect());
                    }
                }
                (Purpose::Answer, "turn/permission/request/respond", params)
            }
            Deed::Title(name) => {
                let params =
                    json!({ "thread_id": thread, "workspace_id": WORKSPACE, "name": name });
                (Purpose::Other, "thread/start", params)
            }
            Deed::Read => return Some(self.history(desk, None)),
            Deed::Page(from) => {
                let params = json!({ "thread_id": thread, "limit": from + 1 });
                (Purpose::Other, "thread/history", params)
            }
            Deed::List => {
                let params = json!({ "workspace_id": WORKSPACE });
                (Purpose::Other, "thread/tree", params)
            }
            Deed::Look(which) => match (which % 3, desk.turn.clone()) {
                (0, Some(turn)) => {
                    let params = json!({ "thread_id": thread, "turn_id": turn });
                    (Purpose::Other, "turn/items", params)
                }
                (1, _) => (Purpose::Other, "provider/list", json!({})),
                _ => (Purpose::Other, "thread/get", json!({ "thread_id": thread })),
            },
            Deed::Resume => return Some(self.open(desk)),
            _ => return None,
        };
        Some(self.request(desk, purpose, method, params))
    }

    fn act(&mut self, desk: &mut Desk, deed: &Deed) -> Vec<String> {
        let Deed::Rejoin = deed else {
            return self.one_frame(desk, deed).into_iter().collect();
        };
        desk.ready = false;
        desk.asks.values_mut().for_each(|ask| ask.ends = 0);
        self.items.clear();
        let only = json!({ "threadId": desk.thread });
        let leave = self.request(desk, Purpose::Other, "thread/unsubscribe", only);
        vec![leave, self.open(desk)]
    }

    fn views(&self, _desk: &Desk) -> Views {
        let Some((before, read)) = &self.read else {
            return Views::default();
        };
        let entries = |items: &[Item]| -> Vec<Entry> {
            items.iter().filter_map(|item| item.entry.clone()).collect()
        };
        Views {
            history: Some(entries(read)),
            pairs: vec![Pair {
                what: "items",
                seen: lines(&entries(before)),
                read: lines(&entries(read)),
            }],
            ..Views::default()
        }
    }
}
