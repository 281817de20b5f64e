//! An agent by script, for tests: it does what its first argument says, well or badly. It is its own
//! launcher, and `host` runs an agent as the real program would.

use std::io::{BufRead as _, Write as _};
use std::time::Duration;

use serde_json::{Value, json};

fn main() {
    if let Some(code) = tools::sandbox::launcher::run_if_asked() {
        std::process::exit(code);
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("host") => host(),
        Some("--acp") => {
            eprintln!("Unknown argument: acp");
            std::process::exit(2);
        }
        script => serve(script.unwrap_or_default()),
    }
}

/// Runs an agent, says its process id, and stays until it is killed.
fn host() {
    let this = std::env::current_exe().unwrap_or_default();
    let directory = std::env::current_dir().unwrap_or_default();
    let Ok(runtime) = tokio::runtime::Runtime::new() else {
        return;
    };
    runtime.block_on(async {
        let program = acp::AgentProgram {
            name: "scripted".to_owned(),
            command: this.to_string_lossy().into_owned(),
            args: vec!["well".to_owned()],
            ..acp::AgentProgram::default()
        };
        let sandbox = tools::Sandbox::best(&this);
        let started = acp::AgentConnection::start(&program, &directory, &sandbox).await;
        let Ok(mut agent) = started else {
            return println!("{:?}", started.err());
        };
        match agent.new_session(&directory).await {
            Ok(session) => println!("{}", session.id),
            Err(error) => println!("{error}"),
        }
        std::future::pending::<()>().await;
    });
}

fn say(message: &Value) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{message}");
    let _ = out.flush();
}

fn answer(id: &Value, result: Value) {
    say(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

fn update(what: Value) {
    let params = json!({"sessionId": session(), "update": what});
    say(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
}

/// The session's name is the process's, so that whoever asks can see whether it lives.
fn session() -> String {
    std::process::id().to_string()
}

fn serve(script: &str) {
    for line in std::io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line.unwrap_or_default()) else {
            continue;
        };
        let id = &message["id"];
        match message["method"].as_str() {
            Some("initialize") => initialize(script, id),
            Some("session/new") => new_session(script, id),
            Some("session/load") if message["params"]["sessionId"] == "gone" => {
                say(&json!({"id": id, "error": {"code": -32002, "message": "Resource not found"}}))
            }
            Some("session/load") => {
                update(json!({"sessionUpdate": "user_message_chunk",
                              "content": {"type": "text", "text": "of before"}}));
                answer(id, Value::Null);
            }
            Some("session/prompt") => prompt(script, id),
            Some("session/set_model" | "session/set_mode") => answer(id, json!({})),
            Some(_) | None => {}
        }
    }
}

fn initialize(script: &str, id: &Value) {
    match script {
        "hang" => std::thread::sleep(Duration::from_secs(3_600)),
        "die" => {
            eprintln!(
                "cannot go on: the key is {}",
                std::env::var("AGENT_KEY").unwrap_or_default()
            );
            std::process::exit(3);
        }
        "garbage" => {
            let mut out = std::io::stdout().lock();
            let _ = out.write_all(b"Loading\xff\xfe...\n{\"half\": \n[1]\n\n");
        }
        "future" => return answer(id, json!({"protocolVersion": 2})),
        _ => {}
    }
    // Only an agent that remembers says so.
    let loads = script == "loads";
    answer(
        id,
        json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": loads},
               "authMethods": [{"id": "web", "name": "Log in with a browser"}]}),
    );
}

fn new_session(script: &str, id: &Value) {
    if script == "stranger" {
        let error = json!({"code": -32000, "message": "Authentication required"});
        return say(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
    }
    let modes = json!({"currentModeId": "ask", "availableModes":
        [{"id": "ask", "name": "Ask"}, {"id": "plan", "name": "Plan"}]});
    let models = json!({"currentModelId": "fast", "availableModels":
        [{"modelId": "fast", "name": "Fast"}, {"modelId": "deep", "name": "Deep"}]});
    answer(
        id,
        json!({"sessionId": session(), "modes": modes, "models": models}),
    );
}

fn prompt(script: &str, id: &Value) {
    let text = |text: &str| {
        json!({"sessionUpdate": "agent_message_chunk",
                                   "content": {"type": "text", "text": text}})
    };
    match script {
        "huge" => {
            let mut out = std::io::stdout().lock();
            let piece = vec![b'x'; 1024 * 1024];
            for _ in 0..20 {
                let _ = out.write_all(&piece);
            }
            let _ = out.flush();
        }
        "dies" => {
            update(text("so far"));
            eprintln!("panicked: out of luck");
            std::process::exit(101);
        }
        "deaf" => std::thread::sleep(Duration::from_secs(3_600)),
        _ => {
            update(text("hello"));
            answer(id, json!({"stopReason": "end_turn"}));
        }
    }
}
