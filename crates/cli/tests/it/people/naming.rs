//! A model that nobody has, named in every dialect that can name one: it is refused in that dialect's
//! own form, with what may have been meant, and nothing else is used in its place.

use anyhow::ensure;
use serde_json::{Value, json};
use testkit::process::Launch;
use testkit::{Client, Process, Scratch};

use super::LIMIT;
use crate::{DRAGOMAN, Visitor, tell};

const NO_SUCH_MODEL: &str = "Rehearsal has no model \"rehearsal-2\"; did you mean rehearsal-1?";
const NO_SUCH_NAME: &str = "there is no model \"rehearsal-2\"; did you mean rehearsal-1?";

const WORKSPACE: &str = "000000000000000000000";
const THREAD: &str = "thread000000000000001";

/// A server without a model server beside it, whatever else runs on this machine.
async fn server(scratch: &Scratch) -> anyhow::Result<Process> {
    let nobody = "http://127.0.0.1:1/v1";
    let launch = ["OLLAMA", "VLLM", "LMSTUDIO", "LLAMACPP"]
        .iter()
        .fold(Launch::new(DRAGOMAN, scratch), |launch, name| {
            launch.variable(&format!("{name}_BASE_URL"), nobody)
        });
    Process::start(&launch).await
}

async fn connect(server: &Process, path: &str) -> anyhow::Result<Client> {
    Client::connect(&format!("ws://127.0.0.1:{}/{path}", server.port())).await
}

async fn asked(client: &mut Client, request: Value) -> anyhow::Result<Value> {
    let id = request["id"].clone();
    client.send_json(&request).await?;
    client.until(|frame| frame["id"] == id).await
}

fn refused(answer: &Value, words: &str) -> anyhow::Result<()> {
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    ensure!(message.contains(words), "{answer}");
    Ok(())
}

#[test]
fn cowork_is_told_of_a_model_that_nobody_has() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let server = server(&scratch).await?;
        let mut visitor = Visitor::arrive(&server).await?;
        let wish = json!({ "provider": "openai", "model": "rehearsal/rehearsal-2" });
        visitor.send("set_model", wish.clone()).await?;
        let error = visitor.client.until_type("error").await?;
        ensure!(
            error["message"]
                .as_str()
                .is_some_and(|message| message.contains(NO_SUCH_MODEL)),
            "{error}"
        );
        let mut old = connect(&server, "ws?protocol=1").await?;
        let hello = old.until_type("server_hello").await?;
        let mut wish = wish;
        wish["type"] = json!("set_model");
        wish["sessionId"] = hello["sessionId"].clone();
        old.send_json(&wish).await?;
        let error = old.until_type("error").await?;
        ensure!(error.to_string().contains("rehearsal-1?"), "{error}");
        Ok(())
    });
}

#[test]
fn codex_is_told_of_a_model_that_nobody_has_and_gets_the_local_one_it_names() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let server = server(&scratch).await?;
        let mut codex = connect(&server, "codex").await?;
        let info = json!({ "clientInfo": { "name": "test", "version": "1" } });
        let hello = json!({ "id": 1, "method": "initialize", "params": info });
        asked(&mut codex, hello).await?;
        for (name, words) in [
            ("rehearsal-2", NO_SUCH_NAME),
            ("rehearsal/rehearsal-2", NO_SUCH_MODEL),
            ("nobody/qwen3", "there is no model \"nobody/qwen3\""),
        ] {
            let start =
                json!({ "id": name, "method": "thread/start", "params": { "model": name } });
            refused(&asked(&mut codex, start).await?, words)?;
        }
        let params = json!({ "model": "ollama/qwen3" });
        let start = json!({ "id": 2, "method": "thread/start", "params": params });
        let started = asked(&mut codex, start).await?;
        ensure!(started["result"]["modelProvider"] == "ollama", "{started}");
        let thread = &started["result"]["thread"]["id"];
        let input = json!([{ "type": "text", "text": "Go" }]);
        let params = json!({ "threadId": thread, "input": input, "model": "rehearsal-2" });
        let turn = json!({ "id": 3, "method": "turn/start", "params": params });
        refused(&asked(&mut codex, turn).await?, NO_SUCH_NAME)?;
        Ok(())
    });
}

#[test]
fn pioneer_is_told_of_a_model_that_nobody_has() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let server = server(&scratch).await?;
        let mut pioneer = connect(&server, "pioneer").await?;
        let ask = |id: u32, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        // The first look at it makes the default workspace.
        asked(&mut pioneer, ask(0, "workspace/default", json!({}))).await?;
        for (id, provider) in [(1, Value::Null), (2, json!("rehearsal"))] {
            let params = json!({
                "thread_id": THREAD, "workspace_id": WORKSPACE,
                "model": "rehearsal-2", "model_provider": provider,
            });
            let answer = asked(&mut pioneer, ask(id, "thread/start", params)).await?;
            refused(&answer, NO_SUCH_MODEL)?;
        }
        Ok(())
    });
}
