//! Whole turns with thoughts, tools and pictures, in each of the four wire formats.

use std::time::Duration;

use anyhow::{Context, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as STANDARD;
use serde_json::{Value, json};
use testkit::peer::{Aimock, SentBody, check_against_sdks};
use testkit::proxy::RecordingProxy;

use crate::{ANTHROPIC, CHAT, GEMINI, KEY, PNG, RESPONSES, Service, Site};

const LIMIT: Duration = Duration::from_secs(90);
/// It writes, so a person is asked.
const COMMAND: &str = "wc -l notes.txt > count.txt && cat count.txt";

#[test]
fn a_turn_with_tools_over_responses() {
    crate::tell(LIMIT, whole_turn(&RESPONSES, "/v1", "/v1/responses"));
}

#[test]
fn a_turn_with_tools_over_chat_completions() {
    crate::tell(LIMIT, whole_turn(&CHAT, "/v1", "/v1/chat/completions"));
}

#[test]
fn a_turn_with_tools_over_messages() {
    crate::tell(LIMIT, whole_turn(&ANTHROPIC, "/v1", "/v1/messages"));
}

#[test]
fn a_turn_with_tools_over_gemini() {
    crate::tell(LIMIT, whole_turn(&GEMINI, "/v1beta", "/v1beta/models/"));
}

/// The model thinks, speaks and calls two tools at once; it answers when it sees what both found,
/// later on remembers all of it, and looks at a picture.
fn script() -> Value {
    let usage = json!({ "prompt_tokens": 1000, "completion_tokens": 20 });
    json!([
        {
            "match": { "userMessage": "How many notes", "hasToolResult": false },
            "response": {
                "reasoning": "They are in a file.",
                "content": "I will look.",
                "toolCalls": [
                    { "name": "read", "arguments": { "filePath": "notes.txt" } },
                    { "name": "bash", "arguments": { "command": COMMAND } },
                ],
                "usage": usage,
            },
        },
        {
            "match": { "userMessage": "How many notes", "toolResultContains": "3 notes.txt" },
            "response": { "content": "There are three notes.", "usage": usage },
        },
        {
            "match": { "userMessage": "their colour" },
            "response": { "content": "Blue, red and green.", "usage": usage },
        },
        {
            "match": { "userMessage": "the picture", "sequenceIndex": 0 },
            "response": {
                "reasoning": "A picture is a file, too.",
                "toolCalls": [{ "name": "read", "arguments": { "filePath": "dot.png" } }],
                "usage": usage,
            },
        },
        {
            // Whoever speaks last: where results are words alone, a user shows the picture.
            "match": { "toolName": "read" },
            "response": { "content": "A dot.", "usage": usage },
        },
    ])
}

async fn whole_turn(service: &Service, base: &str, path: &str) -> anyhow::Result<()> {
    let aimock = Aimock::start(&script()).await?;
    let proxy = RecordingProxy::start(aimock.port()).await?;
    let url = format!("{}{base}", proxy.url());
    let mut site = Site::open(service, &url).await?;
    site.scratch.write("notes.txt", "blue\nred\ngreen\n")?;
    site.scratch
        .write_bytes("dot.png", &STANDARD.decode(PNG)?)?;

    let from = site.visitor.client.heard().len();
    site.visitor.say("How many notes are there?").await?;
    let ask = site.visitor.client.until_type("approval").await?;
    assert_eq!(ask["command"], COMMAND);
    assert_eq!(site.scratch.read("count.txt"), "", "it ran without a yes");
    let yes = json!({ "requestId": ask["requestId"], "approved": true });
    site.visitor.send("approval_response", yes).await?;
    site.visitor.rest().await?;
    let turn = site.turn(from)?;
    assert_eq!(turn.outcome(), "completed", "{:?}", turn.trouble());
    assert_eq!(turn.answer()?, "I will look.\n\nThere are three notes.");
    assert_eq!(turn.streamed("reasoning_delta"), "They are in a file.");
    assert_eq!(site.scratch.read("count.txt"), "3 notes.txt\n");
    let usage = turn.of_type("turn_usage");
    let usage = &usage.first().context("no turn_usage")?["usage"];
    assert_eq!(usage["promptTokens"], 2000, "{usage}");
    assert_eq!(usage["completionTokens"], 40, "{usage}");

    let turn = site.converse("And their colour?").await?;
    assert_eq!(turn.outcome(), "completed");
    assert_eq!(turn.answer()?, "Blue, red and green.");

    let turn = site.converse("What is in the picture?").await?;
    assert_eq!(turn.outcome(), "completed", "{:?}", turn.trouble());
    assert_eq!(turn.answer()?, "A dot.");
    assert_eq!(
        turn.streamed("reasoning_delta"),
        "A picture is a file, too."
    );

    let asked = requests(&aimock, path).await?;
    ensure!(asked.len() == 5, "{} requests", asked.len());
    let names = |request: &Value| tools(request).join(" ");
    assert_eq!(names(&asked[0]), "", "no result before a call");
    for request in &asked[1..] {
        let results = names(request);
        ensure!(results.contains("green"), "what was read: {results}");
        ensure!(results.contains("3 notes.txt"), "what was run: {results}");
    }
    ensure!(
        !site.server.whole_log().contains(KEY),
        "a key is in the log"
    );
    check_bodies(service, &proxy).await
}

/// What the service got, as it was written: it keeps neither pictures nor thoughts in its journal.
async fn check_bodies(service: &Service, proxy: &RecordingProxy) -> anyhow::Result<()> {
    let bodies = proxy.requests().into_iter().map(|request| request.body);
    let bodies: Vec<_> = bodies.collect();
    let last = bodies.last().context("nothing was asked")?.to_string();
    ensure!(last.contains(PNG), "the picture is not in {last}");
    // Of the four, only this one gives a thought a signature, and wants it back.
    let signed = last.contains("aimock-placeholder-signature");
    ensure!(signed == (service.provider == "anthropic"), "{last}");
    let sent = bodies.into_iter().map(|body| SentBody {
        service: service.sdk,
        body,
    });
    check_against_sdks(&sent.collect::<Vec<_>>()).await
}

/// The steps of turns, oldest first: other requests, as for a title, offer no tools.
async fn requests(aimock: &Aimock, path: &str) -> anyhow::Result<Vec<Value>> {
    let mut all = aimock.requests().await?;
    all.retain(|request| {
        let offers = request["body"]["tools"].as_array();
        offers.is_some_and(|tools| !tools.is_empty())
    });
    for request in &all {
        let asked = request["path"].as_str().unwrap_or_default();
        ensure!(asked.starts_with(path), "{asked} was asked, not {path}");
    }
    Ok(all)
}

/// What the tools of a conversation have said.
fn tools(request: &Value) -> Vec<String> {
    let messages = request["body"]["messages"].as_array();
    let results = messages.into_iter().flatten();
    results
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].to_string())
        .collect()
}
