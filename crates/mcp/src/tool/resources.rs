//! Two tools for what servers have to be read: `mcpListResources` and `mcpReadResource`.

use std::sync::Arc;

use async_trait::async_trait;
use rmcp::model::{ClientRequest, ReadResourceRequest, ReadResourceRequestParams};
use serde_json::{Value, json};
use tools::{Failure, Judgement, Scope, Tool, ToolCx, cut_to_fit};
use vocabulary::{Effects, Subject, ToolOutput};

use super::result;
use crate::connection::{CallFailure, McpConnection};
use crate::limits::RESULT_CHARS_MAX;
use crate::pool::ServerSlot;

pub(crate) const LIST: &str = "mcpListResources";
pub(crate) const READ: &str = "mcpReadResource";

/// Reading is what a server offers for that; nothing is asked.
const EFFECTS: Effects = Effects {
    network: true,
    ..Effects::READS
};

/// The servers of a place that have resources.
#[derive(Clone)]
pub(crate) struct ResourceServers(pub Arc<[Arc<ServerSlot>]>);

impl ResourceServers {
    fn named(&self, tool: &str, input: &Value) -> Result<&Arc<ServerSlot>, Failure> {
        let wanted = input.get("server").and_then(Value::as_str);
        let mut slots = self.0.iter();
        let found = slots.find(|slot| Some(slot.name()) == wanted);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.0.iter().map(|slot| slot.name()).collect();
            let names = names.join(", ");
            Failure::Error(format!("{tool}: `server` must be one of: {names}"))
        })
    }

    fn subject(tool: &str, input: &Value) -> Subject {
        let server = input.get("server").and_then(Value::as_str);
        Subject::Mcp {
            server: server.unwrap_or_default().to_owned(),
            tool: tool.to_owned(),
        }
    }
}

pub(crate) struct ListResourcesTool(pub ResourceServers);

#[async_trait]
impl Tool for ListResourcesTool {
    fn name(&self) -> &'static str {
        LIST
    }

    fn description(&self) -> &'static str {
        "Lists what an MCP server has to be read.\n\
         Read one of them with mcpReadResource."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {"server": {"type": "string", "description": "The server's name."}},
            "required": ["server"],
            "additionalProperties": false,
        })
    }

    fn effects(&self) -> Effects {
        EFFECTS
    }

    fn subject(&self, input: &Value) -> Subject {
        ResourceServers::subject(LIST, input)
    }

    fn judge(&self, _scope: &Scope, _input: &Value) -> Judgement {
        Judgement::Allow
    }

    async fn run(&self, cx: &ToolCx, input: Value) -> Result<ToolOutput, Failure> {
        let slot = self.0.named(LIST, &input)?;
        let connection = slot.connected(&cx.cancel).await;
        let connection = connection.map_err(|failure| failed(LIST, failure))?;
        let listed = within(cx, connection.resources()).await?;
        let (resources, beyond) = listed.map_err(|why| failed(LIST, CallFailure::Failed(why)))?;
        let mut lines: Vec<String> = Vec::new();
        for each in &resources {
            let mut line = format!("{} {}", each.uri, each.name);
            for more in [&each.media_type, &each.description].into_iter().flatten() {
                line.push_str(" | ");
                line.push_str(more);
            }
            lines.push(line);
        }
        if beyond > 0 {
            lines.push(format!("[{beyond} more are not listed]"));
        }
        if lines.is_empty() {
            lines.push("It has none.".to_owned());
        }
        let text = cut_to_fit(&cx.scope, LIST, lines.join("\n"), RESULT_CHARS_MAX);
        Ok(ToolOutput::Text(text))
    }
}

pub(crate) struct ReadResourceTool(pub ResourceServers);

#[async_trait]
impl Tool for ReadResourceTool {
    fn name(&self) -> &'static str {
        READ
    }

    fn description(&self) -> &'static str {
        "Reads something that an MCP server has to be read, by its URI."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "server": {"type": "string", "description": "The server's name."},
                "uri": {"type": "string", "description": "As mcpListResources lists it."},
            },
            "required": ["server", "uri"],
            "additionalProperties": false,
        })
    }

    fn effects(&self) -> Effects {
        EFFECTS
    }

    fn subject(&self, input: &Value) -> Subject {
        ResourceServers::subject(READ, input)
    }

    fn judge(&self, _scope: &Scope, _input: &Value) -> Judgement {
        Judgement::Allow
    }

    async fn run(&self, cx: &ToolCx, input: Value) -> Result<ToolOutput, Failure> {
        let slot = self.0.named(READ, &input)?;
        let Some(uri) = input.get("uri").and_then(Value::as_str) else {
            return Err(Failure::Error(format!("{READ}: `uri` must be a text")));
        };
        let connection = slot.connected(&cx.cancel).await;
        let connection = connection.map_err(|failure| failed(READ, failure))?;
        let read = within(cx, connection.read_resource(uri)).await?;
        let result = read.map_err(|why| failed(READ, CallFailure::Failed(why)))?;
        let scope = cx.scope.clone();
        let shown = move || result::contents(&scope, READ, result);
        let shown = tokio::task::spawn_blocking(shown).await;
        shown.unwrap_or_else(|_| Err(Failure::Error("the resource cannot be shown".to_owned())))
    }
}

impl McpConnection {
    async fn read_resource(&self, uri: &str) -> Result<Value, String> {
        let params = ReadResourceRequestParams::new(uri);
        let request = ReadResourceRequest::new(params);
        let result = self
            .request(ClientRequest::ReadResourceRequest(request))
            .await?;
        Ok(serde_json::to_value(result).unwrap_or_default())
    }
}

async fn within<T>(cx: &ToolCx, work: impl Future<Output = T>) -> Result<T, Failure> {
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => Err(Failure::Cancelled(ToolOutput::Text(String::new()))),
        done = work => Ok(done),
    }
}

fn failed(tool: &str, failure: CallFailure) -> Failure {
    match failure {
        CallFailure::Cancelled => Failure::Cancelled(ToolOutput::Text(String::new())),
        CallFailure::Failed(why) => Failure::Error(format!("{tool}: {why}")),
    }
}
