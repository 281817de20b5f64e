//! Schemas of JSON-RPC dialects: a table of methods, each with the type of its params or results.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// One direction of a JSON-RPC dialect, method by method.
pub struct Table {
    generator: SchemaGenerator,
    frames: Vec<Value>,
    results: Vec<Value>,
    /// By the method of the request: what it is answered with.
    answers: Map<String, Value>,
    /// A type, and a form of it that is never sent.
    never: Vec<(&'static str, &'static str)>,
    /// What a server sends has its params, where there is anything to say of them.
    params_required: bool,
    /// Whether `jsonrpc: "2.0"` is demanded.
    versioned: bool,
}

impl Table {
    /// What a client sends.
    pub fn client(versioned: bool) -> Self {
        let settings = SchemaSettings::draft2020_12().for_deserialize();
        Self::new(settings, false, versioned)
    }

    /// What a client is told.
    pub fn server(versioned: bool) -> Self {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        Self::new(settings, true, versioned)
    }

    fn new(settings: SchemaSettings, params_required: bool, versioned: bool) -> Self {
        Self {
            generator: SchemaGenerator::new(settings),
            frames: Vec::new(),
            results: Vec::new(),
            answers: Map::new(),
            never: Vec::new(),
            params_required,
            versioned,
        }
    }

    pub fn request<Params: JsonSchema>(mut self, method: &str) -> Self {
        let params = self.generator.subschema_for::<Params>();
        self.frames.push(json!({
            "title": method,
            "type": "object",
            "properties": { "id": id(), "method": { "const": method }, "params": params },
            "required": self.required(self.with_params(&["id", "method", "params"])),
        }));
        self
    }

    pub fn notification<Params: JsonSchema>(mut self, method: &str) -> Self {
        let params = self.generator.subschema_for::<Params>();
        self.frames.push(json!({
            "title": method,
            "type": "object",
            "properties": { "id": false, "method": { "const": method }, "params": params },
            "required": self.required(self.with_params(&["method", "params"])),
        }));
        self
    }

    /// A response does not name its method: any result may stand in one.
    pub fn result<Result: JsonSchema>(mut self) -> Self {
        self.add_result::<Result>();
        self
    }

    /// What the request of this method is answered with.
    pub fn answer<Result: JsonSchema>(mut self, method: &str) -> Self {
        let result = self.add_result::<Result>();
        self.answers.insert(method.to_owned(), result);
        self
    }

    fn add_result<Result: JsonSchema>(&mut self) -> Value {
        let result = self.generator.subschema_for::<Result>();
        let result = serde_json::to_value(result).unwrap_or_default();
        if !self.results.contains(&result) {
            self.results.push(result.clone());
        }
        result
    }

    /// A frame that is not JSON-RPC at all.
    pub fn other<Frame: JsonSchema>(mut self) -> Self {
        let frame = self.generator.subschema_for::<Frame>();
        self.frames
            .push(serde_json::to_value(frame).unwrap_or_default());
        self
    }

    /// A form of a type that the types have and this endpoint never sends.
    pub fn never(mut self, name: &'static str, form: &'static str) -> Self {
        self.never.push((name, form));
        self
    }

    pub fn schema(mut self) -> Value {
        if !self.results.is_empty() {
            let responses = self.responses();
            self.frames.extend(responses);
        }
        let mut definitions = self.generator.take_definitions(true);
        for (name, form) in self.never {
            let forms = definitions
                .get_mut(name)
                .and_then(|schema| schema.get_mut("oneOf"))
                .and_then(Value::as_array_mut);
            if let Some(forms) = forms {
                forms.retain(|each| each["properties"]["type"]["const"] != form);
            }
        }
        let mut schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "anyOf": self.frames,
            "$defs": definitions,
        });
        if !self.answers.is_empty() {
            // No keyword of schemas: who knows which request a response is for can hold it to more.
            schema["x-answers"] = Value::Object(self.answers);
        }
        schema
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

    /// The last of the fields are the params.
    fn with_params(&self, fields: &'static [&'static str]) -> &'static [&'static str] {
        match self.params_required {
            true => fields,
            false => &fields[..fields.len() - 1],
        }
    }

    fn required(&self, fields: &[&'static str]) -> Vec<&'static str> {
        let version = self.versioned.then_some("jsonrpc");
        version.into_iter().chain(fields.iter().copied()).collect()
    }
}

fn id() -> Value {
    json!({ "type": ["string", "integer"] })
}
