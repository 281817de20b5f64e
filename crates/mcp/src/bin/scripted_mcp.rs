//! A server by script, for tests: it does what its arguments say, well or badly. It is its own launcher,
//! and `host` runs a server as the real program would.

use std::io::{BufRead as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

fn main() {
    if let Some(code) = tools::sandbox::launcher::run_if_asked() {
        std::process::exit(code);
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("host") => host(),
        _ => ScriptedMcpServer::new(arguments).serve(),
    }
}

/// Uses a server, says what its `pids` tool says, and stays until it is killed.
fn host() {
    let directory = std::env::current_dir().unwrap_or_default();
    let this = std::env::current_exe().unwrap_or_default();
    let runtime = tokio::runtime::Runtime::new();
    let Ok(runtime) = runtime else { return };
    runtime.block_on(async {
        let options = mcp::McpOptions {
            home: directory.join(".home"),
            user: None,
            system: directory.join("none.json"),
            fenced: true,
        };
        let servers = mcp::Servers::new(options);
        let sandbox = Arc::new(tools::Sandbox::best(&this).with_home(&directory.join(".home")));
        servers.fence_with(move || {
            let fence = mcp::Fence::new(Arc::clone(&sandbox), Vec::new());
            Box::pin(async move { fence })
        });
        let place = mcp::McpPlace {
            tenant: vocabulary::TenantId::new("local"),
            directory: directory.clone(),
        };
        let server = |layer| mcp::ConfiguredServer {
            server: vocabulary::McpServer {
                name: format!("{layer:?}"),
                transport: vocabulary::McpTransport::Stdio {
                    command: this.to_string_lossy().into_owned(),
                    args: vec!["--child".to_owned()],
                    env: Default::default(),
                    cwd: None,
                },
                required: None,
                retries: None,
                auth: None,
            },
            layer,
        };
        let both = [vocabulary::McpLayer::User, vocabulary::McpLayer::Workspace].map(server);
        let offer = servers.offer(&place, &both, Duration::from_secs(20)).await;
        println!("{} {:?}", offer.tools.len(), offer.notes);
        std::future::pending::<()>().await;
    });
}

struct ScriptedMcpServer {
    arguments: Vec<String>,
    /// How often its tools were listed.
    listed: usize,
}

impl ScriptedMcpServer {
    fn new(arguments: Vec<String>) -> Self {
        Self {
            arguments,
            listed: 0,
        }
    }

    fn is(&self, what: &str) -> bool {
        self.arguments.iter().any(|argument| argument == what)
    }

    fn number(&self, what: &str) -> Option<usize> {
        let mut arguments = self.arguments.iter();
        arguments.find(|argument| *argument == what)?;
        arguments.next()?.parse().ok()
    }

    fn serve(mut self) {
        if self.is("--die") {
            eprintln!(
                "cannot find the database\nsecret is {}",
                environment("SCRIPT_SECRET")
            );
            std::process::exit(3);
        }
        if self.is("--child") {
            // What a server starts must end with it.
            let child = Command::new("sleep")
                .arg("4242")
                .stdin(Stdio::null())
                .spawn();
            drop(child);
        }
        if self.is("--garbage") {
            println!("starting up...\n{{\"jsonrpc\": \n[1,2]\n\u{7f}");
        }
        if let Some(millis) = self.number("--slow-start") {
            std::thread::sleep(Duration::from_millis(millis as u64));
        }
        let _ = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open("starts")
            .and_then(|mut file| file.write_all(b"x"));
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            let Ok(message) = serde_json::from_str::<Value>(&line) else {
                continue;
            };
            if self.is("--hang") {
                continue;
            }
            self.hear(&message);
        }
    }

    fn hear(&mut self, message: &Value) {
        let (id, params) = (&message["id"], &message["params"]);
        match message["method"].as_str().unwrap_or_default() {
            "initialize" => self.begin(id),
            "notifications/initialized" if self.is("--flood") => flood(),
            "notifications/initialized" if self.is("--garbage") => {
                answer(&json!(4711), &json!({"tools": []}));
                send(&json!({"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "y"}}));
            }
            "notifications/cancelled" => {
                let _ = std::fs::write("cancelled", params.to_string());
            }
            "tools/list" => {
                let result = self.list(params);
                answer(id, &result);
            }
            "prompts/list" => answer(
                id,
                &json!({"prompts": [
                    {"name": "greet", "description": "Greets", "arguments": [{"name": "who"}]},
                ]}),
            ),
            "prompts/get" => {
                let text = format!(
                    "Greet {}!",
                    params["arguments"]["who"].as_str().unwrap_or("all")
                );
                let content = json!({"type": "text", "text": text});
                answer(
                    id,
                    &json!({"messages": [{"role": "user", "content": content}]}),
                );
            }
            "resources/list" => answer(
                id,
                &json!({"resources": [
                    {"uri": "test://a", "name": "A"},
                ]}),
            ),
            "resources/read" => {
                let uri = &params["uri"];
                let content = json!({"uri": uri, "mimeType": "text/plain", "text": "content of a"});
                answer(id, &json!({"contents": [content]}));
            }
            "ping" => answer(id, &json!({})),
            "tools/call" => self.call(id, params),
            // An answer to what was asked with a call.
            "" if message["result"].is_object() => {
                let said = message["result"].to_string();
                let call = message["id"].clone();
                answer(&call["call"], &text(&said));
                if let Some(call) = call.as_str().and_then(|id| id.strip_prefix("ask-")) {
                    answer(&call.parse::<i64>().unwrap_or(0).into(), &text(&said));
                }
            }
            _ => {}
        }
    }

    fn begin(&self, id: &Value) {
        let mut capabilities = json!({"tools": {"listChanged": true}, "prompts": {}});
        if self.is("--resources") {
            capabilities["resources"] = json!({});
        }
        answer(
            id,
            &json!({
                "protocolVersion": "2025-11-25",
                "capabilities": capabilities,
                "serverInfo": {"name": "scripted", "version": "1.0"},
            }),
        );
    }

    fn list(&mut self, params: &Value) -> Value {
        self.listed += 1;
        if let Some(count) = self.number("--many") {
            let from = params["cursor"]
                .as_str()
                .and_then(|it| it.parse().ok())
                .unwrap_or(0);
            let to = (from + 500).min(count);
            let tools: Vec<Value> = (from..to)
                .map(|place| tool(&format!("tool{place}")))
                .collect();
            let next = (to < count).then(|| to.to_string());
            return json!({"tools": tools, "nextCursor": next});
        }
        if self.is("--same-page") {
            return json!({"tools": [tool("echo")], "nextCursor": "again"});
        }
        if self.is("--odd") {
            return json!({"tools": [
                {"name": "no-schema"},
                {"name": "bad-schema", "inputSchema": "nothing", "description": 7},
                {"name": 9},
                "nothing",
                tool("echo"),
            ]});
        }
        let names = [
            "echo",
            "fail",
            "picture",
            "structured",
            "huge",
            "crash",
            "steps",
            "stay",
            "ask",
            "environment",
            "pids",
            "odd",
            "change",
        ];
        let mut tools: Vec<Value> = names.iter().map(|name| tool(name)).collect();
        if self.listed > 1 {
            tools.push(tool("added"));
        }
        json!({"tools": tools})
    }

    fn call(&mut self, id: &Value, params: &Value) {
        let arguments = &params["arguments"];
        match params["name"].as_str().unwrap_or_default() {
            "echo" => answer(id, &text(arguments["text"].as_str().unwrap_or_default())),
            "fail" => {
                let mut result = text("it went wrong");
                result["isError"] = json!(true);
                answer(id, &result);
            }
            "picture" => {
                let dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
                answer(
                    id,
                    &json!({"content": [
                        {"type": "text", "text": "a dot"},
                        {"type": "image", "data": dot, "mimeType": "image/png"},
                        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
                        {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
                        {"type": "resource_link", "uri": "test://a", "name": "A"},
                    ]}),
                );
            }
            "structured" => {
                let value = json!({"sum": 3});
                answer(
                    id,
                    &json!({
                        "content": [{"type": "text", "text": value.to_string()}],
                        "structuredContent": value,
                    }),
                );
            }
            "odd" => answer(
                id,
                &json!({"content": [{"type": "smell"}, 7, {"type": "text"}]}),
            ),
            "huge" => {
                let count = arguments["bytes"].as_u64().unwrap_or(0) as usize;
                answer(id, &text(&"x".repeat(count)));
            }
            other => behave(other, id, params),
        }
    }
}

/// Tools that do more than answer.
fn behave(name: &str, id: &Value, params: &Value) {
    let arguments = &params["arguments"];
    match name {
        "crash" => {
            eprintln!("segmentation fault");
            std::process::exit(11);
        }
        "steps" => {
            let token = &params["_meta"]["progressToken"];
            for step in 1..=3 {
                send(
                    &json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
                        "progressToken": token, "progress": step, "total": 3, "message": "working",
                    }}),
                );
            }
            std::thread::sleep(Duration::from_millis(300));
            answer(id, &text("done"));
        }
        // Never answers.
        "stay" => {}
        "ask" => send(&json!({
            "jsonrpc": "2.0", "id": format!("ask-{id}"), "method": "elicitation/create",
            "params": {"message": "Tell me", "requestedSchema": arguments["schema"]},
        })),
        "environment" => {
            let mut all: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
            all.sort();
            answer(id, &text(&all.join(" ")));
        }
        "pids" => answer(id, &text(&std::process::id().to_string())),
        "change" => {
            send(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
            answer(id, &text("changed"));
        }
        _ => send(&json!({
            "jsonrpc": "2.0", "id": id, "error": {"code": -32602, "message": "no such tool"},
        })),
    }
}

fn environment(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

fn flood() {
    for number in 0..50_000 {
        send(
            &json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {
                "level": "info", "data": number,
            }}),
        );
        send(
            &json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
                "progressToken": number, "progress": number,
            }}),
        );
    }
}

fn tool(name: &str) -> Value {
    json!({
        "name": name,
        "description": format!("The tool {name}."),
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
        "annotations": {"readOnlyHint": name == "echo", "destructiveHint": name == "crash"},
    })
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

fn answer(id: &Value, result: &Value) {
    send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

fn send(message: &Value) {
    let mut out = std::io::stdout().lock();
    let sent = writeln!(out, "{message}").and_then(|()| out.flush());
    if sent.is_err() {
        std::process::exit(0);
    }
}
