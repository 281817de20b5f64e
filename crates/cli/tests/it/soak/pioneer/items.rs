//! Items, as pioneer spells them.

use serde_json::Value;

use crate::soak::entry::{Entry, list, text};

#[derive(Clone, Debug)]
pub struct Item {
    pub id: String,
    pub entry: Option<Entry>,
    pub completed: bool,
}

pub fn position(items: &[Item], id: &str) -> Option<usize> {
    items.iter().position(|item| item.id == id)
}

pub fn item(value: &Value, completed: bool) -> Item {
    let entry = match value["type"].as_str().unwrap_or_default() {
        "userMessage" => Some(Entry::User(text(&value["text"]))),
        "agentMessage" => Some(Entry::Agent(text(&value["text"]))),
        "commandExecution" | "fileChange" | "webSearch" | "webFetch" | "dynamicToolCall" => {
            let mut entry = Entry::call(&text(&value["toolName"]), &value["arguments"]);
            if let (Entry::Call(call), true) = (&mut entry, completed) {
                let display = &value["display"];
                let shown = text(&display["stdout"]) + &text(&display["stderr"]);
                let lines: Vec<String> = list(&display["lines"]).map(text).collect();
                call.end(value["success"] == true, &(shown + &lines.join("\n")));
            }
            Some(entry)
        }
        _ => None,
    };
    Item {
        id: text(&value["id"]),
        entry,
        completed,
    }
}

/// A name for a turn that follows from its words.
pub fn number_of(words: &str) -> u64 {
    words.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
