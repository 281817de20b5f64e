//! One conversation in one form, whichever dialect told it.

use std::fmt;

use serde_json::Value;

/// An entry of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    User(String),
    Agent(String),
    Call(ToolCall),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    pub tool: String,
    /// The command line of a command; other tools' inputs are told in too many ways.
    pub input: String,
    /// What came of it; none while it waits or runs.
    pub result: Option<CallResult>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallResult {
    pub good: bool,
    /// What a command said, or what a question got for an answer.
    pub output: String,
}

impl Entry {
    pub fn call(tool: &str, input: &Value) -> Self {
        Self::Call(ToolCall {
            tool: tool_kind(tool).to_owned(),
            input: text(&input["command"]),
            result: None,
        })
    }

    pub fn is_call(&self) -> bool {
        matches!(self, Entry::Call(_))
    }
}

impl ToolCall {
    pub fn end(&mut self, good: bool, output: &str) {
        // Histories close a call that never ran; live it just stays without a result.
        if output.starts_with("not run: ") {
            return;
        }
        let told = self.tool == "bash" || self.tool == "ask";
        let output = if told { output.trim() } else { "" };
        self.result = Some(CallResult {
            good,
            output: output.to_owned(),
        });
    }
}

/// Changes of files are one kind of call in some dialects.
pub fn tool_kind(tool: &str) -> &str {
    match tool {
        "write" | "edit" => "file",
        other => other,
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Entry::User(words) => write!(out, "user: {words:?}"),
            Entry::Agent(words) => write!(out, "agent: {:?}", words.trim()),
            Entry::Call(call) => {
                write!(out, "call: {} {:?}", call.tool, call.input)?;
                match &call.result {
                    None => write!(out, " without a result"),
                    Some(result) if result.good => write!(out, " done: {:?}", result.output),
                    Some(result) => write!(out, " failed: {:?}", result.output),
                }
            }
        }
    }
}

/// A turn, as the dialects tell it that have turns.
#[derive(Clone, Debug, Default)]
pub struct TurnSeen {
    pub completed: bool,
    pub entries: Vec<Entry>,
}

/// What was said to a running turn begins like this.
pub const STEERS: [&str; 2] = ["echo steer ", "echo more "];

/// The entries as lines, in their order.
pub fn lines_in_order<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Vec<String> {
    entries.into_iter().map(Entry::to_string).collect()
}

/// The entries as lines, for views that differ in one thing. What is said to a running turn has its place where
/// it was said or where it took effect, by dialect: it is put before all that its turn has done since the last
/// words of a user.
pub fn lines<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Vec<String> {
    let mut ordered: Vec<&Entry> = Vec::new();
    for entry in entries {
        let mut at = ordered.len();
        if is_steer(entry) {
            let done = ordered.iter().rev();
            at -= done
                .take_while(|before| !matches!(before, Entry::User(_)))
                .count();
        }
        ordered.insert(at, entry);
    }
    ordered.into_iter().map(Entry::to_string).collect()
}

fn is_steer(entry: &Entry) -> bool {
    let Entry::User(words) = entry else {
        return false;
    };
    STEERS.iter().any(|steer| words.starts_with(steer))
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

pub fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
