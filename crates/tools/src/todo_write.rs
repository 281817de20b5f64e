//! The tool `todoWrite`: replaces the plan that people see.

use async_trait::async_trait;
use serde_json::{Value, json};

use vocabulary::{Effects, PlanStep, PlanStepStatus, Subject, ToolOutput};

use crate::input::Fields;
use crate::{Failure, Judgement, Scope, Tool, ToolCx};

const TODOS_MAX: usize = 200;
const TODO_CHARS_MAX: usize = 2000;

pub(crate) struct TodoWriteTool;

#[async_trait]
impl Tool for TodoWriteTool {
    fn name(&self) -> &'static str {
        "todoWrite"
    }

    fn description(&self) -> &'static str {
        "Keeps a to-do list that the user sees.\n\
         Each call replaces the whole list. Keep one entry in_progress, and mark an entry \
         completed as soon as it is done."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "todos": {
                    "type": "array",
                    "maxItems": TODOS_MAX,
                    "items": {
                        "type": "object",
                        "properties": {
                            "content": {"type": "string", "description": "What is to be done: Run the tests."},
                            "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
                            "activeForm": {"type": "string", "description": "The same while it is being done: Running the tests."},
                        },
                        "required": ["content", "status"],
                    },
                },
            },
            "required": ["todos"],
            "additionalProperties": false,
        })
    }

    fn effects(&self) -> Effects {
        Effects::NONE
    }

    fn subject(&self, _input: &Value) -> Subject {
        Subject::Plan
    }

    fn judge(&self, _scope: &Scope, _input: &Value) -> Judgement {
        Judgement::Allow
    }

    async fn run(&self, cx: &ToolCx, input: Value) -> Result<ToolOutput, Failure> {
        cx.host.set_plan(parse(&input)?).await;
        Ok(ToolOutput::Text("Todos updated.".to_owned()))
    }
}

fn parse(input: &Value) -> Result<Vec<PlanStep>, Failure> {
    let fields = Fields::of("todoWrite", input)?;
    let mut steps = Vec::new();
    for (index, value) in fields.list("todos", 0..=TODOS_MAX)?.iter().enumerate() {
        let todo = fields.entry("todos", index, value)?;
        let status = match todo.get("status").and_then(Value::as_str) {
            Some("pending") => PlanStepStatus::Pending,
            Some("in_progress") => PlanStepStatus::InProgress,
            Some("completed") => PlanStepStatus::Completed,
            _ => return Err(todo.refuse("status", "pending, in_progress or completed")),
        };
        let content = todo.filled_text("content", TODO_CHARS_MAX)?;
        let active_form = match todo.get("activeForm") {
            Some(_) => todo.filled_text("activeForm", TODO_CHARS_MAX)?,
            None => content,
        };
        steps.push(PlanStep {
            content: content.to_owned(),
            status,
            active_form: active_form.to_owned(),
        });
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use super::*;
    use crate::scratch::{Scratch, Witness};

    #[tokio::test]
    async fn the_plan_reaches_the_host() {
        let (scratch, host) = (Scratch::new(), Arc::new(Witness::default()));
        let input = json!({"todos": [
            {"content": "Run", "status": "in_progress", "activeForm": "Running"},
            {"content": "Rest", "status": "pending", "activeForm": "Resting"},
            {"content": "Leave", "status": "pending"},
        ]});
        let output = TodoWriteTool.run(&scratch.cx(&host), input).await.unwrap();
        assert_eq!(output, ToolOutput::Text("Todos updated.".to_owned()));
        let plan = host.plan.lock().unwrap();
        assert_eq!(plan[0].status, PlanStepStatus::InProgress);
        assert_eq!(plan[1].active_form, "Resting");
        assert_eq!(plan[2].active_form, "Leave");
    }

    #[tokio::test]
    async fn bad_plans_are_refused() {
        let scratch = Scratch::new();
        let table = [
            (
                json!({}),
                "todoWrite: \"todos\" must be a list, got nothing",
            ),
            (
                json!({"todos": [1]}),
                "todoWrite: \"todos[0]\" must be an object, got 1",
            ),
            (
                json!({"todos": [{"content": "x", "status": "done", "activeForm": "y"}]}),
                "todoWrite: \"todos[0].status\" must be pending, in_progress or completed, got \"done\"",
            ),
            (
                json!({"todos": [{"content": "x", "status": "pending", "activeForm": ""}]}),
                "todoWrite: \"todos[0].activeForm\" must be a text that is not empty, got \"\"",
            ),
            (
                json!({"todos": vec![0; 201]}),
                "todoWrite: \"todos\" must have 0 to 200 entries, got 201",
            ),
        ];
        for (input, expected) in table {
            assert_eq!(scratch.refusal(&TodoWriteTool, input).await, expected);
        }
    }
}
