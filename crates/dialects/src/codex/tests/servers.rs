//! MCP servers: calls of their tools, how these are allowed, and how servers are listed.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use vocabulary::{
    Answer, ApprovalAnswer, Ask, AskFact, Call, ContentBlock, Effects, Fact, McpAuthMode,
    McpAuthState, McpCall, McpLayer, McpReply, McpRunning, McpScope, McpServer, McpServerState,
    McpSnapshot, McpToolInfo, McpTransport, Reply, Subject, ToolCall, ToolEvent, ToolFact,
    ToolOutcome, ToolOutput,
};

use super::stub::{Stub, THREAD, approval, bash, tag};
use crate::codex::Endpoint;

fn search() -> ToolCall {
    ToolCall {
        name: "mcp__docs__search".to_owned(),
        input: json!({ "query": "x" }),
        subject: Subject::Mcp {
            server: "docs".to_owned(),
            tool: "search".to_owned(),
        },
        ..bash()
    }
}

/// A tool of ours that is neither a command nor a change of files.
fn look() -> ToolCall {
    ToolCall {
        name: "glob".to_owned(),
        input: json!({ "pattern": "*" }),
        subject: Subject::Other,
        effects: Effects::READS,
        ..bash()
    }
}

fn told(endpoint: Endpoint, call: ToolCall, what: ToolFact) -> Vec<Value> {
    let mut stub = Stub::started(endpoint);
    let call = Arc::new(call);
    let tag = tag();
    stub.tell(Fact::Tool(ToolEvent { tag, call, what }))
}

fn finished() -> ToolFact {
    let blocks = vec![
        ContentBlock::Text("found".to_owned()),
        ContentBlock::Image {
            media_type: "image/png".to_owned(),
            base64: "AAAA".into(),
        },
        ContentBlock::Resource {
            uri: "docs://a".to_owned(),
            media_type: None,
            text: Some("A".to_owned()),
        },
        ContentBlock::Structured(json!({ "hits": 1 })),
    ];
    ToolFact::Finished {
        outcome: ToolOutcome::Succeeded(ToolOutput::Content(blocks)),
        duration_ms: None,
    }
}

#[test]
fn a_call_of_a_servers_tool_is_an_item_of_its_own_kind_for_everyone() {
    for endpoint in [Endpoint::Codex, Endpoint::Zane] {
        let sent = told(endpoint, search(), finished());
        assert_eq!(sent.len(), 1);
        assert_eq!(sent[0]["method"], "item/completed");
        let content = json!([
            { "type": "text", "text": "found" },
            { "type": "image", "data": "AAAA", "mimeType": "image/png" },
            { "type": "resource", "resource": { "uri": "docs://a", "text": "A" } },
            { "type": "text", "text": "{\"hits\":1}" },
        ]);
        let item = json!({
            "type": "mcpToolCall", "id": "i1", "server": "docs", "tool": "search",
            "status": "completed", "arguments": { "query": "x" },
            "result": { "content": content, "structuredContent": { "hits": 1 } },
            "error": null, "durationMs": null,
        });
        assert_eq!(sent[0]["params"]["item"], item);
    }
}

#[test]
fn a_tool_of_ours_is_no_servers_but_where_nothing_else_is_shown() {
    let sent = told(Endpoint::Codex, look(), ToolFact::Reached);
    let item = json!({
        "type": "dynamicToolCall", "id": "i1", "namespace": null, "tool": "glob",
        "arguments": { "pattern": "*" }, "status": "inProgress",
        "contentItems": null, "success": null, "durationMs": null,
    });
    assert_eq!(sent[0]["params"]["item"], item);
    let sent = told(Endpoint::Codex, look(), finished());
    let item = &sent[0]["params"]["item"];
    let content = json!([
        { "type": "inputText", "text": "found" },
        { "type": "inputImage", "imageUrl": "data:image/png;base64,AAAA" },
        { "type": "inputText", "text": "A" },
        { "type": "inputText", "text": "{\"hits\":1}" },
    ]);
    assert_eq!(item["contentItems"], content);
    assert_eq!(
        (&item["success"], &item["status"]),
        (&json!(true), &json!("completed"))
    );
    let why = "not run: stopped".to_owned();
    let outcome = ToolOutcome::NotRun { why };
    let sent = told(
        Endpoint::Codex,
        look(),
        ToolFact::Finished {
            outcome,
            duration_ms: None,
        },
    );
    let item = &sent[0]["params"]["item"];
    let content = json!([{ "type": "inputText", "text": "not run: stopped" }]);
    assert_eq!(item["contentItems"], content);
    assert_eq!(
        (&item["success"], &item["status"]),
        (&json!(false), &json!("failed"))
    );
    let sent = told(Endpoint::Zane, look(), finished());
    assert_eq!(sent[0]["params"]["item"]["type"], "mcpToolCall");
    assert_eq!(sent[0]["params"]["item"]["server"], "dragoman");
}

#[test]
fn how_far_a_servers_tool_is_is_told() {
    let message = "half".to_owned();
    let what = || ToolFact::Progressed {
        message: message.clone(),
    };
    for endpoint in [Endpoint::Codex, Endpoint::Zane] {
        let params = json!({
            "threadId": THREAD, "turnId": "t1", "itemId": "i1", "message": "half",
        });
        let frame = json!({ "method": "item/mcpToolCall/progress", "params": params });
        assert_eq!(told(endpoint, search(), what()), [frame]);
        assert_eq!(told(endpoint, look(), what()), Vec::<Value>::new());
    }
}

fn asked(endpoint: Endpoint) -> (Stub, Value) {
    let ask = Ask {
        call: Box::new((&search()).into()),
        ..approval(7)
    };
    let mut stub = Stub::started(endpoint);
    let what = AskFact::Opened { ask };
    let sent = stub.tell(Fact::Ask { tag: tag(), what });
    let request = sent.into_iter().find(|frame| frame.get("id").is_some());
    (stub, request.expect("a request"))
}

#[test]
fn a_call_of_a_servers_tool_is_allowed_in_each_endpoints_own_way() {
    let (_, request) = asked(Endpoint::Zane);
    assert_eq!(request["method"], "item/mcpToolCall/requestApproval");
    let (_, request) = asked(Endpoint::Codex);
    let meta = json!({
        "codex_approval_kind": "mcp_tool_call", "persist": ["session", "always"],
        "tool_title": "search",
    });
    let params = json!({
        "threadId": THREAD, "turnId": "t1", "serverName": "docs", "mode": "form", "_meta": meta,
        "message": "rm -rf build\n\nthis command is not known to be harmless",
        "requestedSchema": { "type": "object", "properties": {} },
    });
    let frame = json!({ "id": 7, "method": "mcpServer/elicitation/request", "params": params });
    assert_eq!(request, frame);
    for (result, answer) in [
        (json!({ "action": "accept" }), ApprovalAnswer::Once),
        (
            json!({ "action": "accept", "content": {}, "_meta": { "persist": "session" } }),
            ApprovalAnswer::ForSession,
        ),
        (
            json!({ "action": "accept", "_meta": { "persist": "always" } }),
            ApprovalAnswer::ForWorkspace,
        ),
        (
            json!({ "action": "accept", "_meta": 7 }),
            ApprovalAnswer::Deny,
        ),
        (
            json!({ "action": "decline", "_meta": null }),
            ApprovalAnswer::Deny,
        ),
        (json!({ "action": "cancel" }), ApprovalAnswer::DenyAndCancel),
        (json!({ "action": "acept" }), ApprovalAnswer::Deny),
        (json!({}), ApprovalAnswer::Deny),
    ] {
        let (mut stub, _) = asked(Endpoint::Codex);
        stub.say(&json!({ "id": 7, "result": result }).to_string());
        let Call::AnswerAsk { answer: given, .. } = stub.call() else {
            panic!("not an answer");
        };
        assert_eq!(*given, Answer::Approval(answer), "{result}");
    }
}

fn state(name: &str, running: McpRunning, mode: McpAuthMode) -> McpServerState {
    McpServerState {
        server: McpServer {
            name: name.to_owned(),
            transport: McpTransport::Http {
                url: "https://docs.test/".to_owned(),
                headers: BTreeMap::from([("X-Key".to_owned(), "hush".to_owned())]),
            },
            required: None,
            retries: None,
            auth: None,
        },
        layer: McpLayer::User,
        auth: McpAuthState {
            mode,
            scope: McpScope::User,
            message: String::new(),
        },
        running,
        switched_off: false,
    }
}

fn snapshot() -> McpSnapshot {
    let ready = McpRunning::Ready {
        title: Some("Docs".to_owned()),
        version: Some("1.2".to_owned()),
        tools: vec![McpToolInfo {
            name: "search".to_owned(),
            title: None,
            description: "Finds.".to_owned(),
            parameters: json!({ "type": "object" }),
        }],
        tools_left_out: 0,
    };
    let message = "refused".to_owned();
    McpSnapshot {
        servers: vec![
            state("docs", ready, McpAuthMode::OAuth),
            state("dead", McpRunning::Failed { message }, McpAuthMode::Missing),
            state("new", McpRunning::WaitsForTrust, McpAuthMode::None),
        ],
        ..McpSnapshot::default()
    }
}

fn listed(params: Value) -> Value {
    let mut stub = Stub::started(Endpoint::Codex);
    stub.ask(5, "mcpServerStatus/list", params);
    let Call::Mcp { thread, call } = stub.call() else {
        panic!("not a call for servers");
    };
    assert_eq!(
        (thread.to_string(), call),
        (THREAD.to_owned(), &McpCall::Get)
    );
    let reply = McpReply::Servers(snapshot());
    let sent = stub.reply(Ok(Reply::Mcp(Box::new(reply)))).take();
    sent[0]["result"].clone()
}

#[test]
fn servers_are_listed_with_their_tools_and_how_they_stand() {
    let result = listed(json!({}));
    assert!(!result.to_string().contains("hush"));
    let docs = json!({
        "name": "docs", "serverInfo": { "name": "docs", "title": "Docs", "version": "1.2" },
        "tools": { "search": {
            "name": "search", "title": null, "description": "Finds.",
            "inputSchema": { "type": "object" },
        } },
        "toolsError": null, "resources": [], "resourceTemplates": [],
        "authStatus": "oAuth", "runtimeStatus": "connected",
    });
    assert_eq!(result["data"][0], docs);
    let gist = |at: usize| {
        let server = &result["data"][at];
        [
            &server["authStatus"],
            &server["runtimeStatus"],
            &server["toolsError"],
        ]
    };
    assert_eq!(
        gist(1),
        [&json!("notLoggedIn"), &json!("failed"), &json!("refused")]
    );
    assert_eq!(
        gist(2),
        [&json!("unsupported"), &json!("disabled"), &Value::Null]
    );
    assert_eq!(result["nextCursor"], Value::Null);
    let second = listed(json!({ "threadId": THREAD, "cursor": "1", "limit": 1 }));
    assert_eq!(second["data"][0]["name"], "dead");
    assert_eq!(
        (
            second["data"].as_array().map(Vec::len),
            &second["nextCursor"]
        ),
        (Some(1), &json!("2"))
    );
    let one = listed(json!({ "serverName": "new" }));
    assert_eq!(one["data"][0]["name"], "new");
}

#[test]
fn who_hears_no_thread_has_no_servers() {
    let mut stub = Stub::ready(Endpoint::Codex);
    stub.ask(5, "mcpServerStatus/list", json!({}));
    assert!(stub.calls.is_empty());
    let result = json!({ "data": [], "nextCursor": null });
    assert_eq!(stub.take(), [json!({ "id": 5, "result": result })]);
}

#[test]
fn a_server_is_signed_in_to_in_a_browser_and_the_end_is_told() {
    let mut stub = Stub::started(Endpoint::Codex);
    stub.ask(2, "mcpServer/oauth/login", json!({ "name": "docs" }));
    let name = || "docs".to_owned();
    let call = |stub: &Stub| match &stub.calls[0].1 {
        Some(Call::Mcp { call, .. }) => call.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(call(&stub), McpCall::Authorize { name: name() });
    let challenge = vocabulary::Challenge {
        url: Some("https://example.com/in".to_owned()),
        instructions: String::new(),
        needs_code: false,
        expires_at: None,
    };
    let reply = McpReply::Challenge(Box::new(challenge));
    stub.reply(Ok(Reply::Mcp(Box::new(reply))));
    let answer = json!({ "authorizationUrl": "https://example.com/in" });
    assert_eq!(stub.sent[0]["result"], answer);
    let (name, code) = (name(), None);
    assert_eq!(call(&stub), McpCall::FinishSignIn { name, code });
    stub.reply(Err(vocabulary::Refusal::new(
        vocabulary::Why::Provider,
        "nobody came",
    )));
    let told =
        json!({ "name": "docs", "threadId": THREAD, "success": false, "error": "nobody came" });
    assert_eq!(stub.sent[1]["method"], "mcpServer/oauthLogin/completed");
    assert_eq!(stub.sent[1]["params"], told);
}
