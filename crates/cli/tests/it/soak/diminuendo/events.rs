//! Numbered events: whether each has its place, and what they tell of a conversation.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::soak::desk::Desk;
use crate::soak::entry::{Entry, text};
use crate::soak::voice::Pair;

/// These take a number and are not kept by the server.
const EPHEMERAL: [&str; 5] = [
    "text_delta",
    "tool_call_start",
    "tool_call_delta",
    "thinking_progress",
    "terminal_stream",
];

/// Events by number: type and fields.
pub type Events = BTreeMap<u64, (String, Value)>;

/// What was told of a session so far.
#[derive(Default)]
pub struct Sequence {
    /// The events that the server keeps, too.
    pub kept: Events,
    /// The highest number that was seen or told to be gone.
    pub covered: u64,
    pub replaying: bool,
}

impl Sequence {
    /// Checks that an event has its place, and keeps it.
    pub fn numbered(&mut self, desk: &mut Desk, kind: &str, frame: &Value, seq: u64) {
        let mut fields = frame.clone();
        if let Some(fields) = fields.as_object_mut() {
            fields.remove("type");
        }
        if seq <= self.covered {
            // A permission that waits is told again with its own number.
            let same = self.kept.get(&seq).is_none_or(|(_, kept)| *kept == fields);
            if kind != "permission_requested" || !same {
                desk.alarm(format!(
                    "number {seq} comes behind {}: {frame}",
                    self.covered
                ));
            }
            return;
        }
        if self.replaying && seq != self.covered + 1 {
            desk.alarm(format!("a replay jumps from {} to {seq}", self.covered));
        }
        self.covered = seq;
        if !EPHEMERAL.contains(&kind) {
            self.kept.insert(seq, (kind.to_owned(), fields));
        }
    }

    pub fn gap(&mut self, desk: &mut Desk, frame: &Value) {
        let from = frame["fromSeq"].as_u64().unwrap_or_default();
        if from != self.covered {
            let covered = self.covered;
            desk.alarm(format!(
                "a gap from {from}, and {covered} was the last number"
            ));
        }
        self.covered = frame["toSeq"].as_u64().unwrap_or_default();
    }
}

/// A read with all its pages.
pub struct Completed {
    pub seen: Events,
    pub events: Events,
    pub history: Vec<(String, Entry)>,
}

pub fn calls(events: &Events) -> Vec<Entry> {
    let mut calls: Vec<(String, Entry)> = Vec::new();
    for (kind, fields) in events.values() {
        let id = text(&fields["toolCallId"]);
        match kind.as_str() {
            "tool_call" => {
                let call = Entry::call(&text(&fields["toolName"]), &fields["args"]);
                calls.push((id, call));
            }
            "tool_result" | "tool_error" => {
                let made = calls.iter_mut().rev().find(|(call, _)| *call == id);
                if let Some((_, Entry::Call(call))) = made {
                    let output = text(&fields["output"]) + &text(&fields["error"]);
                    call.end(fields["status"] == "success", &output);
                }
            }
            _ => {}
        }
    }
    calls.into_iter().map(|(_, call)| call).collect()
}

/// What turns said in the end, by their last event and by the history.
pub fn final_texts(read: &Completed) -> Pair {
    let (mut seen, mut told) = (Vec::new(), Vec::new());
    for (kind, fields) in read.events.values() {
        if kind != "turn_complete" {
            continue;
        }
        let turn = text(&fields["turnId"]);
        let said = read.history.iter().filter(|(each, _)| *each == turn);
        let said: Vec<String> = said
            .filter_map(|(_, entry)| match entry {
                Entry::Agent(words) => Some(words.clone()),
                _ => None,
            })
            .collect();
        seen.push(format!("{turn} {:?}", text(&fields["finalText"]).trim()));
        told.push(format!("{turn} {:?}", said.join("\n\n").trim()));
    }
    Pair {
        what: "final texts",
        seen,
        read: told,
    }
}
