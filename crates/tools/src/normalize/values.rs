//! Brings values into the form that a tool's schema asks for, where there is no doubt what is meant.

use serde_json::{Map, Value, json};

use super::command;
use super::keys::{self, KeyMeaning};
use super::names::fold;

/// Words for choices that tools elsewhere have, folded, and ours.
const CHOICES: [(&str, &str); 9] = [
    ("active", "in_progress"),
    ("complete", "completed"),
    ("content", "lines"),
    ("count", "counts"),
    ("doing", "in_progress"),
    ("done", "completed"),
    ("fileswithmatches", "files"),
    ("notstarted", "pending"),
    ("todo", "pending"),
];

/// The value as the schema has it; what does not fit stays as it is.
pub fn fit(schema: &Value, value: Value) -> Value {
    match (schema["type"].as_str().unwrap_or_default(), value) {
        ("object", Value::Object(fields)) => Value::Object(fit_fields(schema, fields)),
        ("array", Value::Array(values)) => {
            let items = &schema["items"];
            values.into_iter().map(|each| fit(items, each)).collect()
        }
        (kind @ ("object" | "array"), Value::String(text)) => {
            match serde_json::from_str::<Value>(&text) {
                Ok(value) if kind == "object" && value.is_object() => fit(schema, value),
                Ok(value) if kind == "array" && value.is_array() => fit(schema, value),
                Ok(_) | Err(_) => Value::String(text),
            }
        }
        ("integer" | "number", Value::String(text)) => number(&text).unwrap_or(Value::String(text)),
        ("boolean", Value::String(text)) => flag(&text).unwrap_or(Value::String(text)),
        ("string", Value::Number(number)) => Value::String(number.to_string()),
        ("string", Value::String(text)) => Value::String(choice(schema, text)),
        (_, value) => value,
    }
}

fn fit_fields(schema: &Value, given: Map<String, Value>) -> Map<String, Value> {
    let Some(properties) = schema["properties"].as_object() else {
        return given;
    };
    // A key that is right goes before another that means the same.
    let (mut fields, others): (Map<_, _>, Map<_, _>) = given
        .into_iter()
        .partition(|(key, _)| properties.contains_key(key));
    for (key, value) in others {
        let is_free = |field: &str| fields.get(field).is_none_or(Value::is_null);
        let (key, value) = match keys::meant(&key, properties) {
            Some(KeyMeaning::Field(field)) if is_free(field) => (field.to_owned(), value),
            Some(KeyMeaning::OppositeOf(field)) if is_free(field) => {
                match fit(&json!({"type": "boolean"}), value) {
                    Value::Bool(flag) => (field.to_owned(), Value::Bool(!flag)),
                    value => (key, value),
                }
            }
            Some(_) | None => (key, value),
        };
        fields.insert(key, value);
    }
    for (key, value) in &mut fields {
        if let Some(schema) = properties.get(key) {
            let given = match key == "command" && schema["type"] == "string" {
                true => command::line_of(value.take()),
                false => value.take(),
            };
            *value = fit(schema, given);
        }
    }
    fields
}

fn number(text: &str) -> Option<Value> {
    let text = text.trim();
    if let Ok(whole) = text.parse::<i64>() {
        return Some(json!(whole));
    }
    let number: f64 = text.parse().ok()?;
    number.is_finite().then(|| json!(number))
}

fn flag(text: &str) -> Option<Value> {
    match text.trim().to_lowercase().as_str() {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        _ => None,
    }
}

/// One of the schema's choices, where the text is one of them but for its spelling.
fn choice(schema: &Value, text: String) -> String {
    let Some(choices) = schema["enum"].as_array() else {
        return text;
    };
    let choices: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
    let folded = fold(&text);
    let ours = CHOICES.iter().find(|(theirs, _)| *theirs == folded);
    let is_meant =
        |each: &&&str| fold(each) == folded || ours.is_some_and(|(_, ours)| ours == *each);
    match choices.contains(&text.as_str()) {
        true => text,
        false => choices
            .iter()
            .find(is_meant)
            .map_or(text, |each| (*each).to_owned()),
    }
}
