//! The turns of a thread, read in pages from both ends by clients of two dialects: behind a reset, and
//! after the process was killed.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::{Client, Process};

use crate::{Site, Visitor, tell};

const LIMIT: Duration = Duration::from_secs(60);

/// A client that asks and is answered by JSON-RPC.
struct Asker {
    client: Client,
    asked: u64,
}

impl Asker {
    async fn connect(server: &Process, path: &str) -> anyhow::Result<Self> {
        let url = format!("ws://127.0.0.1:{}/{path}", server.port());
        let client = Client::connect(&url).await?;
        let mut asker = Self { client, asked: 0 };
        if path == "codex" {
            let info = json!({ "name": "test", "version": "1" });
            asker
                .ask("initialize", json!({ "clientInfo": info }))
                .await?;
        }
        Ok(asker)
    }

    async fn ask(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.asked += 1;
        let id = json!(self.asked);
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.client.send_json(&request).await?;
        let mut answer = self.client.until(|frame| frame["id"] == id).await?;
        ensure!(answer.get("error").is_none(), "{method}: {answer}");
        Ok(answer["result"].take())
    }
}

/// What was said first in each turn of all pages, in the order in which they came.
async fn walk(codex: &mut Asker, thread: &str, direction: &str) -> anyhow::Result<Vec<String>> {
    let (mut said, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let params = json!({
            "threadId": thread, "limit": 2, "cursor": cursor, "sortDirection": direction,
        });
        let page = codex.ask("thread/turns/list", params).await?;
        for turn in page["data"].as_array().context("no data")? {
            let text = turn["items"][0]["content"][0]["text"].as_str();
            said.push(text.context("nothing was said")?.to_owned());
        }
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            return Ok(said);
        }
        ensure!(said.len() % 2 == 0, "a page that is not the last is full");
    }
}

async fn check(server: &Process, thread: &str, said: &[&str], last: &str) -> anyhow::Result<()> {
    let mut codex = Asker::connect(server, "codex").await?;
    let onwards = walk(&mut codex, thread, "asc").await?;
    ensure!(onwards == said, "onwards: {onwards:?}");
    let mut backwards = walk(&mut codex, thread, "desc").await?;
    backwards.reverse();
    ensure!(backwards == said, "backwards: {backwards:?}");

    let mut pioneer = Asker::connect(server, "pioneer").await?;
    let got = pioneer
        .ask("thread/get", json!({ "thread_id": thread }))
        .await?;
    let turns = got["thread"]["turns"].as_array().context("no turns")?;
    ensure!(turns.len() == said.len(), "{turns:?}");
    let newest = turns.last().context("no turn")?;
    ensure!(newest["status"] == last, "{newest}");
    for (turn, said) in turns.iter().zip(said) {
        let params = json!({ "thread_id": thread, "turn_id": turn["id"] });
        let alone = pioneer.ask("turn/get", params.clone()).await?;
        ensure!(alone["turn"] == *turn, "{alone}");
        let items = pioneer.ask("turn/items", params).await?;
        let first = &items["events"][0]["payload"]["item"]["text"];
        ensure!(first == said, "{items}");
    }
    let history = pioneer
        .ask("thread/history", json!({ "thread_id": thread }))
        .await?;
    let events = history["events"].as_array().context("no events")?;
    let started = events.iter();
    let started = started.filter(|event| event["payload"]["type"] == "turnStarted");
    ensure!(started.count() == said.len(), "{history}");
    Ok(())
}

#[test]
fn turns_are_paged_from_both_ends_behind_a_reset_and_after_a_kill() {
    tell(LIMIT, async {
        let mut site = Site::open().await?;
        let mut speaker = Visitor::arrive(&site.server).await?;
        let thread = speaker.session.clone();
        for text in ["echo gone", "echo gone, too"] {
            speaker.converse(text).await?;
        }
        speaker.send("reset", json!({})).await?;
        speaker.client.until_type("reset_done").await?;
        let said = [
            "echo a",
            "echo b",
            "echo c",
            "echo d",
            "show me a long stream",
        ];
        for text in &said[..4] {
            speaker.converse(text).await?;
        }
        check(&site.server, &thread, &said[..4], "Completed").await?;
        speaker.say(said[4]).await?;
        speaker.client.until_type("model_stream_chunk").await?;
        check(&site.server, &thread, &said, "InProgress").await?;

        site.server.kill9().await?;
        site.server.restart().await?;
        // Whoever comes back wakes the thread, which closes what had run.
        let mut speaker = Visitor::resume(&site.server, &thread).await?;
        check(&site.server, &thread, &said, "Failed").await?;
        speaker.converse("echo e").await?;
        let said = [said.as_slice(), &["echo e"]].concat();
        check(&site.server, &thread, &said, "Completed").await
    });
}

/// Whoever hears a thread learns that it was reset, each in its own words.
#[test]
fn a_reset_is_told_to_all_who_hear_the_thread() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        let mut speaker = Visitor::arrive(&site.server).await?;
        speaker.converse("echo gone").await?;
        let thread = speaker.session.clone();
        let mut codex = Asker::connect(&site.server, "codex").await?;
        let resumed = codex
            .ask("thread/resume", json!({ "threadId": thread }))
            .await?;
        ensure!(resumed["thread"]["turns"].as_array().map(Vec::len) == Some(1));
        let url = format!("ws://127.0.0.1:{}/diminuendo", site.server.port());
        let mut diminuendo = Client::connect(&url).await?;
        let join = json!({ "type": "join_session", "sessionId": thread });
        diminuendo.send_json(&join).await?;
        let joined = diminuendo.until_type("state_snapshot").await?;
        ensure!(joined["recentHistory"].as_array().map(Vec::len) == Some(2));

        speaker.send("reset", json!({})).await?;
        let started = |frame: &Value| frame["method"] == "thread/started";
        let anew = codex.client.until(started).await?;
        ensure!(anew["params"]["thread"]["turns"] == json!([]), "{anew}");
        let anew = diminuendo.until_type("state_snapshot").await?;
        ensure!(anew["recentHistory"] == json!([]), "{anew}");

        // What follows is told as ever.
        speaker.converse("echo new").await?;
        let over = |frame: &Value| frame["method"] == "turn/completed";
        codex.client.until(over).await?;
        diminuendo.until_type("turn_complete").await?;
        let read = codex
            .ask(
                "thread/read",
                json!({ "threadId": thread, "includeTurns": true }),
            )
            .await?;
        ensure!(
            read["thread"]["turns"].as_array().map(Vec::len) == Some(1),
            "{read}"
        );
        Ok(())
    });
}

/// A thread that is too long to be read at once is resumed as a whole all the same, also while it goes on.
#[test]
fn a_long_thread_is_resumed_with_every_turn_that_it_has() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        let mut speaker = Visitor::arrive(&site.server).await?;
        let thread = speaker.session.clone();
        // More messages than come with a thread, and not a whole number of pages.
        for number in 0..112 {
            // The last are so long that what is told of them goes out in several frames.
            let words = if number >= 108 {
                "é".repeat(300_000)
            } else {
                String::new()
            };
            speaker.converse(&format!("echo {number} {words}")).await?;
        }
        for path in ["codex", "zane/ws"] {
            let mut reader = Asker::connect(&site.server, path).await?;
            let read = json!({ "threadId": thread, "includeTurns": true });
            let read = reader.ask("thread/read", read).await?;
            let turns = read["thread"]["turns"].as_array().context("no turns")?;
            ensure!(turns.len() == 112, "{}", turns.len());
            let mut comer = Asker::connect(&site.server, path).await?;
            let resume = json!({ "threadId": thread });
            let resumed = comer.ask("thread/resume", resume.clone()).await?;
            ensure!(
                resumed["thread"]["turns"] == read["thread"]["turns"],
                "{path}"
            );
            // From then on it is heard, and coming again changes nothing.
            speaker.converse("echo more").await?;
            let ended = |frame: &Value| frame["method"] == "turn/completed";
            comer.client.until(ended).await?;
            let again = comer.ask("thread/resume", resume).await?;
            let again = again["thread"]["turns"].as_array().context("no turns")?;
            ensure!(again.len() == 113 && again.starts_with(turns), "{path}");
            speaker.send("reset", json!({})).await?;
            speaker.client.until_type("reset_done").await?;
            for number in 0..112 {
                speaker.converse(&format!("echo {number}")).await?;
            }
        }
        Ok(())
    });
}
