//! A connection whose engine is the story itself.

use serde_json::Value;
use vocabulary::{
    Call, Caller, Notice, Refusal, Reply, Secret, Seq, ThreadId, ThreadView, Timestamp,
};

use crate::cowork::tests::samples::{self, NOW, SESSION, json};
use crate::diminuendo::Diminuendo;
use crate::{
    Action, Cx, Delivery, Dialect, Heard, Hello, NotAuthenticated, Reason, StartAt, Tag, tell,
};

/// Something that waits for its answer.
#[derive(Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a few of them live in a test")]
pub enum Asked {
    Call(Call),
    Listen { thread: ThreadId, from: StartAt },
}

pub struct Stub {
    dialect: Diminuendo,
    pub caller: Option<Caller>,
    pub now: Timestamp,
    pub sent: Vec<Value>,
    pub asked: Vec<(Tag, Asked)>,
    pub shown: Vec<(Tag, Secret)>,
    pub unlistened: Vec<ThreadId>,
    pub watches: bool,
    pub wake_at: Option<Timestamp>,
    pub closed: Option<Reason>,
}

impl Stub {
    /// By the lone user of a server that asks nobody who they are.
    pub fn opened(query: &[(&str, &str)]) -> Self {
        Self::opened_at(Some(Caller::local()), query, true)
    }

    /// At one that does.
    pub fn opened_by(caller: Option<Caller>, query: &[(&str, &str)]) -> Self {
        Self::opened_at(caller, query, false)
    }

    fn opened_at(caller: Option<Caller>, query: &[(&str, &str)], lone_user: bool) -> Self {
        let query = query.iter().map(|(k, v)| (k.to_string(), v.to_string()));
        let hello = Hello {
            connection: "c1".to_owned(),
            query: query.collect(),
            lone_user,
            ..Hello::default()
        };
        let mut stub = Self {
            dialect: Diminuendo::default(),
            caller,
            now: NOW,
            sent: Vec::new(),
            asked: Vec::new(),
            shown: Vec::new(),
            unlistened: Vec::new(),
            watches: false,
            wake_at: None,
            closed: None,
        };
        stub.act(None, |dialect, cx, out| dialect.opened(cx, out, &hello));
        stub
    }

    /// Welcomed, and that forgotten.
    pub fn connected() -> Self {
        let mut stub = Self::opened(&[]);
        stub.sent.clear();
        stub
    }

    /// In the sample session, from its head.
    pub fn joined(view: ThreadView) -> Self {
        let mut stub = Self::connected();
        stub.say(serde_json::json!({"type": "join_session", "sessionId": SESSION}));
        stub.reply(Ok(Reply::View(Box::new(view))));
        stub.sent.clear();
        stub
    }

    fn act(
        &mut self,
        heard: Option<Heard<'_>>,
        act: impl FnOnce(&mut Diminuendo, &Cx<'_>, &mut Vec<Action>),
    ) {
        let mut out = Vec::new();
        let cx = Cx {
            now: self.now,
            caller: self.caller.as_ref(),
        };
        act(&mut self.dialect, &cx, &mut out);
        for action in out {
            match action {
                Action::Send(frame) => self.sent.push(json(&frame)),
                Action::Shared => {
                    let (Some(Heard::Live(event)) | Some(Heard::Replay(event))) = heard else {
                        panic!("nothing to share");
                    };
                    let frames = tell(self.dialect.variant(), &samples::card(), event);
                    self.sent.extend(frames.iter().map(json));
                }
                Action::Call { tag, call } => self.asked.push((tag, Asked::Call(call))),
                Action::CallNext { tag, call } => self.asked.insert(0, (tag, Asked::Call(call))),
                Action::Listen {
                    tag, thread, from, ..
                } => self.asked.push((tag, Asked::Listen { thread, from })),
                Action::Unlisten(thread) => self.unlistened.push(thread),
                Action::Authenticate { tag, token } => self.shown.push((tag, token)),
                Action::Watch => self.watches = true,
                Action::WatchServer => panic!("it shows nothing of that"),
                Action::WakeAt(at) => self.wake_at = Some(at),
                Action::Close(reason) => self.closed = Some(reason),
            }
        }
    }

    pub fn say(&mut self, message: Value) -> &mut Self {
        self.say_text(&message.to_string())
    }

    pub fn say_text(&mut self, frame: &str) -> &mut Self {
        self.act(None, |dialect, cx, out| dialect.heard(cx, out, frame));
        self
    }

    /// Answers the oldest call.
    pub fn reply(&mut self, outcome: Result<Reply, Refusal>) -> &mut Self {
        assert!(!self.asked.is_empty(), "nothing waits for an answer");
        let (tag, _) = self.asked.remove(0);
        self.act(None, |dialect, cx, out| {
            dialect.replied(cx, out, tag, outcome);
        });
        self
    }

    /// Answers the oldest token.
    pub fn judge(&mut self, outcome: Result<Caller, NotAuthenticated>) -> &mut Self {
        let (tag, _) = self.shown.remove(0);
        let outcome = outcome.map(|caller| self.caller = Some(caller));
        self.act(None, |dialect, cx, out| {
            dialect.authenticated(cx, out, tag, outcome);
        });
        self
    }

    pub fn dismiss(&mut self) -> &mut Self {
        self.act(None, |dialect, cx, out| dialect.dismissed(cx, out));
        self
    }

    pub fn hear(&mut self, what: Heard<'_>) -> &mut Self {
        let card = samples::card();
        self.act(Some(what), |dialect, cx, out| {
            dialect.told(cx, out, Delivery { card: &card, what });
        });
        self
    }

    pub fn caught_up(&mut self, head: u64) -> &mut Self {
        self.hear(Heard::CaughtUp { head: Seq(head) })
    }

    pub fn wake(&mut self) -> &mut Self {
        self.now = self.wake_at.expect("a wish to be woken");
        self.act(None, |dialect, cx, out| dialect.woke(cx, out));
        self
    }

    pub fn notice(&mut self, notice: &Notice) -> &mut Self {
        self.act(None, |dialect, cx, out| dialect.noticed(cx, out, notice));
        self
    }

    /// The only call that waits.
    pub fn call(&self) -> &Call {
        let [(_, Asked::Call(call))] = self.asked.as_slice() else {
            panic!("not one call: {:?}", self.asked);
        };
        call
    }

    /// What was sent since the last look.
    pub fn take(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.sent)
    }

    pub fn take_types(&mut self) -> Vec<String> {
        let kind = |frame: &Value| frame["type"].as_str().expect("a type").to_owned();
        self.take().iter().map(kind).collect()
    }

    /// The code of the only frame, an error.
    pub fn take_error(&mut self) -> String {
        let sent = self.take();
        let [error] = sent.as_slice() else {
            panic!("not one frame: {sent:?}");
        };
        assert_eq!(error["type"], "error");
        error["code"].as_str().expect("a code").to_owned()
    }
}
