//! `reasoning_details`: what routers tell of a thought in pieces, and want back put together.

use serde_json::Value;

/// The entries so far. Texts and summaries come in pieces; what is encrypted comes whole.
#[derive(Default)]
pub(super) struct ReasoningDetails(Vec<Value>);

impl ReasoningDetails {
    /// Adds one entry, or one more piece of the last one.
    pub fn add(&mut self, entry: &Value) {
        if !entry.is_object() {
            return;
        }
        match self.0.last_mut() {
            Some(last) if continues(last, entry) => join(last, entry),
            Some(_) | None => self.0.push(entry.clone()),
        }
    }

    /// The entries, if there are any.
    pub fn take(&mut self) -> Option<Value> {
        let entries = std::mem::take(&mut self.0);
        (!entries.is_empty()).then_some(Value::Array(entries))
    }

    /// What an entry shows of the thought.
    pub fn shown(entry: &Value) -> &str {
        let field = words_field(entry).unwrap_or_default();
        entry[field].as_str().unwrap_or_default()
    }
}

/// Where the words of an entry stand, if it has words.
fn words_field(entry: &Value) -> Option<&'static str> {
    match entry["type"].as_str()? {
        "reasoning.text" => Some("text"),
        "reasoning.summary" => Some("summary"),
        _ => None,
    }
}

fn continues(last: &Value, entry: &Value) -> bool {
    let field = words_field(entry);
    field.is_some() && field == words_field(last) && entry["index"] == last["index"]
}

/// The words are joined; what the earlier pieces lacked (a signature comes last) is added.
fn join(last: &mut Value, entry: &Value) {
    let words = [
        ReasoningDetails::shown(last),
        ReasoningDetails::shown(entry),
    ]
    .concat();
    if let Some(field) = words_field(entry) {
        last[field] = Value::String(words);
    }
    let fields = entry.as_object().into_iter().flatten();
    for (name, value) in fields.filter(|(_, value)| !value.is_null()) {
        if last[name].is_null() {
            last[name] = value.clone();
        }
    }
}
