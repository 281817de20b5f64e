//! A server's tool as a tool of the agent.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use tools::{Failure, Judgement, Risk, Scope, Tool, ToolCx};
use vocabulary::{Effects, Subject, ToolOutput};

use crate::connection::{CallFailure, RemoteTool};
use crate::limits::INPUT_SHOWN_CHARS_MAX;
use crate::pool::ServerSlot;

pub(crate) mod names;
pub(crate) mod resources;
mod result;
pub(crate) mod selection;

pub(crate) struct McpTool {
    /// As models know it.
    name: String,
    slot: Arc<ServerSlot>,
    tool: RemoteTool,
}

impl McpTool {
    pub fn new(name: String, slot: Arc<ServerSlot>, tool: RemoteTool) -> Self {
        Self { name, slot, tool }
    }

    /// What a server says of itself counts where the user chose it, not where a workspace brought it.
    fn reads_only(&self) -> bool {
        self.tool.reads_only && !self.slot.server().layer.is_of_workspace()
    }

    /// Server and tool in the words that people and rules use.
    fn in_words(&self) -> String {
        format!("mcp {}.{}", self.slot.name(), self.tool.name)
    }
}

#[async_trait]
impl Tool for McpTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.tool.description
    }

    fn parameters(&self) -> Value {
        self.tool.parameters.clone()
    }

    fn effects(&self) -> Effects {
        match self.reads_only() {
            true => Effects {
                network: true,
                ..Effects::READS
            },
            false => Effects::RUNS,
        }
    }

    fn subject(&self, _input: &Value) -> Subject {
        Subject::Mcp {
            server: self.slot.name().to_owned(),
            tool: self.tool.name.clone(),
        }
    }

    fn judge(&self, _scope: &Scope, input: &Value) -> Judgement {
        if self.reads_only() {
            return Judgement::Allow;
        }
        let input: String = input
            .to_string()
            .chars()
            .take(INPUT_SHOWN_CHARS_MAX)
            .collect();
        let dangerous = self.tool.is_destructive;
        let why = match dangerous {
            true => "the MCP server says that this tool can destroy data",
            false => "this calls a tool of an MCP server",
        };
        Judgement::Ask {
            command: format!("{} {input}", self.in_words()),
            dangerous,
            risk: match dangerous {
                true => Risk::DangerousPattern,
                false => Risk::ManualReview,
            },
            why: why.to_owned(),
        }
    }

    /// A yes covers the tool, whatever it is called with.
    fn grant_key(&self, _input: &Value) -> String {
        self.in_words()
    }

    async fn run(&self, cx: &ToolCx, input: Value) -> Result<ToolOutput, Failure> {
        let Value::Object(arguments) = input else {
            let name = &self.name;
            return Err(Failure::Error(format!(
                "{name}: the input must be an object"
            )));
        };
        let connection = self.slot.connected(&cx.cancel).await;
        let connection = connection.map_err(|failure| self.failed(failure))?;
        let called = connection.call(&self.tool.name, arguments, cx).await;
        let result = called.map_err(|failure| self.failed(failure))?;
        let result = serde_json::to_value(result).unwrap_or_default();
        let (scope, name) = (cx.scope.clone(), self.name.clone());
        let shown = move || result::output(&scope, &name, result);
        let shown = tokio::task::spawn_blocking(shown).await;
        shown.unwrap_or_else(|_| Err(Failure::Error("the result cannot be shown".to_owned())))
    }
}

impl McpTool {
    fn failed(&self, failure: CallFailure) -> Failure {
        match failure {
            CallFailure::Cancelled => Failure::Cancelled(ToolOutput::Text(String::new())),
            CallFailure::Failed(why) => {
                Failure::Error(format!("MCP server {}: {why}", self.slot.name()))
            }
        }
    }
}
