//! One thread over services that speak OpenAI's formats, each of which refuses what the real one
//! refuses, in its own words. At each the model thinks and calls a tool, and the user says more.

use std::sync::Arc;

use futures_util::TryStreamExt;
use serde_json::{Value, json};

use super::Home;
use super::server::{Asked, Server};
use crate::kept_blocks::kept_blocks;
use crate::{Block, Message, ModelRequest, Provider, ResultBlock, ToolResult, ToolSpec};

struct Service {
    id: &'static str,
    model: &'static str,
    /// What the catalog says of it.
    catalog: &'static str,
    /// Why a request is refused.
    fault: fn(&Value) -> Result<(), String>,
    /// How its model thinks and calls.
    stream: fn() -> Vec<Value>,
}

const SERVICES: [Service; 6] = [
    Service {
        id: "openai",
        model: "gpt-6-sol",
        catalog: "",
        fault: openai,
        stream: || {
            let item = |item| json!({ "type": "response.output_item.done", "item": item });
            vec![
                item(
                    json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "of openai" }),
                ),
                item(
                    json!({ "type": "function_call", "id": "fc_1", "call_id": "call_HGAr5fTfp9Q2xY8bN3kLmZ1c", "name": "ls", "arguments": "{}" }),
                ),
                json!({ "type": "response.completed", "response": {} }),
            ]
        },
    },
    Service {
        id: "openrouter",
        model: "google/gemini-4-argon",
        catalog: "quirks = { effort = \"reasoning\", thoughts = \"details\", cache_control = true }",
        fault: openrouter,
        stream: || {
            let details =
                json!([{ "type": "reasoning.encrypted", "data": "of gemini", "index": 0 }]);
            chat(
                json!({ "reasoning": "Hm." }),
                json!({ "reasoning_details": details }),
                "tool_0_ls",
            )
        },
    },
    Service {
        id: "moonshot",
        model: "kimi-k3",
        catalog: "quirks = { thoughts = \"always\" }",
        fault: moonshot,
        stream: || {
            chat(
                json!({ "reasoning_content": "Hm." }),
                json!({}),
                "functions.ls:0",
            )
        },
    },
    Service {
        id: "groq",
        model: "openai/gpt-oss-120b",
        catalog: "quirks = { thoughts = \"never\" }",
        fault: groq,
        stream: || chat(json!({ "reasoning": "Hm." }), json!({}), "fc_5d4a"),
    },
    Service {
        id: "mistral",
        model: "mistral-large-4",
        catalog: "quirks = { call_ids = \"nine_alphanumeric\", stream_options = false, user_after_tool = false }",
        fault: mistral,
        stream: || {
            chat(
                json!({ "content": [{ "type": "thinking", "thinking": [{ "type": "text", "text": "Hm." }] }] }),
                json!({}),
                "D681PevKs",
            )
        },
    },
    Service {
        id: "llamacpp",
        model: "qwq-32b",
        catalog: "",
        fault: llamacpp,
        stream: || chat(json!({ "content": "Hm.</think>\n\n" }), json!({}), "x1"),
    },
];

fn chat(thought: Value, mut with_call: Value, id: &str) -> Vec<Value> {
    let call = json!([{ "index": 0, "id": id, "type": "function", "function": { "name": "ls", "arguments": "{}" } }]);
    with_call["tool_calls"] = call;
    let chunk = |delta: Value| json!({ "choices": [{ "index": 0, "delta": delta }] });
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] });
    vec![chunk(thought), chunk(with_call), end]
}

fn openai(body: &Value) -> Result<(), String> {
    let key = body["prompt_cache_key"].as_str().unwrap_or_default();
    if key.len() > 64 {
        return Err("Invalid 'prompt_cache_key': string too long.".to_owned());
    }
    if body["reasoning"]["summary"] != "auto" {
        return Err("nobody would see a thought".to_owned());
    }
    let items = body["input"].as_array().ok_or("input is missing")?;
    match items
        .iter()
        .any(|item| item["type"] == "reasoning" && item["encrypted_content"] != "of openai")
    {
        true => Err("invalid_encrypted_content".to_owned()),
        false => Ok(()),
    }
}

/// Messages of the assistant that call something.
fn calling(body: &Value) -> impl Iterator<Item = &Value> {
    let messages = body["messages"].as_array().into_iter().flatten();
    messages.filter(|message| message["tool_calls"].is_array())
}

fn openrouter(body: &Value) -> Result<(), String> {
    if body["reasoning"]["effort"] != "high" {
        return Err("the effort is not where it is looked for".to_owned());
    }
    let own = |message: &&Value| message["tool_calls"][0]["id"] == "tool_0_ls";
    let lacks = |message: &Value| message["reasoning_details"][0]["data"] != "of gemini";
    match calling(body).filter(own).any(lacks) {
        true => Err(
            "Gemini models require OpenRouter reasoning details to be preserved in each request"
                .to_owned(),
        ),
        false => Ok(()),
    }
}

fn moonshot(body: &Value) -> Result<(), String> {
    let lacks = |message: &Value| {
        message["reasoning_content"]
            .as_str()
            .unwrap_or("")
            .is_empty()
    };
    match calling(body).any(lacks) {
        true => Err(
            "thinking is enabled but reasoning_content is missing in assistant tool call message"
                .to_owned(),
        ),
        false => Ok(()),
    }
}

fn groq(body: &Value) -> Result<(), String> {
    let known = ["role", "content", "tool_calls"];
    let fields = calling(body).filter_map(Value::as_object).flatten();
    let unknown = fields
        .map(|(name, _)| name)
        .find(|name| !known.contains(&name.as_str()));
    match unknown {
        Some(name) => Err(format!("property '{name}' is unsupported")),
        None => Ok(()),
    }
}

fn mistral(body: &Value) -> Result<(), String> {
    if !body["stream_options"].is_null() {
        return Err("Extra inputs are not permitted: stream_options".to_owned());
    }
    groq(body)?;
    let calls = calling(body).filter_map(|message| message["tool_calls"].as_array());
    for id in calls.flatten().filter_map(|call| call["id"].as_str()) {
        if id.len() != 9 || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(format!(
                "Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9."
            ));
        }
    }
    let messages = body["messages"].as_array().ok_or("messages are missing")?;
    let refused = |two: &[Value]| two[0]["role"] == "tool" && two[1]["role"] == "user";
    match messages.windows(2).any(refused) {
        true => Err("Unexpected role 'user' after role 'tool'".to_owned()),
        false => Ok(()),
    }
}

fn llamacpp(body: &Value) -> Result<(), String> {
    if body.to_string().contains("</think>") || body["messages"].to_string().contains("Hm.") {
        return Err("thoughts came back as words".to_owned());
    }
    match body["tools"].to_string().contains("\"maxLength\":") {
        true => Err("Failed to initialize samplers: failed to parse grammar".to_owned()),
        false => Ok(()),
    }
}

fn reply(asked: &Asked) -> (u16, String) {
    let body = asked.json();
    let service = SERVICES
        .iter()
        .find(|service| asked.target.starts_with(&format!("/{}/", service.id)));
    let Some(service) = service.filter(|service| body["model"] == service.model) else {
        return (
            404,
            json!({ "error": { "message": "no such model" } }).to_string(),
        );
    };
    if let Err(words) = (service.fault)(&body) {
        return (400, json!({ "error": { "message": words } }).to_string());
    }
    let events = (service.stream)().into_iter();
    (
        200,
        events.map(|event| format!("data: {event}\n\n")).collect(),
    )
}

fn home(server: &Server) -> Home {
    let mut home = Home::new();
    let mut catalog = String::new();
    for Service {
        id,
        model,
        catalog: entry,
        ..
    } in &SERVICES
    {
        let name = id.to_ascii_uppercase();
        home = home
            .set(
                &format!("DRAGOMAN_{name}_BASE_URL"),
                &format!("{}/{id}/v1", server.url),
            )
            .set(&format!("{name}_API_KEY"), "key-a");
        catalog.push_str(&format!(
            "[[provider]]\nid = {id:?}\n{entry}\n[[provider.model]]\nid = {model:?}\nefforts = [\"low\", \"high\"]\n"
        ));
    }
    home.write("config/catalog.toml", &catalog);
    home
}

async fn ask(provider: &dyn Provider, request: ModelRequest) -> Result<Vec<Block>, String> {
    let stream = provider.stream(request).await;
    let parts = stream
        .map_err(|error| error.message)?
        .try_collect::<Vec<_>>();
    let parts = parts.await.map_err(|error| error.message)?;
    Ok(kept_blocks(parts))
}

/// The result of the call, and what the user says meanwhile.
fn go_on(blocks: &[Block]) -> [Message; 2] {
    let call = blocks.iter().find_map(|block| match block {
        Block::ToolCall { call_id, .. } => Some(call_id.clone()),
        Block::Text { .. } | Block::Reasoning { .. } | Block::File { .. } => None,
    });
    let result = ToolResult {
        call_id: call.expect("a call"),
        name: "ls".to_owned(),
        content: vec![ResultBlock::Text("a.txt".to_owned())],
        is_error: false,
    };
    [Message::ToolResults(vec![result]), Message::user("more")]
}

#[tokio::test]
async fn a_thread_goes_over_all_of_them_and_back() {
    let server = Server::start(reply).await;
    let home = home(&server);
    let models = home.open();
    let limited = json!({ "type": "object", "properties": { "path": { "type": "string", "maxLength": 100_000 } } });
    let tools: Arc<[ToolSpec]> = vec![ToolSpec::new("ls", "Lists files.", limited)].into();
    let mut messages = vec![Arc::new(Message::user("go"))];
    for service in SERVICES.iter().chain(SERVICES.iter().rev()) {
        let provider = models.provider(service.id).expect("the provider");
        for step in 0..2 {
            let request = ModelRequest {
                model: service.model.to_owned(),
                messages: messages.clone(),
                tools: Arc::clone(&tools),
                effort: Some("xhigh".to_owned()),
                cache_key: Some("5f0c6a1e-8c4b-4d8e-9a57-2f1f4c1d7a10".repeat(2)),
                ..ModelRequest::default()
            };
            let blocks = ask(provider.as_ref(), request).await;
            let blocks =
                blocks.unwrap_or_else(|words| panic!("{}, step {step}: {words}", service.id));
            assert_eq!(blocks.len(), 2, "a thought and a call");
            let more = go_on(&blocks);
            messages.push(Arc::new(Message::Assistant(blocks)));
            messages.extend(more.map(Arc::new));
        }
    }
}
