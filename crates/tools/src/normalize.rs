//! Understands a call as it was meant: models bring names, keys and values of tools from elsewhere.
//!
//! What comes out is the call that is recorded, shown, judged and run. What is not understood stays as
//! it is, for the tool to refuse or for [`note_ignored`] to name.

mod command;
mod keys;
mod names;
mod values;

use std::path::Path;

use serde_json::{Map, Value, json};
use vocabulary::{ContentBlock, ToolOutput};

use crate::{Tool, Toolbox, patch};
pub(crate) use command::line_in;
pub(crate) use names::resolve;

/// A call in the words of the tool that it is for.
#[derive(Clone, Debug, PartialEq)]
pub struct NormalizedCall {
    pub name: String,
    pub input: Value,
}

/// The call that was meant; `directory` is where commands run.
pub fn normalize(tools: &Toolbox, directory: &Path, name: &str, input: Value) -> NormalizedCall {
    let (name, input) = match names::text_editor_call(name, &input) {
        Some((tool, input)) if tools.get(tool).is_some() => (tool, input),
        Some(_) | None => (name, input),
    };
    let Some(tool) = tools.get(name) else {
        let name = name.to_owned();
        return NormalizedCall { name, input };
    };
    let schema = tool.parameters();
    let mut input = values::fit(&schema, unwrapped(&schema, input));
    if tool.name() == "bash"
        && let Value::Object(fields) = &mut input
    {
        if let Some(input) = command::patch_of(fields)
            && let Some(patch) = tools.get(patch::NAME)
        {
            let name = patch.name().to_owned();
            return NormalizedCall { name, input };
        }
        command::enter_directory(directory, fields);
    }
    // Why a plan changed is said to nobody.
    if tool.name() == "todoWrite"
        && let Value::Object(fields) = &mut input
    {
        fields.remove("explanation");
    }
    NormalizedCall {
        name: tool.name().to_owned(),
        input,
    }
}

/// The input itself where it came as one JSON text.
fn unwrapped(schema: &Value, input: Value) -> Value {
    match input.get("value") {
        Some(Value::String(text)) if !has_property(schema, "value") => {
            match serde_json::from_str::<Map<String, Value>>(text) {
                Ok(fields) => Value::Object(fields),
                Err(_) => input,
            }
        }
        Some(_) | None => input,
    }
}

fn has_property(schema: &Value, name: &str) -> bool {
    schema["properties"].get(name).is_some()
}

/// Says in the output which keys of the input the tool does not have, so that nobody takes them for
/// obeyed.
pub fn note_ignored(tool: &dyn Tool, input: &Value, output: ToolOutput) -> ToolOutput {
    match ignored(tool, input) {
        Some(note) => noted(output, note),
        None => output,
    }
}

/// `[ignored: a, b]`, where a tool that knows all its keys was called with others.
pub fn ignored(tool: &dyn Tool, input: &Value) -> Option<String> {
    let schema = tool.parameters();
    // Others may take more than they list.
    if schema["additionalProperties"] != Value::Bool(false) {
        return None;
    }
    let keys = input.as_object()?.keys();
    let unknown: Vec<&str> = keys
        .filter(|key| !has_property(&schema, key))
        .map(String::as_str)
        .collect();
    (!unknown.is_empty()).then(|| format!("[ignored: {}]", unknown.join(", ")))
}

/// An output with a line for the model behind it.
pub fn noted(mut output: ToolOutput, note: String) -> ToolOutput {
    match &mut output {
        ToolOutput::Text(text)
        | ToolOutput::Command { stderr: text, .. }
        | ToolOutput::Files { summary: text, .. } => {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&note);
        }
        ToolOutput::Json(value) => {
            if let Value::Object(fields) = value {
                fields.insert("note".to_owned(), json!(note));
            }
        }
        ToolOutput::Content(blocks) => blocks.push(ContentBlock::Text(note)),
    }
    output
}

#[cfg(test)]
mod tests;
