//! Reads client frames in the order, and with the words, of docs/protocols/cowork.md, "Protocol 1".

use serde_json::Value;

use super::super::hear::{Object, repeated};
use super::super::names::ProviderName;
use super::wire::{CLI_PROVIDERS, ClientMessage};

/// Every client message of this protocol.
pub const MESSAGES: [&str; 12] = [
    "client_hello",
    "user_message",
    "ask_response",
    "approval_response",
    "set_model",
    "connect_provider",
    "list_tools",
    "reset",
    "session_backup_get",
    "session_backup_checkpoint",
    "session_backup_restore",
    "session_backup_delete_checkpoint",
];

pub fn hear(frame: &str, session: &str) -> Result<ClientMessage, String> {
    let object = match serde_json::from_str(frame) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return Err("Expected object".to_owned()),
        Err(_) => return Err("Invalid JSON".to_owned()),
    };
    let Some(kind) = object.get("type").and_then(Value::as_str) else {
        return Err("Missing type".to_owned());
    };
    let known = MESSAGES.into_iter().find(|known| *known == kind);
    let name = known.ok_or_else(|| format!("Unknown type: {}", repeated(kind)))?;
    if name == "client_hello" {
        return Ok(ClientMessage::ClientHello {});
    }
    check_backup(name, &object)?;
    check_session(&object, session)?;
    check_fields(name, &object)?;
    serde_json::from_value(Value::Object(object))
        .map_err(|error| format!("{name} invalid: {}", repeated(&error.to_string())))
}

/// Only these messages name what they miss; the others leave it to the session.
fn check_backup(name: &str, object: &Object) -> Result<(), String> {
    if !name.starts_with("session_backup_") {
        return Ok(());
    }
    if !object.get("sessionId").is_some_and(Value::is_string) {
        return Err(format!("{name} missing sessionId"));
    }
    let checkpoint = object.get("checkpointId");
    match name {
        "session_backup_restore" if checkpoint.is_some_and(|id| !id.is_string()) => {
            Err(format!("{name} invalid checkpointId"))
        }
        "session_backup_delete_checkpoint" if !non_empty(checkpoint) => {
            Err(format!("{name} missing checkpointId"))
        }
        _ => Ok(()),
    }
}

fn check_session(object: &Object, session: &str) -> Result<(), String> {
    let shown = match object.get("sessionId") {
        Some(Value::String(asked)) if asked == session => return Ok(()),
        Some(Value::String(asked)) => asked.clone(),
        Some(other) => other.to_string(),
        None => "undefined".to_owned(),
    };
    Err(format!("Unknown sessionId: {}", repeated(&shown)))
}

fn check_fields(name: &str, object: &Object) -> Result<(), String> {
    let text = |field: &str| object.get(field).is_some_and(Value::is_string);
    let missing = |field: &str| Err(format!("{name} missing {field}"));
    match name {
        "user_message" if !text("text") => missing("text"),
        "user_message" if object.contains_key("clientMessageId") && !text("clientMessageId") => {
            Err(format!("{name} invalid clientMessageId"))
        }
        "ask_response" | "approval_response" if !non_empty(object.get("requestId")) => {
            missing("requestId")
        }
        "ask_response" if !text("answer") => missing("answer"),
        "approval_response" if !object.get("approved").is_some_and(Value::is_boolean) => {
            Err(format!("{name} missing/invalid approved"))
        }
        "set_model" if !non_empty(object.get("model")) => Err("Model id is required".to_owned()),
        "set_model" => check_provider(object.get("provider")),
        "connect_provider" if object.contains_key("apiKey") && !text("apiKey") => {
            Err(format!("{name} invalid apiKey"))
        }
        "connect_provider" => check_provider(Some(object.get("provider").unwrap_or(&Value::Null))),
        _ => Ok(()),
    }
}

fn check_provider(value: Option<&Value>) -> Result<(), String> {
    let supported = |id: &str| ProviderName::of(id).is_some() || CLI_PROVIDERS.contains(&id);
    let shown = match value {
        None => return Ok(()),
        Some(Value::String(id)) if supported(id) => return Ok(()),
        Some(Value::String(id)) => id.clone(),
        Some(Value::Null) => "undefined".to_owned(),
        Some(other) => other.to_string(),
    };
    Err(format!("Unsupported provider: {}", repeated(&shown)))
}

fn non_empty(value: Option<&Value>) -> bool {
    let text = value.and_then(Value::as_str);
    text.is_some_and(|text| !text.trim().is_empty())
}
