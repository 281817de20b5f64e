//! Turns with a real model, served by llama.cpp of two dates. It is small and may say anything; what
//! is looked at is that it can be asked, stopped, overfilled, and held to the grammar of our tools.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::peer::{Llama, LlamaBuild};
use testkit::proxy::RecordingProxy;

use crate::{CHAT, Site, Turn};

/// It reads our whole prompt on whatever processor there is: only hanging is a failure.
const LIMIT: Duration = Duration::from_secs(15 * 60);
/// Much more than it can write before a cancel comes.
const ENDLESS_TOKENS: u64 = 4_000;
const LONG_TOKENS: u64 = 260;
const SHORT_TOKENS: u64 = 32;
const CALL_TOKENS: u64 = 64;
/// Stands before the name of a file that is to be read.
const CALL: &str = "Use a tool: read the file ";

#[test]
fn a_small_model_works_on_the_current_llama_cpp() {
    crate::tell(LIMIT, whole_story(LlamaBuild::Current));
}

#[test]
fn a_small_model_works_on_an_older_llama_cpp() {
    crate::tell(LIMIT, whole_story(LlamaBuild::Older));
}

/// One server for all of it: it reads our long prompt once, and finds it in its cache from then on.
async fn whole_story(build: LlamaBuild) -> anyhow::Result<()> {
    let llama = Llama::start(build).await?;
    let proxy = RecordingProxy::editing(llama.port(), prompted).await?;
    let mut site = Site::open(&CHAT, &format!("{}/v1", proxy.url())).await?;
    site.visitor.client.set_limit(LIMIT);
    site.scratch.write("notes.txt", "blue\nred\ngreen\n")?;

    says_something(&mut site).await?;
    can_be_stopped(&mut site, &llama).await?;
    writes_at_length(&mut site).await?;
    calls_by_grammar(&mut site).await?;
    is_told_too_much(&mut site).await
}

/// What one could only hope for from so small a model: an answer of this length, a call. It calls
/// once it has seen others do so.
fn prompted(body: &mut Value) {
    let last = body["messages"].as_array().and_then(|all| all.last());
    let last = last.cloned().unwrap_or_default();
    let asked = last["content"].as_str().unwrap_or_default();
    let tokens = match () {
        // Not where a summary of it is wanted.
        () if asked.ends_with("without end.") => ENDLESS_TOKENS,
        () if asked.ends_with("at length.") => LONG_TOKENS,
        () => SHORT_TOKENS,
    };
    body["max_tokens"] = json!(tokens);
    body["ignore_eos"] = json!(tokens != SHORT_TOKENS);
    if last["role"] == "tool" {
        body["tool_choice"] = json!("none");
    }
    if let (Some(file), Some(messages)) =
        (asked.strip_prefix(CALL), body["messages"].as_array_mut())
    {
        messages.pop();
        for example in ["a.txt", "b.txt"] {
            let arguments = json!({ "filePath": example }).to_string();
            let function = json!({ "name": "read", "arguments": arguments });
            messages.extend([
                json!({ "role": "user", "content": format!("{CALL}{example}") }),
                json!({ "role": "assistant", "content": null, "tool_calls": [
                    { "id": example, "type": "function", "function": function },
                ] }),
                json!({ "role": "tool", "tool_call_id": example, "content": "1\tred" }),
            ]);
        }
        messages.push(json!({ "role": "user", "content": format!("{CALL}{file}") }));
        body["max_tokens"] = json!(CALL_TOKENS);
    }
}

/// So small a model often talks on until the limit that this test sets; that it was cut is then said.
fn came_to_its_end(turn: &Turn) -> anyhow::Result<()> {
    if turn.outcome() == "completed" {
        return Ok(());
    }
    let trouble = turn.trouble()?;
    ensure!(trouble.contains("answer was cut at its limit"), "{trouble}");
    Ok(())
}

async fn says_something(site: &mut Site) -> anyhow::Result<()> {
    let turn = converse(site, "Say hello in one short sentence.").await?;
    came_to_its_end(&turn)?;
    let usage = turn.of_type("turn_usage");
    let usage = &usage.first().context("no turn_usage")?["usage"];
    ensure!(usage["promptTokens"].as_u64() > Some(100), "{usage}");
    ensure!(usage["completionTokens"].as_u64() > Some(0), "{usage}");
    ensure!(!turn.answer()?.trim().is_empty(), "it said nothing");
    Ok(())
}

/// It has one place for one answer: if it went on with what nobody hears, the next would wait.
async fn can_be_stopped(site: &mut Site, llama: &Llama) -> anyhow::Result<()> {
    site.visitor.say("Count without end.").await?;
    let is_text = |frame: &Value| frame["partType"] == "text_delta";
    site.visitor.client.until(is_text).await?;
    site.visitor.send("cancel", json!({})).await?;
    let rest = site.visitor.rest().await?;
    assert_eq!(rest["outcome"], "cancelled");
    let turn = converse(site, "Say hello again.").await?;
    came_to_its_end(&turn)?;
    ensure!(llama.has_cancelled(), "it went on without a listener");
    Ok(())
}

async fn writes_at_length(site: &mut Site) -> anyhow::Result<()> {
    let turn = converse(site, "Tell a story at length.").await?;
    came_to_its_end(&turn)?;
    let usage = turn.of_type("turn_usage");
    let usage = &usage.first().context("no turn_usage")?["usage"];
    ensure!(
        usage["completionTokens"].as_u64() >= Some(LONG_TOKENS),
        "{usage}"
    );
    Ok(())
}

/// From where a call begins, the server holds the model to a grammar made from the schemas of all
/// our tools.
async fn calls_by_grammar(site: &mut Site) -> anyhow::Result<()> {
    let turn = converse(site, &format!("{CALL}notes.txt")).await?;
    came_to_its_end(&turn)?;
    let call = turn.0.iter().find(|frame| frame["partType"] == "tool_call");
    let call = &call.context("it called nothing")?["part"];
    assert_eq!(call["toolName"], "read", "{call}");
    assert_eq!(call["input"]["filePath"], "notes.txt", "{call}");
    Ok(())
}

/// More than it can read: a summary makes room for it, and it is answered.
async fn is_told_too_much(site: &mut Site) -> anyhow::Result<()> {
    let turn = converse(site, &"Much too much. ".repeat(520)).await?;
    came_to_its_end(&turn)?;
    let logged = turn.of_type("log");
    let mut lines = logged.iter().filter_map(|frame| frame["line"].as_str());
    ensure!(
        lines.any(|line| line.starts_with("[compaction]")),
        "it was read as it is: {logged:?}"
    );
    Ok(())
}

/// A whole turn; whatever the model wants to do is denied.
async fn converse(site: &mut Site, text: &str) -> anyhow::Result<Turn> {
    let from = site.visitor.client.heard().len();
    site.visitor.say(text).await?;
    loop {
        let pause = |frame: &Value| {
            frame["type"] == "approval"
                || (frame["type"] == "session_busy" && frame["busy"] == false)
        };
        let frame = site.visitor.client.until(pause).await?;
        if frame["type"] == "session_busy" {
            break;
        }
        let no = json!({ "requestId": frame["requestId"], "approved": false });
        site.visitor.send("approval_response", no).await?;
    }
    site.turn(from)
}
