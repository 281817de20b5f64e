//! The tool `spawnAgent`: gives a task to a sub-agent and answers with its result.

use async_trait::async_trait;
use serde_json::{Value, json};

use vocabulary::{Effects, Subject, ToolOutput};

use crate::input::Fields;
use crate::{Failure, Judgement, Scope, Tool, ToolCx};

pub const SPAWN_AGENT: &str = "spawnAgent";

const TASK_CHARS_MAX: usize = 20_000;
const KINDS: &[&str] = &["explore", "research", "general"];

pub(crate) struct SpawnAgentTool;

#[async_trait]
impl Tool for SpawnAgentTool {
    fn name(&self) -> &'static str {
        SPAWN_AGENT
    }

    fn description(&self) -> &'static str {
        "Gives a task to a sub-agent and answers with what it found or did.\n\
         The sub-agent sees nothing of this conversation: the task must hold all it needs. Kinds: \
         explore (looks around in the workspace, changes nothing), research (reads files and the \
         web), general (can do what you can, except ask the user)."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "task": {"type": "string", "description": "What to do, with everything it must know."},
                "agentType": {"type": "string", "enum": KINDS, "default": "general"},
            },
            "required": ["task"],
            "additionalProperties": false,
        })
    }

    fn effects(&self) -> Effects {
        Effects::RUNS
    }

    fn subject(&self, _input: &Value) -> Subject {
        Subject::Other
    }

    fn judge(&self, _scope: &Scope, _input: &Value) -> Judgement {
        // What the sub-agent does is judged call by call.
        Judgement::Allow
    }

    async fn run(&self, cx: &ToolCx, input: Value) -> Result<ToolOutput, Failure> {
        let fields = Fields::of(SPAWN_AGENT, &input)?;
        let task = fields.filled_text("task", TASK_CHARS_MAX)?;
        let kind = match input.get("agentType") {
            None | Some(Value::Null) => "general",
            Some(Value::String(kind)) => KINDS
                .iter()
                .find(|known| *known == kind)
                .ok_or_else(|| unknown(kind))?,
            Some(other) => return Err(unknown(&other.to_string())),
        };
        let said = cx.host.spawn(kind, task.to_owned()).await?;
        Ok(ToolOutput::Text(said))
    }
}

fn unknown(kind: &str) -> Failure {
    Failure::Error(format!(
        "spawnAgent: \"agentType\" is {kind:?}, expected one of {}",
        KINDS.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[tokio::test]
    async fn a_task_goes_to_the_kind_that_was_named() {
        let scratch = Scratch::new();
        let run = async |input| scratch.run(&SpawnAgentTool, input).await;
        let explore = json!({"task": "look", "agentType": "explore"});
        assert_eq!(
            run(explore).await,
            Ok(ToolOutput::Text("explore did: look".to_owned()))
        );
        let general = json!({"task": "do"});
        assert_eq!(
            run(general).await,
            Ok(ToolOutput::Text("general did: do".to_owned()))
        );
        for bad in [
            json!({}),
            json!({"task": ""}),
            json!({"task": "x", "agentType": "boss"}),
        ] {
            assert!(matches!(run(bad).await, Err(Failure::Error(_))));
        }
    }
}
