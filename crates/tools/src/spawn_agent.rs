//! The tool `spawnAgent`: gives a task to a sub-agent and answers with its result.

mod files;
mod kinds;
mod request;

use async_trait::async_trait;
use serde_json::{Value, json};

use vocabulary::{Effects, Subject, ToolOutput};

use crate::input::{self, blocking};
use crate::{Failure, Jobs, Judgement, Scope, Tool, ToolCx};
pub use files::disjoint;
pub(crate) use kinds::summaries;
pub use kinds::{OwnKind, SubAgentKindSummary, comes_with_workspace};
use request::MODELS;
pub use request::{SpawnKind, SpawnRequest, SubAgentModel, Thoroughness};

pub const SPAWN_AGENT: &str = "spawnAgent";

pub(crate) struct SpawnAgentTool;

#[async_trait]
impl Tool for SpawnAgentTool {
    fn name(&self) -> &'static str {
        SPAWN_AGENT
    }

    fn description(&self) -> &'static str {
        "Gives a task to a sub-agent and answers with its last message.\n\
         For broad searches and for independent parts of a larger task; not for what you can read or \
         find yourself in a step or two. Several in one step run at once. It sees nothing of this \
         conversation: the task must hold all it needs, and what to report. Kinds: explore (searches \
         the workspace, changes nothing), research (reads files and the web), general (can do what \
         you can, except ask the user; one at a time unless files are named). It may spend half of \
         what the turn has left."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "task": {"type": "string"},
                "kind": {"type": "string", "default": SpawnKind::General.name()},
                "description": {
                    "type": "string",
                    "description": "3 to 5 words that the user sees.",
                },
                "resume": {
                    "type": "string",
                    "description": "Id of an earlier sub-agent: it goes on with all it knows.",
                },
                "model": {"type": "string", "enum": MODELS},
                "thoroughness": {"type": "string", "enum": Thoroughness::NAMES},
                "files": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "Paths or globs that it will change.",
                },
            },
            "required": ["task"],
            "additionalProperties": false,
        })
    }

    fn effects(&self) -> Effects {
        Effects::RUNS
    }

    fn subject(&self, input: &Value) -> Subject {
        Subject::Agent {
            prompt: input::text_of(input, "task").trim().to_owned(),
        }
    }

    fn looks(&self) -> bool {
        true
    }

    /// A sub-agent is bound by what its thread may do.
    fn changes(&self, _jobs: &Jobs, _input: &Value) -> bool {
        false
    }

    fn judge(&self, _scope: &Scope, _input: &Value) -> Judgement {
        // What the sub-agent does is judged call by call.
        Judgement::Allow
    }

    async fn run(&self, cx: &ToolCx, input: Value) -> Result<ToolOutput, Failure> {
        let mut request = SpawnRequest::parse(&input)?;
        if let SpawnKind::Named(name) = &request.kind {
            let (scope, trusted, name) = (cx.scope.clone(), cx.trusted.clone(), name.clone());
            let load = move || kinds::load(&scope, &trusted, &name);
            request.kind = SpawnKind::Own(blocking(SPAWN_AGENT, load).await?.into());
        }
        cx.host.spawn(request).await.map(ToolOutput::Text)
    }
}

#[cfg(test)]
mod tests;
