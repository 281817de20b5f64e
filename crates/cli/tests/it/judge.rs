//! Holds frames against the published schemas: what each side may say, and what each request may be answered with.

use std::collections::HashMap;

use dialects::schemas::DialectSchema;
use jsonschema::Validator;
use serde_json::{Value, json};

pub struct Judge {
    client: Validator,
    server: Validator,
    /// By method; none where the dialect's answers do not depend on what was asked.
    answers: HashMap<String, Validator>,
    /// What was asked, by who asked and the request's id.
    asked: HashMap<(String, String), String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    Client,
    Server,
}

impl Judge {
    pub fn of(schema: &DialectSchema) -> Self {
        let validator = |schema: &Value| jsonschema::validator_for(schema).expect("a schema");
        let answers = schema.server["x-answers"].as_object();
        let answers = answers.into_iter().flatten().map(|(method, answer)| {
            let mut whole = json!({ "$schema": schema.server["$schema"], "allOf": [answer] });
            whole["$defs"] = schema.server["$defs"].clone();
            (method.clone(), validator(&whole))
        });
        Self {
            client: validator(&schema.client),
            server: validator(&schema.server),
            answers: answers.collect(),
            asked: HashMap::new(),
        }
    }

    /// Another story, in which nothing was asked yet.
    pub fn begin(&mut self) {
        self.asked.clear();
    }

    /// Remembers what a client asks, whether it may or not.
    pub fn asked(&mut self, client: &str, frame: &Value) {
        if let Some(method) = frame["method"].as_str() {
            let key = (client.to_owned(), frame["id"].to_string());
            self.asked.insert(key, method.to_owned());
        }
    }

    /// What is wrong with a frame, of this client or for it.
    pub fn misfit(&mut self, client: &str, speaker: Speaker, frame: &Value) -> Option<String> {
        let validator = match speaker {
            Speaker::Client => &self.client,
            Speaker::Server => &self.server,
        };
        if let Err(error) = validator.validate(frame) {
            return Some(format!("{}: {error}", error.instance_path()));
        }
        let key = (client.to_owned(), frame["id"].to_string());
        match (speaker, frame["method"].as_str(), frame.get("result")) {
            (Speaker::Client, ..) => {
                self.asked(client, frame);
                None
            }
            (Speaker::Server, None, Some(result)) if !self.answers.is_empty() => {
                let method = self.asked.get(&key);
                let Some(method) = method else {
                    return Some("an answer to nothing".to_owned());
                };
                let Some(validator) = self.answers.get(method) else {
                    return Some(format!("the schema has no answer to {method}"));
                };
                let error = validator.validate(result).err()?;
                let at = error.instance_path();
                Some(format!("the answer to {method}: {at}: {error}"))
            }
            (Speaker::Server, ..) => None,
        }
    }
}
