//! The list of servers in a file, entry by entry, with what only others know of.

use serde_json::{Map, Value};
use vocabulary::{McpServer, Refusal};

use super::not_found;
use crate::config::spelling::spell;

const OF_SERVER: &[&str] = &["name", "transport", "required", "retries", "auth"];
const OF_TRANSPORT: &[&str] = &["type", "command", "args", "env", "cwd", "url", "headers"];
const OF_AUTH: &[&str] = &[
    "type",
    "headerName",
    "prefix",
    "keyId",
    "scope",
    "resource",
    "oauthMode",
];

/// Puts a server where it was, or where the one was that it replaces, or at the end.
pub fn put(
    list: &mut Vec<Value>,
    server: &McpServer,
    previous: Option<&str>,
) -> Result<(), Refusal> {
    let own = position(list, &server.name);
    let place = match previous {
        None => own,
        Some(previous) => Some(position(list, previous).ok_or_else(|| not_found(previous))?),
    };
    if previous.is_some() && own.is_some() {
        let message = format!("MCP server \"{}\" already exists.", server.name);
        return Err(Refusal::invalid("server", message));
    }
    let entry = spell(server);
    match place.and_then(|place| list.get_mut(place)) {
        Some(there) => *there = Value::Object(merged(there, entry, OF_SERVER)),
        None => list.push(Value::Object(entry)),
    }
    Ok(())
}

pub fn remove(list: &mut Vec<Value>, name: &str) -> Result<(), Refusal> {
    let position = position(list, name).ok_or_else(|| not_found(name))?;
    list.remove(position);
    Ok(())
}

pub fn position(list: &[Value], name: &str) -> Option<usize> {
    list.iter().position(|entry| name_of(entry) == Some(name))
}

pub fn name_of(entry: &Value) -> Option<&str> {
    entry["name"].as_str().map(str::trim)
}

/// The new in the place of the old, with what the old has besides.
fn merged(old: &Value, new: Map<String, Value>, known: &[&str]) -> Map<String, Value> {
    let mut entry = old.as_object().cloned().unwrap_or_default();
    entry.retain(|name, _| new.contains_key(name) || !known.contains(&name.as_str()));
    for (name, value) in new {
        let inner = match name.as_str() {
            "transport" => OF_TRANSPORT,
            "auth" => OF_AUTH,
            // Plain values.
            _ => &[],
        };
        let value = match (entry.get(&name), value) {
            // Another kind has nothing in common with it.
            (Some(old), Value::Object(value)) if old.get("type") == value.get("type") => {
                Value::Object(merged(old, value, inner))
            }
            (_, value) => value,
        };
        entry.insert(name, value);
    }
    entry
}
