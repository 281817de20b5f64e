//! Takes out of a tool's JSON Schema what model servers cannot turn into a grammar. llama.cpp and
//! those built on it refuse the whole request for one long `maxLength`; everybody else does without
//! it as well, because the tool checks its input anyway.

use serde_json::Value;

/// Keywords that bound a text or a list.
const LIMITS: [&str; 5] = ["maxLength", "minLength", "maxItems", "minItems", "pattern"];

/// Keywords whose value maps names to schemas: such a name is no keyword.
const NAMED: [&str; 5] = [
    "properties",
    "patternProperties",
    "dependentSchemas",
    "$defs",
    "definitions",
];

/// Keywords whose value is data: what stands in it is no schema.
const DATA: [&str; 4] = ["const", "default", "enum", "examples"];

pub(crate) fn strip_limits(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.retain(|name, _| !LIMITS.contains(&name.as_str()));
            for (name, value) in fields {
                if DATA.contains(&name.as_str()) {
                    continue;
                }
                match value {
                    Value::Object(named) if NAMED.contains(&name.as_str()) => {
                        named.values_mut().for_each(strip_limits);
                    }
                    _ => strip_limits(value),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(strip_limits),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn limits_go_and_what_is_named_like_one_stays() {
        let mut schema = json!({
            "type": "object",
            "properties": {
                "pattern": { "type": "string", "maxLength": 5, "pattern": "^a$" },
                "list": { "type": "array", "minItems": 1, "maxItems": 9, "items": {
                    "anyOf": [{ "type": "string", "minLength": 1 }, { "type": "integer", "minimum": 2 }],
                } },
                "maxLength": { "type": "integer", "default": { "maxLength": 1 } },
                "kind": { "enum": [{ "pattern": "kept" }] },
            },
            "$defs": { "minItems": { "type": "array", "minItems": 2 } },
            "required": ["pattern", "maxLength"],
            "additionalProperties": { "type": "string", "maxLength": 100_000 },
        });
        strip_limits(&mut schema);
        let expected = json!({
            "type": "object",
            "properties": {
                "pattern": { "type": "string" },
                "list": { "type": "array", "items": {
                    "anyOf": [{ "type": "string" }, { "type": "integer", "minimum": 2 }],
                } },
                "maxLength": { "type": "integer", "default": { "maxLength": 1 } },
                "kind": { "enum": [{ "pattern": "kept" }] },
            },
            "$defs": { "minItems": { "type": "array" } },
            "required": ["pattern", "maxLength"],
            "additionalProperties": { "type": "string" },
        });
        assert_eq!(schema, expected);
    }
}
