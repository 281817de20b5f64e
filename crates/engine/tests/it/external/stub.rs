//! An agent by script, on the other side of a pipe.

use std::sync::Arc;

use engine::{AgentProgram, AgentStreams, ExternalAgent};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

/// What the agent heard, method by method, over all its lives.
pub type HeardMethods = Arc<Mutex<Vec<(String, Value)>>>;

pub struct StubAgent {
    lines: BufReader<ReadHalf<DuplexStream>>,
    out: WriteHalf<DuplexStream>,
    heard: HeardMethods,
    next_id: u64,
}

/// What it plays from its first prompt on.
pub type StubScript = fn(StubAgent, Value) -> BoxFuture<'static, ()>;

/// What it can do, as it says when it is asked.
#[derive(Clone, Copy, Default)]
pub struct StubAbilities {
    pub resumes: bool,
    pub sees: bool,
}

pub const SESSION: &str = "s-1";

/// An agent that plays this script each time it is started.
pub fn agent(can: StubAbilities, script: StubScript) -> (Arc<ExternalAgent>, HeardMethods) {
    let heard = HeardMethods::default();
    let known = Arc::clone(&heard);
    let streams = move || {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (lines, out) = tokio::io::split(theirs);
        let stub = StubAgent {
            lines: BufReader::new(lines),
            out,
            heard: Arc::clone(&known),
            next_id: 0,
        };
        tokio::spawn(stub.play(can, script));
        let (output, input) = tokio::io::split(ours);
        AgentStreams::between(output, input)
    };
    let program = AgentProgram {
        name: "stub".to_owned(),
        sign_in: "run `stub login`".to_owned(),
        ..AgentProgram::default()
    };
    (
        Arc::new(ExternalAgent::over(program, Arc::new(streams))),
        heard,
    )
}

/// The methods that were heard.
pub fn methods(heard: &HeardMethods) -> Vec<String> {
    let heard = heard.lock();
    heard.iter().map(|(method, _)| method.clone()).collect()
}

/// All that was heard under this method.
pub fn params(heard: &HeardMethods, method: &str) -> Vec<Value> {
    let heard = heard.lock();
    let of_method = heard.iter().filter(|(heard, _)| heard == method);
    of_method.map(|(_, params)| params.clone()).collect()
}

impl StubAgent {
    async fn play(mut self, can: StubAbilities, script: StubScript) {
        loop {
            let Some(message) = self.hear().await else {
                return;
            };
            let id = message["id"].clone();
            match message["method"].as_str() {
                Some("initialize") => {
                    let resume = can.resumes.then(|| json!({}));
                    let abilities = json!({"promptCapabilities": {"image": can.sees},
                                           "sessionCapabilities": {"resume": resume}});
                    self.answer(
                        &id,
                        json!({"protocolVersion": 1, "agentCapabilities": abilities}),
                    )
                    .await;
                }
                Some("session/new" | "session/resume") => {
                    let modes = json!({"currentModeId": "code", "availableModes":
                        [{"id": "code", "name": "Code"}, {"id": "plan", "name": "Plan"}]});
                    let models = json!([{"id": "model", "name": "Model", "category": "model",
                        "type": "select", "currentValue": "small",
                        "options": [{"value": "small", "name": "Small"},
                                    {"value": "large", "name": "Large"}]}]);
                    self.answer(
                        &id,
                        json!({"sessionId": SESSION, "modes": modes, "configOptions": models}),
                    )
                    .await;
                }
                Some("session/prompt") => return script(self, message).await,
                Some("session/set_config_option") => {
                    self.answer(&id, json!({"configOptions": []})).await;
                }
                _ => self.answer(&id, json!({})).await,
            }
        }
    }

    /// The next message; nothing once nobody speaks any more.
    pub async fn hear(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.lines.read_line(&mut line).await;
        if !read.is_ok_and(|length| length > 0) {
            return None;
        }
        let message: Value = serde_json::from_str(&line).expect("a message");
        if let Some(method) = message["method"].as_str() {
            let heard = (method.to_owned(), message["params"].clone());
            self.heard.lock().push(heard);
        }
        Some(message)
    }

    /// Waits for a message of this method.
    pub async fn hear_method(&mut self, method: &str) -> Option<Value> {
        loop {
            let message = self.hear().await?;
            if message["method"] == method {
                return Some(message);
            }
        }
    }

    pub async fn say(&mut self, message: Value) {
        // Who does not listen any more has nothing to be told.
        let line = format!("{message}\n");
        let _ = self.out.write_all(line.as_bytes()).await;
    }

    pub async fn answer(&mut self, id: &Value, result: Value) {
        self.say(json!({"jsonrpc": "2.0", "id": id, "result": result}))
            .await;
    }

    pub async fn update(&mut self, update: Value) {
        let params = json!({"sessionId": SESSION, "update": update});
        self.say(json!({"jsonrpc": "2.0", "method": "session/update", "params": params}))
            .await;
    }

    pub async fn text(&mut self, text: &str) {
        self.update(json!({"sessionUpdate": "agent_message_chunk",
                           "content": {"type": "text", "text": text}}))
            .await;
    }

    /// Sends a request without waiting for its answer.
    pub async fn request(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.say(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        id
    }

    /// Asks, and gives the answer.
    pub async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params).await;
        self.answer_to(id).await
    }

    pub async fn answer_to(&mut self, id: u64) -> Value {
        while let Some(message) = self.hear().await {
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
        Value::Null
    }

    /// Asks whether it may run a command.
    pub async fn ask_to_run(&mut self, call: &str, command: &str) -> Value {
        let params = permission(call, command);
        let answer = self.ask("session/request_permission", params).await;
        answer["result"]["outcome"].clone()
    }

    pub async fn end(&mut self, prompt: &Value) {
        self.answer(&prompt["id"], json!({"stopReason": "end_turn"}))
            .await;
    }
}

pub fn permission(call: &str, command: &str) -> Value {
    json!({"sessionId": SESSION,
           "toolCall": {"toolCallId": call, "title": command, "kind": "execute", "status": "pending",
                        "rawInput": {"command": command}},
           "options": [{"optionId": "always", "name": "Always", "kind": "allow_always"},
                       {"optionId": "once", "name": "Yes", "kind": "allow_once"},
                       {"optionId": "no", "name": "No", "kind": "reject_once"}]})
}
