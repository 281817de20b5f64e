//! What a server has: read in pages, and bounded. One bad entry does not spoil the rest.

use std::collections::HashSet;
use std::sync::{Arc, Weak};

use rmcp::Peer;
use rmcp::model::{
    ClientRequest, ListPromptsRequest, ListResourcesRequest, ListToolsRequest,
    PaginatedRequestParams, RequestOptionalParam,
};
use rmcp::service::{RoleClient, ServiceError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use super::{McpConnection, request_of};
use crate::limits::{
    DESCRIPTION_BYTES_MAX, LISTED_MAX, NAME_BYTES_MAX, PAGES_MAX, RELIST_PAUSE, SCHEMA_BYTES_MAX,
};

/// A tool as its server lists it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RemoteTool {
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    pub parameters: Value,
    pub reads_only: bool,
    pub is_destructive: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RemotePrompt {
    pub name: String,
    pub description: Option<String>,
    pub arguments: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RemoteResource {
    pub uri: String,
    pub name: String,
    pub description: Option<String>,
    pub media_type: Option<String>,
}

/// All that a server has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ServerLists {
    /// What it calls itself.
    pub title: Option<String>,
    pub version: Option<String>,
    pub tools: Vec<RemoteTool>,
    /// Tools that it has beyond those.
    pub tools_beyond: usize,
    pub prompts: Vec<RemotePrompt>,
    pub has_resources: bool,
}

pub(crate) async fn read_all(peer: &Peer<RoleClient>) -> Result<ServerLists, ServiceError> {
    let info = peer.peer_info();
    let capabilities = info.as_ref().map(|info| info.capabilities.clone());
    let capabilities = capabilities.unwrap_or_default();
    let about = info.as_ref().and_then(|info| info.server_info.clone());
    let mut lists = ServerLists {
        title: about.as_ref().map(|about| {
            let title = about.title.as_ref().unwrap_or(&about.name);
            cut(title, NAME_BYTES_MAX)
        }),
        version: about.map(|about| cut(&about.version, NAME_BYTES_MAX)),
        has_resources: capabilities.resources.is_some(),
        ..ServerLists::default()
    };
    if capabilities.tools.is_some() {
        let (entries, beyond) = pages(peer, "tools", tools_page).await?;
        let mut seen = HashSet::new();
        let tools = entries.into_iter().filter_map(tool);
        lists.tools = tools
            .filter(|tool| seen.insert(tool.name.clone()))
            .collect();
        lists.tools_beyond = beyond;
    }
    if capabilities.prompts.is_some() {
        // Without its prompts it is still of use.
        let listed = pages(peer, "prompts", prompts_page).await;
        let entries = listed.map(|(entries, _)| entries).unwrap_or_default();
        lists.prompts = entries.into_iter().filter_map(prompt).collect();
    }
    Ok(lists)
}

/// The resources that a server lists, and how many more there are.
pub(crate) async fn resources(
    peer: &Peer<RoleClient>,
) -> Result<(Vec<RemoteResource>, usize), ServiceError> {
    let (entries, beyond) = pages(peer, "resources", resources_page).await?;
    Ok((entries.into_iter().filter_map(resource).collect(), beyond))
}

fn tools_page(page: PaginatedRequestParams) -> ClientRequest {
    let request: ListToolsRequest = RequestOptionalParam::with_param(page);
    ClientRequest::ListToolsRequest(request)
}

fn prompts_page(page: PaginatedRequestParams) -> ClientRequest {
    let request: ListPromptsRequest = RequestOptionalParam::with_param(page);
    ClientRequest::ListPromptsRequest(request)
}

fn resources_page(page: PaginatedRequestParams) -> ClientRequest {
    let request: ListResourcesRequest = RequestOptionalParam::with_param(page);
    ClientRequest::ListResourcesRequest(request)
}

/// The entries of all pages, within limits, and how many were left behind.
async fn pages(
    peer: &Peer<RoleClient>,
    field: &str,
    request: fn(PaginatedRequestParams) -> ClientRequest,
) -> Result<(Vec<Value>, usize), ServiceError> {
    let (mut entries, mut beyond) = (Vec::new(), 0);
    let (mut cursor, mut seen) = (None, HashSet::new());
    for _ in 0..PAGES_MAX {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let result = request_of(peer, request(page)).await?;
        // Entries that are not as they should be make it a result of no known kind: all are read
        // alike, one by one.
        let mut result = serde_json::to_value(result).unwrap_or_default();
        if let Some(Value::Array(page)) = result.get_mut(field).map(Value::take) {
            let room = LISTED_MAX.saturating_sub(entries.len());
            beyond += page.len().saturating_sub(room);
            entries.extend(page.into_iter().take(room));
        }
        cursor = result
            .get("nextCursor")
            .and_then(Value::as_str)
            .map(str::to_owned);
        match &cursor {
            // A server that gives the same page for ever.
            Some(next) if seen.insert(next.clone()) => {}
            Some(_) | None => break,
        }
    }
    Ok((entries, beyond))
}

fn text(entry: &Map<String, Value>, field: &str) -> Option<String> {
    let text = entry.get(field)?.as_str()?;
    (!text.trim().is_empty()).then(|| text.to_owned())
}

fn tool(entry: Value) -> Option<RemoteTool> {
    let Value::Object(mut entry) = entry else {
        return None;
    };
    let name = text(&entry, "name").filter(|name| name.len() <= NAME_BYTES_MAX)?;
    let hints = entry.remove("annotations").unwrap_or_default();
    let hint = |name: &str| hints.get(name).and_then(Value::as_bool).unwrap_or(false);
    let title = text(&entry, "title").or_else(|| Some(hints.get("title")?.as_str()?.to_owned()));
    let description = text(&entry, "description").or_else(|| title.clone());
    Some(RemoteTool {
        title: title.map(|title| cut(&title, NAME_BYTES_MAX)),
        description: cut(&description.unwrap_or_default(), DESCRIPTION_BYTES_MAX),
        parameters: parameters(entry.remove("inputSchema")),
        reads_only: hint("readOnlyHint"),
        is_destructive: hint("destructiveHint") && !hint("readOnlyHint"),
        name,
    })
}

/// A schema that models can be told; any object where there is none.
fn parameters(schema: Option<Value>) -> Value {
    let open = || json!({"type": "object", "additionalProperties": true});
    let Some(Value::Object(mut schema)) = schema else {
        return open();
    };
    let kind = schema.entry("type").or_insert_with(|| "object".into());
    if kind != "object" {
        return open();
    }
    let schema = Value::Object(schema);
    match schema.to_string().len() <= SCHEMA_BYTES_MAX {
        true => schema,
        false => open(),
    }
}

fn prompt(entry: Value) -> Option<RemotePrompt> {
    let entry = entry.as_object()?;
    let arguments = entry.get("arguments").and_then(Value::as_array);
    let argument = |each: &Value| Some(cut(each.get("name")?.as_str()?, NAME_BYTES_MAX));
    Some(RemotePrompt {
        name: text(entry, "name").filter(|name| name.len() <= NAME_BYTES_MAX)?,
        description: text(entry, "description").map(|text| cut(&text, DESCRIPTION_BYTES_MAX)),
        arguments: arguments
            .into_iter()
            .flatten()
            .filter_map(argument)
            .collect(),
    })
}

fn resource(entry: Value) -> Option<RemoteResource> {
    let entry = entry.as_object()?;
    Some(RemoteResource {
        uri: text(entry, "uri").filter(|uri| uri.len() <= DESCRIPTION_BYTES_MAX)?,
        name: cut(&text(entry, "name").unwrap_or_default(), NAME_BYTES_MAX),
        description: text(entry, "description").map(|text| cut(&text, NAME_BYTES_MAX)),
        media_type: text(entry, "mimeType").map(|text| cut(&text, NAME_BYTES_MAX)),
    })
}

fn cut(text: &str, bytes_max: usize) -> String {
    match text.len() <= bytes_max {
        true => text.to_owned(),
        false => {
            let end = text.floor_char_boundary(bytes_max.saturating_sub('…'.len_utf8()));
            format!("{}…", &text[..end])
        }
    }
}

/// Reads the lists again when the server says that they changed, however often it says so.
pub(super) async fn keep_fresh(connection: Weak<McpConnection>, changed: Arc<Notify>) {
    loop {
        let Some(ended) = connection.upgrade().map(|each| each.ended.clone()) else {
            return;
        };
        tokio::select! {
            () = ended.cancelled() => return,
            () = changed.notified() => {}
        }
        let Some(connection) = connection.upgrade() else {
            return;
        };
        // What cannot be read stays as it was.
        if let Ok(lists) = read_all(&connection.peer).await {
            *connection.lists.lock() = Arc::new(lists);
            connection.refreshed.notify_one();
        }
        drop(connection);
        tokio::time::sleep(RELIST_PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_tool_is_taken_as_far_as_it_is_one() {
        assert_eq!(tool(json!("x")), None);
        assert_eq!(tool(json!({"name": " "})), None);
        assert_eq!(tool(json!({"name": "x".repeat(257)})), None);
        let open = json!({"type": "object", "additionalProperties": true});
        let bare = tool(json!({"name": "a", "description": 7, "annotations": []})).unwrap();
        assert_eq!((bare.description.as_str(), &bare.parameters), ("", &open));
        for schema in [
            json!(true),
            json!({"type": "string"}),
            json!({"type": "object", "title": "x".repeat(SCHEMA_BYTES_MAX)}),
        ] {
            let odd = tool(json!({"name": "a", "inputSchema": schema})).unwrap();
            assert_eq!(odd.parameters, open);
        }
        let untyped = tool(json!({"name": "a", "inputSchema": {"properties": {}}})).unwrap();
        assert_eq!(
            untyped.parameters,
            json!({"properties": {}, "type": "object"})
        );
    }

    #[test]
    fn hints_and_long_descriptions_are_read() {
        let entry = json!({
            "name": "a",
            "description": "ä".repeat(DESCRIPTION_BYTES_MAX),
            "annotations": {"readOnlyHint": true, "destructiveHint": true, "title": "A"},
        });
        let tool = tool(entry).unwrap();
        assert!(tool.reads_only && !tool.is_destructive);
        assert_eq!(tool.title.as_deref(), Some("A"));
        assert!(tool.description.len() <= DESCRIPTION_BYTES_MAX);
        assert!(tool.description.ends_with("ä…"));
    }
}
