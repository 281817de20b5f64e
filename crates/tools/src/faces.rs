//! Tools as a family of models knows them from its training: other names, words and inputs for the same
//! calls. Whatever the face, what is recorded, shown, judged and run is the tool's own call: a model's
//! call becomes that in [`crate::normalize`], and is shown to a model again by [`ToolFaces::written`].

mod update_plan;

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::{Tool, patch};

/// Which faces the tools have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ToolFaces {
    /// The tools as they are.
    #[default]
    Own,
    /// A patch for all changes of files, and a plan of steps.
    Gpt,
}

/// A tool as a model is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolFace {
    pub name: String,
    pub description: String,
    /// JSON Schema of the input.
    pub parameters: Value,
    /// The Lark grammar of an input that is one text.
    pub grammar: Option<&'static str>,
}

/// A call as a model writes it.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenToolCall {
    pub name: String,
    pub input: Value,
}

impl ToolFaces {
    /// The tool that does the same for models with these faces, so that they need not be offered both.
    pub fn instead_of(self, tool: &str) -> Option<&'static str> {
        match (self, tool) {
            (ToolFaces::Own, patch::NAME) => Some("edit"),
            (ToolFaces::Gpt, "edit" | "write" | "notebookEdit") => Some(patch::NAME),
            (ToolFaces::Own | ToolFaces::Gpt, _) => None,
        }
    }

    pub fn face(self, tool: &dyn Tool) -> ToolFace {
        let own = ToolFace {
            name: tool.name().to_owned(),
            description: tool.description().to_owned(),
            parameters: tool.parameters(),
            grammar: None,
        };
        match (self, tool.name()) {
            (ToolFaces::Gpt, patch::NAME) => ToolFace {
                name: patch::GPT_NAME.to_owned(),
                grammar: Some(patch::GRAMMAR),
                ..own
            },
            (ToolFaces::Gpt, update_plan::OF) => update_plan::face(),
            (ToolFaces::Own | ToolFaces::Gpt, _) => own,
        }
    }

    /// A call of a tool as a model with these faces would have written it, whoever has.
    pub fn written(self, name: &str, input: &Value) -> WrittenToolCall {
        let (name, input) = match (self, name) {
            (ToolFaces::Gpt, patch::NAME) => (patch::GPT_NAME, Cow::Borrowed(input)),
            (ToolFaces::Gpt, update_plan::OF) => (update_plan::NAME, update_plan::input(input)),
            // It is taken there, so that a model that does the same again does it well.
            (ToolFaces::Own, patch::NAME) => match patch::command(input) {
                Some(command) => ("bash", Cow::Owned(json!({ "command": command }))),
                None => (name, Cow::Borrowed(input)),
            },
            (ToolFaces::Own | ToolFaces::Gpt, _) => (name, Cow::Borrowed(input)),
        };
        WrittenToolCall {
            name: name.to_owned(),
            input: input.into_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
