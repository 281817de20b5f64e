//! The arguments a model wrote for a tool call: an object, or what is wrong with them.

use serde_json::{Value, json};

use crate::FREE_TEXT_FIELD;

/// The input of a call, and the problem the model is told of when it is not what it wrote.
pub(super) fn read(written: &str) -> (Value, Option<String>) {
    if written.trim().is_empty() {
        return (json!({}), None);
    }
    let problem = match serde_json::from_str::<Value>(written) {
        Ok(input @ Value::Object(_)) => return (input, None),
        Ok(other) => format!("are {} and not an object", kind(&other)),
        Err(error) => format!("are not valid JSON ({error})"),
    };
    let problem = format!(
        "The arguments of this call {problem}, so it was not run. Call the tool again with one JSON object that fits its schema."
    );
    (json!({ "arguments": written }), Some(problem))
}

/// The input of a call that is one text. There is nothing in it to see its end by, so whoever reads the
/// stream must say that it was `cut`.
pub(super) fn free_text(written: &str, cut: bool) -> (Value, Option<String>) {
    let problem = cut.then(|| {
        "The input of this call was cut, so it was not run. Call the tool again with all of it."
            .to_owned()
    });
    (json!({ FREE_TEXT_FIELD: written }), problem)
}

/// A piece of a text as it stands in a JSON string.
pub(super) fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// An input as the formats want it that take nothing but objects.
pub(super) fn object(input: &Value) -> Value {
    match input {
        Value::Object(_) => input.clone(),
        Value::Null => json!({}),
        other => json!({ "arguments": other }),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Sees where a JSON object that comes in pieces closes, in one pass: a call whose object has
/// closed cannot grow any more.
#[derive(Debug, Default)]
pub(super) struct JsonClosing {
    depth: u32,
    quoted: bool,
    escaped: bool,
    closed: bool,
}

impl JsonClosing {
    pub fn feed(&mut self, piece: &str) {
        for byte in piece.bytes() {
            self.byte(byte);
        }
    }

    pub fn closed(&self) -> bool {
        self.closed
    }

    fn byte(&mut self, byte: u8) {
        if self.quoted {
            self.quoted = self.escaped || byte != b'"';
            self.escaped = !self.escaped && byte == b'\\';
            return;
        }
        match byte {
            b'"' => self.quoted = true,
            b'{' | b'[' => self.depth = self.depth.saturating_add(1),
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.closed |= self.depth == 0;
            }
            _ => {}
        }
    }
}
