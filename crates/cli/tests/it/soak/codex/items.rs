//! Turns and items, as codex and zane spell them.

use serde_json::Value;

use crate::soak::entry::{Entry, ToolCall, lines_in_order, list, text, tool_kind};

#[derive(Clone, Debug)]
pub struct Turn {
    pub id: String,
    pub status: String,
    pub items: Vec<Item>,
}

#[derive(Clone, Debug)]
pub struct Item {
    pub id: String,
    pub entry: Option<Entry>,
    pub completed: bool,
}

pub fn turn(value: &Value) -> Turn {
    let status = text(&value["status"]);
    let mut letters = status.chars();
    let first = letters.next().map(|first| first.to_ascii_lowercase());
    Turn {
        id: text(&value["id"]),
        status: first.into_iter().chain(letters).collect(),
        items: list(&value["items"])
            .map(|each| item(each, false))
            .collect(),
    }
}

pub fn item(value: &Value, completed: bool) -> Item {
    let words = || text(&value["text"]);
    let entry = match value["type"].as_str().unwrap_or_default() {
        "userMessage" => Some(Entry::User(text(&value["content"][0]["text"]))),
        "agentMessage" => Some(Entry::Agent(words())),
        "commandExecution" => Some(call(value, "bash", &value["commandActions"][0])),
        "fileChange" => Some(call(value, "file", &Value::Null)),
        "mcpToolCall" | "dynamicToolCall" => Some(call(value, &text(&value["tool"]), &Value::Null)),
        "collabAgentToolCall" => Some(call(value, "spawnAgent", &Value::Null)),
        _ => None,
    };
    Item {
        id: text(&value["id"]),
        entry,
        completed,
    }
}

fn call(value: &Value, tool: &str, input: &Value) -> Entry {
    let mut call = ToolCall {
        tool: tool_kind(tool).to_owned(),
        input: text(&input["command"]),
        result: None,
    };
    let status = text(&value["status"]);
    if status != "inProgress" {
        call.end(status == "completed", &text(&value["aggregatedOutput"]));
    }
    Entry::Call(call)
}

pub fn entries(turn: &Turn) -> Vec<Entry> {
    let items = turn.items.iter();
    items.filter_map(|item| item.entry.clone()).collect()
}

pub fn told_lines(turns: &[Turn]) -> Vec<String> {
    let mut told = Vec::new();
    for turn in turns {
        told.push(format!("turn {} {}", turn.id, turn.status));
        told.extend(lines_in_order(&entries(turn)));
    }
    told
}
