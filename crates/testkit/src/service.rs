//! Model services by script: they answer in the form of the real ones, and refuse what those refuse.
//!
//! A question is answered with a thought and two calls, the results of the calls with a thought and
//! a sentence; or a test says what is answered (`ScriptedReply`). What a service seals (a signature,
//! an encrypted thought) it knows again; that of another it refuses. Pure, but for `serve`, which
//! puts one behind a socket.

mod chat;
mod gemini;
mod messages;
mod responses;
mod serve;

use std::collections::VecDeque;
use std::fmt;

use serde_json::{Value, json};

pub use serve::ServedService;

/// What the calls ask for: a picture and a text, in the workspace.
pub const PICTURE: &str = "picture.png";
pub const NOTES: &str = "notes.txt";

/// What a service says that it has read, where nothing else is told.
const INPUT_TOKENS: u64 = 100;

/// Whose service it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendor {
    OpenAi,
    Anthropic,
    Google,
    OpenRouter,
    Mistral,
    DeepSeek,
    Moonshot,
    /// A server on this machine. It is not among `ALL`: it seals nothing and refuses nothing.
    LlamaCpp,
}

impl Vendor {
    pub const ALL: [Vendor; 7] = [
        Vendor::OpenAi,
        Vendor::Anthropic,
        Vendor::Google,
        Vendor::OpenRouter,
        Vendor::Mistral,
        Vendor::DeepSeek,
        Vendor::Moonshot,
    ];

    /// As the catalog has it.
    pub fn id(self) -> &'static str {
        match self {
            Vendor::OpenAi => "openai",
            Vendor::Anthropic => "anthropic",
            Vendor::Google => "google",
            Vendor::OpenRouter => "openrouter",
            Vendor::Mistral => "mistral",
            Vendor::DeepSeek => "deepseek",
            Vendor::Moonshot => "moonshot",
            Vendor::LlamaCpp => "llamacpp",
        }
    }

    /// What it makes of a thought that only it can read: letters of base64, as many as make whole
    /// bytes.
    fn seal(self, number: usize) -> String {
        let own = self.seal_prefix();
        let digits = 8 - own.len() % 4;
        format!("{own}{number:0digits$}")
    }

    /// Whether it made this signature or encrypted thought.
    fn sealed(self, seal: &Value) -> bool {
        let own = self.seal_prefix();
        seal.as_str().is_some_and(|seal| seal.starts_with(&own))
    }

    /// How all of its seals begin.
    pub fn seal_prefix(self) -> String {
        format!("SealedBy/{}/", self.id())
    }

    /// An id as its calls have it. Those of Moonshot hold letters that others refuse.
    fn call_id(self, answer: usize, call: usize) -> String {
        match self {
            Vendor::OpenAi => format!("call_{answer:020}{call:04}"),
            Vendor::Anthropic => format!("toolu_01{answer:018}{call:04}"),
            Vendor::Google | Vendor::OpenRouter => format!("tool_{}_{answer}_{call}", self.id()),
            Vendor::Mistral => format!("m{answer:04}c{call:03}"),
            Vendor::DeepSeek => format!("call_{call:02}_{answer:022}"),
            Vendor::Moonshot => format!("functions.read:{}", answer * 2 + call),
            Vendor::LlamaCpp => format!("{answer:016}{call:016}"),
        }
    }
}

/// A service in the midst of a conversation.
pub struct ScriptedService {
    vendor: Vendor,
    /// Those of the conversation; titles are none.
    answers: usize,
    /// Whether it waits for the results of its calls.
    called: bool,
    /// What it is to answer, where a test says that.
    script: Option<VecDeque<ScriptedReply>>,
    /// Whether it was asked for a title.
    titled: bool,
}

/// What a service is to answer, before it is in the service's own form.
#[derive(Clone, Debug, Default)]
pub struct ScriptedReply {
    pub text: String,
    /// Tools by name, and their input.
    pub calls: Vec<(String, Value)>,
    /// What it says that it has read; a hundred where this is 0.
    pub input_tokens: u64,
    /// It answers only when it is let (`ServedService::release`).
    pub held: bool,
}

impl ScriptedReply {
    pub fn says(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            ..Self::default()
        }
    }

    pub fn calls(mut self, name: &str, input: Value) -> Self {
        self.calls.push((name.to_owned(), input));
        self
    }

    pub fn having_read(self, input_tokens: u64) -> Self {
        Self {
            input_tokens,
            ..self
        }
    }

    pub fn held(self) -> Self {
        Self { held: true, ..self }
    }
}

/// A request that was not taken, in the service's own words.
#[derive(Clone, Debug)]
pub struct RequestRefused {
    pub status: u16,
    pub body: Value,
}

impl fmt::Display for RequestRefused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.status, self.body)
    }
}

/// An answer before it is written in a format.
struct ScriptedAnswer {
    thought: Option<ScriptedThought>,
    text: String,
    calls: Vec<ScriptedCall>,
    input_tokens: u64,
    held: bool,
}

struct ScriptedThought {
    text: String,
    seal: String,
}

struct ScriptedCall {
    id: String,
    name: String,
    input: Value,
}

impl ScriptedService {
    pub fn new(vendor: Vendor) -> Self {
        Self {
            vendor,
            answers: 0,
            called: false,
            script: None,
            titled: false,
        }
    }

    /// Answers these, one after the other; the first request without tools is taken for that of a
    /// title, which is not among them.
    pub fn with_script(vendor: Vendor, replies: impl IntoIterator<Item = ScriptedReply>) -> Self {
        Self {
            script: Some(replies.into_iter().collect()),
            ..Self::new(vendor)
        }
    }

    /// The whole stream of events that answers this body.
    pub fn answer(&mut self, body: &Value) -> Result<String, RequestRefused> {
        self.stream(body).map(|(events, _)| events)
    }

    /// The same, and whether it waits until it is let.
    fn stream(&mut self, body: &Value) -> Result<(String, bool), RequestRefused> {
        match self.vendor {
            Vendor::OpenAi => responses::check(body)?,
            Vendor::Anthropic => messages::check(body)?,
            Vendor::Google => gemini::check(body)?,
            Vendor::OpenRouter
            | Vendor::Mistral
            | Vendor::DeepSeek
            | Vendor::Moonshot
            | Vendor::LlamaCpp => chat::check(self.vendor, body)?,
        }
        let answer = self.next(body);
        let events = match self.vendor {
            Vendor::OpenAi => responses::write(&answer),
            Vendor::Anthropic => messages::write(&answer, body),
            Vendor::Google => gemini::write(&answer),
            Vendor::OpenRouter
            | Vendor::Mistral
            | Vendor::DeepSeek
            | Vendor::Moonshot
            | Vendor::LlamaCpp => chat::write(self.vendor, &answer),
        };
        Ok((events, answer.held))
    }

    fn next(&mut self, body: &Value) -> ScriptedAnswer {
        let name = self.vendor.id();
        if list(&body["tools"]).is_empty() && !(self.script.is_some() && self.titled) {
            // A title, or another small thing.
            self.titled = true;
            return ScriptedAnswer {
                thought: None,
                text: format!("Words of {name}"),
                calls: Vec::new(),
                input_tokens: INPUT_TOKENS,
                held: false,
            };
        }
        self.answers += 1;
        let number = self.answers;
        let reply = self.next_reply();
        let calls = reply.calls.into_iter().enumerate();
        let calls = calls.map(|(at, (name, input))| ScriptedCall {
            id: self.vendor.call_id(number, at),
            name,
            input,
        });
        ScriptedAnswer {
            thought: Some(ScriptedThought {
                text: format!("Thought {number} of {name}."),
                seal: self.vendor.seal(number),
            }),
            text: reply.text,
            calls: calls.collect(),
            input_tokens: match reply.input_tokens {
                0 => INPUT_TOKENS,
                tokens => tokens,
            },
            held: reply.held,
        }
    }

    fn next_reply(&mut self) -> ScriptedReply {
        if let Some(script) = &mut self.script {
            let next = script.pop_front();
            return next.unwrap_or_else(|| ScriptedReply::says("The script has ended."));
        }
        let name = self.vendor.id();
        self.called = !self.called;
        match self.called {
            true => ScriptedReply::says(&format!("I am {name} and will look."))
                .calls("read", json!({ "filePath": PICTURE }))
                .calls("read", json!({ "filePath": NOTES })),
            false => ScriptedReply::says(&format!("I am {name} and have seen it.")),
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Events without names, one for each.
fn data(events: impl IntoIterator<Item = Value>) -> String {
    let lines = events.into_iter().map(|event| format!("data: {event}\n\n"));
    lines.collect()
}

/// Events whose names are their types.
fn named(events: impl IntoIterator<Item = Value>) -> String {
    let lines = events.into_iter().map(|event| {
        let kind = event["type"].as_str().unwrap_or_default();
        format!("event: {kind}\ndata: {event}\n\n")
    });
    lines.collect()
}

/// Cuts a text in two, so that it comes in pieces.
fn halves(text: &str) -> [&str; 2] {
    let (left, right) = text.split_at(text.len() / 2);
    [left, right]
}
