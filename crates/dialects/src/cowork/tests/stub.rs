//! A connection whose engine is the story itself.

use serde_json::Value;
use vocabulary::{
    Call, Caller, CheckpointReply, Event, Fact, McpReply, Refusal, Reply, ThreadView, Timestamp,
    Why,
};

use super::samples::{self, NOW, json};
use crate::cowork::Cowork;
use crate::{Action, Cx, Delivery, Dialect, Heard, Hello, Reason, Tag};

/// A connection, what it wants done, and what it has sent.
pub struct Stub {
    dialect: Cowork,
    caller: Caller,
    pub now: Timestamp,
    pub sent: Vec<Value>,
    /// CoworkCalls and wishes to listen that wait for their answer; a wish has no call.
    pub calls: Vec<(Tag, Option<Call>)>,
    pub shared: usize,
    /// Own frames and shared ones of the last step, in their order.
    pub order: Vec<String>,
    pub watches: bool,
    pub wake_at: Option<Timestamp>,
    pub closed: Option<Reason>,
}

impl Stub {
    pub fn opened(query: &[(&str, &str)]) -> Self {
        let query = query.iter().map(|(k, v)| (k.to_string(), v.to_string()));
        let hello = Hello {
            query: query.collect(),
            providers: samples::provider_ids(),
            ..Hello::default()
        };
        let mut stub = Self {
            dialect: Cowork::new(),
            caller: Caller::local(),
            now: NOW,
            sent: Vec::new(),
            calls: Vec::new(),
            shared: 0,
            order: Vec::new(),
            watches: false,
            wake_at: None,
            closed: None,
        };
        stub.act(|dialect, cx, out| dialect.opened(cx, out, &hello));
        stub
    }

    /// A fresh connection, its ten events told and forgotten.
    pub fn connected() -> Self {
        Self::connected_to(samples::view())
    }

    pub fn connected_to(view: ThreadView) -> Self {
        let mut stub = Self::greeted(view);
        stub.answer_connect_calls();
        stub.sent.clear();
        stub
    }

    /// A fresh connection that has heard the first five events.
    pub fn greeted(view: ThreadView) -> Self {
        let mut stub = Self::opened(&[]);
        stub.reply(Ok(Reply::Thread(Box::new(view.thread.clone()))));
        stub.reply(Ok(Reply::View(Box::new(view))));
        stub
    }

    pub fn answer_connect_calls(&mut self) {
        self.reply(Ok(Reply::Catalog(Box::new(samples::catalog()))));
        self.reply(Ok(Reply::ProviderStatus(samples::statuses())));
        self.reply(Ok(Reply::Mcp(Box::new(McpReply::Servers(
            samples::mcp_files(),
        )))));
        let state = CheckpointReply::State(samples::checkpoints(Vec::new()));
        self.reply(Ok(Reply::Checkpoints(Box::new(state))));
    }

    fn act(&mut self, act: impl FnOnce(&mut Cowork, &Cx<'_>, &mut Vec<Action>)) {
        let mut out = Vec::new();
        let cx = Cx {
            now: self.now,
            caller: Some(&self.caller),
        };
        act(&mut self.dialect, &cx, &mut out);
        self.order.clear();
        for action in out {
            match action {
                Action::Send(frame) => {
                    let frame = json(&frame);
                    let kind = frame["type"].as_str().unwrap_or_default();
                    self.order.push(kind.to_owned());
                    self.sent.push(frame);
                }
                Action::Shared => {
                    self.order.push("shared".to_owned());
                    self.shared += 1;
                }
                Action::Call { tag, call } | Action::CallNext { tag, call } => {
                    self.calls.push((tag, Some(call)))
                }
                Action::Listen { tag, .. } => self.calls.push((tag, None)),
                Action::WakeAt(at) => self.wake_at = Some(at),
                Action::Close(reason) => self.closed = Some(reason),
                Action::WatchServer => self.watches = true,
                Action::Unlisten(_) | Action::Watch | Action::Authenticate { .. } => {
                    panic!("cowork does none of these")
                }
            }
        }
    }

    pub fn say(&mut self, message: Value) -> &mut Self {
        self.say_text(&message.to_string())
    }

    pub fn say_text(&mut self, frame: &str) -> &mut Self {
        self.act(|dialect, cx, out| dialect.heard(cx, out, frame));
        self
    }

    /// Answers the oldest call.
    pub fn reply(&mut self, outcome: Result<Reply, Refusal>) -> &mut Self {
        assert!(!self.calls.is_empty(), "nothing waits for an answer");
        self.reply_to(0, outcome)
    }

    pub fn reply_to(&mut self, nth: usize, outcome: Result<Reply, Refusal>) -> &mut Self {
        let (tag, _) = self.calls.remove(nth);
        self.act(|dialect, cx, out| dialect.replied(cx, out, tag, outcome));
        self
    }

    pub fn tell(&mut self, fact: Fact) -> &mut Self {
        let event = samples::event(fact);
        self.hear(Heard::Live(&event))
    }

    pub fn hear(&mut self, what: Heard<'_>) -> &mut Self {
        let card = samples::card();
        self.act(|dialect, cx, out| dialect.told(cx, out, Delivery { card: &card, what }));
        self
    }

    pub fn replay(&mut self, event: &Event) -> &mut Self {
        self.hear(Heard::Replay(event))
    }

    pub fn wake(&mut self) -> &mut Self {
        self.now = self.wake_at.expect("a wish to be woken");
        self.act(|dialect, cx, out| dialect.woke(cx, out));
        self
    }

    pub fn notice(&mut self, notice: &vocabulary::Notice) -> &mut Self {
        self.act(|dialect, cx, out| dialect.noticed(cx, out, notice));
        self
    }

    /// The only call that waits.
    pub fn call(&self) -> &Call {
        let [(_, Some(call))] = self.calls.as_slice() else {
            panic!("not one call: {:?}", self.calls);
        };
        call
    }

    /// What was sent since the last look.
    pub fn take(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.sent)
    }

    pub fn take_types(&mut self) -> Vec<String> {
        let types = self.take();
        let kind = |frame: &Value| frame["type"].as_str().expect("a type").to_owned();
        types.iter().map(kind).collect()
    }
}

pub fn no_checkpoints() -> Refusal {
    Refusal::new(Why::NotAvailable, "this workspace cannot be kept")
}
