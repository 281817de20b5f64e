//! What one session's client has seen, and so what the server has promised.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde_json::Value;
use testkit::tongue::cowork::Cowork;
use testkit::tongue::{Signal, Tongue};

/// As many frames as a failure shows.
const FRAMES_KEPT: usize = 40;

/// One acknowledged message and all that followed.
#[derive(Clone, Debug, Default)]
pub struct TurnSeen {
    pub user: String,
    /// The streamed text, each piece with the moment it was seen.
    pub pieces: Vec<(Instant, String)>,
    /// The whole answer, once it was told.
    pub answer: Option<String>,
    /// Calls whose result was told, by `toolCallId`.
    pub results: Vec<String>,
    pub over: bool,
}

impl TurnSeen {
    /// The text that had been seen by then.
    pub fn text_by(&self, moment: Instant) -> String {
        let seen = self.pieces.iter().take_while(|(at, _)| *at <= moment);
        seen.map(|(_, text)| text.as_str()).collect()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskSeen {
    pub request: String,
    pub approval: bool,
    /// An answer was sent; whether it arrived is not known until something follows from it.
    pub answered: bool,
}

/// Which ask each request id belongs to, over all sessions and restarts.
#[derive(Clone, Debug, Default)]
pub struct Asks(Arc<Mutex<HashMap<String, String>>>);

impl Asks {
    /// False when the id was another ask's.
    fn claim(&self, request: &str, what: String) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first = known
            .entry(request.to_owned())
            .or_insert_with(|| what.clone());
        *first == what
    }

    pub fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

pub struct Ledger {
    /// How to speak, and what is open on this connection.
    pub tongue: Cowork,
    pub turns: Vec<TurnSeen>,
    /// The title the server last told.
    pub title: Option<String>,
    pub busy: bool,
    pub ask: Option<AskSeen>,
    pub hello: Option<Value>,
    pub connected: bool,
    /// The last `messages` frame.
    pub page: Option<Value>,
    pub frames: usize,
    /// Something the server must never do.
    pub violation: Option<String>,
    recent: Vec<String>,
    asks: Asks,
}

impl Ledger {
    pub fn new(asks: Asks) -> Self {
        Self {
            tongue: Cowork::default(),
            turns: Vec::new(),
            title: None,
            busy: false,
            ask: None,
            hello: None,
            connected: false,
            page: None,
            frames: 0,
            violation: None,
            recent: Vec::new(),
            asks,
        }
    }

    /// A new connection begins: what it must tell again is forgotten, promises are not.
    pub fn reconnect(&mut self) {
        self.tongue = Cowork::default();
        self.hello = None;
        self.connected = false;
        self.ask = None;
        self.page = None;
        self.recent.push("--- a new connection".to_owned());
    }

    pub fn sent(&mut self, frame: &str) {
        self.recent.push(format!("> {frame}"));
    }

    pub fn heard(&mut self, text: &str) {
        self.frames += 1;
        self.recent.push(format!("< {text}"));
        let surplus = self.recent.len().saturating_sub(FRAMES_KEPT);
        self.recent.drain(..surplus);
        let signals = match self.tongue.hear(text) {
            Ok(signals) => signals,
            Err(error) => return self.violated(format!("{error:#}")),
        };
        let frame: Value = serde_json::from_str(text).unwrap_or_default();
        self.note(&frame);
        self.connected |= signals.contains(&Signal::Connected);
    }

    fn note(&mut self, frame: &Value) {
        let text = |name: &str| frame[name].as_str().unwrap_or_default().to_owned();
        match frame["type"].as_str().unwrap_or_default() {
            "server_hello" => {
                self.busy = frame["busy"] == true;
                self.hello = Some(frame.clone());
            }
            "user_message" => self.turns.push(TurnSeen {
                user: text("text"),
                ..TurnSeen::default()
            }),
            "session_busy" => self.turned(frame["busy"] == true),
            "session_info" => self.title = Some(text("title")),
            "assistant_message" => {
                let answer = text("text");
                self.turn(|turn| turn.answer = Some(answer));
            }
            "model_stream_chunk" => self.streamed(frame),
            "ask" => self.asked(text("requestId"), text("question"), false),
            "approval" => self.asked(text("requestId"), text("command"), true),
            "messages" => self.page = Some(frame.clone()),
            _ => {}
        }
    }

    fn turn(&mut self, change: impl FnOnce(&mut TurnSeen)) {
        match self.turns.last_mut() {
            Some(turn) => change(turn),
            None => self.violated("an answer before any message".to_owned()),
        }
    }

    fn turned(&mut self, busy: bool) {
        self.busy = busy;
        if !busy {
            self.ask = None;
            self.turn(|turn| turn.over = true);
        }
    }

    fn streamed(&mut self, frame: &Value) {
        let part = &frame["part"];
        match frame["partType"].as_str().unwrap_or_default() {
            "text_delta" => {
                let piece = part["text"].as_str().unwrap_or_default().to_owned();
                self.turn(|turn| turn.pieces.push((Instant::now(), piece)));
            }
            "tool_result" | "tool_error" => {
                let call = part["toolCallId"].as_str().unwrap_or_default().to_owned();
                self.ask = None;
                self.turn(|turn| turn.results.push(call));
            }
            _ => {}
        }
    }

    fn asked(&mut self, request: String, what: String, approval: bool) {
        let session = self.tongue.thread().unwrap_or_default();
        if !self.asks.claim(&request, format!("{session}: {what}")) {
            self.violated(format!("request id {request} was another ask's: {what}"));
        }
        self.ask = Some(AskSeen {
            request,
            approval,
            answered: false,
        });
    }

    fn violated(&mut self, what: String) {
        self.violation.get_or_insert(what);
    }

    /// The last frames of this session, for a failure.
    pub fn recent(&self) -> String {
        self.recent.join("\n")
    }
}
