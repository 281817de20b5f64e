//! The face `update_plan` of the tool `todoWrite`.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::ToolFace;

/// The tool that it is a face of.
pub(super) const OF: &str = "todoWrite";
pub(super) const NAME: &str = "update_plan";

pub(super) fn face() -> ToolFace {
    ToolFace {
        name: NAME.to_owned(),
        description: "Keeps the plan that the user sees.\n\
            For work of three or more steps, not for small things. Each call gives the whole plan \
            again; at most one step is in_progress, and a step is completed as soon as it is done."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "explanation": {"type": "string", "description": "Why the plan changed."},
                "plan": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "step": {"type": "string"},
                            "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
                        },
                        "required": ["step", "status"],
                        "additionalProperties": false,
                    },
                },
            },
            "required": ["plan"],
            "additionalProperties": false,
        }),
        grammar: None,
    }
}

/// The input of a call; one that is no plan stays as it is.
pub(super) fn input(own: &Value) -> Cow<'_, Value> {
    let Some(todos) = own["todos"].as_array() else {
        return Cow::Borrowed(own);
    };
    let steps = todos
        .iter()
        .map(|todo| json!({ "step": todo["content"], "status": todo["status"] }));
    Cow::Owned(json!({ "plan": steps.collect::<Value>() }))
}
