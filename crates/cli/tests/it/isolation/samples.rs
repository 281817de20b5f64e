//! A sample of every message that a dialect's clients may send, made from its published schema: whoever
//! adds a message has it tried here without a word.

use anyhow::Context;
use serde_json::{Map, Value, json};

/// What messages can name that belongs to somebody.
#[derive(Clone, Debug)]
pub struct Names {
    pub thread: String,
    pub turn: String,
    pub workspace: String,
    pub folder: String,
    pub ask: String,
    pub cursor: String,
    pub path: String,
    pub member: String,
}

impl Names {
    /// The one that a field means.
    fn of(&self, field: &str) -> Option<&str> {
        Some(match field {
            "sessionId" | "targetSessionId" | "threadId" | "thread_id" => &self.thread,
            "turnId" | "turn_id" | "expectedTurnId" => &self.turn,
            "workspace_id" => &self.workspace,
            "folder_id" | "parent_folder_id" => &self.folder,
            "requestId" | "request_id" => &self.ask,
            "cursor" => &self.cursor,
            "path" | "cwd" => &self.path,
            "userId" => &self.member,
            _ => return None,
        })
    }

    /// The same text with each of them by what it is.
    pub fn hidden_in(&self, text: &str) -> String {
        // A path has a thread's name in it.
        let names = [
            (&self.path, "PATH"),
            (&self.cursor, "CURSOR"),
            (&self.thread, "THREAD"),
            (&self.turn, "TURN"),
            (&self.workspace, "WORKSPACE"),
            (&self.folder, "FOLDER"),
            (&self.ask, "ASK"),
            (&self.member, "MEMBER"),
        ];
        let hide = |text: String, (name, what): (&String, &str)| text.replace(name.as_str(), what);
        names.into_iter().fold(text.to_owned(), hide)
    }
}

/// The messages of a dialect.
pub struct Samples {
    schema: Value,
}

impl Samples {
    pub fn of(dialect: &str) -> anyhow::Result<Self> {
        let path = format!(
            "{}/../../schemas/{dialect}.json",
            env!("CARGO_MANIFEST_DIR")
        );
        let text = std::fs::read_to_string(&path).with_context(|| path.clone())?;
        let whole: Value = serde_json::from_str(&text)?;
        let schema = whole["client"].clone();
        Ok(Self { schema })
    }

    /// One of each, with these names in it.
    pub fn all(&self, names: &Names) -> Vec<Value> {
        let kinds = ["oneOf", "anyOf"].iter();
        let kinds = kinds.filter_map(|key| self.schema[*key].as_array());
        let mut all = Vec::new();
        for kind in kinds.flatten() {
            self.each(kind, names, &mut all);
        }
        all
    }

    /// Some are a choice themselves.
    fn each(&self, kind: &Value, names: &Names, all: &mut Vec<Value>) {
        let is_whole = kind.get("$ref").is_some() || kind.get("properties").is_some();
        match kind["oneOf"].as_array() {
            Some(choices) if !is_whole => {
                for choice in choices {
                    self.each(choice, names, all);
                }
            }
            Some(_) | None => all.push(self.value("", kind, names)),
        }
    }

    fn value(&self, field: &str, schema: &Value, names: &Names) -> Value {
        if let Some(constant) = schema.get("const") {
            return constant.clone();
        }
        if let Some(first) = schema["enum"].as_array().and_then(|all| all.first()) {
            return first.clone();
        }
        if let Some(name) = names.of(field) {
            return json!(name);
        }
        let mut value = match schema["$ref"].as_str() {
            Some(reference) => {
                let name = reference.rsplit('/').next().unwrap_or_default();
                self.value(field, &self.schema["$defs"][name], names)
            }
            None => Value::Null,
        };
        if let Some(properties) = schema["properties"].as_object() {
            let own = self.object(properties, &schema["required"], names);
            match &mut value {
                Value::Object(fields) => fields.extend(own),
                // tidy: wildcard, because anything else is no object.
                _ => value = Value::Object(own),
            }
        }
        if !value.is_null() {
            return value;
        }
        self.plain(field, schema, names)
    }

    /// What must be there, and what names something.
    fn object(
        &self,
        properties: &Map<String, Value>,
        required: &Value,
        names: &Names,
    ) -> Map<String, Value> {
        let is_required = |field: &str| {
            let required = required.as_array();
            required.is_some_and(|all| all.iter().any(|each| each == field))
        };
        let wanted = properties.iter().filter(|(field, _)| {
            is_required(field) || names.of(field).is_some() || *field == "params"
        });
        let filled =
            wanted.map(|(field, schema)| (field.clone(), self.value(field, schema, names)));
        filled.collect()
    }

    fn plain(&self, field: &str, schema: &Value, names: &Names) -> Value {
        for key in ["anyOf", "oneOf"] {
            let choices = schema[key].as_array().into_iter().flatten();
            let mut real = choices.filter(|choice| choice["type"] != "null");
            if let Some(first) = real.next() {
                return self.value(field, first, names);
            }
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => kinds.first().and_then(Value::as_str).unwrap_or_default(),
            kind => kind.as_str().unwrap_or_default(),
        };
        match (field, kind) {
            ("id", _) => json!(7),
            ("provider", _) => json!("nobody"),
            (_, "string") => json!("x"),
            (_, "integer" | "number") => json!(1),
            (_, "boolean") => json!(true),
            (_, "array") => match schema.get("items") {
                Some(items) => json!([self.value("", items, names)]),
                None => json!([]),
            },
            (_, _) => json!({}),
        }
    }
}
