//! A turn as a client draws it that believes nothing but what was streamed, and what it was shown as it joined:
//! what is told as a whole in the end does not count.

use anyhow::ensure;
use serde_json::Value;

/// What grew in a turn. Blanks are left out: a client may show one thing after the other in any way.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FoldedTurn {
    text: String,
    thoughts: String,
    output: String,
}

/// An item of codex and zane.
struct DrawnItem {
    id: String,
    kind: String,
    text: String,
}

impl FoldedTurn {
    pub fn of(language: &str, frames: &[Value]) -> Self {
        match language {
            "codex" | "zane" => codex(frames),
            "cowork" => cowork(frames),
            "diminuendo" => diminuendo(frames),
            "pioneer" => pioneer(frames),
            other => panic!("no such dialect here: {other}"),
        }
    }

    /// Every word of the script, once and in its order.
    pub fn ensure_whole(&self, words: usize) -> anyhow::Result<()> {
        let all = |letter: char, count: usize| -> String {
            (0..count)
                .map(|number| format!("{letter}{number}"))
                .collect()
        };
        let whole = Self {
            text: all('w', 2 * words),
            thoughts: format!("{}{}", all('t', words), all('s', words)),
            output: all('o', words),
        };
        ensure!(*self == whole, "from the start: {self:?}");
        Ok(())
    }

    /// Whether it is what this one has who was there from the start, as far as the dialect tells it.
    pub fn ensure_like(&self, language: &str, whole: &Self) -> anyhow::Result<()> {
        ensure!(self.text == whole.text, "the text: {}", self.text);
        match language {
            "codex" | "zane" => {
                ensure!(
                    self.thoughts == whole.thoughts,
                    "the thoughts: {}",
                    self.thoughts
                );
                ensure!(self.output == whole.output, "the output: {}", self.output);
            }
            "diminuendo" => {
                ensure!(
                    self.thoughts == whole.thoughts,
                    "the thoughts: {}",
                    self.thoughts
                );
            }
            // A thought that is over is read from the history there; one that is told is whole.
            _ => {
                let second = whole.thoughts.find('s').unwrap_or_default();
                let known = [whole.thoughts.as_str(), &whole.thoughts[second..], ""];
                ensure!(
                    known.contains(&self.thoughts.as_str()),
                    "a torn thought: {}",
                    self.thoughts
                );
            }
        }
        Ok(())
    }

    fn squeezed(text: &str, thoughts: &str, output: &str) -> Self {
        let squeeze = |text: &str| text.split_whitespace().collect::<String>();
        Self {
            text: squeeze(text),
            thoughts: squeeze(thoughts),
            output: squeeze(output),
        }
    }
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn strings(value: &Value) -> String {
    let parts = value.as_array().into_iter().flatten();
    parts.map(string).collect()
}

fn drawn(item: &Value) -> DrawnItem {
    let text = match string(&item["type"]) {
        "agentMessage" => string(&item["text"]).to_owned(),
        "reasoning" => format!("{}{}", strings(&item["summary"]), strings(&item["content"])),
        "commandExecution" => string(&item["aggregatedOutput"]).to_owned(),
        _ => String::new(),
    };
    DrawnItem {
        id: string(&item["id"]).to_owned(),
        kind: string(&item["type"]).to_owned(),
        text,
    }
}

fn codex(frames: &[Value]) -> FoldedTurn {
    let mut items: Vec<DrawnItem> = Vec::new();
    for frame in frames {
        let turns = frame["result"]["thread"]["turns"].as_array();
        if let Some(turn) = turns.and_then(|turns| turns.last()) {
            let shown = turn["items"].as_array().into_iter().flatten();
            items = shown.map(drawn).collect();
        }
        let params = &frame["params"];
        if frame["method"] == "item/started" {
            items.push(drawn(&params["item"]));
        }
        if let Some(delta) = params["delta"].as_str() {
            let id = string(&params["itemId"]);
            // What grows before the thread was read is in what is read then.
            if let Some(item) = items.iter_mut().find(|item| item.id == id) {
                item.text.push_str(delta);
            }
        }
    }
    let all = |kind: &str| -> String {
        let of_kind = items.iter().filter(|item| item.kind == kind);
        of_kind.map(|item| item.text.as_str()).collect()
    };
    FoldedTurn::squeezed(
        &all("agentMessage"),
        &all("reasoning"),
        &all("commandExecution"),
    )
}

fn cowork(frames: &[Value]) -> FoldedTurn {
    let (mut text, mut thoughts) = (String::new(), String::new());
    for frame in frames {
        let part = string(&frame["part"]["text"]);
        match frame["partType"].as_str() {
            Some("text_start") => text.clear(),
            Some("text_delta") => text.push_str(part),
            Some("reasoning_delta") => thoughts.push_str(part),
            _ => {}
        }
    }
    FoldedTurn::squeezed(&text, &thoughts, "")
}

fn diminuendo(frames: &[Value]) -> FoldedTurn {
    let (mut text, mut thoughts) = (String::new(), String::new());
    for frame in frames {
        match frame["type"].as_str() {
            Some("stream_snapshot") => {
                text = string(&frame["text"]).to_owned();
                thoughts = string(&frame["thinking"]).to_owned();
            }
            Some("text_delta") => text.push_str(string(&frame["text"])),
            Some("thinking_progress") => thoughts.push_str(string(&frame["text"])),
            _ => {}
        }
    }
    FoldedTurn::squeezed(&text, &thoughts, "")
}

fn pioneer(frames: &[Value]) -> FoldedTurn {
    let mut text = String::new();
    for frame in frames {
        let params = &frame["params"];
        match frame["method"].as_str() {
            Some("item/started") if params["item"]["type"] == "agentMessage" => {
                text = string(&params["item"]["text"]).to_owned();
            }
            Some("item/agent_message/delta") => text.push_str(string(&params["delta"])),
            _ => {}
        }
    }
    FoldedTurn::squeezed(&text, "", "")
}
