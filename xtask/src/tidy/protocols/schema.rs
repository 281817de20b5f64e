//! The messages of a published schema, each with the names of its fields.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use serde_json::Value;

pub type Fields = BTreeSet<String>;

/// What one side sends: by `type`, or by `method` with the fields of its params.
pub fn messages(text: &str, side: &str) -> anyhow::Result<BTreeMap<String, Fields>> {
    let document: Value = serde_json::from_str(text)?;
    let root = document.get(side).context("a side is missing")?;
    let mut messages = BTreeMap::new();
    collect(root, root, &mut messages);
    Ok(messages)
}

fn collect(root: &Value, schema: &Value, messages: &mut BTreeMap<String, Fields>) {
    for frame in alternatives(schema) {
        let mut fields = BTreeMap::new();
        properties(root, frame, &mut fields);
        let constant = |name: &str| Some(fields.get(name)?.get("const")?.as_str()?.to_owned());
        if let Some(method) = constant("method") {
            let mut params = BTreeMap::new();
            if let Some(schema) = fields.get("params") {
                every_property(root, schema, &mut params);
            }
            messages.insert(method, params.into_keys().map(str::to_owned).collect());
        } else if let Some(kind) = constant("type") {
            fields.remove("type");
            messages.insert(kind, fields.into_keys().map(str::to_owned).collect());
        } else {
            collect(root, resolved(root, frame), messages);
        }
    }
}

fn alternatives(schema: &Value) -> impl Iterator<Item = &Value> {
    ["oneOf", "anyOf"]
        .into_iter()
        .filter_map(|key| schema.get(key)?.as_array())
        .flatten()
}

/// What a `$ref` points to; the schema itself where it has none.
fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let name = schema.get("$ref").and_then(Value::as_str);
    let name = name.and_then(|path| path.strip_prefix("#/$defs/"));
    let found = name.and_then(|name| root.get("$defs")?.get(name));
    found.unwrap_or(schema)
}

/// Its own, and those of what it refers to.
fn properties<'a>(root: &'a Value, schema: &'a Value, found: &mut BTreeMap<&'a str, &'a Value>) {
    for each in [schema, resolved(root, schema)] {
        let own = each.get("properties").and_then(Value::as_object);
        found.extend(
            own.into_iter()
                .flatten()
                .map(|(name, of)| (name.as_str(), of)),
        );
    }
}

/// Those of every form that params may have.
fn every_property<'a>(
    root: &'a Value,
    schema: &'a Value,
    found: &mut BTreeMap<&'a str, &'a Value>,
) {
    properties(root, schema, found);
    for form in alternatives(resolved(root, schema)) {
        properties(root, form, found);
    }
}
