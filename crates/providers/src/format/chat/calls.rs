//! The calls of an answer, and which of them a piece belongs to.

use serde_json::{Value, json};
use vocabulary::Native;

use crate::format::arguments::JsonClosing;
use crate::format::blocks::BlockKey;
use crate::format::{native, text};

#[derive(Default)]
pub(super) struct ChatCalls {
    pub list: Vec<ChatCall>,
}

pub(super) struct ChatCall {
    index: Option<u64>,
    pub id: String,
    pub name: String,
    /// What came before its name.
    pub early: String,
    pub key: Option<BlockKey>,
    pub closing: JsonClosing,
    /// What Google's own endpoint signs a call with.
    extra: Option<Value>,
}

impl ChatCalls {
    /// The call a piece belongs to: by its number, unless it brings an id that is another one's;
    /// without a number by its id, else the last.
    pub fn find(&self, told: &Value) -> Option<usize> {
        let id = text(told, "id");
        let same_id = |call: &ChatCall| id.is_none_or(|id| id == call.id);
        match told["index"].as_u64() {
            Some(index) => self
                .list
                .iter()
                .rposition(|call| call.index == Some(index))
                .filter(|at| same_id(&self.list[*at])),
            None if id.is_some() => self.list.iter().rposition(same_id),
            // A name begins a call where nothing else tells them apart.
            None if text(&told["function"], "name").is_some() => None,
            None => self.list.len().checked_sub(1),
        }
    }

    /// Adds the call that a piece begins; `seed` makes an id where it has none.
    pub fn add(&mut self, told: &Value, seed: &str) -> usize {
        let made = format!("{seed}_{}", self.list.len());
        self.list.push(ChatCall {
            index: told["index"].as_u64(),
            id: text(told, "id").map_or(made, str::to_owned),
            name: String::new(),
            early: String::new(),
            key: None,
            closing: JsonClosing::default(),
            extra: None,
        });
        self.list.len() - 1
    }
}

impl ChatCall {
    /// Reads a piece, whose arguments are these.
    pub fn read(&mut self, told: &Value, arguments: &str) {
        self.closing.feed(arguments);
        if let Some(extra) = told.get("extra_content").filter(|extra| extra.is_object()) {
            self.extra = Some(extra.clone());
        }
        if self.name.is_empty() {
            let name = told["function"]["name"].as_str().unwrap_or("");
            name.clone_into(&mut self.name);
        }
    }

    pub fn native(&self, origin: &str) -> Option<Box<Native>> {
        let extra = self.extra.as_ref()?;
        Some(native(origin, json!({ "extra_content": extra })))
    }
}
