//! Schemas of JSON-RPC dialects: a table of methods, each with the type of its params or results.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Value, json};

/// One direction of a JSON-RPC dialect, method by method.
pub struct Table {
    generator: SchemaGenerator,
    frames: Vec<Value>,
    results: Vec<Value>,
    /// Whether `jsonrpc: "2.0"` is demanded.
    versioned: bool,
}

impl Table {
    /// What a client sends.
    pub fn client(versioned: bool) -> Self {
        Self::new(SchemaSettings::draft2020_12().for_deserialize(), versioned)
    }

    /// What a client is told.
    pub fn server(versioned: bool) -> Self {
        Self::new(SchemaSettings::draft2020_12().for_serialize(), versioned)
    }

    fn new(settings: SchemaSettings, versioned: bool) -> Self {
        Self {
            generator: SchemaGenerator::new(settings),
            frames: Vec::new(),
            results: Vec::new(),
            versioned,
        }
    }

    pub fn request<Params: JsonSchema>(mut self, method: &str) -> Self {
        let params = self.generator.subschema_for::<Params>();
        self.frames.push(json!({
            "title": method,
            "type": "object",
            "properties": { "id": id(), "method": { "const": method }, "params": params },
            "required": self.required(&["id", "method"]),
        }));
        self
    }

    pub fn notification<Params: JsonSchema>(mut self, method: &str) -> Self {
        let params = self.generator.subschema_for::<Params>();
        self.frames.push(json!({
            "title": method,
            "type": "object",
            "properties": { "id": false, "method": { "const": method }, "params": params },
            "required": self.required(&["method"]),
        }));
        self
    }

    /// A response does not name its method: any result may stand in one.
    pub fn result<Result: JsonSchema>(mut self) -> Self {
        let result = self.generator.subschema_for::<Result>();
        self.results
            .push(serde_json::to_value(result).unwrap_or_default());
        self
    }

    /// A frame that is not JSON-RPC at all.
    pub fn other<Frame: JsonSchema>(mut self) -> Self {
        let frame = self.generator.subschema_for::<Frame>();
        self.frames
            .push(serde_json::to_value(frame).unwrap_or_default());
        self
    }

    pub fn schema(mut self) -> Value {
        if !self.results.is_empty() {
            let responses = self.responses();
            self.frames.extend(responses);
        }
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "anyOf": self.frames,
            "$defs": self.generator.take_definitions(true),
        })
    }

    /// Answers to the other side's requests.
    fn responses(&self) -> [Value; 2] {
        let response = json!({
            "title": "response",
            "type": "object",
            "properties": { "id": id(), "method": false, "result": { "anyOf": self.results } },
            "required": self.required(&["id", "result"]),
        });
        let text = json!({ "type": "string" });
        let error = json!({
            "type": "object",
            "properties": { "code": { "type": "integer" }, "message": text },
            "required": ["code", "message"],
        });
        let id = json!({ "type": ["string", "integer", "null"] });
        let failure = json!({
            "title": "error",
            "type": "object",
            "properties": { "id": id, "method": false, "error": error },
            "required": self.required(&["id", "error"]),
        });
        [response, failure]
    }

    fn required(&self, fields: &[&'static str]) -> Vec<&'static str> {
        let version = self.versioned.then_some("jsonrpc");
        version.into_iter().chain(fields.iter().copied()).collect()
    }
}

fn id() -> Value {
    json!({ "type": ["string", "integer"] })
}
