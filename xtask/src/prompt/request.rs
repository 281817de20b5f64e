//! A golden first request, taken apart: four wire formats name the same things differently.

use anyhow::Context;
use serde_json::Value;

pub struct FirstRequest {
    pub system: String,
    pub tools: Vec<OfferedTool>,
    /// What the model is told before the user's words.
    pub context: Vec<String>,
    pub input: String,
}

pub struct OfferedTool {
    pub name: String,
    pub description: String,
    /// As it is sent.
    pub whole: String,
}

impl FirstRequest {
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let body = joined(&serde_json::from_str(text)?);
        let named = |names: &[&str]| names.iter().find_map(|name| body.get(name)).cloned();
        let messages = named(&["input", "messages", "contents"]).context("no messages")?;
        let messages = messages.as_array().cloned().unwrap_or_default();
        let system = named(&["instructions", "system", "systemInstruction"]);
        let of_system = |message: &&Value| message["role"] == "system";
        // Chat Completions have it as a message.
        let system = system.or_else(|| messages.iter().find(of_system).cloned());
        let mut said: Vec<String> = messages
            .iter()
            .filter(|message| !of_system(message))
            .flat_map(texts)
            .collect();
        let input = said.pop().context("no words of the user")?;
        let tools = body["tools"].as_array().context("no tools")?;
        Ok(Self {
            system: texts(&system.context("no system prompt")?).join("\n"),
            tools: tools.iter().flat_map(tools_of).collect(),
            context: said,
            input,
        })
    }

    /// All of it, to be read.
    pub fn shown(&self, family: &str) -> String {
        let mut text = format!("===== {family}: system\n{}\n", self.system.trim_end());
        for tool in &self.tools {
            text += &format!("\n===== {family}: tool {}\n", tool.name);
            text += &format!("{}\n\n{}\n", tool.description, tool.whole);
        }
        for each in &self.context {
            text += &format!("\n===== {family}: context\n{}\n", each.trim_end());
        }
        text + &format!("\n===== {family}: user\n{}\n", self.input)
    }
}

/// Texts whole again that are lists of lines in the file.
fn joined(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(joined).collect(),
        Value::Object(fields) => match fields.get("lines") {
            Some(Value::Array(lines)) if fields.len() == 1 => {
                let lines: Vec<_> = lines.iter().filter_map(Value::as_str).collect();
                lines.join("\n").into()
            }
            _ => fields
                .iter()
                .map(|(name, value)| (name.clone(), joined(value)))
                .collect(),
        },
        other => other.clone(),
    }
}

/// The words of a message, or of what is written like one.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => {
            let inner = ["content", "parts", "text"]
                .iter()
                .find_map(|name| fields.get(*name));
            inner.map(texts).unwrap_or_default()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// One tool, or the many that Gemini has in one entry.
fn tools_of(entry: &Value) -> Vec<OfferedTool> {
    if let Some(many) = entry["functionDeclarations"].as_array() {
        return many.iter().flat_map(tools_of).collect();
    }
    // Chat Completions have it below `function`.
    let tool = entry.get("function").unwrap_or(entry);
    let words = |name: &str| tool[name].as_str().unwrap_or_default().to_owned();
    vec![OfferedTool {
        name: words("name"),
        description: words("description"),
        whole: entry.to_string(),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_formats_are_taken_apart_alike() {
        let bodies = [
            r#"{"instructions":{"lines":["Be","brief."]},"input":[{"role":"user","content":[{"type":"input_text","text":"Here."}]},
                {"role":"user","content":[{"type":"input_text","text":"Hi"}]}],"tools":[{"name":"read","description":"Reads."}]}"#,
            r#"{"system":[{"type":"text","text":{"lines":["Be","brief."]}}],"messages":[{"role":"user","content":
                [{"type":"text","text":"Here."},{"type":"text","text":"Hi"}]}],"tools":[{"name":"read","description":"Reads."}]}"#,
            r#"{"systemInstruction":{"parts":[{"text":{"lines":["Be","brief."]}}]},"contents":[{"role":"user","parts":
                [{"text":"Here."},{"text":"Hi"}]}],"tools":[{"functionDeclarations":[{"name":"read","description":"Reads."}]}]}"#,
            r#"{"messages":[{"role":"system","content":{"lines":["Be","brief."]}},{"role":"user","content":"Here."},
                {"role":"user","content":"Hi"}],"tools":[{"function":{"name":"read","description":"Reads."}}]}"#,
        ];
        for body in bodies {
            let request = FirstRequest::parse(body).expect("a request");
            assert_eq!(request.system, "Be\nbrief.");
            assert_eq!(
                (request.context, request.input.as_str()),
                (vec!["Here.".to_owned()], "Hi")
            );
            assert_eq!(request.tools.len(), 1, "{body}");
            assert_eq!(request.tools[0].name, "read");
            assert_eq!(request.tools[0].description, "Reads.");
        }
    }
}
