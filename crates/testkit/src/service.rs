//! Model services by script: they answer in the form of the real ones, and refuse what those refuse.
//!
//! A question is answered with a thought and two calls, the results of the calls with a thought and
//! a sentence. What a service seals (a signature, an encrypted thought) it knows again; that of
//! another it refuses. Pure, but for `serve`, which puts one behind a socket.

mod chat;
mod gemini;
mod messages;
mod responses;
mod serve;

use std::fmt;

use serde_json::{Value, json};

pub use serve::ServedService;

/// What the calls ask for: a picture and a text, in the workspace.
pub const PICTURE: &str = "picture.png";
pub const NOTES: &str = "notes.txt";

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
}

struct ScriptedThought {
    text: String,
    seal: String,
}

struct ScriptedCall {
    id: String,
    path: &'static str,
}

impl ScriptedCall {
    const NAME: &'static str = "read";

    fn input(&self) -> Value {
        json!({ "filePath": self.path })
    }
}

impl ScriptedService {
    pub fn new(vendor: Vendor) -> Self {
        Self {
            vendor,
            answers: 0,
            called: false,
        }
    }

    /// The whole stream of events that answers this body.
    pub fn answer(&mut self, body: &Value) -> Result<String, RequestRefused> {
        match self.vendor {
            Vendor::OpenAi => responses::check(body)?,
            Vendor::Anthropic => messages::check(body)?,
            Vendor::Google => gemini::check(body)?,
            Vendor::OpenRouter | Vendor::Mistral | Vendor::DeepSeek | Vendor::Moonshot => {
                chat::check(self.vendor, body)?;
            }
        }
        let answer = self.next(body);
        Ok(match self.vendor {
            Vendor::OpenAi => responses::write(&answer),
            Vendor::Anthropic => messages::write(&answer),
            Vendor::Google => gemini::write(&answer),
            Vendor::OpenRouter | Vendor::Mistral | Vendor::DeepSeek | Vendor::Moonshot => {
                chat::write(self.vendor, &answer)
            }
        })
    }

    fn next(&mut self, body: &Value) -> ScriptedAnswer {
        let name = self.vendor.id();
        if list(&body["tools"]).is_empty() {
            // A title, or another small thing.
            return ScriptedAnswer {
                thought: None,
                text: format!("Words of {name}"),
                calls: Vec::new(),
            };
        }
        self.answers += 1;
        let number = self.answers;
        let thought = ScriptedThought {
            text: format!("Thought {number} of {name}."),
            seal: self.vendor.seal(number),
        };
        let calls = [PICTURE, NOTES].into_iter().enumerate();
        let calls = calls.map(|(at, path)| ScriptedCall {
            id: self.vendor.call_id(number, at),
            path,
        });
        self.called = !self.called;
        ScriptedAnswer {
            thought: Some(thought),
            text: match self.called {
                true => format!("I am {name} and will look."),
                false => format!("I am {name} and have seen it."),
            },
            calls: match self.called {
                true => calls.collect(),
                false => Vec::new(),
            },
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
