//! The checks of single fields, and the words in which each fails.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::repeated;
use crate::cowork::names::ProviderName;
use crate::cowork::sign_in::Methods;
use crate::cowork::wire::mcp::{McpServerConfig, McpTransport};

/// How often a server is tried again at most.
const RETRIES_MAX: f64 = 100.0;

pub type Object = Map<String, Value>;

/// One thing to check of a message.
#[derive(Clone, Copy)]
pub enum FieldCheck {
    /// A field by itself, and how it is told that it is wrong.
    Plain {
        name: &'static str,
        shape: ValueShape,
        wording: Wording,
    },
    /// A check with words of its own.
    Checked(fn(&str, &Object) -> Result<(), String>),
    /// `methodId` is one of the provider's; stands after the fields it reads.
    RegisteredMethod,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Wording {
    Missing,
    MissingOrInvalid,
    /// Of fields that may be absent.
    Invalid,
}

#[derive(Clone, Copy)]
pub enum ValueShape {
    /// A string with something in it.
    NonBlank,
    Text,
    Boolean,
    Object,
    AtLeast(f64),
    Provider,
    Scope,
}

pub const fn missing(name: &'static str, shape: ValueShape) -> FieldCheck {
    plain(name, shape, Wording::Missing)
}

pub const fn missing_or_invalid(name: &'static str, shape: ValueShape) -> FieldCheck {
    plain(name, shape, Wording::MissingOrInvalid)
}

pub const fn invalid(name: &'static str, shape: ValueShape) -> FieldCheck {
    plain(name, shape, Wording::Invalid)
}

const fn plain(name: &'static str, shape: ValueShape, wording: Wording) -> FieldCheck {
    FieldCheck::Plain {
        name,
        shape,
        wording,
    }
}

/// The first of the fields that is wrong, in words.
pub fn check(
    message: &str,
    fields: &[FieldCheck],
    object: &Object,
    methods: &Methods,
) -> Result<(), String> {
    fields.iter().try_for_each(|field| match field {
        FieldCheck::Checked(check) => check(message, object),
        FieldCheck::RegisteredMethod => registered_method(message, object, methods),
        FieldCheck::Plain {
            name,
            shape,
            wording,
        } => {
            let value = object.get(*name);
            let may_be_absent = *wording == Wording::Invalid;
            if shape.fits(value) || (value.is_none() && may_be_absent) {
                return Ok(());
            }
            let wording = match wording {
                Wording::Missing => "missing",
                Wording::MissingOrInvalid => "missing/invalid",
                Wording::Invalid => "invalid",
            };
            Err(format!("{message} {wording} {name}"))
        }
    })
}

impl ValueShape {
    fn fits(self, value: Option<&Value>) -> bool {
        let text = value.and_then(Value::as_str);
        match self {
            ValueShape::NonBlank => non_blank(value),
            ValueShape::Text => text.is_some(),
            ValueShape::Boolean => value.is_some_and(Value::is_boolean),
            ValueShape::Object => value.is_some_and(Value::is_object),
            ValueShape::AtLeast(least) => value.and_then(Value::as_f64).is_some_and(|n| n >= least),
            ValueShape::Provider => text.and_then(ProviderName::of).is_some(),
            ValueShape::Scope => matches!(text, Some("workspace" | "user")),
        }
    }
}

/// The protocol's "non-empty string".
pub fn non_blank(value: Option<&Value>) -> bool {
    value
        .and_then(Value::as_str)
        .is_some_and(|text| !text.trim().is_empty())
}

/// `set_model` names the provider it does not know.
pub fn optional_provider(message: &str, object: &Object) -> Result<(), String> {
    let value = object.get("provider");
    if value.is_none() || ValueShape::Provider.fits(value) {
        return Ok(());
    }
    let text = match value {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    Err(format!("{message} invalid provider: {}", repeated(&text)))
}

fn registered_method(message: &str, object: &Object, methods: &Methods) -> Result<(), String> {
    let text = |name| object.get(name).and_then(Value::as_str);
    let registered = text("provider")
        .and_then(ProviderName::of)
        .zip(text("methodId"))
        .is_some_and(|(provider, method)| methods.may_have(provider, method));
    if registered {
        return Ok(());
    }
    Err(format!("{message} unknown methodId"))
}

pub fn set_config(message: &str, object: &Object) -> Result<(), String> {
    let value = |name: &str| object.get("config").and_then(|config| config.get(name));
    let must_be = |name: &str, what: &str| Err(format!("{message} config.{name} must be {what}"));
    for name in ["yolo", "observabilityEnabled"] {
        if value(name).is_some_and(|value| !value.is_boolean()) {
            return must_be(name, "boolean");
        }
    }
    let model = value("subAgentModel");
    if model.is_some() && !non_blank(model) {
        return must_be("subAgentModel", "non-empty string");
    }
    let steps_fit = |value: &Value| value.as_f64().is_some_and(|n| (1.0..=1000.0).contains(&n));
    if value("maxSteps").is_some_and(|value| !steps_fit(value)) {
        return must_be("maxSteps", "number 1-1000");
    }
    Ok(())
}

pub fn set_harness_context(message: &str, object: &Object) -> Result<(), String> {
    let value = |name: &str| object.get("context").and_then(|context| context.get(name));
    let texts = |value: Option<&Value>| {
        let items = value.and_then(Value::as_array);
        items.is_some_and(|items| items.iter().all(Value::is_string))
    };
    let checks = [
        ("runId", non_blank(value("runId"))),
        ("taskId", value("taskId").is_none_or(Value::is_string)),
        ("objective", non_blank(value("objective"))),
        ("acceptanceCriteria", texts(value("acceptanceCriteria"))),
        ("constraints", texts(value("constraints"))),
        ("metadata", value("metadata").is_none_or(Value::is_object)),
    ];
    if let Some((name, _)) = checks.iter().find(|(_, fits)| !fits) {
        return Err(format!("{message} invalid context.{name}"));
    }
    let metadata = value("metadata").and_then(Value::as_object);
    if metadata.is_some_and(|metadata| !metadata.values().all(Value::is_string)) {
        return Err(format!("{message} invalid context.metadata values"));
    }
    Ok(())
}

/// A server's own fields. The observed servers answer in their validator's words; a missing name is
/// told in the same ones, the rest in ours.
pub fn mcp_server(message: &str, object: &Object) -> Result<(), String> {
    let wrong = |what: &str| {
        let file = "mcp-servers.json: servers.0";
        Err(format!("{message} invalid server: Error: {file}{what}"))
    };
    let server = object.get("server");
    let name = server.and_then(|server| server.get("name"));
    if name.is_none_or(|name| !name.is_string()) {
        let received = name.map_or("undefined", kind);
        let expected = ".name: Invalid input: expected string";
        return wrong(&format!("{expected}, received {received}"));
    }
    if !non_blank(name) {
        return wrong(".name: must not be empty");
    }
    let retries = server.and_then(|server| server.get("retries"));
    let whole = |number: f64| number.fract() == 0.0 && (0.0..=RETRIES_MAX).contains(&number);
    if retries
        .and_then(Value::as_f64)
        .is_some_and(|number| !whole(number))
    {
        return wrong(&format!(
            ".retries: must be a whole number from 0 to {RETRIES_MAX}"
        ));
    }
    match server.map(McpServerConfig::deserialize) {
        Some(Err(error)) => wrong(&format!(": {}", repeated(&error.to_string()))),
        Some(Ok(server)) => match blank_place(&server.transport) {
            Some(field) => wrong(&format!(".transport.{field}: must not be empty")),
            None => Ok(()),
        },
        None => Ok(()),
    }
}

/// The field that says where a server is, if it says nothing.
fn blank_place(transport: &McpTransport) -> Option<&'static str> {
    let (field, value) = match transport {
        McpTransport::Stdio { command, .. } => ("command", command),
        McpTransport::Http { url, .. } | McpTransport::Sse { url, .. } => ("url", url),
    };
    value.trim().is_empty().then_some(field)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
