//! A configuration as clients of all kinds hand it around: `{"mcpServers": {"name": {"command": …}}}`, or
//! the same without the outer key.

use serde_json::{Map, Value, json};
use vocabulary::McpServer;

use super::spelling::{SERVERS_MAX, parse_server};

/// The longest text that is looked at.
const CONFIG_BYTES_MAX: usize = 256 * 1024;
const OUTER: &str = "mcpServers";

/// A server by its name, or what is wrong with it.
type PortableServer = (String, Result<McpServer, String>);

/// The servers by name, each as it is understood or with what is wrong with it. No value is repeated: it
/// may be a key.
pub fn parse_portable(text: &str) -> Result<Vec<PortableServer>, String> {
    if text.len() > CONFIG_BYTES_MAX {
        return Err(format!("it has more than {CONFIG_BYTES_MAX} bytes"));
    }
    let root: Map<String, Value> = serde_json::from_str(text)
        .map_err(|error| format!("it is no JSON object (line {})", error.line()))?;
    let servers = match root.get(OUTER) {
        Some(Value::Object(servers)) => servers,
        Some(_) => return Err(format!("{OUTER} is no object")),
        None => &root,
    };
    if servers.is_empty() || servers.len() > SERVERS_MAX {
        return Err(format!("it must name 1 to {SERVERS_MAX} servers"));
    }
    let each = |(name, value): (&String, &Value)| (name.clone(), server(name, value));
    Ok(servers.iter().map(each).collect())
}

fn server(name: &str, value: &Value) -> Result<McpServer, String> {
    let at = format!("{OUTER}.{name}");
    let Value::Object(given) = value else {
        return Err(format!("{at}: expected an object"));
    };
    let kind = match given.get("type").or(given.get("transport")) {
        Some(Value::String(kind)) => kind.as_str(),
        Some(_) => return Err(format!("{at}.type: expected stdio, http or sse")),
        None if given.contains_key("url") => "http",
        None => "stdio",
    };
    let kind = match kind {
        "streamable_http" | "streamable-http" | "streamableHttp" => "http",
        kind => kind,
    };
    let mut transport = given.clone();
    for outer in ["name", "required", "retries", "auth", "transport"] {
        transport.remove(outer);
    }
    transport.insert("type".to_owned(), json!(kind));
    let mut spelled = json!({ "name": name, "transport": transport });
    for field in ["required", "retries", "auth"] {
        if let Some(value) = given.get(field) {
            spelled[field] = value.clone();
        }
    }
    parse_server(&spelled, &at)
}

#[cfg(test)]
mod tests {
    use vocabulary::McpTransport;

    use super::*;

    #[test]
    fn both_forms_and_all_transports_are_understood() {
        let text = r#"{"mcpServers": {
            "docs": {"command": "npx", "args": ["-y", "docs"], "env": {"TOKEN": "hush"}},
            "web": {"url": "https://mcp.test/mcp", "headers": {"X-Key": "hush"}},
            "old": {"type": "sse", "url": "https://mcp.test/sse"}
        }}"#;
        let parsed = parse_portable(text).expect("understood");
        let names: Vec<&str> = parsed.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["docs", "web", "old"]);
        let transports = parsed
            .into_iter()
            .map(|(_, server)| server.expect("a server").transport);
        let [docs, web, old] = transports.collect::<Vec<_>>().try_into().expect("three");
        assert!(matches!(docs, McpTransport::Stdio { command, .. } if command == "npx"));
        assert!(matches!(old, McpTransport::Sse { .. }));
        assert!(matches!(web, McpTransport::Http { .. }));
        let bare = parse_portable(r#"{"docs": {"command": "npx"}}"#).expect("understood");
        assert_eq!(bare.len(), 1);
    }

    #[test]
    fn what_is_wrong_is_said_without_values() {
        for text in ["[]", "{}", "nonsense hush", r#"{"mcpServers": 1}"#] {
            let wrong = parse_portable(text).expect_err(text);
            assert!(!wrong.contains("hush"), "{wrong}");
        }
        let text =
            r#"{"mcpServers": {"good": {"command": "x"}, "bad": {"command": 7, "env": "hush"}}}"#;
        let parsed = parse_portable(text).expect("read");
        let (good, bad) = (&parsed[0].1, &parsed[1].1);
        let wrong = bad.as_ref().expect_err("no command");
        assert!(
            wrong.contains("command") && !wrong.contains("hush"),
            "{wrong}"
        );
        assert!(good.is_ok());
    }
}
