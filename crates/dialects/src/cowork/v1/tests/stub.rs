//! A connection whose engine is the story itself.

use serde_json::Value;
use vocabulary::{Call, Caller, Fact, Refusal, Reply};

use crate::cowork::tests::samples::{self, NOW, event, json};
use crate::cowork::v1::Cowork1;
use crate::{Action, Cx, Delivery, Dialect, Heard, Hello, Reason, Tag, Variant, tell};

pub struct Stub {
    dialect: Cowork1,
    caller: Caller,
    pub sent: Vec<Value>,
    /// A wish to listen has no call.
    pub calls: Vec<(Tag, Option<Call>)>,
    pub closed: Option<Reason>,
}

impl Stub {
    pub fn opened() -> Self {
        let mut stub = Self {
            dialect: Cowork1::default(),
            caller: Caller::local(),
            sent: Vec::new(),
            calls: Vec::new(),
            closed: None,
        };
        let hello = Hello {
            providers: samples::provider_ids(),
            ..Hello::default()
        };
        stub.act(|dialect, cx, out| dialect.opened(cx, out, &hello));
        stub
    }

    /// Greeted, and that forgotten.
    pub fn connected() -> Self {
        let mut stub = Self::opened();
        stub.greet();
        stub.sent.clear();
        stub
    }

    pub fn greet(&mut self) {
        let view = samples::view();
        self.reply(Ok(Reply::Thread(Box::new(view.thread.clone()))));
        self.reply(Ok(Reply::View(Box::new(view))));
    }

    fn act(&mut self, act: impl FnOnce(&mut Cowork1, &Cx<'_>, &mut Vec<Action>)) -> usize {
        let mut out = Vec::new();
        let cx = Cx {
            now: NOW,
            caller: Some(&self.caller),
        };
        act(&mut self.dialect, &cx, &mut out);
        let mut shared = 0;
        for action in out {
            match action {
                Action::Send(frame) => self.sent.push(json(&frame)),
                Action::Shared => shared += 1,
                Action::Call { tag, call } | Action::CallNext { tag, call } => {
                    self.calls.push((tag, Some(call)))
                }
                Action::Listen { tag, .. } => self.calls.push((tag, None)),
                Action::Close(reason) => self.closed = Some(reason),
                Action::Unlisten(_)
                | Action::Watch
                | Action::WatchServer
                | Action::WakeAt(_)
                | Action::Authenticate { .. } => {
                    panic!("protocol 1 does none of these")
                }
            }
        }
        shared
    }

    pub fn say(&mut self, message: Value) -> &mut Self {
        self.say_text(&message.to_string())
    }

    pub fn say_text(&mut self, frame: &str) -> &mut Self {
        self.act(|dialect, cx, out| dialect.heard(cx, out, frame));
        self
    }

    pub fn reply(&mut self, outcome: Result<Reply, Refusal>) -> &mut Self {
        let (tag, _) = self.calls.remove(0);
        self.act(|dialect, cx, out| dialect.replied(cx, out, tag, outcome));
        self
    }

    pub fn tell(&mut self, fact: Fact) -> &mut Self {
        let (card, event) = (samples::card(), event(fact));
        let what = Heard::Live(&event);
        let delivery = Delivery { card: &card, what };
        let shared = self.act(|dialect, cx, out| dialect.told(cx, out, delivery));
        for _ in 0..shared {
            let frames = tell(Variant::Cowork1, &card, &event);
            self.sent.extend(frames.iter().map(json));
        }
        self
    }

    pub fn go(&mut self) -> &mut Self {
        self.act(|dialect, cx, out| dialect.gone(cx, out));
        self
    }

    pub fn call(&self) -> &Call {
        let [(_, Some(call))] = self.calls.as_slice() else {
            panic!("not one call: {:?}", self.calls);
        };
        call
    }

    pub fn take(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.sent)
    }
}
