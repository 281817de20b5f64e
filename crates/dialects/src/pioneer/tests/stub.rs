//! A connection whose engine is the story itself.

use serde_json::{Value, json};
use vocabulary::{Call, Caller, Fact, LibraryReply, Notice, Refusal, Reply, Timestamp, Why};

use super::samples::{self, NOW, THREAD, WORKSPACE};
use crate::pioneer::{Pioneer, tell};
use crate::{Action, Cx, Delivery, Dialect, Heard, Hello, Tag};

pub struct Stub {
    dialect: Pioneer,
    caller: Caller,
    pub sent: Vec<Value>,
    /// A wish to listen has no call.
    pub calls: Vec<(Tag, Option<Call>)>,
    pub closed: bool,
    events: u64,
}

impl Stub {
    pub fn opened(permissions: bool) -> Self {
        Self::with(permissions, false)
    }

    /// One that takes only ids as the original's.
    pub fn strict() -> Self {
        Self::with(false, true)
    }

    fn with(permissions: bool, strict_ids: bool) -> Self {
        let query = [("permissions".to_owned(), "1".to_owned())];
        let hello = Hello {
            query: query.into_iter().filter(|_| permissions).collect(),
            strict_ids,
            ..Hello::default()
        };
        let mut stub = Self {
            dialect: Pioneer::default(),
            caller: Caller::local(),
            sent: Vec::new(),
            calls: Vec::new(),
            closed: false,
            events: 0,
        };
        stub.act(|dialect, cx, out| dialect.opened(cx, out, &hello));
        stub
    }

    /// A connection that has started its thread.
    pub fn subscribed(permissions: bool) -> Self {
        let mut stub = Self::opened(permissions);
        let params = json!({ "thread_id": THREAD, "workspace_id": WORKSPACE });
        stub.say("thread/start", params);
        stub.reply(Ok(Reply::Thread(Box::new(samples::thread()))));
        stub.reply(Ok(Reply::View(Box::new(samples::view()))));
        stub.sent.clear();
        stub
    }

    fn act(&mut self, act: impl FnOnce(&mut Pioneer, &Cx<'_>, &mut Vec<Action>)) {
        let cx = Cx {
            now: NOW,
            caller: Some(&self.caller),
        };
        let mut out = Vec::new();
        act(&mut self.dialect, &cx, &mut out);
        for action in out {
            match action {
                Action::Send(frame) => self.sent.push(samples::json(&frame)),
                Action::Call { tag, call } | Action::CallNext { tag, call } => {
                    self.calls.push((tag, Some(call)))
                }
                Action::Listen { tag, .. } => self.calls.push((tag, None)),
                Action::Close(_) => self.closed = true,
                Action::Shared
                | Action::Unlisten(_)
                | Action::Authenticate { .. }
                | Action::Watch
                | Action::WatchServer
                | Action::WakeAt(_) => {}
            }
        }
    }

    pub fn say(&mut self, method: &str, params: Value) {
        let id = "a".repeat(21);
        let frame = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.say_text(&frame.to_string());
    }

    pub fn say_bytes(&mut self, frame: &[u8]) {
        self.act(|dialect, cx, out| dialect.heard_binary(cx, out, frame));
    }

    pub fn wake(&mut self, now: Timestamp) {
        let cx = Cx {
            now,
            caller: Some(&self.caller),
        };
        self.dialect.woke(&cx, &mut Vec::new());
    }

    pub fn say_text(&mut self, frame: &str) {
        self.act(|dialect, cx, out| dialect.heard(cx, out, frame));
    }

    /// Answers the oldest call.
    pub fn reply(&mut self, outcome: Result<Reply, Refusal>) {
        let (tag, _) = self.calls.remove(0);
        self.act(|dialect, cx, out| dialect.replied(cx, out, tag, outcome));
    }

    pub fn library(&mut self, reply: LibraryReply) {
        self.reply(Ok(reply.into()));
    }

    pub fn refuse(&mut self, why: Why) {
        self.reply(Err(Refusal::new(why, "no")));
    }

    /// Tells a fact, and writes down shared frames like its own.
    pub fn tell(&mut self, fact: Fact) {
        self.events += 1;
        let event = samples::event(self.events, fact);
        let card = samples::thread().card;
        let what = Heard::Live(&event);
        let mut shared = Vec::new();
        let cx = Cx {
            now: NOW,
            caller: Some(&self.caller),
        };
        let delivery = Delivery { card: &card, what };
        self.dialect.told(&cx, &mut shared, delivery);
        for action in shared {
            match action {
                Action::Send(frame) => self.sent.push(samples::json(&frame)),
                Action::Shared => {
                    let frames = tell::tell(&card, &event);
                    let frames = frames.iter().map(|frame| samples::json(frame));
                    self.sent.extend(frames);
                }
                other => panic!("unexpected: {other:?}"),
            }
        }
    }

    pub fn hear(&mut self, what: Heard<'_>) {
        let card = samples::thread().card;
        self.act(|dialect, cx, out| dialect.told(cx, out, Delivery { card: &card, what }));
    }

    pub fn notice(&mut self, notice: &Notice) {
        self.act(|dialect, cx, out| dialect.noticed(cx, out, notice));
    }

    pub fn call(&self) -> &Call {
        let [(_, Some(call))] = self.calls.as_slice() else {
            panic!("not one call: {:?}", self.calls);
        };
        call
    }

    /// What was sent, but for the hints that a timeline has grown: they come behind everything that is kept.
    pub fn take(&mut self) -> Vec<Value> {
        let mut sent = std::mem::take(&mut self.sent);
        sent.retain(|frame| frame["method"] != "turn/timeline/changed");
        sent
    }

    /// How the connection listens.
    pub fn attendance(&self) -> vocabulary::Attendance {
        self.dialect.attendance()
    }

    pub fn methods(&mut self) -> Vec<String> {
        let name = |frame: &Value| match frame["method"].as_str() {
            Some(method) => method.to_owned(),
            None if frame.get("result").is_some() => "result".to_owned(),
            None => format!("error {}", frame["error"]["code"]),
        };
        self.take().iter().map(name).collect()
    }
}
